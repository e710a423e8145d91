package methods

import (
	"math"
	"math/rand/v2"
	"testing"

	"doubletake/train/baseline/baselinetest"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Simulated campaigns have k groups in training and a new one, with one condition each. The groups are exchangeable.
// Expected: a conformal interval of constant width contains the new group's values in a share of k/(k+1), and an
// interval in proportion to the process's deviation in at least this share. A short test has few campaigns, so its
// margin is wide.
func TestConformalCovers(t *testing.T) {
	campaigns := 40
	margin := 0.15
	if long() {
		campaigns = 1500
		margin = 0.02
	}

	const k = 9
	const want = float64(k) / (k + 1)
	for _, relative := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(4, 4))
		inside := 0.0
		for range campaigns {
			d := triplets.Set{N: k, In: 2, Out: 1}

			var x, pair []float64 // after the loop: of the last group, which is new
			for i, g := range rng.Perm(k + 1) {
				y := 0.5*float64(g)/k + rng.NormFloat64()
				x = []float64{float64(g), 1}
				pair = []float64{y + 0.3*rng.NormFloat64(), y + 0.3*rng.NormFloat64()}
				if i < k {
					d.X = append(d.X, x...)
					d.Y1 = append(d.Y1, pair[0])
					d.Y2 = append(d.Y2, pair[1])
				}
			}

			p, err := Conformal{relative}.Fit(t.Context(), d, 1)
			require.NoError(t, err)

			r := baselinetest.Predicted(t, p, x)
			for _, y := range pair {
				if math.Abs(y-r.Mu[0]) <= z95*math.Sqrt(r.Total[0]) {
					inside += 0.5 / float64(campaigns)
				}
			}
		}

		t.Logf("relative %t: %.3f inside", relative, inside)

		assert.GreaterOrEqual(t, inside, want-margin, "share inside, relative %t", relative)
		if !relative {
			assert.LessOrEqual(t, inside, want+margin, "share inside, relative %t", relative)
		}
	}
}
