package triplets

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

// The variances between days and within days are found. Expected values: the simulated variances, 0.36 between days,
// 0.09 of each value and, with two runs a day, 0.16 of each run. The tolerance is three standard errors. The standard
// error of a variance with ν degrees of freedom is the share √(2/ν) of it. The variance between days has the standard
// error 2·0.6·√(variance of a day's mean/60).
func TestOccasions(t *testing.T) {
	for _, runs := range []int{1, 2} {
		rng := rand.New(rand.NewPCG(6, 1))
		var y []float64
		var repeats, day, run []string
		for r := range 60 * runs {
			offset := 0.4 * float64(runs-1) * rng.NormFloat64()
			for c := range 40 {
				if (c+r/runs)%3 > 0 { // not every condition on every day
					y = append(y, float64(c)+offset+0.3*rng.NormFloat64())
					repeats = append(repeats, strconv.Itoa(c))
					day = append(day, strconv.Itoa(r/runs))
					run = append(run, strconv.Itoa(r))
				}
			}
		}

		var offsets []float64
		for range 60 {
			offsets = append(offsets, 0.6*rng.NormFloat64())
		}

		for i, d := range day {
			k, err := strconv.Atoi(d)
			require.NoError(t, err)

			y[i] += offsets[k]
		}

		s := New(make([]Quantity, 0), make([]Quantity, 1), nil, y, slices.Clone(y))
		s.SetRuns(run)
		s.PairAcross(repeats, day)
		o, ok := s.Occasions()
		require.True(t, ok, "of 60 days")
		rest := 0.09
		degrees := 1600.0 - 40 - 59 // visits, conditions and days
		ofDay := 0.09 / 27          // about 27 conditions a day
		if runs == 2 {
			rest += 0.16
			degrees = 60 // the errors of runs, of which two a day leave one degree, dominate
			ofDay += 0.16 / 2
		}

		assert.InDelta(t, rest, o.Rest[0], 3*math.Sqrt(2/degrees)*rest, "within days")
		assert.InDelta(t, stat.Variance(offsets, nil), o.Between[0], 3*2*0.6*math.Sqrt(ofDay/60), "between days")

		o, _ = s.Select(s.RowsOf(Train)[100*runs:]).Occasions()
		require.Equal(t, 57, o.N, "occasions of the others")

		_, ok = s.Select([]int{0, 1, 2}).Occasions()
		require.False(t, ok, "of one day")
	}
}
