package report

import (
	"slices"
	"strconv"

	"doubletake/train/score"
)

// Violation is an identity of the theory (docs/method.md#diagnostics) that models violate on the
// train or the test part of a split: the flag of the seed that does so most, or of the mean over
// the seeds. Without a Limit its Value alone ranks it.
type Violation struct {
	score.Flag
	Part      string // "train" or "test"
	Seeds, Of int    // seeds that violate it, of so many; both 0 of the mean over seeds
}

// String is the violation in one line.
func (v Violation) String() string { return text("violation", v) }

// times is how many times the limit the worst seed reaches, or how far a ratio without
// a limit is off: what makes one violation more serious than another.
func (v Violation) times() float64 {
	switch {
	case v.Limit > 0:
		return v.Value / v.Limit
	case v.Value > 0 && v.Value < 1: // a ratio below 1 is as far off as its inverse
		return 1 / v.Value
	}

	return v.Value
}

// flags are the split's violations. Where σ is too small and the split has a calibrated
// interval, that is the remedy.
func (s Split) flags() []Violation {
	list := slices.Clone(s.Flags)
	for i, f := range list {
		if f.Code == "coverage" && f.Value < 0.95 && s.calibrated() {
			list[i].Do = "use the calibrated interval there, or " + f.Do
		}
	}

	return list
}

// times writes a factor with two digits.
func times(v float64) string {
	s := strconv.FormatFloat(v, 'g', 2, 64)
	if v >= 10 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}

	return s
}

// checks states in a line how many identities the networks violate, and which most; none is violated: no line.
func (e Experiment) checks() []string {
	var worst Violation
	where, codes := "", map[string]bool{}
	for _, s := range e.Splits {
		for _, f := range s.flags() {
			if codes[f.Code] = true; where == "" || f.times() > worst.times() {
				worst, where = f, clean(s.Name)+" "+f.Part
			}
		}
	}

	if where == "" {
		return nil
	}

	return []string{text("checks", map[string]any{"N": len(codes), "Worst": worst, "Where": where})}
}
