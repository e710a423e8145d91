package train

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

func fitData() triplets.Set { return shapeData(70, 2, 2) }

func fitConfig() Config {
	c := DefaultConfig()
	c.Hidden = []int{16, 16}
	c.Epochs = 6
	c.Batch = 16
	c.Seed = 5
	return c
}

func modelBytes(t *testing.T, m *Model) string {
	t.Helper()

	b, err := json.Marshal(m)
	require.NoError(t, err)

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
		cfg.Pairs = pairs
		cfg.Dropout = 0.2
		want, wantHistory, err := Fit(context.Background(), data, cfg, nil)
		require.NoError(t, err)

		m, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
		require.NoError(t, err)

		for i, e := range history {
			assert.Equal(t, e.Epoch%2 == 0 || e.Epoch == cfg.Epochs, e.Judged,
				"%s: epoch %d: held-out loss taken", pairs, e.Epoch)

			e.HeldOut = 0
			e.Judged = false
			if e != wantHistory[i] {
				t.Errorf("%s: epoch %d differs: %v, without held-out rows %v", pairs, i+1, e, wantHistory[i])
			}
		}

		assert.Equal(t, modelBytes(t, want), modelBytes(t, m), "%s: held-out rows change the model", pairs)

		far := held.Select([]int{0, 1})
		far.Y1 = []float64{1e38, 1, 1, 1}
		_, history2, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: far, HeldOutEvery: 1})
		require.NoError(t, err, "%s: a loss that is no number: %v, %v", pairs, history2, err)
		assert.Equal(t, wantHistory, history2, "%s: a loss that is no number: %v, %v", pairs, history2, err)

		k := resolved(t, cfg.Kernels)

		cfg.Dropout = 0
		still := newTrainer(newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden), k, cfg)
		copy(still.p, m.params)

		heldRows := packRows[float32](held, m.inputScale, m.outcomeScale)
		if got := still.loss(heldRows, nil, nil); got != history[len(history)-1].HeldOut {
			t.Errorf("%s: the last held-out loss is %g, of the final weights %g", pairs,
				history[len(history)-1].HeldOut, got)
		}
	}
}
