package train

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// sine draws n triplets of y = sin(x) with noise of the deviation 0.2, for x from −3 to 3.
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

// FitSingle minimises ℓ(y1|x) + ℓ(y2|x). With a step size that changes nothing and without dropout, the history has the
// loss of the returned weights. Expected value: the same loss from the predictions of the model, with β = 0
// (docs/method.md#model-and-training). The model records the settings with which it was trained.
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
	m, history, err := FitSingle(context.Background(), d, c, nil)
	require.NoError(t, err)

	mu, v := m.Predict(d.X)
	std := m.OutcomeScale().Std[0]

	want := 0.0
	for i := range d.N {
		variance := v[i] / (std * std)
		for _, y := range []float64{d.Y1[i], d.Y2[i]} {
			residual := (y - mu[i]) / std
			want += (0.5*math.Log(variance) + residual*residual/(2*variance)) / float64(d.N)
		}
	}

	assert.InDelta(t, want, history[0].Loss, 1e-5*math.Abs(want), "loss")
	assert.Equal(t, Symmetrised, m.Config.Pairs)
	assert.Equal(t, DropWeights, m.Config.Feedback)
}

// A network that answers once ignores the feedback: its second answer is its first, and its covariance is 0. It learns
// the sine all the same.
func TestFitSingleIgnoresFeedback(t *testing.T) {
	d := sine(400)
	c := DefaultConfig()
	c.Epochs = 120
	c.Hidden = []int{24, 24}
	m, history, err := FitSingle(context.Background(), d, c, nil)
	require.NoError(t, err)
	assert.Less(t, history[len(history)-1].Loss, history[0].Loss-1, "loss after the training")

	x := []float64{-2.5, -1, 0, 0.7, 2.9}
	mu, v := m.Predict(x)

	secondMu, secondV := m.PredictGiven(x, []float64{9, -3, 0, 1, 7})
	assert.Equal(t, mu, secondMu, "means of the second answer")
	assert.Equal(t, v, secondV, "variances of the second answer")

	e := estimated(t, m, x, EstimateOptions{})
	for i := range x {
		assert.InDelta(t, math.Sin(x[i]), mu[i], 0.2, "mean at %g", x[i])
		assert.InDelta(t, 0, e.Cov[i], 1e-6, "C at %g", x[i])
		assert.InDelta(t, 0, e.Delta[i], 1e-6, "δ at %g", x[i])
	}
}
