package triplets

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Differences of simulated normal outcomes: the robust deviation is √2 times that
// of one outcome, no pair is far, and pairs that are moved by 20 deviations are
// found with their size, however many there are up to a fifth.
func TestFarPairs(t *testing.T) {
	const n, sigma = 2000, 0.3
	rng := rand.New(rand.NewPCG(1, 2))

	s := Set{N: n, Out: 2, Y1: make([]float64, 2*n), Y2: make([]float64, 2*n)}
	for i := range s.Y1 {
		s.Y1[i], s.Y2[i] = 5+sigma*rng.NormFloat64(), 5+sigma*rng.NormFloat64()
	}

	if far := s.FarPairs(); len(far) != 0 {
		t.Errorf("%d of normal pairs are far: %+v", len(far), far[0])
	}

	for i := range n / 5 {
		s.Y2[2*(5*i)+1] = s.Y1[2*(5*i)+1] + 20*sigma*math.Sqrt2
	}

	far := s.FarPairs()
	require.Len(t, far, n/5, "far pairs")

	// A fifth of far pairs moves the median of |d| to the quantile 0.625 of the
	// others: 0.887 standard deviations instead of 0.674.
	if f := far[0]; f.Row%5 != 0 || f.Outcome != 1 || math.Abs(f.Deviation/(sigma*math.Sqrt2)/1.315-1) > 0.05 ||
		math.Abs(f.Times*f.Deviation/(20*sigma*math.Sqrt2)-1) > 1e-12 {
		t.Errorf("%+v", f)
	}
}

// Few pairs, equal pairs and no numbers are never far.
func TestFarPairsOfFew(t *testing.T) {
	few := Set{N: 9, Out: 1, Y1: make([]float64, 9), Y2: []float64{1, 1, 1, 1, 1, 1, 1, 1, 100}}
	equal := Set{N: 12, Out: 1, Y1: make([]float64, 12), Y2: make([]float64, 12)}
	equal.Y2[3] = 7
	equal.Y2[5] = math.NaN()
	for _, s := range []Set{few, equal} {
		if far := s.FarPairs(); len(far) != 0 {
			t.Errorf("%+v", far)
		}
	}
}
