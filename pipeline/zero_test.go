package pipeline

import (
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

// zeros lists the keys that take 0 and have no list of numbers, with the words of their documentation that
// say what 0 means there; "" where 0 is a number like any other.
var zeros = map[string]string{
	"executor.slurm.retries": "", "executor.slurm.stages.train.cpus": "",

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

// Every number that check takes at 0 is in the list, and what 0 means beyond the number is documented.
func TestZeroIsDocumented(t *testing.T) {
	dir := t.TempDir()
	limitData(t, dir)

	docs := map[string]string{}
	for _, k := range config.Keys() {
		key := strings.TrimPrefix(k.Path, "experiments.<name>.")
		docs[strings.Replace(key, "splits.<name>.blocks", "splits.each.blocks", 1)] = k.Doc
	}

	for _, l := range limits {
		key := strings.Replace(l.key, "STAGE", "train", 1)
		at := key
		if !strings.HasPrefix(key, "version") && !strings.HasPrefix(key, "executor") {
			at = "experiments.x." + key
		}

		if loadWith(t, dir, l.base, at, "0") != nil {
			continue
		}

		words, listed := zeros[key]
		if strings.HasPrefix(key, "executor") && !listed {
			words = "0: "
			listed = true
		}

		switch {
		case !listed:
			t.Errorf("%s takes 0: is it a number, or does it mean something else? list it", key)
		case !strings.Contains(docs[key], words):
			t.Errorf("%s: expected %q in its documentation, found %q", key, words, docs[key])
		}
	}
}

// 0 is what trains: a number next to it gives the same network, the default does not.
func TestZeroTrains(t *testing.T) {
	dir := t.TempDir()
	toy := simulate.DefaultToy()
	toy.N = 64
	x := toy.Inputs()
	y1 := slices.Clone(x)
	y2 := make([]float64, len(x))
	for i, v := range x {
		y2[i] = v * v
	}

	set := triplets.New([]triplets.Quantity{{Name: "x"}}, []triplets.Quantity{{Name: "y"}}, x, y1, y2)

	for _, c := range []struct{ key, near, other string }{
		{"model.dropout", "1e-9", "0.05"},
		{"loss.beta", "1e-300", "0.5"},
		{"optimizer.weight_decay", "1e-300", "0.5"},
		{"seed", "0", "1"},
	} {
		fitted := func(value string) []float64 {
			f, err := config.Load(writeWith(t, dir, "toy", "experiments.x.train."+c.key, value))
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

		zero := fitted("0")
		assert.Equal(t, fitted(c.near), zero, "%s: 0 does not give what %s gives", c.key, c.near)
		assert.NotEqual(t, zero, fitted(c.other), "%s: 0 gives what %s gives", c.key, c.other)
	}
}
