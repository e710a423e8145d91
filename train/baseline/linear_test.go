package baseline

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// Expected values: numpy's lstsq on all measurements, with the terms that the simulated truth
// has (testdata/make_linear.py), fitted again without each group for the epistemic variance.
func TestLinearAgainstNumpy(t *testing.T) {
	var g struct {
		Groups                                []int
		X, Y1, Y2, At, Mean, Epistemic, Noise []float64
	}

	raw, err := os.ReadFile("testdata/linear.json")
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}

	require.NoError(t, err)

	data := triplets.Set{N: len(g.Groups), In: 3, Out: 2, X: g.X, Y1: g.Y1, Y2: g.Y2, Group: g.Groups}
	r := predicted(t, fitted(t, "linear", data, 1), g.At)
	for k, want := range g.Mean {
		j := k % 2
		total := g.Epistemic[j] + g.Noise[j]
		if math.Abs(r.Mu[k]/want-1) > 1e-10 || math.Abs(r.Epistemic[k]/g.Epistemic[j]-1) > 1e-8 ||
			math.Abs(r.Total[k]/total-1) > 1e-10 {
			t.Errorf("value %d: %v, %v, %v, numpy %v, %v, %v", k, r.Mu[k], r.Epistemic[k], r.Total[k], want,
				g.Epistemic[j], total)
		}
	}
}

// grouped simulates groups at 1, 2, …, with an input of its own from 1 to 3 in each, a
// deviation of each group and noise of 0.1.
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

// By the law it was simulated with: on groups whose deviations have variance 1, and noise
// 0.01; with 300 groups the error of the fit is small.
func TestLinearClaims(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := grouped(rng, 300, 4, 1, func(group, x float64) float64 { return 5 + 2*math.Log(x) + 0.01*group })
	r := predicted(t, fitted(t, "linear", d, 1), []float64{150, 2})
	if math.Abs(r.Mu[0]-5-2*math.Log(2)-1.5) > 0.3 || math.Abs(r.Epistemic[0]-1) > 4*math.Sqrt(2.0/300) ||
		math.Abs(r.Total[0]-r.Epistemic[0]-0.01) > 0.002 {
		t.Errorf("%g, %g, %g", r.Mu[0], r.Epistemic[0], r.Total[0])
	}
}

// A term that does not vary without a left-out group gets no slope there: with two values of
// an input, each a group, the other's is not known, and the mean of the rest is the answer.
func TestLinearConstantWithoutGroup(t *testing.T) {
	d := triplets.Set{
		N: 4, In: 1, Out: 1, X: []float64{1, 1, 2, 2}, Group: []int{0, 0, 1, 1},
		Y1: []float64{0, 2, 10, 12}, Y2: []float64{0, 2, 10, 12},
	}
	r := predicted(t, fitted(t, "linear", d, 1), []float64{1, 2, 3})
	for i, want := range []float64{1, 11, 1 + 10*math.Log2(3)} {
		line := []float64{1, 11, 21}[i] // the input and its logarithm fit equally well
		if math.Abs(r.Mu[i]-want) > 1e-9 && math.Abs(r.Mu[i]-line) > 1e-9 {
			t.Errorf("at %d: %g, expected %g or %g", i+1, r.Mu[i], want, line)
		}
	}

	assert.InDelta(t, (81.0+121+121+81)/4, r.Epistemic[0], 1e-9, "epistemic by hand")
}

// By hand: the groups are at 2, 3 and 5; 2.4 is nearest to 2, 4 to 3 and 5 alike; the second
// input chooses the condition, and one equally far from two takes their mean.
func TestNearestGroupByHand(t *testing.T) {
	d := triplets.Set{
		N: 6, In: 2, Out: 1, X: []float64{2, 10, 2, 20, 3, 10, 3, 20, 5, 10, 5, 20}, Group: []int{7, 7, 8, 8, 9, 9},
		Y1: []float64{1, 2, 4, 8, 16, 32}, Y2: []float64{1, 2, 4, 8, 16, 32},
	}
	r := predicted(t, fitted(t, "nearest-group", d, 1), []float64{2.4, 11, 4, 19, 5, 15, 9, 99})
	for i, want := range []float64{1, 20, 24, 32} {
		assert.InDelta(t, want, r.Mu[i], 1e-12, "query %d", i)
	}

	// Left out, 2 is predicted by 3, 3 by 2, and 5 by 3.
	want := ((9.0+36)/2 + (9.0+36)/2 + (144.0+576)/2) / 3
	assert.InDelta(t, want, r.Epistemic[0], 1e-9, "epistemic")
}

// A set without groups takes its conditions for groups.
func TestWithoutGroups(t *testing.T) {
	named := toy(12, 1)
	d := named
	d.Group = nil
	named.Group, _ = triplets.Index(d.X, d.In)
	for _, info := range methods {
		if !info.Simple {
			continue
		}

		x := []float64{-2, 1.5, 7}
		a := predicted(t, fitted(t, info.Name, d, 1), x)
		b := predicted(t, fitted(t, info.Name, named, 1), x)
		require.Equal(t, b.Mu, a.Mu, "%s: %v, with groups %v", info.Name, a, b)
		assert.Equal(t, b.Total, a.Total, "%s: %v, with groups %v", info.Name, a, b)
	}
}
