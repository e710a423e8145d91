package baseline

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"doubletake/internal/must"
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

	must.Do(t, err)

	for _, c := range []struct {
		name string
		p    Predictor
		want answers
	}{
		{"zigzag", zigzagPredictor{&g.ZigZag.Model}, g.ZigZag.answers},
		{"ensemble", ensemblePredictor(g.Ensemble.Models), g.Ensemble.answers},
	} {
		got := must.Get(c.p.Predict(t.Context(), g.X))(t)
		must.Never(t, len(c.want.Mu) != 18 || len(got.Mu) != 18, "%s: %d answers for %d of torch", c.name, len(got.Mu),
			len(c.want.Mu))

		for _, q := range []struct {
			name      string
			got, want []float64
		}{{"mean", got.Mu, c.want.Mu}, {"total", got.Total, c.want.Total}, {"epistemic", got.Epistemic, c.want.Epistemic}} {
			largest := 0.0
			for _, w := range q.want {
				largest = max(largest, math.Abs(w))
			}

			must.Not(t, largest < 1e-4, "%s, %s: nothing to compare", c.name, q.name)

			for k, w := range q.want {
				must.Near(t, q.got[k], w, 2e-5*(math.Abs(w)+0.01*largest), "%s, %s %d", c.name, q.name, k)
			}
		}
	}
}
