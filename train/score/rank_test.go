package score

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The differences 1, 1, 3, 3 in two runs, the same for both seeds, have the mean 2. The sums 2 and 6 of the runs are 2
// below and 2 above twice the mean: by the formula of ClusteredMean, the squared standard error is
// 2/(2−1)·(2² + 2²)/4² = 1. If the means of the two seeds are 2 + ½ and 2 − ½, their variance is ½, and half of it is
// added.
func TestRankingByHand(t *testing.T) {
	best := []float64{1, 2, 3, 4}
	add := func(differences ...float64) []float64 {
		scores := slices.Clone(best)
		for i := range scores {
			scores[i] += differences[i]
		}

		return scores
	}

	run := []int{7, 7, 9, 9}
	r := Ranking([][][]float64{{add(1, 1, 3, 3), add(1, 1, 3, 3)}, {best, best}}, run)
	assert.Equal(t, 1, r[0].Method, "the best method")
	assert.Equal(t, 2.5, r[0].Mean)
	assert.Equal(t, 0.0, r[0].Above)
	assert.Equal(t, 0, r[1].Method, "the other method")
	assert.InDelta(t, 2, r[1].Above, 1e-12)
	assert.InDelta(t, 1, r[1].SE, 1e-12)
	assert.False(t, r[1].Worse, "two runs do not show a difference of two standard errors")

	q := Ranking([][][]float64{{add(1.5, 1.5, 3.5, 3.5), add(0.5, 0.5, 2.5, 2.5)}, {best, best}}, run)
	assert.InDelta(t, 0.25, q[1].SE*q[1].SE-r[1].SE*r[1].SE, 1e-12, "part of the seeds in the squared standard error")
}

// A method with an undefined score, and a method without seeds or rows, are left out. The others are ranked as they are
// without it: by hand, method 3 is best, and method 1 has 1 more.
func TestRankingLeavesOutUndefined(t *testing.T) {
	undefined := []float64{1, math.NaN(), 1}
	r := Ranking([][][]float64{{undefined}, {{3, 4, 5}}, {}, {{2, 3, 4}}, {{}}}, []int{0, 1, 2})
	require.Len(t, r, 2)
	assert.Equal(t, 3, r[0].Method, "the best method")
	assert.Equal(t, 1, r[1].Method, "the other method")
	assert.InDelta(t, 1, r[1].Above, 1e-12)

	assert.Nil(t, Ranking([][][]float64{{undefined}}, []int{0, 1, 2}), "no method with a mean")
}

// A difference is small if its upper limit, above + margin, is at most 0.1 for NLL and the ratio, and at most a tenth
// of the best score for CRPS and RMSE. Expected by hand: 0.01 + 0.014 ≤ 0.1·0.25 < 0.01 + 0.016.
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

// Two seeds that scatter leave one degree of freedom, for which Student's 97.5 % quantile is 12.7: a difference of nine
// standard errors may be chance. The same difference in two seeds that agree is not: its standard error is far smaller.
func TestRankingOfScatteringSeeds(t *testing.T) {
	const rows = 40
	run := make([]int, rows)
	none := make([]float64, rows)
	eight := make([]float64, rows)
	nine := make([]float64, rows)
	ten := make([]float64, rows)
	for i := range rows {
		run[i] = i
		eight[i] = 8 + 0.01*float64(i%2)
		nine[i] = 9 + 0.01*float64(i%2)
		ten[i] = 10 + 0.01*float64(i%2)
	}

	r := Ranking([][][]float64{{none, none}, {eight, ten}}, run)
	assert.InDelta(t, 9.005, r[1].Above, 1e-12)
	assert.InDelta(t, 9, r[1].Above/r[1].SE, 0.5, "standard errors between the methods")
	assert.False(t, r[1].Worse, "seeds that scatter")

	r = Ranking([][][]float64{{none, none}, {nine, nine}}, run)
	assert.InDelta(t, 9.005, r[1].Above, 1e-12)
	assert.True(t, r[1].Worse, "seeds that agree")
}

// Two methods with the same expectation are told apart in about one of twenty comparisons: either may have the smaller
// mean, so that the limit of 97.5 % is passed on both sides. A method that is worse by 2, twice the deviation of single
// rows, is found nearly always.
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

	// A number with the mean 50 and the deviation √(1000·0.05·0.95) = 6.9 lies between these bounds.
	assert.GreaterOrEqual(t, told, 25, "comparisons of equal methods that tell them apart")
	assert.LessOrEqual(t, told, 75, "comparisons of equal methods that tell them apart")
	assert.GreaterOrEqual(t, found, trials*99/100, "comparisons that find the worse method")
}
