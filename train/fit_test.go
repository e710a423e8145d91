package train

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// fitConfig returns settings for a training of six epochs.
func fitConfig() Config {
	c := DefaultConfig()
	c.Hidden = []int{16, 16}
	c.Epochs = 6
	c.Batch = 16
	c.Seed = 5
	return c
}

// modelBytes returns the file of a model.
func modelBytes(t *testing.T, m *Model) string {
	t.Helper()

	b, err := json.Marshal(m)
	require.NoError(t, err)

	return string(b)
}

// heldOutData returns triplets for a training, and every second of them to hold out.
func heldOutData() (data, held triplets.Set) {
	data = shapeData(70, 2, 2)

	var rows []int
	for i := 0; i < data.N; i += 2 {
		rows = append(rows, i)
	}

	return data, data.Select(rows)
}

// eachPairs runs a test with settings for each way to take pairs, with dropout.
func eachPairs(t *testing.T, f func(t *testing.T, cfg Config)) {
	for _, pairs := range []string{Symmetrised, Swap, Plain} {
		cfg := fitConfig()
		cfg.Pairs = pairs
		cfg.Dropout = 0.2
		t.Run(pairs, func(t *testing.T) { f(t, cfg) })
	}
}

// Held-out rows change neither the model nor its losses in training. Their own loss is taken in every second epoch, as
// asked, and in the last.
func TestHeldOutRowsChangeNothing(t *testing.T) {
	data, held := heldOutData()
	eachPairs(t, func(t *testing.T, cfg Config) {
		want, wantHistory, err := Fit(context.Background(), data, cfg, nil)
		require.NoError(t, err)

		m, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
		require.NoError(t, err)
		assert.Equal(t, modelBytes(t, want), modelBytes(t, m), "model")

		for i, e := range history {
			isAsked := e.Epoch%2 == 0 || e.Epoch == cfg.Epochs
			assert.Equal(t, isAsked, e.Judged, "epoch %d: held-out loss taken", e.Epoch)

			e.HeldOut = 0
			e.Judged = false
			assert.Equal(t, wantHistory[i], e, "epoch %d without its held-out loss", i+1)
		}
	})
}

// A held-out loss that is not a number, here from an outcome that overflows, is left out of the history.
func TestHeldOutLossOverflows(t *testing.T) {
	data, held := heldOutData()
	far := held.Select([]int{0, 1})
	far.Y1 = []float64{1e38, 1, 1, 1}
	eachPairs(t, func(t *testing.T, cfg Config) {
		_, want, err := Fit(context.Background(), data, cfg, nil)
		require.NoError(t, err)

		_, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: far, HeldOutEvery: 1})
		require.NoError(t, err)
		assert.Equal(t, want, history)
	})
}

// The last held-out loss is the loss of the final weights without dropout. Expected value: a trainer without dropout,
// whose loss the golden test compares with torch.
func TestHeldOutLoss(t *testing.T) {
	data, held := heldOutData()
	eachPairs(t, func(t *testing.T, cfg Config) {
		m, history, err := FitWith(context.Background(), data, cfg, FitOptions{HeldOut: held, HeldOutEvery: 2})
		require.NoError(t, err)

		cfg.Dropout = 0
		l := newLayout(data.In, data.Out, flagInputs(cfg.Feedback), cfg.Hidden)
		withoutDropout := newTrainer(l, resolved(t, cfg.Kernels), cfg)
		copy(withoutDropout.p, m.params)

		want := withoutDropout.loss(packRows[float32](held, m.inputScale, m.outcomeScale), nil, nil)
		assert.Equal(t, want, history[len(history)-1].HeldOut)
	})
}
