package train

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"doubletake/train/triplets"
)

// Expected values: enumeration of all 2¹¹ dropout masks in numpy; torch's
// dropout agrees with it within its own standard error (testdata/README.md).
func TestPredictDropoutAgainstEnumeration(t *testing.T) {
	raw, err := os.ReadFile("testdata/dropout.json")
	if err != nil {
		t.Fatal(err)
	}

	var g struct {
		Model                   Model
		X, Mu, Variance, Spread []float64
		Fourth                  []float64
		TorchMu                 []float64 `json:"torch_mu"`
		TorchSpread             []float64 `json:"torch_spread"`
		TorchSamples            float64   `json:"torch_samples"`
	}

	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}

	const samples = 20000
	mu, variance, spread, err := g.Model.PredictDropout(context.Background(), g.X, samples, 3)
	if err != nil {
		t.Fatal(err)
	}

	for k := range mu {
		if d, se := mu[k]-g.Mu[k], math.Sqrt(g.Spread[k]/samples); math.Abs(d) > 4*se {
			t.Errorf("mean %d: %v, want %v ± %v", k, mu[k], g.Mu[k], se)
		}

		if d, se := spread[k]-g.Spread[k], math.Sqrt(g.Fourth[k]/samples); math.Abs(d) > 4*se {
			t.Errorf("spread %d: %v, want %v ± %v", k, spread[k], g.Spread[k], se)
		}

		if math.Abs(variance[k]/g.Variance[k]-1) > 0.03 {
			t.Errorf("variance %d: %v, want %v", k, variance[k], g.Variance[k])
		}

		se := math.Sqrt(g.Spread[k] * (1/g.TorchSamples + 1.0/samples))
		if math.Abs(mu[k]-g.TorchMu[k]) > 4*se {
			t.Errorf("mean %d: %v, torch %v ± %v", k, mu[k], g.TorchMu[k], se)
		}
	}

	// A condition's numbers depend on the condition alone.
	a, _, c, err := g.Model.PredictDropout(context.Background(), g.X[2:4], samples, 3)
	if err != nil || a[0] != mu[2] || c[1] != spread[3] {
		t.Errorf("asked alone: %v and %v, in company %v and %v (%v)", a, c, mu[2:4], spread[2:4], err)
	}

	if _, _, _, err := g.Model.PredictDropout(context.Background(), g.X, 1, 3); err == nil {
		t.Error("one sample has no spread")
	}
}

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
	c.Dropout, c.Beta, c.LearningRate, c.Epochs, c.Kernels, c.Pairs, c.Feedback = 0, 0, 1e-12, 1, "portable", Plain, Flag
	m, h, err := FitSingle(context.Background(), d, c, nil)
	if err != nil {
		t.Fatal(err)
	}

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

	if math.Abs(h[0].Loss-want) > 1e-5*math.Abs(want) {
		t.Errorf("loss %v, want %v", h[0].Loss, want)
	}

	if m.Config.Pairs != Symmetrised || m.Config.Feedback != DropWeights {
		t.Errorf("recorded settings %+v", m.Config)
	}
}

// A network that answers once ignores the feedback: its second answer is its first,
// and its covariance zero.
func TestFitSingleIsDeaf(t *testing.T) {
	d := sine(400)
	c := DefaultConfig()
	c.Epochs, c.Hidden = 120, []int{24, 24}
	m, h, err := FitSingle(context.Background(), d, c, nil)
	if err != nil {
		t.Fatal(err)
	}

	if h[len(h)-1].Loss > h[0].Loss-1 {
		t.Errorf("loss %v → %v: nothing was learned", h[0].Loss, h[len(h)-1].Loss)
	}

	x := []float64{-2.5, -1, 0, 0.7, 2.9}
	mu, v := m.Predict(x)

	again, w := m.PredictGiven(x, []float64{9, -3, 0, 1, 7})
	for i := range mu {
		if mu[i] != again[i] || v[i] != w[i] {
			t.Errorf("x = %v: first %v (%v), second %v (%v)", x[i], mu[i], v[i], again[i], w[i])
		}

		if math.Abs(mu[i]-math.Sin(x[i])) > 0.2 {
			t.Errorf("x = %v: mean %v, truth %v", x[i], mu[i], math.Sin(x[i]))
		}
	}

	e := estimated(t, m, x, EstimateOptions{})

	for i := range x {
		if math.Abs(e.Cov[i]) > 1e-6 || math.Abs(e.Delta[i]) > 1e-6 {
			t.Errorf("x = %v: C = %v, δ = %v", x[i], e.Cov[i], e.Delta[i])
		}
	}
}
