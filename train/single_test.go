package train

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

func sine(n int) triplets.Set {
	d := triplets.Set{N: n, In: 1, Out: 1}

	p := newStream(5, 99)
	for range n {
		x := 6 * (uniform(p) - 0.5)
		d.X = append(d.X, x)
		d.Y1 = append(d.Y1, math.Sin(x)+0.2*normQuantile(uniform(p)))
		d.Y2 = append(d.Y2, math.Sin(x)+0.2*normQuantile(uniform(p)))
	}

	return d
}

// FitSingle's loss is ℓ(y1|x) + ℓ(y2|x): with a step size that changes nothing
// and no dropout, the history holds the loss of the returned weights, computed
// here from their predictions (β = 0, docs/method.md#model-and-training).
func TestFitSingleLoss(t *testing.T) {
	d := sine(101)
	c := DefaultConfig()
	c.Dropout = 0
	c.Beta = 0
	c.LearningRate = 1e-12
	c.Epochs = 1
	c.Kernels = "portable"
	c.Pairs = Plain
	c.Feedback = Flag
	m, h, err := FitSingle(context.Background(), d, c, nil)
	require.NoError(t, err)

	mu, v := m.Predict(d.X)
	std := m.OutcomeScale().Std

	want := 0.0
	for i := range d.N {
		s2 := v[i] / (std[0] * std[0])
		for _, y := range []float64{d.Y1[i], d.Y2[i]} {
			r := (y - mu[i]) / std[0]
			want += (0.5*math.Log(s2) + r*r/(2*s2)) / float64(d.N)
		}
	}

	assert.InDelta(t, want, h[0].Loss, 1e-5*math.Abs(want), "loss")
	require.Equal(t, Symmetrised, m.Config.Pairs, "recorded settings %+v", m.Config)
	assert.Equal(t, DropWeights, m.Config.Feedback, "recorded settings %+v", m.Config)
}

// A network that answers once ignores the feedback: its second answer is its first,
// and its covariance zero.
func TestFitSingleIsDeaf(t *testing.T) {
	d := sine(400)
	c := DefaultConfig()
	c.Epochs = 120
	c.Hidden = []int{24, 24}
	m, h, err := FitSingle(context.Background(), d, c, nil)
	require.NoError(t, err)
	assert.LessOrEqual(t, h[len(h)-1].Loss, h[0].Loss-1, "loss %v → %v: nothing was learned", h[0].Loss, h[len(h)-1].Loss)

	x := []float64{-2.5, -1, 0, 0.7, 2.9}
	mu, v := m.Predict(x)

	again, w := m.PredictGiven(x, []float64{9, -3, 0, 1, 7})
	for i := range mu {
		require.Equal(t, again[i], mu[i], "x = %v: first %v (%v), second %v (%v)", x[i], mu[i], v[i], again[i], w[i])
		assert.Equal(t, w[i], v[i], "x = %v: first %v (%v), second %v (%v)", x[i], mu[i], v[i], again[i], w[i])
		assert.InDelta(t, math.Sin(x[i]), mu[i], 0.2, "x = %v: mean", x[i])
	}

	e := estimated(t, m, x, EstimateOptions{})

	for i := range x {
		require.LessOrEqual(t, math.Abs(e.Cov[i]), 1e-6, "x = %v: C = %v, δ = %v", x[i], e.Cov[i], e.Delta[i])
		assert.LessOrEqual(t, math.Abs(e.Delta[i]), 1e-6, "x = %v: C = %v, δ = %v", x[i], e.Cov[i], e.Delta[i])
	}
}
