package report

import (
	"slices"

	"doubletake/ingest/fault"
	"doubletake/train/score"
)

// Violation is an identity of the theory (docs/method.md#diagnostics) that networks violate on the
// training or the test part of a split. The Flag is the flag of the seed that violates the identity
// most, or of the mean over the seeds.
type Violation struct {
	score.Flag
	Part     string // "train" or "test"
	Seeds    int    // number of seeds that violate the identity; 0 if Flag is of the mean over seeds
	AllSeeds int    // number of all seeds; 0 if Flag is of the mean over seeds
}

// String writes the violation in one line.
func (v Violation) String() string { return phrase("violation", v) }

// severity returns the value of the flag over its limit. If the flag has no limit, its value is a ratio that should be
// 1, and severity returns the ratio or its inverse, whichever is larger: +Inf for a ratio of 0. A larger severity is
// more serious.
func (v Violation) severity() float64 {
	switch {
	case v.Limit > 0:
		return v.Value / v.Limit
	case v.Value >= 0 && v.Value < 1: // a ratio below 1 is as far off as its inverse
		return 1 / v.Value
	}

	return v.Value
}

// nominalCoverage is the share of values that should be inside the network's intervals.
const nominalCoverage = 0.95

// flags returns the split's violations with their remedies. If too few values are inside the network's intervals, and
// the split has calibrated intervals, these are the first remedy.
func (s Split) flags() []Violation {
	list := slices.Clone(s.Flags)
	for i, flag := range list {
		if flag.Code == "coverage" && flag.Value < nominalCoverage && s.isCalibrated() {
			list[i].Do = "use the calibrated interval there, or " + flag.Do
		}
	}

	return list
}

// factorText writes a factor with two digits.
func factorText(factor float64) string {
	return fault.Digits(factor, 2)
}

// violatedCodes returns the codes of the identities that the networks violate.
func (e Experiment) violatedCodes() map[string]bool {
	codes := map[string]bool{}
	for _, split := range e.Splits {
		for _, flag := range split.Flags {
			codes[flag.Code] = true
		}
	}

	return codes
}

// checks returns one line with the number of identities that the networks violate, and the worst violation. It returns
// nil if no identity is violated.
func (e Experiment) checks() []string {
	var worst Violation
	place := "" // split and part of worst; "" as long as there is no violation
	for _, split := range e.Splits {
		for _, flag := range split.flags() {
			if place == "" || flag.severity() > worst.severity() {
				worst = flag
				place = clean(split.Name) + " " + flag.Part
			}
		}
	}

	if place == "" {
		return nil
	}

	return []string{phrase("checks", map[string]any{"N": len(e.violatedCodes()), "Worst": worst, "Where": place})}
}
