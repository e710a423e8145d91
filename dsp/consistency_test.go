package dsp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Expected values: scipy's ttest_ind and kendalltau (testdata/README.md). Welch's t of constants is undefined.
func TestWelchTAndReverseArrangements(t *testing.T) {
	var cases []struct {
		First, Second []float64
		T, P, Dof     float64
		Reverse       float64
		ReverseP      float64 `json:"reverse_p"`
	}

	readJSON(t, "tests.json", &cases)

	require.NotEmpty(t, cases)

	for i, c := range cases {
		stat, dof, p, ok := WelchT(c.First, c.Second)
		require.True(t, ok, "case %d", i)
		require.InDelta(t, c.T, stat, 1e-12, "case %d", i)
		require.InDelta(t, c.Dof, dof, 1e-10, "case %d", i)
		assert.InDelta(t, c.P, p, 1e-10, "case %d", i)

		n, p := ReverseArrangements(append(c.First, c.Second...))
		assert.Equal(t, c.Reverse, n, "case %d: reverse arrangements", i)
		assert.InDelta(t, c.ReverseP, p, 1e-12, "case %d: p of the reverse arrangements", i)
	}

	_, _, p, ok := WelchT([]float64{1, 1}, []float64{1, 1})
	assert.False(t, ok, "t of constants is not defined")
	assert.InDelta(t, 1.0, p, 0, "p of constants")
}

// Expected: the share of all orders of the values whose count is as far from the middle n(n−1)/4 as the count of x, or
// further, by trying all orders. By hand: {1, 1, 1, 2} has four orders, with counts 1.5, 2.5, 3.5 and 4.5, of which two
// are as far from 3 as 1.5.
func TestReverseArrangementsOfEqualValues(t *testing.T) {
	_, p := ReverseArrangements([]float64{1, 1, 1, 2})
	assert.InDelta(t, 0.5, p, 1e-15, "by hand")

	for _, x := range [][]float64{
		{1},
		{1, 1},
		{1, 1, 2},
		{2, 1, 1},
		{1, 2, 1},
		{2, 1, 1, 1},
		{1, 2, 1, 2},
		{7, 7, 7, 7, 7},
		{1, 1, 2, 2, 3, 3},
		{3, 3, 2, 2, 1, 1},
		{5, 1, 4, 4, 2, 2, 1},
		{1, 2, 3, 4, 4, 5, 6},
		{2, 2, 1, 3, 3, 3, 1},
		{6, 5, 4, 3, 2, 1, 0},
	} {
		count, p := ReverseArrangements(x)
		middle := float64(len(x)*(len(x)-1)) / 4
		far, orders := 0, 0
		forEachOrder(slices.Clone(x), len(x), func(order []float64) {
			orders++
			if math.Abs(halvesCount(order)-middle) >= math.Abs(count-middle) {
				far++
			}
		})

		assert.InDelta(t, halvesCount(x), count, 0, "%v: count", x)
		assert.InDelta(t, float64(far)/float64(orders), p, 1e-12, "%v: p", x)
	}
}

// Expected p, by counting: n values in ascending order but for a few neighbours have as few reverse arrangements in
// k of the n!/Π(size!) orders of groups of equal values. Of two groups of n/2, k orders have at most r arrangements.
// k is the number of partitions of the numbers up to r: 1, 2, 4, 7, 12 and 19 for r = 0 … 5.
func TestReverseArrangementsOfLargeGroups(t *testing.T) {
	for _, c := range []struct {
		groups, size int
		reverse      int // the last value of the first of two groups moves back by so many places
		few          float64
	}{
		{2, 8, 0, 1},
		{2, 10, 0, 1},
		{2, 16, 0, 1},
		{2, 16, 1, 2},
		{2, 16, 2, 4},
		{2, 16, 5, 19},
		{10, 2, 0, 1},
		{8, 4, 0, 1},
		{32, 2, 0, 1},
	} {
		var x []float64
		orders := 1.0
		for group := range c.groups {
			for member := range c.size {
				x = append(x, float64(group))
				orders *= float64(len(x)) / float64(member+1)
			}
		}

		for place := c.size - 1; place < c.size-1+c.reverse; place++ {
			x[place], x[place+1] = x[place+1], x[place]
		}

		count, p := ReverseArrangements(x)
		equal := float64(c.groups * c.size * (c.size - 1) / 2)
		assert.InDelta(t, float64(c.reverse)+equal/2, count, 0, "%+v: count", c)
		assert.InEpsilon(t, 2*c.few/orders, p, 1e-12, "%+v: p", c)
	}
}

// The probabilities of reverse arrangements of any groups are at least 0 and add up to 1.
func TestArrangementsAreProbabilities(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 16), 1, 6).Draw(t, "sizes")
		last := 0.0
		for _, p := range arrangementsOfGroups(sizes) {
			assert.GreaterOrEqual(t, p, last)
			last = p
		}

		assert.InDelta(t, 1, last, 1e-12)
	})
}

// halvesCount counts pairs in reverse order, and half of the pairs of equal values.
func halvesCount(x []float64) float64 {
	count := 0.0
	for j := range x {
		for _, before := range x[:j] {
			switch {
			case before > x[j]:
				count++
			case before == x[j]:
				count += 0.5
			}
		}
	}

	return count
}

// forEachOrder calls visit with x in all orders of its first n values.
func forEachOrder(x []float64, n int, visit func(order []float64)) {
	if n <= 1 {
		visit(x)
		return
	}

	for i := range n {
		x[i], x[n-1] = x[n-1], x[i]
		forEachOrder(x, n-1, visit)
		x[i], x[n-1] = x[n-1], x[i]
	}
}

// Expected by hand, as Holm (1979) defines it: the sorted values .01, .02, .03, .2 times 4, 3, 2, 1 are .04, .06, .06,
// .2, and no value is smaller than the one before. For any values, a correction makes no p smaller, and none larger
// than 1.
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.03, 0.01, 0.2, 0.02})
	for i, want := range []float64{0.06, 0.04, 0.2, 0.06} {
		assert.InDelta(t, want, got[i], 1e-15, "p %d", i)
	}

	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		for i, a := range Holm(p) {
			require.GreaterOrEqual(t, a, p[i], "adjusted %g of %g", a, p[i])
			require.LessOrEqual(t, a, 1.0, "adjusted %g of %g", a, p[i])
		}
	})
}

// consistencySignal returns 16 s of a rotor's sound at 1 kHz: five harmonics of 40 Hz, whose amplitude is multiplied by
// gain(t), and white noise, which is multiplied by level(t).
func consistencySignal(r *rand.Rand, gain func(t float64) float64, level func(t float64) float64) []float64 {
	x := make([]float64, 16000)

	var phase [5]float64
	for m := range phase {
		phase[m] = 2 * math.Pi * r.Float64()
	}

	for i := range x {
		t := float64(i) / 1000
		for m := range phase {
			x[i] += gain(t) * math.Sin(2*math.Pi*40*float64(m+1)*t+phase[m]) / float64(m+1)
		}

		x[i] += 0.3 * level(t) * r.NormFloat64()
	}

	return x
}

// one is a gain that does not change.
func one(float64) float64 { return 1 }

// Expected: at least 90 % of runs with a disturbance have the flag of this disturbance. Steady sound and steady
// amplitude modulation are flagged by chance only, in 5 % of runs by Holm's correction; the test allows 10 %.
func TestConsistencyFlags(t *testing.T) {
	half := func(before, after float64) func(float64) float64 {
		return func(t float64) float64 {
			if t < 8 {
				return before
			}
			return after
		}
	}

	runs := turns(120, 16)
	for _, c := range []struct {
		name        string
		gain, level func(float64) float64
		code        string // the flag that nearly every run has, or "": nearly no run has a flag
	}{
		{"steady", one, one, ""},
		{"amplitude modulation", func(t float64) float64 { return 1 + 0.5*math.Sin(2*math.Pi*0.9*t) }, one, ""},
		{"step", half(1, 1.4), one, "harmonic-drift"},
		{"ramp", func(t float64) float64 { return 1 + 0.04*t }, one, "trend"},
		{"floor", one, half(1, 1.5), "floor-ratio"},
		{"knock", one, func(t float64) float64 {
			if t > 2.2 && t < 2.4 {
				return 6
			}
			return 1
		}, "outlier-segment"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hits := 0    // runs with the flag c.code
			flagged := 0 // runs with any flag

			a := NewAnalyser()
			for i := range runs {
				r := rand.New(rand.NewPCG(uint64(i), 5))
				x := memory{consistencySignal(r, c.gain, c.level), consistencySignal(r, c.gain, c.level)}
				run, err := a.run(t.Context(), x, rotorAt(x, 1000, 2, 20))
				require.NoError(t, err)

				hit := false
				for _, f := range run.Flags {
					hit = hit || f.Code == c.code
				}

				if hit {
					hits++
				}

				if len(run.Flags) > 0 {
					flagged++
				}
			}

			t.Logf("%d of %d runs flagged, %d with %q", flagged, runs, hits, c.code)

			if c.code == "" {
				assert.LessOrEqual(t, float64(flagged), 0.1*float64(runs), "runs with a flag, of %d", runs)
			} else {
				assert.GreaterOrEqual(t, float64(hits), 0.9*float64(runs), "runs with %s, of %d", c.code, runs)
			}
		})
	}
}

// The simulated shaft changes its speed between the halves. Expected: a change of 1 % is flagged with its size, and a
// change below the limit of 0.2 % is not flagged.
func TestSpeedShiftFlag(t *testing.T) {
	for _, c := range []struct {
		shift     float64 // of the second half's speed, relative to the first
		isFlagged bool
	}{{0.01, true}, {-0.01, true}, {0.0015, false}, {0, false}} {
		x := make([]float64, 16000)
		r := rand.New(rand.NewPCG(1, 1))

		phase := 0.0
		for i := range x {
			f := 20.
			if i >= 8000 {
				f *= 1 + c.shift
			}

			phase += 2 * math.Pi * f / 2000
			for m := 1; m <= 5; m++ {
				x[i] += math.Sin(2 * float64(m) * phase)
			}

			x[i] += 0.2 * r.NormFloat64()
		}

		run := analyse(t, memory{x}, rotorAt(memory{x}, 2000, 2, 20.1))

		found := false
		for _, f := range run.Flags {
			if f.Code == "speed-shift" {
				found = true
				assert.InDelta(t, c.shift, f.Statistic, 5e-4, "shift")
			}
		}

		assert.Equal(t, c.isFlagged, found, "shift %g: flagged", c.shift)
	}
}

// Numbers that only grow have no reverse arrangement. Chance rarely gives such an order.
func ExampleReverseArrangements() {
	count, p := ReverseArrangements([]float64{1, 2, 3, 4, 5, 6})
	fmt.Printf("%g of 15, p = %.4f\n", count, p)
	// Output: 0 of 15, p = 0.0028
}
