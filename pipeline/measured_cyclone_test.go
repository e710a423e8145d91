package pipeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Cyclone campaign runs from row intervals of long recordings, through matrix and wind-off polar, to a held-out
// report. Its conditions.csv has 31 + 25 + 25 lines for the three files in use. The traps that its notes tell are
// named in warnings: the attempt at 20 m/s is left out by name, the clock jitters, halves drift, and blocks are short
// against the integral time scale.
func TestCyclone(t *testing.T) {
	dir, all := finishedIn(t, "cyclone-balance")
	e := all["cyclone"]
	assert.Equal(t, 81, e.Runs, "runs")
	assert.Equal(t, 81, e.Triplets, "triplets")

	m := readMetrics(t, dir, "cyclone")
	warnings := strings.Join(m.Warnings, "\n")
	assert.Contains(t, warnings, "17_11_17__15_31.txt")
	assert.Contains(t, warnings, "steps of column t_unix vary from")
	assert.Contains(t, warnings, "runs are flagged \"drift\"")
	assert.Contains(t, warnings, "integral time scales")
	assert.Contains(t, warnings, "the recording pauses or changes its rate")

	require.Len(t, m.Splits, 2, "splits")

	for _, s := range m.Splits {
		require.NotNil(t, s.Train.R2.Mean, s.Name)
		require.NotNil(t, s.Train.AbsCov.Mean, s.Name)
		require.NotNil(t, s.Test.AbsCov.Mean, s.Name)
		assert.GreaterOrEqual(t, *s.Train.R2.Mean, 0.9, s.Name)
		t.Logf("%s: R² %.3f in training, E|cov| %.4f → %.4f", s.Name, *s.Train.R2.Mean, *s.Train.AbsCov.Mean,
			*s.Test.AbsCov.Mean)
	}

	tab := readTable(t, dir, "runs", "cyclone", "triplets.arrow")
	for _, name := range []string{"fx_1", "fz_2", "my_1"} {
		want := "N"
		if name[0] == 'm' {
			want = "N·m"
		}

		assert.Equal(t, want, tab.Column(name).Unit, "%s in", name)
	}

	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Skipf("%s with numpy is not here: %v", python, err)
	}

	out, err := exec.Command(python, filepath.Join("testdata", "cyclone.py"),
		measuredData(t, "cyclone-ojf-force-balance")).Output()
	require.NoError(t, err)

	var want map[string]struct {
		First  []float64 `json:"first"`
		Second []float64 `json:"second"`
		Naive  float64   `json:"naive"`
		Random float64   `json:"random"`
	}

	require.NoError(t, json.Unmarshal(out, &want))

	require.Equal(t, len(want), tab.Rows(), "rows")

	naive := 0.0
	random := 0.0
	for i, run := range tab.Column("run").Strings {
		w, ok := want[run]
		require.True(t, ok, "a run %q", run)

		for k, name := range map[int]string{0: "fx", 2: "fz", 4: "my"} {
			for h, v := range [][]float64{w.First, w.Second} {
				got := column(t, tab, fmt.Sprintf("%s_%d", name, h+1))[i]
				assert.InDelta(t, v[k], got, 1e-9, "%s, %s_%d", run, name, h+1)
			}
		}

		naive += w.Naive * w.Naive / float64(len(want))
		random += w.Random * w.Random / float64(len(want))
	}

	// The notes of the data state 8 naive standard errors rms between the first and the second half of a segment, over all
	// segments. Random halves differ by 1, so that random samples would hide the drift.
	t.Logf("half-means of Fx differ by %.1f naive standard errors rms, random halves by %.2f", math.Sqrt(naive),
		math.Sqrt(random))

	assert.InDelta(t, 8, math.Sqrt(naive), 2, "naive standard errors of half-means")
	assert.InDelta(t, 1, math.Sqrt(random), 0.2, "naive standard errors of random halves")
}

// A small balance gives coefficients that were computed by hand. It has two voltages and the loads A = 2 v1 and
// B = v2 − 0.5 v1 v2. Without wind A reads 1, which is its tare, and B reads 0. The flow's sensor reads v3 = 1.5 V, so
// U = √(v3 − 0.5)/0.25 = 4 m/s and q = ½·1.25·16 = 10 Pa, which the blockage ε = 0.1 makes 12.1 Pa. Chord · span is
// 0.5 m². The forces are F_x = A and F_z = −B. With the body's axes, lift is −F_x and drag is F_z at α = 90°.
func TestBalanceByHand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		write(t, dir, name, text)
	}

	record := func(v1, v2 float64) string {
		var b strings.Builder
		b.WriteString("v1,v2,v3\n")

		for range 40 {
			fmt.Fprintf(&b, "%g,%g,1.5\n", v1, v2)
		}

		return b.String()
	}

	write("zero.csv", record(0.5, 0))
	write("run_a.csv", record(3, 4))
	write("run_b.csv", record(1, 4))
	write("conditions.csv", "file,alpha_deg\nrun_a.csv,90\nrun_b.csv,0\n")
	yaml := `version: 1
experiments:
  small:
    ingest:
      files: run_*.csv
      conditions: conditions.csv
      rate_hz: 10
      axes: body
      columns: {fx_n: A, fz_n: -B}
      balance:
        voltages: [v1, v2]
        components: [A, B]
        terms: ["1*2"]
        matrix: [[2, 0, 0], [0, 1, -0.5]]
        angle: alpha_deg
        tare: {file: zero.csv, interpolation: mean}
        flow: {column: v3, law: square-root, zero: 0.5, divide_by: 0.25}
        blockage: 0.1
    dsp: {triplets: split-halves, chord_m: 0.5, span_m: 1, density_kg_m3: 1.25}
`

	write("pipeline.yaml", yaml)
	runIn(t, dir)
	tab := readTable(t, dir, "runs", "small", "triplets.arrow")

	// run_a: A = 6 − 1 = 5, B = 4 − 6 = −2; run_b: A = 2 − 1 = 1, B = 4 − 2 = 2.
	const qs = 12.1 * 0.5
	for i, run := range tab.Column("run").Strings {
		cl := -5 / qs
		cd := 2 / qs
		if run == "run_b.csv" {
			cl = -2 / qs
			cd = 1 / qs
		}

		for _, h := range []string{"_1", "_2"} {
			assert.InDelta(t, cl, column(t, tab, "cl"+h)[i], 1e-12, "cl%s of %s", h, run)
			assert.InDelta(t, cd, column(t, tab, "cd"+h)[i], 1e-12, "cd%s of %s", h, run)
		}
	}

	// A voltage that is not a load can be an outcome.
	write("pipeline.yaml", strings.Replace(yaml, "fz_n: -B", "fz_n: v3", 1))
	require.NoError(t, tryIn(dir))

	for _, c := range []struct{ old, new, want string }{
		{"        blockage: 0.1\n", "", "the walls' blockage"},
		{"{fx_n: A, fz_n: -B}", "{fx_n: v1, fz_n: v2}", "none of the columns is one of the balance's loads"},
		{`["1*2"]`, `["1*3"]`, `the factor "3"`},
		{"file: zero.csv", "file: none.csv", "none.csv"},
	} {
		write("pipeline.yaml", strings.Replace(yaml, c.old, c.new, 1))
		assert.ErrorContains(t, tryIn(dir), c.want)
	}
}
