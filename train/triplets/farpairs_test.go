package triplets

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Pairs of normal outcomes are not far. If the second outcome of every fifth pair is moved by 20 deviations of a
// difference, which are 20·√2 deviations of one outcome, these pairs are far, and their size is found.
func TestFarPairs(t *testing.T) {
	const n, sigma = 2000, 0.3
	rng := rand.New(rand.NewPCG(1, 2))

	s := Set{N: n, Out: 2, Y1: make([]float64, 2*n), Y2: make([]float64, 2*n)}
	for i := range s.Y1 {
		s.Y1[i] = 5 + sigma*rng.NormFloat64()
		s.Y2[i] = 5 + sigma*rng.NormFloat64()
	}

	assert.Empty(t, s.FarPairs(), "normal pairs")

	for i := range n / 5 {
		s.Y2[2*(5*i)+1] = s.Y1[2*(5*i)+1] + 20*sigma*math.Sqrt2
	}

	far := s.FarPairs()
	require.Len(t, far, n/5)

	// A fifth of far pairs moves the median of |d| to the quantile 0.625 of the others: 0.887 standard deviations instead
	// of 0.674, 1.315 times as many.
	first := far[0]
	assert.Zero(t, first.Row%5, "row %d is not moved", first.Row)
	assert.Equal(t, 1, first.Outcome)
	assert.InEpsilon(t, 1.315*sigma*math.Sqrt2, first.Deviation, 0.05, "deviation")
	assert.InEpsilon(t, 20*sigma*math.Sqrt2, first.Times*first.Deviation, 1e-12, "difference")
}

// Among few pairs or equal pairs none is far, and a pair with NaN is not far.
func TestFarPairsOfFew(t *testing.T) {
	few := Set{N: 9, Out: 1, Y1: make([]float64, 9), Y2: []float64{1, 1, 1, 1, 1, 1, 1, 1, 100}}
	equal := Set{N: 12, Out: 1, Y1: make([]float64, 12), Y2: make([]float64, 12)}
	equal.Y2[3] = 7
	equal.Y2[5] = math.NaN()
	assert.Empty(t, few.FarPairs(), "nine pairs")
	assert.Empty(t, equal.FarPairs(), "equal pairs and NaN")
}
