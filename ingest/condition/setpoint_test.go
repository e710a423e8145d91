package condition_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"doubletake/ingest/condition"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Measured speeds scatter about the speeds that were set. Discover also finds how far they scatter.
func ExampleSetPointsOf() {
	p := condition.SetPointsOf([]float64{2994, 3008, 2408.4, 3001, 2396, 2400}, condition.Tolerance{Relative: 0.005})
	fmt.Println(p.List[0], "and", p.List[1])

	found, ok := condition.Discover([]float64{2994, 3008, 2404.4, 3001, 2396, 2400, 1199, 1202})
	fmt.Println(found.Tolerance, found.Nominals(), ok)
	// Output:
	// 2400 ± 8.4 and 3000 ± 8
	// 0.5 % [1200 2400 3000] true
}

// The expected values are the numbers that were set, before they scattered.
func TestSetPointsOf(t *testing.T) {
	for _, c := range []struct {
		tolerance string
		values    []float64
		want      string
	}{
		{"0.2", []float64{19.96944444444444, 19.969444444444445, 19.96944444444445, 30.1, 29.9}, "[19.97 30]"},
		{"0.1", []float64{-0.03, 0.02, 2.04, 1.98, -2.01, -1.99}, "[-2 0 2]"},
		{"0.5 %", []float64{2244, 2257, 2391, 2397}, "[2250 2400]"},
		{"0.05", []float64{12.46, 12.53, 0.1234, 0.1239}, "[0.124 12.5]"},
		{"1", []float64{5, math.NaN()}, "[5]"},
		{"0.1 %", []float64{2395, 2398, 2402, 2405}, "[2395 2405]"}, // 2400 would name both
	} {
		tol, err := condition.ParseTolerance(c.tolerance)
		require.NoError(t, err)

		got := fmt.Sprint(condition.SetPointsOf(c.values, tol).Nominals())
		assert.Equal(t, c.want, got, "%v within %s", c.values, tol)
	}
}

// A set point at 0 has no relative scatter. The others scatter by 0.5 of 100.5, which is 0.5 %.
func TestScatterInWords(t *testing.T) {
	points := condition.SetPointsOf([]float64{0, 100, 101}, condition.Tolerance{Relative: 0.01})
	require.Equal(t, "2 set points, ± 0.5 %", points.String())
}

// The set points and their scatter are known, because the values are drawn about them.
func TestDiscover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))

		scatter := rapid.Float64Range(1e-6, 0.003).Draw(t, "scatter")
		n := rapid.IntRange(2, 8).Draw(t, "set points")

		var values []float64
		for k := range n {
			for range 3 {
				values = append(values, (1200+300*float64(k))*(1+scatter*(2*rng.Float64()-1)))
			}
		}

		p, ok := condition.Discover(values)
		require.True(t, ok, "%d set points", n)
		require.Len(t, p.List, n, "%d set points", n)
		require.LessOrEqual(t, p.Tolerance.Relative, 3*scatter, "%d set points", n)
		require.InDelta(t, 0.0, p.Tolerance.Absolute, 0, "%d set points", n)
	})

	for name, v := range map[string][]float64{
		"exact":                            {1, 1, 2, 2, 3, 3},
		"a ramp":                           {0, 1, 2, 3, 4, 5, 6, 7},
		"no repeat":                        {1, 1.001, 2, 3, 4, 5, 6, 7},
		"few":                              {1, 2},
		"groups of set points, no scatter": {10, 20, 30, 500, 510, 520},
	} {
		_, ok := condition.Discover(v)
		assert.False(t, ok, "%s", name)
	}
}

// Properties of any values: the order does not count, every value is in one set point, in its
// tolerance, names differ and ascend, and exact values keep theirs.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-100, 4000), 1, 30).Draw(t, "values")
		tol := condition.Tolerance{Absolute: rapid.Float64Range(1e-6, 2).Draw(t, "absolute")}
		if rapid.Bool().Draw(t, "relative") {
			tol = condition.Tolerance{Relative: rapid.Float64Range(1e-6, 0.2).Draw(t, "share")}
		}

		p := condition.SetPointsOf(values, tol)

		shuffled := slices.Clone(values)
		slices.Reverse(shuffled)
		q := condition.SetPointsOf(shuffled, tol)
		require.Equal(t, q.List, p.List, "values in another order")

		n := p.Nominals()
		require.True(t, slices.IsSorted(n), "the nominal values %v ascend", n)
		require.Len(t, slices.Compact(n), len(p.List), "the nominal values differ")

		for _, v := range values {
			c, ok := p.Find(v)
			require.True(t, ok, "%g of %v", v, p)
			require.GreaterOrEqual(t, v, c.Lo)
			require.LessOrEqual(t, v, c.Hi)

			limit := tol.Absolute + tol.Relative*math.Abs(c.Hi+c.Lo)/2
			require.LessOrEqual(t, c.Hi-c.Lo, 2*limit*(1+1e-6), "width of %v, tolerance %v", c, tol)
			if c.Lo == c.Hi {
				require.InDelta(t, c.Lo, c.Nominal, 0, "the nominal value of a single value")
			}
		}
	})
}

// Each of 40,000 evenly spaced values is a set point of its own, since the tolerance is a quarter of their distance.
// The number is great because a search that looks at all gaps for each cut takes 18 s for it.
func TestManySetPoints(t *testing.T) {
	const n = 40000
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i)
	}

	p := condition.SetPointsOf(v, condition.Tolerance{Absolute: 0.25})
	require.Len(t, p.List, n)
	require.InDelta(t, n-1, p.List[n-1].Nominal, 0)

	for i, x := range v {
		at, ok := p.Find(x + 0.2)
		require.True(t, ok, "%g", x)
		require.InDelta(t, float64(i), at.Nominal, 0, "%g", x)
	}
}

// Values near multiples of a round step have set points there, even if no set point is repeated. The tolerance is the
// next of 1, 2 and 5 times a power of ten above 1.2 times the greatest distance from a multiple, by hand.
func TestDiscoverRound(t *testing.T) {
	for _, c := range []struct {
		name      string
		values    []float64
		tolerance string // "": no set points
	}{
		{"angles", []float64{-4.004, -1.995, 0.002, 2.006, 3.998, 6.001}, "0.01"},
		{"angles in steps of a half", []float64{1.003, 1.498, 2.001, 2.497, 4.004, 8.002}, "0.005"},
		{"speeds of a shaft", []float64{2003, 2996, 4008, 4991, 6002}, "20"},
		{"beside a missing value", []float64{10.02, math.NaN(), 14.99, 20.01, 24.98, 30.03}, "0.05"},
		{"some exact", []float64{0, 5.02, 10, 14.97, 20.01, 25.02}, "0.05"},
		{"most exact: one may be a set point of its own", []float64{0, 100, 200, 204, 300, 400}, ""},
		{"most exact, and near", []float64{0, 2, 4, 6.01, 8, 9.99, 12}, "0.02"},
		{"exact in steps of a thousandth", []float64{635.997, 636.011, 636.025, 636.039, 636.133}, ""},
		{"exact", []float64{0, 0.3, 0.6, 0.9, 1.2, 1.5}, ""},
		{"anywhere", []float64{1.17, 2.62, 3.41, 5.88, 7.23, 8.69}, ""},
		{"two set points", []float64{0.01, 9.99, 10.02, 0.03, 10.01, -0.02}, ""},
		{"few", []float64{0.01, 1.99, 4.01, 6.02}, ""},
		{"equal", []float64{3, 3, 3, 3, 3, 3}, ""},
		{"none", nil, ""},
	} {
		points, ok := condition.DiscoverRound(c.values)
		require.Equal(t, c.tolerance != "", ok, c.name)

		if ok {
			assert.Equal(t, c.tolerance, points.Tolerance.String(), c.name)
		}
	}
}

// Tolerances are read as a person writes them. Texts of another form are errors.
func TestParseTolerance(t *testing.T) {
	for s, want := range map[string]condition.Tolerance{
		"20": {Absolute: 20}, "1 %": {Relative: 0.01}, "0.5%": {Relative: 0.005}, "0": {}, "199 %": {Relative: 1.99},
	} {
		got, err := condition.ParseTolerance(s)
		require.NoError(t, err, "%s", s)
		assert.Equal(t, want, got, "%s", s)
	}

	for _, s := range []string{"", "x", "-1", "1 %%", "Inf", "NaN", "1e10", "200 %"} {
		_, err := condition.ParseTolerance(s)
		assert.Error(t, err, "tolerance %q", s)
	}
}
