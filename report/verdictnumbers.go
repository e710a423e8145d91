package report

import (
	"cmp"
	"fmt"
	"strings"

	"doubletake/train/score"
)

// This file writes the numbers that follow a verdict: errors, intervals, shares inside, and the claims of the network.

// beginsWithIntervals reports whether the numbers of a verdict begin with the errors and intervals of the outcomes: the
// intervals of the calibrated model or, without one, the intervals that another program states.
func (s Split) beginsWithIntervals() bool {
	return s.isCalibrated() || s.isExternal() && s.hasIntervals()
}

// capitaliseUnlessNamed returns a text of eachUnit as the beginning of a sentence. A text about several groups begins
// with the names of outcomes, which stay as they are.
func capitaliseUnlessNamed(text string, list []score.OutcomeTrust) string {
	if len(grouped(list, 2)) > 1 {
		return text
	}
	return capitalise(text)
}

// intervalAndError writes the intervals, if there are any, and the errors of outcomes with the same unit.
func (s Split) intervalAndError(list []score.OutcomeTrust) string {
	half := ""
	if s.beginsWithIntervals() {
		half = levelText(list[0].Level) + " intervals ± " + span(list, halfOf)
	}

	return joinTexts(", ", "error "+rmsText(list), half)
}

// otherNumbers returns sentences with all numbers of a verdict except the interval and the error.
func (s Split) otherNumbers() []string {
	var clauses []string
	if s.isCalibrated() {
		clauses = append(clauses, capitaliseSingle(eachUnit(s.Honest.Record.Outcomes, insideIntervals))...)
		clauses = append(clauses, capitalise(s.learnedWords()), capitalise(s.narrowingWords()),
			capitalise(clean(s.Honest.RivalWords(amountsIn))))
	}

	if len(s.Network) > 0 && s.showsNetwork() {
		clauses = append(clauses, capitaliseSingle(s.networkWords())...)
	}

	var sentences []string
	for _, clause := range notEmpty(clauses) {
		sentences = append(sentences, clause+".")
	}

	return sentences
}

// capitaliseSingle returns the texts of eachUnit as beginnings of sentences. A single text gets a capital letter.
// Several texts begin with the names of outcomes, which stay as they are.
func capitaliseSingle(texts []string) []string {
	if len(texts) == 1 {
		return []string{capitalise(texts[0])}
	}
	return texts
}

// insideIntervals writes the share of values inside the calibrated intervals, and the fit of the mean, of outcomes with
// the same unit.
func insideIntervals(list []score.OutcomeTrust) string {
	return fmt.Sprintf("%s of the held-out values inside %s intervals, R² of the mean %s (noise ceiling %s)",
		sharesText(list), levelText(list[0].Level), fitRange(list, r2Of),
		fitRange(list, ceilingOf))
}

// fewGroups is the number of training groups below which a verdict says how the interval was learned.
const fewGroups = 3

// learnedWords says how the interval was learned if there are only few groups, and returns "" otherwise.
func (s Split) learnedWords() string {
	calibration := s.Honest.Calibration
	if calibration == nil || calibration.K >= fewGroups {
		return ""
	}

	return "the interval is " + clean(calibration.Learned())
}

// narrowingWords says how an interval with the grade Wide would become narrower, and returns "" for other
// grades.
func (s Split) narrowingWords() string {
	if s.Verdict() != score.Wide {
		return ""
	}

	return cmp.Or(clean(s.Honest.Record.ForecastWords(amountsIn)), "runs of the new group would narrow it")
}

// networkWords returns the errors and the claims of the network, or of another program's predictions, one text for each
// unit. If there is a calibrated model, it returns a single text that begins with the name of the predictions.
func (s Split) networkWords() []string {
	texts := eachUnit(s.Network, s.claimOfNetwork)
	if !s.isCalibrated() {
		return texts
	}

	name := "the network alone"
	if s.isExternal() {
		name = AsStated
	}

	grade := ""
	if s.hasIntervals() {
		grade = " (" + string(score.Worst(score.Grades(s.Network)...)) + ")"
	}

	return []string{name + ": " + strings.Join(texts, "; ") + grade}
}

// claimOfNetwork writes the error and the claim of the network, or of another program, for outcomes with the same unit.
// It leaves out the error of another program if the verdict begins with it (beginsWithIntervals), and the fit of the
// mean if there is a calibrated model, whose fit the verdict states.
func (s Split) claimOfNetwork(list []score.OutcomeTrust) string {
	isErrorStated := s.isExternal() && s.hasIntervals() && !s.isCalibrated()
	text := "error " + rmsText(list)
	switch {
	case isErrorStated:
		text = claimedIntervals(list)
	case s.hasIntervals():
		text += ", " + claimedIntervals(list)
	default:
		text += ", no interval"
	}

	if !s.isCalibrated() {
		text += fmt.Sprintf(", R² of the mean %s (noise ceiling %s)", fitRange(list, r2Of),
			fitRange(list, ceilingOf))
	}

	return text
}

// claimedIntervals writes the intervals that the network or another program claims, and the shares of values inside.
func claimedIntervals(list []score.OutcomeTrust) string {
	return fmt.Sprintf("claimed %s, %s inside its own %s intervals", span(list, claimedOf), sharesText(list),
		levelText(list[0].Level))
}
