package pipeline

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/train"
	"doubletake/train/triplets"
)

// zeros lists the keys that accept 0, with the words of their documentation that say what 0 means. The words are "" if
// 0 is a number like any other.
var zeros = map[string]string{
	"ingest.simulate.seed":      "",
	"ingest.simulate.theta_deg": "", "ingest.simulate.alpha_deg": "",
	"ingest.tachometer.threshold":  "",
	"ingest.balance.tare.row0":     "",
	"ingest.balance.tare.row1":     "0: to the end",
	"ingest.balance.flow.zero":     "",
	"ingest.balance.tolerance_deg": "",
	"ingest.calibration.gain_db":   "",

	"ingest.calibration.calibrator.frequency_hz": "0: the strongest line",
	"ingest.calibration.calibrator.from_s":       "",
	"ingest.calibration.calibrator.to_s":         "0: to the end",
	"ingest.calibration.calibrator.gain_db":      "",

	"dsp.min_bins": "", "dsp.overlap": "", "dsp.emergence_db": "", "dsp.seed": "",

	"train.model.dropout": "", "train.loss.beta": "", "train.optimizer.weight_decay": "",
	"train.seed":          "",
	"train.honest.blocks": "0: the blocks of the split", "train.splits.each.blocks": "0: single values",
}

// Every key that accepts 0 is listed in zeros, and its documentation says what 0 means if 0 is not a number like any
// other.
func TestZeroIsDocumented(t *testing.T) {
	dir := t.TempDir()
	limitData(t, dir)

	docs := map[string]string{}
	for _, k := range config.Keys() {
		docs[limitKey(k.Path)] = k.Doc
	}

	untried := maps.Clone(zeros)
	for _, l := range limits {
		for _, key := range l.keys() {
			if loadWith(t, dir, l.base, pathInFile(key), "0") != nil {
				continue
			}

			words, isListed := zeros[key]
			if !isListed && strings.HasPrefix(key, "executor.") {
				words = "0: " // no limit, or as the cluster wants
				isListed = true
			}

			delete(untried, key)
			require.True(t, isListed, "%s accepts 0: is 0 a number, or does it mean something else? list it in zeros", key)
			assert.Contains(t, docs[key], words, "documentation of %s", key)
		}
	}

	assert.Empty(t, untried, "listed keys that do not accept 0")
}

// A setting of 0 reaches the training as 0: a number next to it gives the same network, another number does not.
func TestZeroTrains(t *testing.T) {
	dir := t.TempDir()
	toy := simulate.DefaultToy()
	toy.N = 64
	x := toy.Inputs()
	squares := make([]float64, len(x))
	for i, v := range x {
		squares[i] = v * v
	}

	set := triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{{Name: "y"}}, x, slices.Clone(x), squares)

	// predictions returns means and variances of a network that was trained with one key set.
	predictions := func(t *testing.T, key, value string) []float64 {
		t.Helper()

		f, err := config.Load(writeWith(t, dir, "toy", "experiments.x.train."+key, value))
		require.NoError(t, err)

		cfg := f.Experiments[0].Train.Config
		cfg.Seed = f.Experiments[0].Train.Seed
		cfg.Hidden = []int{8}
		cfg.Epochs = 3
		cfg.Kernels = "portable"

		m, _, err := train.FitSingle(t.Context(), set, cfg, nil)
		require.NoError(t, err)

		mu, variance := m.Predict(x)

		return append(mu, variance...)
	}

	for _, c := range []struct{ key, near, other string }{
		{"model.dropout", "1e-9", "0.05"},
		{"loss.beta", "1e-300", "0.5"},
		{"optimizer.weight_decay", "1e-300", "0.5"},
		{"seed", "0", "1"}, // a whole number has no number next to it: training again gives the same network
	} {
		t.Run(c.key, func(t *testing.T) {
			zero := predictions(t, c.key, "0")
			assert.Equal(t, predictions(t, c.key, c.near), zero, "predictions with %s and with 0", c.near)
			assert.NotEqual(t, predictions(t, c.key, c.other), zero, "predictions with %s and with 0", c.other)
		})
	}
}
