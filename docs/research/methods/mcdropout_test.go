package methods

import (
	"encoding/json"
	"math"
	"testing"

	"doubletake/internal/testfile"
	"doubletake/train"
	"doubletake/train/triplets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Expected values: enumeration of all 2¹¹ dropout masks in numpy float64, and torch's
// dropout, which agrees with it within its own standard error.
func TestDropoutAgainstEnumeration(t *testing.T) {
	raw := testfile.Read(t, "testdata/dropout.json")

	var g struct {
		Model                   train.Model
		X, Mu, Variance, Spread []float64
		Fourth                  []float64
		TorchMu                 []float64 `json:"torch_mu"`
		TorchSpread             []float64 `json:"torch_spread"`
		TorchSamples            float64   `json:"torch_samples"`
	}

	require.NoError(t, json.Unmarshal(raw, &g))

	const samples = 20000
	p := dropoutPredictor{&g.Model, masks(g.Model.Config, samples, 3)}
	r, err := p.Predict(t.Context(), g.X)
	require.NoError(t, err)

	for k := range r.Mu {
		if d, se := r.Mu[k]-g.Mu[k], math.Sqrt(g.Spread[k]/samples); math.Abs(d) > 4*se {
			t.Errorf("mean %d: %v, want %v ± %v", k, r.Mu[k], g.Mu[k], se)
		}

		if d, se := r.Epistemic[k]-g.Spread[k], math.Sqrt(g.Fourth[k]/samples); math.Abs(d) > 4*se {
			t.Errorf("spread %d: %v, want %v ± %v", k, r.Epistemic[k], g.Spread[k], se)
		}

		assert.InDelta(t, g.Variance[k], r.Total[k]-r.Epistemic[k], 0.03*g.Variance[k], "variance %d", k)

		se := math.Sqrt(g.Spread[k] * (1/g.TorchSamples + 1.0/samples))
		assert.InDelta(t, g.TorchMu[k], r.Mu[k], 4*se, "mean %d: ± %v", k, se)
	}
}

func TestDropoutNeedsDropout(t *testing.T) {
	c := settings().Config
	c.Dropout = 0

	_, err := MCDropout{Config: c}.Fit(t.Context(), triplets.Set{N: 1}, 1)
	assert.ErrorContains(t, err, "no dropout")
}
