package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// where names the part and the number of seeds.
func (v Violation) where() string {
	if v.Of < 2 {
		return v.Part
	}
	return fmt.Sprintf("%s (%d of %d seeds, the worst shown)", v.Part, v.Seeds, v.Of)
}

// String is the violation in one line.
func (v Violation) String() string {
	s := v.where() + ": " + v.Violated()
	if v.Do != "" {
		s += "; " + v.Do
	}

	return s
}

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

// placed is a violation on a set of a split.
type placed struct {
	Violation
	split string
}

func (p placed) set() string { return p.split + " " + p.Part }

// identity is one identity with all that violates it, most serious first.
type identity struct{ list []placed }

func (d identity) name() string { return d.list[0].Identity() }

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

// violated groups what the splits violate by identity, the most serious
// identity first.
func (e Experiment) violated() []identity {
	var out []identity
	for _, s := range e.Splits {
		for _, f := range s.flags() {
			i := slices.IndexFunc(out, func(d identity) bool { return d.list[0].Code == f.Code })
			if i < 0 {
				i = len(out)
				out = append(out, identity{})
			}

			out[i].list = append(out[i].list, placed{f, s.Name})
		}
	}

	for i := range out {
		slices.SortStableFunc(out[i].list, func(a, b placed) int { return cmp.Compare(b.times(), a.times()) })
	}

	slices.SortStableFunc(out, func(a, b identity) int { return cmp.Compare(b.list[0].times(), a.list[0].times()) })

	return out
}

// summary states on how many of the experiment's sets the identity is violated,
// and where most.
func (d identity) summary(sets int) string {
	worst := d.list[0]
	s := "violated on " + clean(worst.set())
	if len(d.list) > 1 {
		s = fmt.Sprintf("violated on %d of %d sets, most on %s", len(d.list), sets, clean(worst.set()))
	}

	if worst.Limit > 0 {
		s += ", " + times(worst.times()) + " times the limit"
	}

	return s
}

// times writes a factor with two digits.
func times(v float64) string {
	s := strconv.FormatFloat(v, 'g', 2, 64)
	if v >= 10 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
	}

	return s
}

// diagnostics writes every violated identity in a line, the most serious first,
// with a remedy and all its sets.
func (e Experiment) diagnostics() []string {
	var out []string
	for _, d := range e.violated() {
		worst := d.list[0]
		line := d.name() + " is " + d.summary(2*len(e.Splits))
		if worst.Of > 1 {
			line += fmt.Sprintf(" (%d of %d seeds, the worst shown)", worst.Seeds, worst.Of)
		}

		line += worst.Detail()
		if worst.Do != "" {
			line += "; " + worst.Do
		}

		if len(d.list) > 1 {
			var more []string
			for _, v := range d.list[1:] {
				t := isolate(shorten(clean(v.set()), longName))
				if v.Limit > 0 {
					t += " " + times(v.times()) + "×"
				} else if v.Value != 0 {
					t += " (" + times(v.Value) + ")"
				}

				more = append(more, t)
			}

			line += ". Also " + strings.Join(more, ", ")
		}

		out = append(out, line+".")
	}

	return out
}
