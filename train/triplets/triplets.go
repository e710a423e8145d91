// Package triplets contains the set type that splitting, training, judging and reporting share. A set has rows of
// conditions x with two independent outcomes y1 and y2 each, the names and units of the columns, the run of every row,
// the distinct conditions, and the part of a split that each row belongs to.
//
// The package also contains the scales that standardise columns, and the answers of a model at the rows of a set. It
// does not train or score models.
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
	Unit        string // "" if it has no unit
	Description string
}

// Part is the part of a split that a row belongs to.
type Part uint8

// Parts of a split.
const (
	Train   Part = iota // the model is trained on the row
	Test                // held out: the model is judged on it
	Neither             // the row is left out
)

// String returns the name of the part in tables and files.
func (p Part) String() string {
	if int(p) < len(partNames) {
		return partNames[p]
	}
	return fmt.Sprintf("Part(%d)", uint8(p))
}

// partNames contains the names of the parts.
var partNames = [...]string{Train: "train", Test: "test", Neither: "neither"}

// Set contains N rows of conditions x with two independent outcomes each. Matrices are row-major. Training needs only
// the first group of fields. New sets Distinct and Condition.
type Set struct {
	N   int       // number of rows
	In  int       // number of inputs
	Out int       // number of outcomes
	X   []float64 // N × In
	Y1  []float64 // N × Out
	Y2  []float64 // N × Out

	Inputs   []Quantity // nil if the inputs have no names
	Outcomes []Quantity // nil if the outcomes have no names

	// SetPoints contains the inputs at the set points about which measured values scatter, N × In, or is nil if none
	// scatters. Conditions and groups are named by SetPoints; models are trained on X.
	SetPoints []float64

	Distinct  []float64 // the distinct conditions in the order of their first appearance, In numbers each
	Condition []int     // by row: its number among Distinct; nil if conditions are not numbered

	Run       []int    // by row: its number among Runs; nil if runs are not known
	Runs      []string // names of the runs in the order of their first appearance
	Recording []string // by row: its recording; nil if recordings have no names
	Group     []int    // by row: the group that is left out with it; nil if groups are not known

	// Weight contains the weight of each row in the loss, in the scale of the outcomes, in R² and in the measured error.
	// By the weights, r repeats count as r runs. If it is nil, all weights are 1.
	Weight []float64

	// Alone marks the rows whose second outcome shows no noise, because it is their own first outcome or one of the same
	// occasion (PairAcross). They count as one measured value each. It is nil if it would mark none or all rows.
	Alone []bool

	// repeats numbers the rows whose conditions are equal except for the occasion, and occasion the occasions, if pairs
	// are made across occasions (PairAcross). They are nil if pairs are as they were measured.
	repeats, occasion []int

	Part    []Part // by row; nil without a split
	Scale   Scale  // mean and deviation of the outcomes, which define standardised units (Standardised)
	Couples bool   // y2 is y1 by construction: one draw is used twice
}

// New returns the set of the rows x, y1 and y2, with numbered conditions. Without inputs all rows are one condition.
// New panics if the lengths of the slices do not fit.
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
		s.Condition = make([]int, s.N) // without inputs there is one condition
		return s
	}

	s.Condition, s.Distinct = Index(x, s.In)

	return s
}

// SetRuns stores the runs by their names. names has the name of each row's run. SetRuns panics if names does not have a
// name for each row.
func (s *Set) SetRuns(names []string) {
	if len(names) != s.N {
		panic(fmt.Sprintf("triplets: %d runs for %d rows", len(names), s.N))
	}
	s.Run, s.Runs = lists.Index(names)
}

// Check returns an error if nothing can be learned from the rows: if there are fewer than two, if all are Alone, if a
// number is NaN or larger than 1e150, so that its square is not finite, or if a weight is not above zero. It panics if
// the lengths of the slices do not fit.
func (s Set) Check() error {
	if len(s.X) != s.N*s.In || len(s.Y1) != s.N*s.Out || len(s.Y2) != s.N*s.Out {
		panic(fmt.Sprintf("triplets: %d rows of %d inputs and %d outcomes have slices of %d, %d, %d numbers",
			s.N, s.In, s.Out, len(s.X), len(s.Y1), len(s.Y2)))
	}

	if s.N < 2 {
		return fmt.Errorf("expected at least 2 training rows, found %d", s.N)
	}

	if len(s.Pairs()) == 0 {
		return fmt.Errorf("expected a training row with two measured values, found one value in each of %d rows", s.N)
	}

	if s.Weight != nil && len(s.Weight) != s.N {
		panic(fmt.Sprintf("triplets: %d weights for %d rows", len(s.Weight), s.N))
	}

	for i, w := range s.Weight {
		if !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("row %d: expected a weight above zero, found %g", i, w)
		}
	}

	if err := checkFinite("input", s.X, s.In); err != nil {
		return err
	}

	if err := checkFinite("first outcome", s.Y1, s.Out); err != nil {
		return err
	}

	return checkFinite("second outcome", s.Y2, s.Out)
}

// largest is the largest magnitude of a number whose square is finite and can be summed.
const largest = 1e150

// checkFinite returns an error about the first value that is NaN or of a magnitude above largest. values has rows of
// the given number of columns, which name describes in messages.
func checkFinite(name string, values []float64, columns int) error {
	for i, v := range values {
		if math.IsNaN(v) || math.Abs(v) > largest {
			return fmt.Errorf("row %d, %s column %d: expected a number up to %g, found %g", i/columns, name,
				i%columns, largest, v)
		}
	}

	return nil
}

// Index numbers the distinct rows of x, which have width numbers each, in the order of their first appearance. It
// returns the number of each row and the distinct rows, each as it is where it appears first. −0 equals 0, and NaN
// equals NaN. Index panics if x does not consist of rows of width numbers, or if width is below 1.
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
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v+0)) // −0 is 0
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

// Conditions returns the number of distinct conditions.
func (s Set) Conditions() int {
	if s.In == 0 {
		return min(s.N, 1)
	}
	return len(s.Distinct) / s.In
}

// At returns the inputs of a distinct condition. The slice is a part of the set, and must not be changed.
func (s Set) At(condition int) []float64 {
	return s.Distinct[condition*s.In : (condition+1)*s.In]
}

// Present returns the numbers of the distinct conditions that rows of s have, in the order of their first appearance in
// s. A set from Select may lack some of the conditions. Present returns nil if conditions are not numbered.
func (s Set) Present() []int {
	var present []int

	seen := make([]bool, s.Conditions())
	for _, c := range s.Condition {
		if !seen[c] {
			seen[c] = true
			present = append(present, c)
		}
	}

	return present
}

// RowsOf returns the rows of a part. Without a split all rows belong to Train.
func (s Set) RowsOf(p Part) []int {
	var indices []int
	for i := range s.N {
		part := Train
		if s.Part != nil {
			part = s.Part[i]
		}

		if part == p {
			indices = append(indices, i)
		}
	}

	return indices
}

// Only returns the set of the rows of a part.
func (s Set) Only(p Part) Set { return s.Select(s.RowsOf(p)) }

// Select returns the set of the given rows, in their order. The numbers of conditions and runs and the scale stay the
// same. Pairs across occasions are made anew.
func (s Set) Select(rows []int) Set {
	selected := s
	selected.N = len(rows)
	selected.X = lists.Rows(s.X, s.In, rows)
	selected.Y1 = lists.Rows(s.Y1, s.Out, rows)
	selected.Y2 = lists.Rows(s.Y2, s.Out, rows)
	selected.SetPoints = lists.Rows(s.SetPoints, s.In, rows)
	selected.Condition = lists.Pick(s.Condition, rows)
	selected.Run = lists.Pick(s.Run, rows)
	selected.Weight = lists.Pick(s.Weight, rows)
	selected.Group = lists.Pick(s.Group, rows)
	selected.Recording = lists.Pick(s.Recording, rows)
	selected.Part = lists.Pick(s.Part, rows)
	selected.Alone = lists.Pick(s.Alone, rows)
	if s.repeats != nil {
		selected.repeats = lists.Pick(s.repeats, rows)
		selected.occasion = lists.Pick(s.occasion, rows)
		selected.pair()
	}

	return selected
}

// WeightAt returns the weight of row i, which is 1 if weight is nil.
func WeightAt(weight []float64, i int) float64 {
	if weight == nil {
		return 1
	}
	return weight[i]
}

// Pairs returns the rows that are not Alone.
func (s Set) Pairs() []int {
	var indices []int
	for i := range s.N {
		if s.Alone == nil || !s.Alone[i] {
			indices = append(indices, i)
		}
	}

	return indices
}

// AtSetPoints returns the inputs at their set points.
func (s Set) AtSetPoints() []float64 {
	if s.SetPoints != nil {
		return s.SetPoints
	}
	return s.X
}

// Standardised returns the set with standardised outcomes: less the mean of s.Scale, over its deviation. The inputs
// stay in their own units. Standardised panics if s has no scale.
func (s Set) Standardised() Set {
	s.Y1 = s.Scale.Standardise(s.Y1)
	s.Y2 = s.Scale.Standardise(s.Y2)
	return s
}

// InputNames returns the names of the inputs.
func (s Set) InputNames() []string { return names(s.Inputs) }

// OutcomeNames returns the names of the outcomes.
func (s Set) OutcomeNames() []string { return names(s.Outcomes) }

// names returns the names of quantities.
func names(list []Quantity) []string {
	var texts []string
	for _, q := range list {
		texts = append(texts, q.Name)
	}

	return texts
}

// Values returns the distinct values of an input in the rows of s, ascending.
func (s Set) Values(input int) []float64 {
	var v []float64
	for _, c := range s.Present() {
		v = append(v, s.At(c)[input])
	}

	slices.Sort(v)

	return slices.Compact(v)
}
