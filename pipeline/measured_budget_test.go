package pipeline_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

	list, err := budget.Of(table, locate.Stated(experiment), o)
	require.NoError(t, err)

	return list
}

// Budgets of measured data, with the standard error of independent samples (docs/budget.md). Witness: the same data,
// read in two ways: halves of a recording, and its samples or segments taken as independent.
func TestBudgetOfMeasured(t *testing.T) {
	longtest.Skip(t, "reads measured examples")

	evaluate := func(dir, outcome string, o budget.Options) (list []budget.Result) {
		o.Outcomes = []string{outcome}
		for _, b := range readBudgets(t, dir, o) {
			r, err := b.Evaluate(0.95, 0)
			require.NoError(t, err)
			list = append(list, r)
		}

		return list
	}

	t.Run("LCAV", func(t *testing.T) {
		dir, _ := finishedIn(t, "lcav-propeller")
		list := evaluate(filepath.Join(dir, "runs", "lcav"), "bpf1_db", budget.Options{})
		require.Len(t, list, 7, "budgets")

		for _, r := range list {
			t.Logf("%s: u %.3f dB, independent segments %.4f dB", r.At, r.U, r.Naive)
			if r.U < 0.5 || r.U > 1.2 || r.Naive < 0.005 || r.Naive > 0.05 || math.Abs(r.DoF-7) > 1e-9 {
				t.Errorf("%s: u %.3f dB, naive %.4f dB, %g degrees of freedom", r.At, r.U, r.Naive, r.DoF)
			}
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
			halves := evaluate(filepath.Join(dir, "runs", "cyclone"), outcome, o)
			naive := evaluate(filepath.Join(dir, "runs", "samples"), outcome, o)
			require.Len(t, halves, len(naive), "%d and %d budgets", len(halves), len(naive))

			sum := [2]float64{}
			for i, r := range halves {
				sum[0] += r.U * r.U
				sum[1] += naive[i].U * naive[i].U
			}

			t.Logf("%s: variance by halves over that of independent samples %.3g", outcome, sum[0]/sum[1])
			if r := sum[0] / sum[1]; r < 20 || r > 100 { // a fifth to a ninth of the uncertainty
				t.Errorf("%s: halves show %.3g times the variance of independent samples, expected 20 to 100", outcome, r)
			}
		}
	})
}
