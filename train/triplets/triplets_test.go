package triplets

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"doubletake/internal/must"
)

func TestIndex(t *testing.T) {
	nan, minus := math.NaN(), math.Copysign(0, -1)
	index, distinct := Index([]float64{1, 2, 3, 4, 1, 2, nan, 0, -nan, 0, nan, minus}, 2)
	must.Equal(t, index, []int{0, 1, 0, 2, 2, 3}, "index")
	must.Not(t, len(distinct) != 8 || distinct[2] != 3 || !math.IsNaN(distinct[4]) || !math.Signbit(distinct[7]),
		"distinct rows %v", distinct)

	if i, d := Index(nil, 3); len(i) != 0 || d != nil {
		t.Errorf("of nothing: %v, %v", i, d)
	}
}

// Every row equals the distinct row it is numbered with, distinct rows differ,
// and they appear in the order of their numbers. The witness is a search without
// an index.
func TestIndexInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 3).Draw(t, "width")
		n := rapid.IntRange(0, 30).Draw(t, "n")
		x := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 0.1, 1e300, -1}), n*width, n*width).Draw(t, "x")
		index, distinct := Index(x, width)

		var seen [][]float64
		for i, k := range index {
			row := x[i*width : (i+1)*width]
			at := slices.IndexFunc(seen, func(s []float64) bool { return slices.Equal(s, row) })
			if at < 0 {
				at = len(seen)
				seen = append(seen, row)
			}

			must.Never(t, at != k || !slices.Equal(distinct[k*width:(k+1)*width], row), "row %d %v is numbered %d, expected %d",
				i, row, k, at)
		}

		must.Be(t, len(distinct), len(seen)*width, "distinct numbers, expected %d rows of %d", len(seen), width)
	})
}

// six rows: three conditions, four runs, one row of each part and more.
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

func TestSet(t *testing.T) {
	s := six()
	if s.N != 6 || s.In != 2 || s.Out != 1 || s.Conditions() != 3 {
		t.Fatalf("%d rows, %d inputs, %d outcomes, %d conditions", s.N, s.In, s.Out, s.Conditions())
	}

	must.Equal(t, s.Condition, []int{0, 1, 0, 2, 2, 1}, "conditions")

	if want := []int{0, 1, 0, 2, 3, 1}; !slices.Equal(s.Run, want) || !slices.Equal(s.Runs, []string{"b", "a", "c", "d"}) {
		t.Errorf("runs %v of %v", s.Run, s.Runs)
	}

	must.Equal(t, s.At(2), []float64{3, 200}, "condition 2")
	must.Equal(t, fmt.Sprint(s.InputNames(), s.OutcomeNames()), "[blades rpm] [y]", "names")

	// Condition 2 is in the training part and in neither.
	for part, want := range map[Part][]int{Train: {0, 2}, Test: {1}, Neither: {2}} {
		must.Equal(t, s.Of(part).Present(), want, "%s", part)
	}

	must.Equal(t, s.Select([]int{4, 1, 0, 3}).Present(), []int{2, 1, 0}, "not in order of appearance")
	must.Equal(t, s.Of(Train).Values(1), []float64{100, 200}, "speeds of the training part")
}

func TestOf(t *testing.T) {
	s := six()
	test := s.Of(Test)
	want := Set{
		N: 2, In: 2, Out: 1, X: []float64{3, 100, 3, 100}, Y1: []float64{2, 6}, Y2: []float64{20, 60},
		Inputs: s.Inputs, Outcomes: s.Outcomes, Distinct: s.Distinct, Condition: []int{1, 1},
		Run: []int{1, 1}, Runs: s.Runs, Recording: []string{"r2", "r6"}, Part: []Part{Test, Test},
	}

	must.Not(t, !reflect.DeepEqual(test, want), "%+v\nexpected\n%+v", test, want)

	if n := s.Of(Train).N + test.N + s.Of(Neither).N; n != s.N {
		t.Errorf("the parts have %d rows of %d", n, s.N)
	}

	s.Part = nil
	must.Not(t, s.Of(Train).N != s.N || s.Of(Test).N != 0, "without a split all rows belong to the training part")

	plain := Set{N: 2, In: 1, Out: 1, X: []float64{1, 2}, Y1: []float64{3, 4}, Y2: []float64{5, 6}}
	one := plain.Select([]int{1})
	must.Not(t, one.Condition != nil || one.Run != nil || one.X[0] != 2 || one.Y2[0] != 6, "%+v", one)
	must.Not(t, (Set{}).Conditions() != 0, "an empty set has conditions")

	none := New(nil, s.Outcomes, nil, []float64{1, 2}, []float64{3, 4})
	must.Not(t, none.Conditions() != 1 || !slices.Equal(none.Present(), []int{0}) || len(none.At(0)) != 0,
		"without inputs: %+v", none)
}

func TestCheck(t *testing.T) {
	good := six()
	must.Do(t, good.Check())

	for want, change := range map[string]func(*Set){
		"at least 2 training rows, found 1":                                     func(s *Set) { *s = s.Select([]int{3}) },
		"row 1, input column 1: expected a finite number, found NaN":            func(s *Set) { s.X[3] = math.NaN() },
		"row 2, first outcome column 0: expected a finite number, found 2e+150": func(s *Set) { s.Y1[2] = 2e150 },
		"row 5, second outcome column 0: expected a finite number, found -Inf":  func(s *Set) { s.Y2[5] = math.Inf(-1) },
	} {
		s := six()
		change(&s)

		must.Refuse(t, s.Check(), want)
	}
}

func TestPartString(t *testing.T) {
	for p, want := range map[Part]string{Train: "train", Test: "test", Neither: "neither", 7: "Part(7)"} {
		must.Not(t, p.String() != want, "%s, expected %s", p, want)
	}
}

func TestPanics(t *testing.T) {
	q := []Quantity{{Name: "q"}}
	for _, c := range map[string]struct {
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
		func() {
			defer func() {
				must.Contain(t, fmt.Sprint(recover()), c.want)
			}()

			c.f()
		}()
	}
}
