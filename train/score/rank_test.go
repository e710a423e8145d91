package score

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// By hand: differences of 1, 1, 3, 3 in two runs over two seeds that agree have the
// mean 2 and, with runs of equal size, the standard error 1; seeds that differ by ±d
// add their variance 2d²/2.
func TestRankingByHand(t *testing.T) {
	best := []float64{1, 2, 3, 4}
	add := func(d ...float64) []float64 {
		out := append([]float64(nil), best...)
		for i := range out {
			out[i] += d[i]
		}

		return out
	}

	run := []int{7, 7, 9, 9}
	r := Ranking([][][]float64{{add(1, 1, 3, 3), add(1, 1, 3, 3)}, {best, best}}, run)
	if r[0].Method != 1 || r[0].Mean != 2.5 || r[0].Above != 0 || r[1].Method != 0 || math.Abs(r[1].Above-2) > 1e-12 ||
		math.Abs(r[1].SE-math.Sqrt(ssOfRuns)) > 1e-12 || r[1].Worse {
		t.Errorf("%+v", r)
	}

	q := Ranking([][][]float64{{add(1.5, 1.5, 3.5, 3.5), add(0.5, 0.5, 2.5, 2.5)}, {best, best}}, run)
	assert.InDelta(t, 0.25, q[1].SE*q[1].SE-r[1].SE*r[1].SE, 1e-12,
		"SE² %v without and %v with seeds that differ by ±½", r[1].SE*r[1].SE, q[1].SE*q[1].SE)
}

// The two runs' means are 1 and 3 about 2: by ClusteredMean's G/(G−1), SE² =
// 2·(2² + 2²)/4² = 1.
const ssOfRuns = 1.0

// A loss is small up to 0.1 of NLL, and up to a tenth of the best CRPS, at its upper limit.
func TestStanding(t *testing.T) {
	for _, c := range []struct {
		key                 string
		best, above, margin float64
		worse               bool
		want                string
	}{
		{"nll", 2.28, 3.43, 4, false, "undecided"}, // 5.71 against 2.28
		{"nll", 2.28, 3.43, 1, true, "worse"},
		{"nll", 2.28, 0.04, 0.05, false, "as good"},
		{"crps", 0.25, 0.01, 0.014, false, "as good"},
		{"crps", 0.25, 0.01, 0.016, false, "undecided"},
		{"rmse", 4, 0.1, 0.2, false, "as good"},
		{"ratio", 4, 0.1, 0.2, false, "undecided"},
		{"crps", 1, 0, math.NaN(), false, "undecided"}, // one run
	} {
		assert.Equal(t, c.want, Standing(c.key, c.best, c.above, c.margin, c.worse),
			"%s %g above %g, margin %g", c.key, c.above, c.best, c.margin)
	}
}

// Two seeds that scatter leave one degree of freedom: a difference of nine standard
// errors that comes from one of them may be chance (Student's 97.5 % is 12.7), the
// same difference in both is none.
func TestRankingOfScatteringSeeds(t *testing.T) {
	const rows = 40
	run := make([]int, rows)
	none := make([]float64, rows)
	some := make([]float64, rows)
	more := make([]float64, rows)
	for i := range rows {
		run[i] = i
		some[i] = 8 + 0.01*float64(i%2)
		more[i] = 10 + 0.01*float64(i%2)
	}

	r := Ranking([][][]float64{{none, none}, {some, more}}, run)
	if s := r[1].Above / r[1].SE; r[1].Worse || s < 8.5 || s > 9.5 {
		t.Errorf("seeds that scatter: %+v", r[1])
	}

	if r := Ranking([][][]float64{{none, none}, {more, more}}, run); !r[1].Worse {
		t.Errorf("seeds that agree: %+v", r[1])
	}
}

// Two methods with the same expectation are told apart in about one of forty
// comparisons (one-sided), and one that is worse by half a deviation of single rows
// nearly always.
func TestRankingHoldsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	const rows, runs, trials = 60, 20, 1000
	run := make([]int, rows)
	for i := range run {
		run[i] = i % runs
	}

	told := 0
	found := 0
	for range trials {
		a := make([]float64, rows)
		b := make([]float64, rows)
		c := make([]float64, rows)

		shared := make([]float64, runs)
		for i := range shared {
			shared[i] = rng.NormFloat64()
		}

		for i := range rows {
			hard := 5 * rng.NormFloat64() // of the row, the same for all methods
			a[i] = hard + shared[run[i]] + rng.NormFloat64()
			b[i] = hard + rng.NormFloat64()
			c[i] = hard + 2
		}

		if r := Ranking([][][]float64{{a}, {b}}, run); r[1].Worse {
			told++
		}

		if r := Ranking([][][]float64{{b}, {c}}, run); r[1].Worse && r[1].Method == 1 {
			found++
		}
	}

	require.GreaterOrEqual(t, told, trials/50, "told apart in %d of %d, found in %d", told, trials, found)
	require.LessOrEqual(t, told, trials/10, "told apart in %d of %d, found in %d", told, trials, found)
	assert.GreaterOrEqual(t, found, trials*99/100, "told apart in %d of %d, found in %d", told, trials, found)
}
