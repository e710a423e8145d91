package triplets

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Distinct rows are numbered in the order of their first appearance. NaN equals NaN of either sign, and 0 equals −0.
func TestIndex(t *testing.T) {
	nan := math.NaN()
	minus := math.Copysign(0, -1)
	index, distinct := Index([]float64{1, 2, 3, 4, 1, 2, nan, 0, -nan, 0, nan, minus}, 2)
	assert.Equal(t, []int{0, 1, 0, 2, 2, 2}, index, "index")

	require.Len(t, distinct, 6, "three rows of two")
	assert.Equal(t, []float64{1, 2, 3, 4}, distinct[:4])
	assert.True(t, math.IsNaN(distinct[4]))
	assert.Equal(t, 0.0, distinct[5])

	index, distinct = Index(nil, 3)
	assert.Empty(t, index, "numbers without rows")
	assert.Nil(t, distinct, "distinct rows without rows")
}

// Every row equals the distinct row it is numbered with, distinct rows differ, and they appear in the order of their
// numbers. A search without an index finds the same numbers.
func TestIndexInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 3).Draw(t, "width")
		n := rapid.IntRange(0, 30).Draw(t, "n")
		x := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 0.1, 1e300, -1}), n*width, n*width).Draw(t, "x")
		index, distinct := Index(x, width)

		var seen [][]float64
		for i, k := range index {
			row := x[i*width : (i+1)*width]
			number := slices.IndexFunc(seen, func(s []float64) bool { return slices.Equal(s, row) })
			if number < 0 {
				number = len(seen)
				seen = append(seen, row)
			}

			require.Equal(t, number, k, "number of row %d, %v", i, row)
			require.Equal(t, row, distinct[k*width:(k+1)*width], "distinct row of row %d", i)
		}

		require.Len(t, distinct, len(seen)*width, "%d distinct rows of %d", len(seen), width)
	})
}

// six returns six rows of three conditions, four runs and all three parts.
func six() Set {
	s := New(
		[]Quantity{{Name: "blades"}, {Name: "rpm", Unit: "1/min"}}, []Quantity{{Name: "y", Unit: "dB"}},
		[]float64{2, 100, 3, 100, 2, 100, 3, 200, 3, 200, 3, 100},
		[]float64{1, 2, 3, 4, 5, 6}, []float64{10, 20, 30, 40, 50, 60})

	s.SetRuns([]string{"b", "a", "b", "c", "d", "a"})
	s.Recording = []string{"r1", "r2", "r3", "r4", "r5", "r6"}
	s.Part = []Part{Train, Test, Train, Neither, Train, Test}

	return s
}

// A set numbers its conditions and runs in the order of their first rows.
func TestSet(t *testing.T) {
	s := six()
	assert.Equal(t, 6, s.N, "rows")
	assert.Equal(t, 2, s.In, "inputs")
	assert.Equal(t, 1, s.Out, "outcomes")
	assert.Equal(t, 3, s.Conditions(), "conditions")

	assert.Equal(t, []int{0, 1, 0, 2, 2, 1}, s.Condition, "condition of each row")
	assert.Equal(t, []int{0, 1, 0, 2, 3, 1}, s.Run, "run of each row")
	assert.Equal(t, []string{"b", "a", "c", "d"}, s.Runs, "runs")

	assert.Equal(t, []float64{3, 200}, s.At(2), "condition 2")
	assert.Equal(t, []string{"blades", "rpm"}, s.InputNames())
	assert.Equal(t, []string{"y"}, s.OutcomeNames())

	// Condition 2 is in the training part and in neither.
	for part, want := range map[Part][]int{Train: {0, 2}, Test: {1}, Neither: {2}} {
		assert.Equal(t, want, s.Only(part).Present(), "%s", part)
	}

	assert.Equal(t, []int{2, 1, 0}, s.Select([]int{4, 1, 0, 3}).Present(), "in order of the selected rows")
	assert.Equal(t, []float64{100, 200}, s.Only(Train).Values(1), "speeds of the training part")
}

// A part of a set keeps the numbers of conditions and runs.
func TestOf(t *testing.T) {
	s := six()
	test := s.Only(Test)
	want := Set{
		N: 2, In: 2, Out: 1, X: []float64{3, 100, 3, 100}, Y1: []float64{2, 6}, Y2: []float64{20, 60},
		Inputs: s.Inputs, Outcomes: s.Outcomes, Distinct: s.Distinct, Condition: []int{1, 1},
		Run: []int{1, 1}, Runs: s.Runs, Recording: []string{"r2", "r6"}, Part: []Part{Test, Test},
	}

	assert.Equal(t, want, test)
	assert.Equal(t, s.N, s.Only(Train).N+test.N+s.Only(Neither).N, "rows of all parts")
}

// Without a split all rows belong to the training part.
func TestOfWithoutSplit(t *testing.T) {
	s := six()
	s.Part = nil
	assert.Equal(t, s.N, s.Only(Train).N, "training rows")
	assert.Equal(t, 0, s.Only(Test).N, "test rows")
}

// Rows can be selected from a set without numbers of conditions and runs.
func TestSelectPlain(t *testing.T) {
	plain := Set{N: 2, In: 1, Out: 1, X: []float64{1, 2}, Y1: []float64{3, 4}, Y2: []float64{5, 6}}
	one := plain.Select([]int{1})
	assert.Nil(t, one.Condition)
	assert.Nil(t, one.Run)
	assert.Equal(t, []float64{2}, one.X)
	assert.Equal(t, []float64{6}, one.Y2)
}

// Without inputs all rows have one condition. An empty set has no conditions.
func TestConditionsWithoutInputs(t *testing.T) {
	none := New(nil, []Quantity{{Name: "y"}}, nil, []float64{1, 2}, []float64{3, 4})
	assert.Equal(t, 1, none.Conditions())
	assert.Equal(t, []int{0}, none.Present())
	assert.Empty(t, none.At(0))

	assert.Equal(t, 0, (Set{}).Conditions(), "an empty set")
}

// A set needs at least two training rows, a row with two measured values, and finite numbers. The error names the row
// and the column.
func TestCheck(t *testing.T) {
	good := six()
	require.NoError(t, good.Check())

	short := func(s *Set) { *s = s.Select([]int{3}) }
	alone := func(s *Set) { s.Alone = []bool{true, true, true, true, true, true} }
	nan := func(s *Set) { s.X[3] = math.NaN() }
	huge := func(s *Set) { s.Y1[2] = 2e150 }
	infinite := func(s *Set) { s.Y2[5] = math.Inf(-1) }
	for want, change := range map[string]func(*Set){
		"at least 2 training rows, found 1":                                           short,
		"two measured values, found one value in each of 6 rows":                      alone,
		"row 1, input column 1: expected a number up to 1e+150, found NaN":            nan,
		"row 2, first outcome column 0: expected a number up to 1e+150, found 2e+150": huge,
		"row 5, second outcome column 0: expected a number up to 1e+150, found -Inf":  infinite,
	} {
		s := six()
		change(&s)

		assert.ErrorContains(t, s.Check(), want)
	}
}

// A part is written by its name, and a number that is not a part as Part(n).
func TestPartString(t *testing.T) {
	for p, want := range map[Part]string{Train: "train", Test: "test", Neither: "neither", 7: "Part(7)"} {
		assert.Equal(t, want, p.String())
	}
}

// Slices whose lengths do not fit are misuse. The panic names the lengths.
func TestPanics(t *testing.T) {
	q := []Quantity{{Name: "q"}}
	for name, c := range map[string]struct {
		f    func()
		want string
	}{
		"torn x":         {func() { New(append(q, q...), nil, []float64{1}, nil, nil) }, "slices of 1, 0, 0"},
		"short y2":       {func() { New(q, q, []float64{1}, []float64{1}, nil) }, "slices of 1, 1, 0"},
		"runs":           {func() { s := six(); s.SetRuns([]string{"a"}) }, "1 runs for 6 rows"},
		"width":          {func() { Index([]float64{1}, 0) }, "rows of 0"},
		"torn check":     {func() { s := six(); s.Y2 = nil; s.Check() }, "slices of 12, 6, 0"},
		"torn rows":      {func() { Index([]float64{1, 2, 3}, 2) }, "3 numbers"},
		"without scales": {func() { six().Standardised() }, "divide by zero"},
	} {
		assert.Contains(t, panicOf(c.f), c.want, name)
	}
}

// panicOf calls f, and returns the value of its panic as text.
func panicOf(f func()) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()

	f()

	return ""
}
