package baseline

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"doubletake/internal/testfile"
	"doubletake/train"
)

// ZigZag's u² and the moments of an ensemble are right. Expected values: torch, with networks that it trained
// (testdata/make_torch.py): u² in float64, and the moments by torch.distributions. The methods compute from the same
// weights in float32.
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

	require.NoError(t, json.Unmarshal(testfile.Read(t, "testdata/torch.json"), &g))

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
		require.Len(t, c.want.Mu, 18, "%s of torch", c.name)
		require.Len(t, got.Mu, 18, c.name)

		for _, q := range []struct {
			name      string
			got, want []float64
		}{{"mean", got.Mu, c.want.Mu}, {"total", got.Total, c.want.Total}, {"epistemic", got.Epistemic, c.want.Epistemic}} {
			largest := floats.Norm(q.want, math.Inf(1))
			assert.Greater(t, largest, 1e-4, "%s, %s: nothing to compare", c.name, q.name)

			for k, w := range q.want {
				assert.InDelta(t, w, q.got[k], 2e-5*(math.Abs(w)+0.01*largest), "%s, %s %d", c.name, q.name, k)
			}
		}
	}
}
