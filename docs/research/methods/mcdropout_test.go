package methods

import (
	"encoding/json"
	"math"
	"testing"

	"doubletake/internal/must"
	"doubletake/train"
	"doubletake/train/triplets"
)

// Expected values: enumeration of all 2¹¹ dropout masks in numpy float64, and torch's
// dropout, which agrees with it within its own standard error.
func TestDropoutAgainstEnumeration(t *testing.T) {
	raw := must.Read(t, "testdata/dropout.json")

	var g struct {
		Model                   train.Model
		X, Mu, Variance, Spread []float64
		Fourth                  []float64
		TorchMu                 []float64 `json:"torch_mu"`
		TorchSpread             []float64 `json:"torch_spread"`
		TorchSamples            float64   `json:"torch_samples"`
	}

	must.Do(t, json.Unmarshal(raw, &g))

	const samples = 20000
	p := dropoutPredictor{&g.Model, masks(g.Model.Config, samples, 3)}
	r, err := p.Predict(t.Context(), g.X)
	must.Do(t, err)

	for k := range r.Mu {
		if d, se := r.Mu[k]-g.Mu[k], math.Sqrt(g.Spread[k]/samples); math.Abs(d) > 4*se {
			t.Errorf("mean %d: %v, want %v ± %v", k, r.Mu[k], g.Mu[k], se)
		}

		if d, se := r.Epistemic[k]-g.Spread[k], math.Sqrt(g.Fourth[k]/samples); math.Abs(d) > 4*se {
			t.Errorf("spread %d: %v, want %v ± %v", k, r.Epistemic[k], g.Spread[k], se)
		}

		must.Near(t, r.Total[k]-r.Epistemic[k], g.Variance[k], 0.03*g.Variance[k], "variance %d", k)

		se := math.Sqrt(g.Spread[k] * (1/g.TorchSamples + 1.0/samples))
		must.Near(t, r.Mu[k], g.TorchMu[k], 4*se, "mean %d: ± %v", k, se)
	}
}

func TestDropoutNeedsDropout(t *testing.T) {
	c := settings().Config
	c.Dropout = 0

	_, err := MCDropout{Config: c}.Fit(t.Context(), triplets.Set{N: 1}, 1)
	must.Refuse(t, err, "no dropout")
}
