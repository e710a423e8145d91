package train

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"doubletake/internal/must"
	"doubletake/train/triplets"
)

func fitData() triplets.Set { return shapeData(70, 2, 2) }

func fitConfig() Config {
	c := DefaultConfig()
	c.Hidden, c.Epochs, c.Batch, c.Seed = []int{16, 16}, 6, 16, 5
	return c
}

func modelBytes(t *testing.T, m *Model) string {
	t.Helper()

	b := must.Get(json.Marshal(m))(t)

	return string(b)
}

// A training that takes the loss of held-out rows gives the same model as one that does
// not. What its history holds is the loss of the final weights without dropout: the golden
// test compares that function with torch, and here it is taken of a trainer that has
// no dropout.
func TestHeldOutLoss(t *testing.T) {
	data := fitData()

	var rows []int
	for i := 0; i < data.N; i += 2 {
		rows = append(rows, i)
	}

	held := data.Select(rows)
	for _, pairs := range []string{Symmetrised, Swap, Plain} {
		cfg := fitConfig()
		cfg.Pairs, cfg.Dropout = pairs, 0.2
		want, wantHistory, err := Fit(context.Background(), data, cfg, nil)
		must.Do(t, err)

		m, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
		must.Do(t, err)

		for i, e := range history {
			must.Equal(t, e.Judged, (e.Epoch%2 == 0 || e.Epoch == cfg.Epochs), "%s: epoch %d: held-out loss taken",
				pairs, e.Epoch)

			e.HeldOut, e.Judged = 0, false
			must.Not(t, e != wantHistory[i], "%s: epoch %d differs: %v, without held-out rows %v", pairs, i+1, e,
				wantHistory[i])
		}

		must.Not(t, modelBytes(t, m) != modelBytes(t, want), "%s: held-out rows change the model", pairs)

		far := held.Select([]int{0, 1})
		far.Y1 = []float64{1e38, 1, 1, 1}
		_, history2, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: far, HeldOutEvery: 1})
		must.Not(t, err != nil || !slices.Equal(history2, wantHistory), "%s: a loss that is no number: %v, %v", pairs,
			history2, err)

		k := resolved(t, cfg.Kernels)

		cfg.Dropout = 0
		still := newTrainer(newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
		copy(still.p, m.params)

		if got := still.loss(packRows[float32](held, m.in, m.out), nil, nil); got != history[len(history)-1].HeldOut {
			t.Errorf("%s: the last held-out loss is %g, of the final weights %g", pairs,
				history[len(history)-1].HeldOut, got)
		}
	}
}
