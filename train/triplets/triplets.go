// Package triplets holds the one set type that splitting, training, judging and
// reporting share: rows of conditions x with two independent outcomes y1 and y2
// each, the names and units of the columns, the run of every row, the distinct
// conditions, and the part of a split that a row belongs to.
//
// It also holds the scales that standardise columns, and the answers of a model
// at the rows of a set. It trains nothing and scores nothing.
package triplets

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
)

// Quantity is a condition or an outcome.
type Quantity struct {
	Name        string
	Unit        string // "" when it has none
	Description string
}

// Part is the part of a split a row belongs to.
type Part uint8

// Parts of a split.
const (
	Train   Part = iota // the model is trained on the row
	Test                // held out: the model is judged on it
	Neither             // the row is left out
)

// String returns the name of the part, as tables and files have it.
func (p Part) String() string {
	if int(p) < len(partNames) {
		return partNames[p]
	}
	return fmt.Sprintf("Part(%d)", uint8(p))
}

var partNames = [...]string{Train: "train", Test: "test", Neither: "neither"}

// Set is N conditions x with two independent outcomes each. Matrices are
// row-major. Only the first group of fields is needed for training; New fills in
// Distinct and Condition.
type Set struct {
	N, In, Out int       // rows, inputs, outcomes
	X          []float64 // N × In
	Y1, Y2     []float64 // N × Out

	Inputs   []Quantity // In of them, or nil
	Outcomes []Quantity // Out of them, or nil

	// SetPoints are the inputs at the set points about which measured values scatter, N × In;
	// nil: X. They name conditions and groups, X is what a model takes.
	SetPoints []float64

	Distinct  []float64 // the distinct conditions in order of first appearance, In numbers each
	Condition []int     // per row, its number among Distinct; nil where they were not indexed

	Run       []int    // per row, its number among Runs; nil where runs are not known
	Runs      []string // in order of first appearance
	Recording []string // per row, or nil
	Group     []int    // per row, the group that is left out with it; nil where not known

	// Weight is the weight of each row in the loss, in the outcomes' scale, in R² and
	// in the measured error, by which r repeats count as r runs; nil: 1.
	Weight []float64

	// Alone are the rows whose second outcome shows no noise, as it is their own first one (PairAcross). They count
	// as one measured value each; nil: none, or all.
	Alone []bool

	// repeats number the rows whose conditions are equal but for the occasion, where pairs are made across
	// occasions (PairAcross); nil: pairs are as they were measured.
	repeats, occasion []int

	Part    []Part // per row; nil without a split
	Scale   Scale  // of the outcomes: what standardised units are; see Standardised
	Couples bool   // y2 is y1 by construction, one draw used twice
}

// New returns the set of the rows x, y1, y2, with its distinct conditions
// numbered. Without inputs all rows are one condition. It panics where the lengths of the slices do not fit.
func New(inputs, outcomes []Quantity, x, y1, y2 []float64) Set {
	s := Set{In: len(inputs), Out: len(outcomes), X: x, Y1: y1, Y2: y2, Inputs: inputs, Outcomes: outcomes}
	switch {
	case s.In > 0:
		s.N = len(x) / s.In
	case s.Out > 0:
		s.N = len(y1) / s.Out
	}

	if len(x) != s.N*s.In || len(y1) != s.N*s.Out || len(y2) != s.N*s.Out {
		panic(fmt.Sprintf("triplets: %d inputs and %d outcomes have slices of %d, %d, %d numbers",
			s.In, s.Out, len(x), len(y1), len(y2)))
	}

	if s.In == 0 {
		s.Condition = make([]int, s.N) // nothing was set: one condition
		return s
	}

	s.Condition, s.Distinct = Index(x, s.In)

	return s
}

// SetRuns numbers the runs by their names, one for each row.
func (s *Set) SetRuns(names []string) {
	if len(names) != s.N {
		panic(fmt.Sprintf("triplets: %d runs for %d rows", len(names), s.N))
	}
	s.Run, s.Runs = lists.Index(names)
}

// Check reports rows that nothing can be learned from: fewer than two, numbers that
// are not finite or above 1e150, whose squares would not be, or weights that are not
// above zero. It panics where
// the lengths of the slices do not fit.
func (s Set) Check() error {
	if len(s.X) != s.N*s.In || len(s.Y1) != s.N*s.Out || len(s.Y2) != s.N*s.Out {
		panic(fmt.Sprintf("triplets: %d rows of %d inputs and %d outcomes have slices of %d, %d, %d numbers",
			s.N, s.In, s.Out, len(s.X), len(s.Y1), len(s.Y2)))
	}

	if s.N < 2 {
		return fmt.Errorf("expected at least 2 training rows, found %d", s.N)
	}

	if s.Weight != nil && len(s.Weight) != s.N {
		panic(fmt.Sprintf("triplets: %d weights for %d rows", len(s.Weight), s.N))
	}

	for i, w := range s.Weight {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("row %d: expected a weight above zero, found %g", i, w)
		}
	}

	for _, c := range []struct {
		name string
		v    []float64
		n    int
	}{{"input", s.X, s.In}, {"first outcome", s.Y1, s.Out}, {"second outcome", s.Y2, s.Out}} {
		for i, x := range c.v {
			if math.IsNaN(x) || math.Abs(x) > 1e150 {
				return fmt.Errorf("row %d, %s column %d: expected a finite number, found %g", i/c.n, c.name, i%c.n, x)
			}
		}
	}

	return nil
}

// Index numbers the distinct rows of x, width numbers each, in order of first
// appearance. Numbers are compared bit by bit, except that all NaN are one.
func Index(x []float64, width int) (index []int, distinct []float64) {
	if width < 1 || len(x)%width != 0 {
		panic(fmt.Sprintf("triplets: %d numbers are not rows of %d", len(x), width))
	}

	seen := map[string]int{}
	index = make([]int, len(x)/width)

	key := make([]byte, 0, 8*width)
	for i := range index {
		row := x[i*width : (i+1)*width]

		key = key[:0]
		for _, v := range row {
			if math.IsNaN(v) {
				v = math.NaN()
			}
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
		}

		k, ok := seen[string(key)]
		if !ok {
			k = len(seen)
			seen[string(key)] = k
			distinct = append(distinct, row...)
		}

		index[i] = k
	}

	return index, distinct
}

// Conditions returns how many distinct conditions were numbered.
func (s Set) Conditions() int {
	if s.In == 0 {
		return min(s.N, 1)
	}
	return len(s.Distinct) / s.In
}

// At returns the inputs of a distinct condition. The slice is part of the set.
func (s Set) At(condition int) []float64 {
	return s.Distinct[condition*s.In : (condition+1)*s.In]
}

// Present returns the numbers of the distinct conditions that rows of s have, in
// order of first appearance in s. For a set as New made it these are all of them.
func (s Set) Present() []int {
	var out []int

	seen := make([]bool, s.Conditions())
	for _, c := range s.Condition {
		if !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}

	return out
}

// RowsOf returns the rows of a part; all of them belong to Train where there is
// no split.
func (s Set) RowsOf(p Part) []int {
	return lists.Where(s.N, func(i int) bool { return s.Part == nil && p == Train || s.Part != nil && s.Part[i] == p })
}

// Of returns the set of the rows of a part.
func (s Set) Of(p Part) Set { return s.Select(s.RowsOf(p)) }

// Select returns the set of the given rows, in their order. Numbers of
// conditions and runs stay those of s, as does the scale. Pairs across occasions are made anew.
func (s Set) Select(rows []int) Set {
	out := s
	out.N = len(rows)
	out.X, out.Y1, out.Y2 = lists.Rows(s.X, s.In, rows), lists.Rows(s.Y1, s.Out, rows), lists.Rows(s.Y2, s.Out, rows)
	out.SetPoints = lists.Rows(s.SetPoints, s.In, rows)
	out.Condition, out.Run = lists.Rows(s.Condition, 1, rows), lists.Rows(s.Run, 1, rows)
	out.Weight, out.Group = lists.Rows(s.Weight, 1, rows), lists.Rows(s.Group, 1, rows)
	out.Recording, out.Part = lists.Rows(s.Recording, 1, rows), lists.Rows(s.Part, 1, rows)
	out.Alone = lists.Rows(s.Alone, 1, rows)
	if s.repeats != nil {
		out.repeats, out.occasion = lists.Rows(s.repeats, 1, rows), lists.Rows(s.occasion, 1, rows)
		out.pair()
	}

	return out
}

// WeightAt is the weight of row i; nil: 1.
func WeightAt(weight []float64, i int) float64 {
	if weight == nil {
		return 1
	}
	return weight[i]
}

// Pairs returns the rows that are not Alone.
func (s Set) Pairs() []int {
	return lists.Where(s.N, func(i int) bool { return s.Alone == nil || !s.Alone[i] })
}

// AtSetPoints returns the inputs at their set points.
func (s Set) AtSetPoints() []float64 {
	if s.SetPoints != nil {
		return s.SetPoints
	}
	return s.X
}

// Standardised returns the set with its outcomes in units of s.Scale, about its
// mean. It panics without a scale. The inputs stay in their own units.
func (s Set) Standardised() Set {
	s.Y1, s.Y2 = s.Scale.Standardise(s.Y1), s.Scale.Standardise(s.Y2)
	return s
}

// InputNames returns the names of the inputs.
func (s Set) InputNames() []string { return names(s.Inputs) }

// OutcomeNames returns the names of the outcomes.
func (s Set) OutcomeNames() []string { return names(s.Outcomes) }

func names(list []Quantity) []string {
	return lists.Each(list, func(q Quantity) string { return q.Name })
}

// Values returns the distinct values of an input in the rows of s, ascending.
func (s Set) Values(input int) []float64 {
	v := lists.Each(s.Present(), func(c int) float64 { return s.At(c)[input] })
	slices.Sort(v)

	return slices.Compact(v)
}
