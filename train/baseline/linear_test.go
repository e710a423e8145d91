package baseline

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"doubletake/internal/testfile"
	"doubletake/train/triplets"
)

// The expected values come from numpy's lstsq on all measurements with the terms that the simulated truth has
// (testdata/make_linear.py), fitted again without each group for the epistemic variance.
func TestLinearAgainstNumpy(t *testing.T) {
	var g struct {
		Groups                                []int
		X, Y1, Y2, At, Mean, Epistemic, Noise []float64
	}

	require.NoError(t, json.Unmarshal(testfile.Read(t, "testdata/linear.json"), &g))

	data := triplets.Set{N: len(g.Groups), In: 3, Out: 2, X: g.X, Y1: g.Y1, Y2: g.Y2, Group: g.Groups}
	r := predicted(t, fitted(t, "linear", data, 1), g.At)
	for k, want := range g.Mean {
		j := k % 2
		assert.InEpsilon(t, want, r.Mu[k], 1e-10, "mean %d", k)
		assert.InEpsilon(t, g.Epistemic[j], r.Epistemic[k], 1e-8, "epistemic variance %d", k)
		assert.InEpsilon(t, g.Epistemic[j]+g.Noise[j], r.Total[k], 1e-10, "total variance %d", k)
	}
}

// grouped simulates groups at 1, 2, …, each with a second input from 1 to 3 and a deviation of its own. The noise has
// the standard deviation 0.1.
func grouped(rng *rand.Rand, groups, rows int, deviation float64, truth func(group, x float64) float64) triplets.Set {
	d := triplets.Set{In: 2, Out: 1}
	for g := range groups {
		own := deviation * rng.NormFloat64()
		for i := range rows {
			x := 1 + 2*(float64(i)+rng.Float64())/float64(rows)
			y := truth(float64(g+1), x) + own
			d.N++
			d.X = append(d.X, float64(g+1), x)
			d.Group = append(d.Group, g)
			d.Y1 = append(d.Y1, y+0.1*rng.NormFloat64())
			d.Y2 = append(d.Y2, y+0.1*rng.NormFloat64())
		}
	}

	return d
}

// The groups have deviations with the variance 1, and the noise has the variance 0.01. Expected: Linear claims these
// two variances. The variance of 300 groups is known to four standard errors, and the error of the fit is small.
func TestLinearClaims(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := grouped(rng, 300, 4, 1, func(group, x float64) float64 { return 5 + 2*math.Log(x) + 0.01*group })
	r := predicted(t, fitted(t, "linear", d, 1), []float64{150, 2})
	assert.InDelta(t, 5+2*math.Log(2)+1.5, r.Mu[0], 0.3, "mean")
	assert.InDelta(t, 1, r.Epistemic[0], 4*math.Sqrt(2.0/300), "variance of the groups")
	assert.InDelta(t, 0.01, r.Total[0]-r.Epistemic[0], 0.002, "variance of the noise")
}

// Two groups, each at one value of the input, determine a line. Without one of the groups no term varies, so that the
// group is predicted by the mean of the other.
func TestLinearConstantWithoutGroup(t *testing.T) {
	d := triplets.Set{
		N: 4, In: 1, Out: 1, X: []float64{1, 1, 2, 2}, Group: []int{0, 0, 1, 1},
		Y1: []float64{0, 2, 10, 12}, Y2: []float64{0, 2, 10, 12},
	}
	r := predicted(t, fitted(t, "linear", d, 1), []float64{1, 2, 3})

	// The input and its logarithm fit equally well.
	ofInput := floats.EqualApprox(r.Mu, []float64{1, 11, 21}, 1e-9)
	ofLogarithm := floats.EqualApprox(r.Mu, []float64{1, 11, 1 + 10*math.Log2(3)}, 1e-9)
	assert.True(t, ofInput || ofLogarithm, "means %v", r.Mu)

	assert.InDelta(t, (81.0+121+121+81)/4, r.Epistemic[0], 1e-9, "epistemic by hand")
}
