package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/pipeline/locate"
	"doubletake/report/answer/budget"
)

// readBudgets makes the budgets of the experiment in a folder, with what the configuration in the working directory
// states.
func readBudgets(t *testing.T, dir string, o budget.Options) []budget.Budget {
	t.Helper()

	source, experiment, err := locate.Pairs(dir, "")
	require.NoError(t, err)

	table, err := source.Open(nil)
	require.NoError(t, err)

	list, err := budget.Compute(table, locate.Stated(experiment), o)
	require.NoError(t, err)

	return list
}

// evaluateBudgets evaluates the budgets of one outcome of the experiment in a folder at 95 %.
func evaluateBudgets(t *testing.T, dir, outcome string, o budget.Options) []budget.Result {
	t.Helper()

	o.Outcomes = []string{outcome}
	var list []budget.Result
	for _, b := range readBudgets(t, dir, o) {
		r, err := b.Evaluate(0.95, 0)
		require.NoError(t, err)
		list = append(list, r)
	}

	return list
}

// Uncertainties of measured data by halves of a recording, and by its samples or segments if they are taken as
// independent. Expected: the figures that docs/budget.md states of both examples.
func TestBudgetOfMeasured(t *testing.T) {
	longtest.Skip(t, "reads measured examples")

	t.Run("LCAV", func(t *testing.T) {
		dir, _ := finishedIn(t, "lcav-propeller")
		list := evaluateBudgets(t, filepath.Join(dir, "runs", "lcav"), "bpf1_db", budget.Options{})
		require.Len(t, list, 7, "budgets")

		for _, r := range list {
			t.Logf("%s: u %.3f dB, independent segments %.4f dB", r.At, r.U, r.Naive)
			assert.Greater(t, r.U, 0.5, "%s: uncertainty in dB by halves", r.At)
			assert.Less(t, r.U, 1.2, "%s: uncertainty in dB by halves", r.At)
			assert.Greater(t, r.Naive, 0.005, "%s: uncertainty in dB by independent segments", r.At)
			assert.Less(t, r.Naive, 0.05, "%s: uncertainty in dB by independent segments", r.At)
			assert.InDelta(t, 7, r.DoF, 1e-9, "%s: degrees of freedom, of seven recordings", r.At)
		}
	})

	t.Run("Cyclone", func(t *testing.T) {
		dir := example(t, "cyclone-balance", measuredData(t, "cyclone-ojf-force-balance"))
		path := filepath.Join(dir, "pipeline.yaml")

		text := testfile.Read(t, path)

		head, _, _ := strings.Cut(string(text), "\n    train:")
		samples := strings.Replace(head[strings.Index(head, "    dsp:"):], "split-halves",
			"random-samples\n      samples: 357", 1)
		require.NoError(t, os.WriteFile(path, []byte(head+"\n  samples:\n    ingest: *ingest\n"+samples+"\n"), 0o600))

		tripletsIn(t, dir)
		for _, outcome := range []string{"fx", "fz", "my"} {
			o := budget.Options{Pool: "U_from_sensor_mps"}
			halves := evaluateBudgets(t, filepath.Join(dir, "runs", "cyclone"), outcome, o)
			naive := evaluateBudgets(t, filepath.Join(dir, "runs", "samples"), outcome, o)
			require.Len(t, naive, len(halves), "budgets of independent samples")

			byHalves := 0.0 // sums of the variances of all budgets
			bySamples := 0.0
			for i, r := range halves {
				byHalves += r.U * r.U
				bySamples += naive[i].U * naive[i].U
			}

			// The page says that samples give a fifth to a ninth of the uncertainty, so that halves give 25 to 81 times the
			// variance. The limits leave some room.
			ratio := byHalves / bySamples
			t.Logf("%s: variance by halves over the variance of independent samples %.3g", outcome, ratio)
			assert.Greater(t, ratio, 20., "%s: ratio of the variances", outcome)
			assert.Less(t, ratio, 100., "%s: ratio of the variances", outcome)
		}
	})
}
