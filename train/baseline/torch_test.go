package baseline

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train"
)

// Expected values: torch's, of networks it trained itself (testdata/make_torch.py):
// ZigZag's u² in float64, the ensemble's moments by torch.distributions. Ours
// come from the same weights in float32.
func TestAgainstTorch(t *testing.T) {
	type answers struct{ Mu, Total, Epistemic []float64 }
	var g struct {
		X      []float64
		ZigZag struct {
			Model train.Model
			answers
		} `json:"zigzag"`
		Ensemble struct {
			Models []*train.Model
			answers
		} `json:"ensemble"`
	}

	raw, err := os.ReadFile("testdata/torch.json")
	if err == nil {
		err = json.Unmarshal(raw, &g)
	}

	require.NoError(t, err)

	for _, c := range []struct {
		name string
		p    Predictor
		want answers
	}{
		{"zigzag", zigzagPredictor{&g.ZigZag.Model}, g.ZigZag.answers},
		{"ensemble", ensemblePredictor(g.Ensemble.Models), g.Ensemble.answers},
	} {
		got, err := c.p.Predict(t.Context(), g.X)
		require.NoError(t, err)
		require.Len(t, c.want.Mu, 18, "%s: %d answers for %d of torch", c.name, len(got.Mu), len(c.want.Mu))
		require.Len(t, got.Mu, 18, "%s: %d answers for %d of torch", c.name, len(got.Mu), len(c.want.Mu))

		for _, q := range []struct {
			name      string
			got, want []float64
		}{{"mean", got.Mu, c.want.Mu}, {"total", got.Total, c.want.Total}, {"epistemic", got.Epistemic, c.want.Epistemic}} {
			largest := 0.0
			for _, w := range q.want {
				largest = max(largest, math.Abs(w))
			}

			if largest < 1e-4 {
				t.Errorf("%s, %s: nothing to compare", c.name, q.name)
			}

			for k, w := range q.want {
				assert.InDelta(t, w, q.got[k], 2e-5*(math.Abs(w)+0.01*largest), "%s, %s %d", c.name, q.name, k)
			}
		}
	}
}
