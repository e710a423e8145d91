package score

import (
	"math/rand/v2"
	"testing"

	"doubletake/train/triplets"
)

// Means that hardly vary teach nothing about the map: it is the same everywhere.
func TestGPBetaOfEqualMeans(t *testing.T) {
	s, total := Set{}, make([]float64, 60)
	rng := rand.New(rand.NewPCG(1, 2))

	s.Set = triplets.Set{N: 60, In: 1, Out: 1}
	for i := range total {
		total[i] = 1
		s.X, s.Run = append(s.X, float64(i)), append(s.Run, i)
		s.Mu = append(s.Mu, 1e-3*rng.NormFloat64())
		s.Y1, s.Y2 = append(s.Y1, rng.NormFloat64()), append(s.Y2, rng.NormFloat64())
	}

	if _, err := Recalibrate(s, total, nil, GPBeta); err != nil {
		t.Error(err)
	}
}
