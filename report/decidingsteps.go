package report

import (
	"cmp"
	"fmt"
	"strings"

	"doubletake/train/score"
)

// This file says, for each undecided or failing interval, how many runs would decide it and what to measure.

// decidingSteps returns the next step of each row of the table of results that is undecided or fails, in the order of
// the table. Rows of a split that have the same step share it.
func (e Experiment) decidingSteps() []step {
	var steps []step
	for _, row := range e.results() {
		words := ""
		if !row.reference {
			words = row.split.decidingWords(row.trust)
		}

		if words == "" {
			continue
		}

		name := clean(row.trust.Outcome)
		if i := stepOf(steps, row.split.Name, words); i >= 0 {
			steps[i].Row += ", " + name
			continue
		}

		steps = append(steps, step{
			Row: clean(row.split.Name) + " " + name, Grade: string(row.trust.Grade()), Words: words, split: row.split.Name,
		})
	}

	return steps
}

// stepOf returns the index of the step of a split with the given words, or −1 if there is none.
func stepOf(steps []step, split, words string) int {
	for i, step := range steps {
		if step.split == split && step.Words == words {
			return i
		}
	}

	return -1
}

// decidingWords says how many runs would decide the interval of an outcome, and what improves it. It returns "" if the
// interval holds, or if it is not calibrated.
func (s Split) decidingWords(trust score.OutcomeTrust) string {
	if !s.isCalibrated() {
		return ""
	}

	evidence := trust.Evidence()
	switch evidence.Grade() {
	case score.Fails:
		return fmt.Sprintf("Train on a run with %s, and hold out the others as a test.", s.place())
	case score.Undecided:
		return s.undecidedWords(trust)
	}

	return ""
}

// place names the held-out conditions for a sentence about runs with them.
func (s Split) place() string {
	if strings.HasPrefix(s.HeldOut, "a random share") {
		return "such conditions"
	}
	return cmp.Or(clean(s.HeldOut), clean(s.Name))
}

// undecidedWords says what further test runs would show about an undecided interval. If they would not show that it
// holds, a training run may improve it.
func (s Split) undecidedWords(trust score.OutcomeTrust) string {
	evidence := trust.Evidence()
	if evidence.WidthOverSpread > score.MostSpread {
		return fmt.Sprintf("%s; no test run decides an interval as wide as this one.",
			joinTexts(": ", "Train on a run with "+s.place(), s.forecastWords(trust.Outcome)))
	}

	outlook := evidence.Outlook()
	if outlook.Units == 0 && outlook.FewestHold == 0 {
		return ""
	}

	if outlook.Like == score.Holds {
		return testsWords(outlook.Units-evidence.Units, evidence.Units, s.place())
	}

	train := "Train on a run with " + s.place()
	if isBoundReached(evidence) { // a forecast of an interval that contains too few values would be too good
		if forecast := s.forecastWords(trust.Outcome); forecast != "" {
			return train + ": " + forecast + "."
		}
	}

	return train + ": held-out runs only test."
}

// testsWords asks for test runs that decide an interval if they are like the measured runs.
func testsWords(more, measured int, place string) string {
	like := "like these " + fmt.Sprint(measured)
	if measured == 1 {
		like = "like this one"
	}

	they := "they are"
	if more == 1 {
		they = "it is"
	}

	return fmt.Sprintf("To decide, measure %s with %s: if %s %s, the interval holds.",
		numbered(more, "more test run", "more test runs"), place, they, like)
}

// forecastWords forecasts the interval of an outcome after one training run: "± 1 instead of ± 2 dB (forecast)". It
// returns "" if no forecast was made, or if the run is not worthwhile.
func (s Split) forecastWords(outcome string) string {
	forecast := s.Honest.Record.Forecast
	for k, trust := range s.Honest.Record.Outcomes {
		if trust.Outcome != outcome || len(forecast) < 2 {
			continue
		}

		now := forecast[0].Half[k]
		one := forecast[1].Half[k]
		if one < leastGain*now {
			return fmt.Sprintf("±\u00a0%s instead of ±\u00a0%s (forecast)", unitOf(trust).cell(one, undefined).plain(),
				amountsIn(trust.Unit, now, now))
		}
	}

	return ""
}
