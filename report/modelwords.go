package report

import (
	"fmt"

	"doubletake/train/honest/interval"
)

// This file describes the calibrated models: their form, their intervals, and what is known before measuring.

// intervalWords returns paragraphs that explain the intervals and their limits.
func (e Experiment) intervalWords() []string { return paragraphs("interval-words", e) }

// form says which form of inputs and outcomes has the most evidence in a split, in how many splits the model has this
// form, and in how many it has another form than the default. form returns "" if all models have the default.
func (e Experiment) form() string {
	text := ""
	most := 0.0
	splitsOf := map[string]int{} // number of splits with each form other than the default
	changed := 0
	calibrated := 0
	for _, split := range e.Splits {
		if split.Honest == nil || split.Honest.Calibration == nil {
			continue
		}

		calibrated++
		choice := split.Honest.Calibration.Representation
		if !choice.Changes() {
			continue
		}

		changed++
		words := choice.Words()
		splitsOf[words]++
		if evidence := choice.Evidence(); text == "" || evidence > most {
			text = words
			most = evidence
		}
	}

	if changed == 0 {
		return ""
	}

	others := ""
	if n := changed - splitsOf[text]; n > 0 {
		others = fmt.Sprintf("; %d have another", n)
	}

	return fmt.Sprintf("Form: %s (in %d of %d splits%s).", clean(text), splitsOf[text], calibrated, others)
}

// ownCurves returns the warnings about labels whose names differ in more than an offset, each label once.
func (e Experiment) ownCurves() []string {
	var list []string
	named := map[string]bool{}
	for _, split := range e.Splits {
		if split.Honest == nil || split.Honest.Calibration == nil {
			continue
		}

		for _, o := range split.Honest.Calibration.OwnCurves {
			if !named[o.Label] {
				list = append(list, clean(fmt.Sprintf("In %s, %v.", split.Name, o)))
			}

			named[o.Label] = true
		}
	}

	return list
}

// BeforeMeasuring grades the intervals of a group that has not been measured, by the left-out groups alone.
func (e Experiment) BeforeMeasuring(calibration *interval.Calibration) string {
	return "Before measuring: " + clean(calibration.BeforeWords(e.OutcomeUnits, amountsIn))
}
