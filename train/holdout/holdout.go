// Package holdout says what a split leaves out of the training, and what follows
// from it: the rows that are held out, whether they lie inside or outside the range
// of the others, the groups that are held out whole, and the words for it.
//
// Values, ranges and values with a tolerance of one condition are holdouts, as are the
// names of a condition of text; blocks of neighbouring values are lists of values, and All
// joins several. The package knows nothing of files: a configuration or a command line is
// read with Bounds and Parse.
package holdout

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
)

// Rows are rows with conditions: a table of triplets, or the conditions that are known
// before any file is read.
type Rows interface {
	Rows() int
	Floats(condition string) ([]float64, error) // of every row
	Strings(condition string) ([]string, error) // of every row, where the condition is text
}

// Holdout is what a split leaves out of the training.
type Holdout interface {
	// String says in words what is held out. The words are part of the keys of tasks.
	String() string

	// Conditions lists the conditions that decide which rows are held out; none where
	// nothing is.
	Conditions() []string

	// Labels lists those of them whose values are text.
	Labels() []string

	// Held reports for every row whether it is held out.
	Held(rows Rows) ([]bool, error)

	// Holds reports whether rows with the value of the condition can be held out.
	Holds(condition string, value float64) bool

	// HoldsLabel is Holds of a condition of text.
	HoldsLabel(condition, label string) bool

	// Group returns the condition that alone decides: all rows with a value that Holds
	// are held out. It is "" where there is no such condition.
	Group() string

	// Within is how far values of the condition may lie apart that count as one.
	Within(condition string) float64
}

// Nothing holds no row out: the holdout of a final model.
var Nothing Holdout = nothing{}

type nothing struct{}

func (nothing) String() string                 { return "nothing" }
func (nothing) Conditions() []string           { return nil }
func (nothing) Labels() []string               { return nil }
func (nothing) Held(rows Rows) ([]bool, error) { return make([]bool, rows.Rows()), nil }
func (nothing) Holds(string, float64) bool     { return false }
func (nothing) HoldsLabel(string, string) bool { return false }
func (nothing) Group() string                  { return "" }
func (nothing) Within(string) float64          { return 0 }

// term holds out the rows whose condition has certain values.
type term struct {
	condition string
	of        interface {
		holds(v float64) bool
		words(condition string) string
	}
}

// Values holds out the rows whose condition is one of the values. They are compared with
// a relative tolerance of 1e-9, for numbers that went through text.
func Values(condition string, values ...float64) Holdout { return term{condition, list(values)} }

// Range holds out the rows with lo ≤ condition ≤ hi; a side may be infinite.
func Range(condition string, lo, hi float64) Holdout { return term{condition, span{lo, hi}} }

// Near holds out the rows with |condition − value| ≤ within.
func Near(condition string, value, within float64) Holdout {
	return term{condition, near{value, within}}
}

type list []float64

func (l list) holds(v float64) bool {
	return slices.ContainsFunc(l, func(w float64) bool {
		return v == w || math.Abs(v-w) <= 1e-9*math.Max(math.Abs(v), math.Abs(w))
	})
}

func (l list) words(condition string) string {
	text := lists.Each(l, func(v float64) string { return fmt.Sprintf("%g", v) })
	return condition + " = " + strings.Join(text, ", ")
}

// setPoints are values with the words for them.
type setPoints struct {
	list
	text []string
}

func (p setPoints) words(condition string) string {
	return condition + " = " + strings.Join(p.text, ", ")
}

// AtSetPoints returns h with the values that it lists replaced by the set points that find
// returns for them, with the words for each: measured values of 2994 … 3008 are one, 3000 ± 8.
// Values without one stay.
func AtSetPoints(h Holdout, find func(condition string, v float64) (setPoint float64, text string, ok bool)) Holdout {
	return ofLists(h, func(condition string, l list) Holdout {
		var p setPoints
		for _, v := range l {
			at, text, ok := find(condition, v)
			if !ok {
				return term{condition, l}
			}

			if !slices.Contains(p.list, at) {
				p.list, p.text = append(p.list, at), append(p.text, text)
			}
		}

		return term{condition, p}
	})
}

// ofLists returns h with another holdout for each condition that it lists values of.
func ofLists(h Holdout, other func(condition string, l list) Holdout) Holdout {
	switch h := h.(type) {
	case all:
		return all(lists.Each(h, func(part Holdout) Holdout { return ofLists(part, other) }))

	case term:
		if l, ok := h.of.(list); ok {
			return other(h.condition, l)
		}
	}

	return h
}

// About returns h with the values that it lists also held out where equal says so of a value and a listed one.
func About(h Holdout, equal func(condition string, a, b float64) bool) Holdout {
	return ofLists(h, func(condition string, l list) Holdout {
		return term{condition, about{l, func(a, b float64) bool { return equal(condition, a, b) }}}
	})
}

// about is a list whose values have a tolerance.
type about struct {
	list
	equal func(a, b float64) bool
}

func (a about) holds(v float64) bool {
	return a.list.holds(v) || slices.ContainsFunc(a.list, func(w float64) bool { return a.equal(v, w) })
}

type span struct{ lo, hi float64 }

func (s span) holds(v float64) bool { return v >= s.lo && v <= s.hi }

func (s span) words(condition string) string {
	switch {
	case math.IsInf(s.lo, -1):
		return fmt.Sprintf("%s ≤ %g", condition, s.hi)
	case math.IsInf(s.hi, 1):
		return fmt.Sprintf("%s ≥ %g", condition, s.lo)
	}

	return fmt.Sprintf("%g ≤ %s ≤ %g", s.lo, condition, s.hi)
}

type near struct{ value, within float64 }

func (n near) holds(v float64) bool { return math.Abs(v-n.value) <= n.within*(1+1e-12) }

func (n near) words(condition string) string {
	return fmt.Sprintf("%s = %g ± %g", condition, n.value, n.within)
}

func (t term) String() string       { return t.of.words(t.condition) }
func (t term) Conditions() []string { return []string{t.condition} }
func (t term) Labels() []string     { return nil }
func (t term) Group() string        { return t.condition }

func (t term) Held(rows Rows) ([]bool, error) {
	v, err := rows.Floats(t.condition)
	return lists.Each(v, t.of.holds), err
}

func (t term) Holds(condition string, value float64) bool {
	return condition != t.condition || t.of.holds(value)
}

func (t term) HoldsLabel(condition, _ string) bool { return condition != t.condition }

func (t term) Within(condition string) float64 {
	if n, ok := t.of.(near); ok && condition == t.condition {
		return n.within
	}

	return 0
}

// All holds out the rows that each of the parts holds out.
func All(parts ...Holdout) Holdout {
	if len(parts) == 1 {
		return parts[0]
	}

	return all(parts)
}

type all []Holdout

func (a all) String() string       { return strings.Join(lists.Each(a, Holdout.String), " and ") }
func (a all) Conditions() []string { return slices.Concat(lists.Each(a, Holdout.Conditions)...) }
func (a all) Labels() []string     { return slices.Concat(lists.Each(a, Holdout.Labels)...) }

func (a all) Held(rows Rows) ([]bool, error) {
	out := slices.Repeat([]bool{true}, rows.Rows())
	for _, h := range a {
		held, err := h.Held(rows)
		if err != nil {
			return nil, err
		}

		for i, ok := range held {
			out[i] = out[i] && ok
		}
	}

	return out, nil
}

func (a all) Holds(condition string, value float64) bool {
	return !slices.ContainsFunc(a, func(h Holdout) bool { return !h.Holds(condition, value) })
}

func (a all) HoldsLabel(condition, label string) bool {
	return !slices.ContainsFunc(a, func(h Holdout) bool { return !h.HoldsLabel(condition, label) })
}

func (a all) Group() string { return "" }

func (a all) Within(condition string) (within float64) {
	for _, h := range a {
		within = max(within, h.Within(condition))
	}

	return within
}

func (a all) of(split string, inputs []string) Holdout {
	return all(lists.Each(a, func(h Holdout) Holdout { return For(h, split, inputs) }))
}

// For tells a holdout which split it belongs to, and the network's inputs, whose distinct
// values are the conditions. Most holdouts do not need it.
func For(h Holdout, split string, inputs []string) Holdout {
	if h, ok := h.(interface {
		of(split string, inputs []string) Holdout
	}); ok {
		return h.of(split, inputs)
	}

	return h
}

// Named is a holdout with the name of its split.
type Named struct {
	Name string
	Holdout
}

// Each makes a holdout of each of the ascending values of a condition, or of each of
// that many blocks of neighbouring values whose numbers differ by one at most. blocks is 0
// for single values.
func Each(condition string, values []float64, blocks int) []Named {
	blocks = cmp.Or(blocks, len(values))

	out := make([]Named, blocks)
	for k := range out {
		part := values[len(values)*k/blocks : len(values)*(k+1)/blocks]
		out[k] = Named{GroupName(condition, part), Values(condition, part...)}
	}

	return out
}

// GroupName names a group of neighbouring values as a folder can be: condition=value, or
// condition=from..to.
func GroupName(condition string, values []float64) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

	lo, hi := values[0], values[len(values)-1]
	if lo == hi {
		return Folder(condition + "=" + number(lo))
	}

	return Folder(condition + "=" + number(lo) + ".." + number(hi))
}

// Reach says whether the held-out rows lie between the values trained on: "interpolation
// in" the conditions of h where they do, "extrapolation in" those where they do not. Text
// has no values between: it is a "new" condition where no row that is trained on has it.
func Reach(h Holdout, rows Rows, train, test []int) (string, error) {
	var within, beyond, reach []string
	for _, c := range h.Conditions() {
		if slices.Contains(h.Labels(), c) {
			isNew, err := newLabels(rows, c, train, test)
			if err != nil {
				return "", err
			}

			if isNew {
				reach = append(reach, "new "+c)
			}

			continue
		}

		v, err := rows.Floats(c)
		if err != nil {
			return "", err
		}

		lo, hi := math.Inf(1), math.Inf(-1)
		for _, i := range train {
			lo, hi = min(lo, v[i]), max(hi, v[i])
		}

		if slices.ContainsFunc(test, func(i int) bool { return v[i] < lo || v[i] > hi }) {
			beyond = append(beyond, c)
		} else {
			within = append(within, c)
		}
	}

	switch {
	case len(beyond) > 0:
		reach = append(reach, "extrapolation in "+strings.Join(beyond, " and "))
	case len(within) > 0:
		reach = append(reach, "interpolation in "+strings.Join(within, " and "))
	}

	return strings.Join(reach, ", "), nil
}

// Choices says which values the first condition has of which h holds none out: "; rpm is
// one of 1, 2". It is "" where h can hold rows of every condition out.
func Choices(h Holdout, rows Rows) string {
	for _, c := range h.Conditions() {
		if slices.Contains(h.Labels(), c) {
			if names, err := rows.Strings(c); err == nil && !slices.ContainsFunc(names, func(n string) bool {
				return h.HoldsLabel(c, n)
			}) {
				return fmt.Sprintf("; %s is one of %s", c, Listed(Distinct(names)))
			}

			continue
		}

		v, _ := rows.Floats(c)
		v = slices.Compact(slices.Sorted(slices.Values(v)))
		switch {
		case len(v) == 0 || slices.ContainsFunc(v, func(x float64) bool { return h.Holds(c, x) }):
		case len(v) > 12:
			return fmt.Sprintf("; %s lies in %g … %g", c, v[0], v[len(v)-1])
		default:
			list := strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ", "), "[]")
			return fmt.Sprintf("; %s is one of %s", c, list)
		}
	}

	return ""
}
