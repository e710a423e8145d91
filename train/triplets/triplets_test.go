package triplets

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIndex(t *testing.T) {
	nan, minus := math.NaN(), math.Copysign(0, -1)
	index, distinct := Index([]float64{1, 2, 3, 4, 1, 2, nan, 0, -nan, 0, nan, minus}, 2)
	if want := []int{0, 1, 0, 2, 2, 3}; !slices.Equal(index, want) {
		t.Errorf("index %v, expected %v", index, want)
	}

	if len(distinct) != 8 || distinct[2] != 3 || !math.IsNaN(distinct[4]) || !math.Signbit(distinct[7]) {
		t.Errorf("distinct rows %v", distinct)
	}

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

			if at != k || !slices.Equal(distinct[k*width:(k+1)*width], row) {
				t.Fatalf("row %d %v is numbered %d, expected %d", i, row, k, at)
			}
		}

		if len(distinct) != len(seen)*width {
			t.Fatalf("%d distinct numbers, expected %d rows of %d", len(distinct), len(seen), width)
		}
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
	s.Part = []Part{Train, Test, Train, Calibration, Train, Test}

	return s
}

func TestSet(t *testing.T) {
	s := six()
	if s.N != 6 || s.In != 2 || s.Out != 1 || s.Conditions() != 3 {
		t.Fatalf("%d rows, %d inputs, %d outcomes, %d conditions", s.N, s.In, s.Out, s.Conditions())
	}

	if want := []int{0, 1, 0, 2, 2, 1}; !slices.Equal(s.Condition, want) {
		t.Errorf("conditions %v, expected %v", s.Condition, want)
	}

	if want := []int{0, 1, 0, 2, 3, 1}; !slices.Equal(s.Run, want) || !slices.Equal(s.Runs, []string{"b", "a", "c", "d"}) {
		t.Errorf("runs %v of %v", s.Run, s.Runs)
	}

	if at := s.At(2); !slices.Equal(at, []float64{3, 200}) {
		t.Errorf("condition 2 is %v", at)
	}

	if n := fmt.Sprint(s.InputNames(), s.OutcomeNames()); n != "[blades rpm] [y]" {
		t.Errorf("names %s", n)
	}

	// Condition 2 is in the training and in the calibration part.
	for part, want := range map[Part][]int{Train: {0, 2}, Test: {1}, Calibration: {2}} {
		if in := s.Of(part).Present(); !slices.Equal(in, want) {
			t.Errorf("%s: %v, expected %v", part, in, want)
		}
	}

	if p := s.Select([]int{4, 1, 0, 3}).Present(); !slices.Equal(p, []int{2, 1, 0}) {
		t.Errorf("not in order of appearance: %v", p)
	}

	if v := s.Of(Train).Values(1); !slices.Equal(v, []float64{100, 200}) {
		t.Errorf("speeds of the training part %v", v)
	}
}

func TestOf(t *testing.T) {
	s := six()
	test := s.Of(Test)
	want := Set{
		N: 2, In: 2, Out: 1, X: []float64{3, 100, 3, 100}, Y1: []float64{2, 6}, Y2: []float64{20, 60},
		Inputs: s.Inputs, Outcomes: s.Outcomes, Distinct: s.Distinct, Condition: []int{1, 1},
		Run: []int{1, 1}, Runs: s.Runs, Recording: []string{"r2", "r6"}, Part: []Part{Test, Test},
	}

	if !reflect.DeepEqual(test, want) {
		t.Errorf("%+v\nexpected\n%+v", test, want)
	}

	if n := s.Of(Train).N + test.N + s.Of(Calibration).N; n != s.N {
		t.Errorf("the parts have %d rows of %d", n, s.N)
	}

	s.Part = nil
	if s.Of(Train).N != s.N || s.Of(Test).N != 0 {
		t.Error("without a split all rows belong to the training part")
	}

	plain := Set{N: 2, In: 1, Out: 1, X: []float64{1, 2}, Y1: []float64{3, 4}, Y2: []float64{5, 6}}
	one := plain.Select([]int{1})
	if one.Condition != nil || one.Run != nil || one.X[0] != 2 || one.Y2[0] != 6 {
		t.Errorf("%+v", one)
	}

	if (Set{}).Conditions() != 0 {
		t.Error("an empty set has conditions")
	}

	none := New(nil, s.Outcomes, nil, []float64{1, 2}, []float64{3, 4})
	if none.Conditions() != 1 || !slices.Equal(none.Present(), []int{0}) || len(none.At(0)) != 0 {
		t.Errorf("without inputs: %+v", none)
	}
}

func TestCheck(t *testing.T) {
	good := six()
	if err := good.Check(); err != nil {
		t.Error(err)
	}

	for want, change := range map[string]func(*Set){
		"at least 2 training rows, found 1":                                     func(s *Set) { *s = s.Select([]int{3}) },
		"row 1, input column 1: expected a finite number, found NaN":            func(s *Set) { s.X[3] = math.NaN() },
		"row 2, first outcome column 0: expected a finite number, found 2e+150": func(s *Set) { s.Y1[2] = 2e150 },
		"row 5, second outcome column 0: expected a finite number, found -Inf":  func(s *Set) { s.Y2[5] = math.Inf(-1) },
	} {
		s := six()
		change(&s)

		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
}

func TestPartString(t *testing.T) {
	for p, want := range map[Part]string{Train: "train", Test: "test", Calibration: "calibration", 7: "Part(7)"} {
		if p.String() != want {
			t.Errorf("%s, expected %s", p, want)
		}
	}
}

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
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, c.want) {
					t.Errorf("%s: recovered %q, expected %q", name, r, c.want)
				}
			}()

			c.f()
		}()
	}
}
