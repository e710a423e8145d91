package report

import (
	"cmp"
	"fmt"

	"doubletake/train/score"
)

// This file ends each verdict in one action: what a reader does next, by the worst grade and its reason.

// mostMore is the number of times that the measured runs may have to be repeated before a verdict advises against it.
const mostMore = 3

// action says what to do about the split's predictions.
func (s Split) action() string {
	if !s.isCalibrated() {
		return s.uncalibratedAction()
	}

	grade := s.Verdict()
	worst := withGrade(s.recommended(), grade)
	place := cmp.Or(clean(s.HeldOut), clean(s.Name))
	switch grade {
	case score.Fails:
		return fmt.Sprintf("Do not use the intervals of %s there: measure with %s first.", outcomesWord(worst), place)
	case score.Undecided:
		return undecidedAction(worst[0].Evidence(), outcomesWord(worst))
	case score.Wide:
		return s.narrowingAction(worst[0].Outcome)
	}

	return "Use the intervals."
}

// outcomesWord names up to three outcomes, and counts more of them.
func outcomesWord(list []score.OutcomeTrust) string {
	if len(list) > 3 {
		return numbered(len(list), "outcome", "outcomes")
	}
	return outcomeNames(list)
}

// undecidedAction says what to do about intervals of which too little is known.
func undecidedAction(evidence score.Evidence, outcomes string) string {
	enough := evidence.Enough()
	more := enough - evidence.Units
	switch {
	case evidence.WidthOverSpread > score.MostSpread:
		return "Measure there before you predict " + outcomes + "."
	case isBoundReached(evidence) && evidence.MissesAt68():
		return fmt.Sprintf("Use only its %s interval.", levelText(evidence.Level))
	case more > 0 && more <= mostMore*evidence.Units:
		return fmt.Sprintf("Measure %s: %d would settle it.", numbered(more, "more run", "more runs"), enough)
	case more > 0:
		return fmt.Sprintf("Rely on the error of %s, not on the interval, until %d runs settle it.", outcomes, enough)
	}

	return "Rely on the error of " + outcomes + ", not on the interval."
}

// narrowingAction says what would narrow the wide interval of an outcome, by the forecast if there is one.
func (s Split) narrowingAction(outcome string) string {
	record := s.Honest.Record
	for k, trust := range record.Outcomes {
		if trust.Outcome != outcome || len(record.Forecast) < 2 {
			continue
		}

		now := record.Forecast[0].Half[k]
		one := record.Forecast[1].Half[k]
		name := ""
		if len(record.Outcomes) > 1 {
			name = clean(outcome) + " "
		}

		if one < leastGain*now {
			return fmt.Sprintf("Measure one run there: %s± %s instead of ± %s (forecast).", name,
				amountsIn(trust.Unit, one, one), amountsIn(trust.Unit, now, now))
		}
	}

	return "Use the intervals; they are safe but wide."
}

// uncalibratedAction says what to do about predictions without a calibration.
func (s Split) uncalibratedAction() string {
	switch {
	case !s.hasIntervals():
		return "Use the means, and measure how wrong they are where it matters."
	case s.Verdict() == score.Fails:
		return "Use the means, not the intervals."
	}

	return "Treat the intervals as unproven."
}
