package holdout

import (
	"fmt"
	"math"
	"strings"
)

// term holds out the rows whose condition has certain values.
type term struct {
	condition string
	selection interface {
		holds(v float64) bool
		words(condition string) string
	}
}

// sameValue is the relative difference up to which values are equal, because numbers may have been rounded as texts.
const sameValue = 1e-9

// Values holds out the rows whose condition is one of the values, up to a relative difference of sameValue.
func Values(condition string, values ...float64) Holdout { return term{condition, list(values)} }

// Range holds out the rows with lo ≤ condition ≤ hi. A bound may be infinite.
func Range(condition string, lo, hi float64) Holdout { return term{condition, span{lo, hi}} }

// Near holds out the rows with |condition − value| ≤ within.
func Near(condition string, value, tolerance float64) Holdout {
	return term{condition, near{value, tolerance}}
}

// list is a selection of single values.
type list []float64

func (l list) holds(v float64) bool {
	for _, listed := range l {
		if v == listed || math.Abs(v-listed) <= sameValue*math.Max(math.Abs(v), math.Abs(listed)) {
			return true
		}
	}

	return false
}

func (l list) words(condition string) string {
	var text []string
	for _, v := range l {
		text = append(text, fmt.Sprintf("%g", v))
	}

	return condition + " = " + strings.Join(text, ", ")
}

// setPoints is a selection of set points.
type setPoints struct {
	list
	text []string // words for each set point
}

func (p setPoints) words(condition string) string {
	return condition + " = " + strings.Join(p.text, ", ")
}

// about is a selection of values that are compared by a function.
type about struct {
	list
	condition string
	equal     func(condition string, a, b float64) bool
}

func (a about) holds(v float64) bool {
	if a.list.holds(v) {
		return true
	}

	for _, listed := range a.list {
		if a.equal(a.condition, v, listed) {
			return true
		}
	}

	return false
}

// span is a selection of the values from lo to hi.
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

// near is a selection of the values that differ from a value by at most a tolerance.
type near struct{ value, tolerance float64 }

func (n near) holds(v float64) bool { return math.Abs(v-n.value) <= n.tolerance*(1+1e-12) }

func (n near) words(condition string) string {
	return fmt.Sprintf("%s = %g ± %g", condition, n.value, n.tolerance)
}

func (t term) String() string { return t.selection.words(t.condition) }

func (t term) Conditions() []string { return []string{t.condition} }

func (t term) Labels() []string { return nil }

func (t term) Group() string { return t.condition }

func (t term) Held(rows Rows) ([]bool, error) {
	values, err := rows.Floats(t.condition)
	if err != nil {
		return nil, err
	}

	var held []bool
	for _, v := range values {
		held = append(held, t.selection.holds(v))
	}

	return held, nil
}

func (t term) Holds(condition string, value float64) bool {
	return condition != t.condition || t.selection.holds(value)
}

func (t term) HoldsLabel(condition, _ string) bool { return condition != t.condition }

func (t term) Within(condition string) float64 {
	if n, ok := t.selection.(near); ok && condition == t.condition {
		return n.tolerance
	}

	return 0
}
