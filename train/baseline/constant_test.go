package baseline

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// Expected by hand: the values 1, 3, 5 and 7 have the mean 4, and the sum of squares 20 about it. The variance of the
// values is 20/3. The means of the pairs, 2 and 6, have the sum of squares 8, so that the variance of the mean is
// (8/1)/2 = 4.
func TestConstantByHand(t *testing.T) {
	data := triplets.Set{N: 2, In: 1, Out: 1, X: []float64{1, 1}, Y1: []float64{1, 5}, Y2: []float64{3, 7}}
	p, err := Constant{}.Fit(ctx, data, 1)
	require.NoError(t, err)

	r := predicted(t, p, []float64{-50, 50})
	for i := range r.Mu {
		assert.Equal(t, 4.0, r.Mu[i], "mean")
		assert.InDelta(t, 4, r.Epistemic[i], 1e-12, "variance of the mean")
		assert.InDelta(t, 20.0/3+4, r.Total[i], 1e-12, "total variance")
	}
}

// The two values of a pair share a normal deviation of standard deviation 1 and scatter by ½ each. Over many sets the
// mean has the variance (1 + ½·¼)/n, which the method claims on average, and a new value has 1 + ¼ more. Limits are
// four standard errors.
func TestConstantClosedForm(t *testing.T) {
	const n, repeats = 20, 4000
	rng := rand.New(rand.NewPCG(1, 1))

	var square, claim, total float64
	for range repeats {
		data := triplets.Set{N: n, In: 1, Out: 1, X: make([]float64, n)}
		for range n {
			shared := rng.NormFloat64()
			data.Y1 = append(data.Y1, shared+rng.NormFloat64()/2)
			data.Y2 = append(data.Y2, shared+rng.NormFloat64()/2)
		}

		p, err := Constant{}.Fit(ctx, data, 1)
		require.NoError(t, err)

		r := predicted(t, p, []float64{0})
		square += r.Mu[0] * r.Mu[0] / repeats
		claim += r.Epistemic[0] / repeats
		total += r.Total[0] / repeats
	}

	want := (1 + 0.125) / n
	assert.InEpsilon(t, want, square, 4*math.Sqrt(2.0/repeats), "variance of the mean")
	assert.InEpsilon(t, want, claim, 4*math.Sqrt(2.0/(n-1)/repeats), "claimed variance of the mean")

	// The sample variance of 2n values that agree in pairs falls short by about half the shared part over n, which is
	// 0.025.
	missing := 1.25 + want - total
	assert.GreaterOrEqual(t, missing, 0.0)
	assert.LessOrEqual(t, missing, 0.04)
}
