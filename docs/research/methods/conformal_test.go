package methods

import (
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/train/baseline/baselinetest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/require"
)

// In simulated campaigns of nine like groups, one value each, an interval of constant width
// holds a new group's value in a share of K/(K+1), one over the process's deviation in no
// less. A short test has few campaigns.
func TestConformalCovers(t *testing.T) {
	campaigns, margin := 40, 0.15
	if long() {
		campaigns, margin = 1500, 0.02
	}

	const k = 9
	for _, relative := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(4, 4))
		inside := 0.0
		for range campaigns {
			d := triplets.Set{N: k, In: 2, Out: 1}

			var at, ends []float64 // the last group, which is new
			for i, g := range rng.Perm(k + 1) {
				y := 0.5*float64(g)/k + rng.NormFloat64()
				at, ends = []float64{float64(g), 1}, []float64{y + 0.3*rng.NormFloat64(), y + 0.3*rng.NormFloat64()}
				if i < k {
					d.X, d.Y1, d.Y2 = append(d.X, at...), append(d.Y1, ends[0]), append(d.Y2, ends[1])
				}
			}

			p, err := Conformal{relative}.Fit(t.Context(), d, 1)
			require.NoError(t, err)

			r := baselinetest.Predicted(t, p, at)
			for _, y := range ends {
				if math.Abs(y-r.Mu[0]) <= z95*math.Sqrt(r.Total[0]) {
					inside += 0.5 / float64(campaigns)
				}
			}
		}

		t.Logf("relative %t: %.3f inside", relative, inside)

		want := float64(k) / (k + 1)
		if inside < want-margin || !relative && inside > want+margin {
			t.Errorf("relative %t: %.3f inside, expected %.2f ± %.2f", relative, inside, want, margin)
		}
	}
}
