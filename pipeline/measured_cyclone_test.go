package pipeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"doubletake/internal/must"
)

// The Cyclone campaign from row intervals of long recordings, through matrix and
// wind-off polar, to a held-out report. Expected: 31 + 25 + 25 segments by
// counting the lines of its conditions.csv for the three files in use; its traps
// (its notes) are named: the attempt at 20 m/s is left out by name, the clock
// jitters, halves drift, and blocks are short against the integral time scale.
func TestCyclone(t *testing.T) {
	dir, all := finishedIn(t, "cyclone-balance")
	e := all["cyclone"]
	must.Not(t, e.Runs != 81 || e.Triplets != 81, "%d runs, %d triplets", e.Runs, e.Triplets)

	m := readMetrics(t, dir, "cyclone")
	warnings := strings.Join(m.Warnings, "\n")
	must.Contain(t, warnings,
		"17_11_17__15_31.txt", "steps of column t_unix vary from", "runs are flagged \"drift\"", "integral time scales",
		"the recording pauses or changes its rate",
	)

	must.Be(t, len(m.Splits), 2, "splits")

	for _, s := range m.Splits {
		if s.Train.R2.Mean == nil || *s.Train.R2.Mean < 0.9 || s.Test.AbsCov.Mean == nil {
			t.Errorf("%s: %+v", s.Name, s)
			continue
		}

		t.Logf("%s: R² %.3f in training, E|cov| %.4f → %.4f", s.Name, *s.Train.R2.Mean, *s.Train.AbsCov.Mean,
			*s.Test.AbsCov.Mean)
	}

	tab := readTable(t, dir, "runs", "cyclone", "triplets.arrow")
	for _, name := range []string{"fx_1", "fz_2", "my_1"} {
		want := "N"
		if name[0] == 'm' {
			want = "N·m"
		}

		must.Equal(t, tab.Column(name).Unit, want, "%s in", name)
	}

	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import numpy").Run(); err != nil {
		t.Skipf("%s with numpy is not here: %v", python, err)
	}

	out, err := exec.Command(python, filepath.Join("testdata", "cyclone.py"),
		measuredData(t, "cyclone-ojf-force-balance")).Output()
	must.Do(t, err)

	var want map[string]struct {
		First  []float64 `json:"first"`
		Second []float64 `json:"second"`
		Naive  float64   `json:"naive"`
		Random float64   `json:"random"`
	}

	must.Do(t, json.Unmarshal(out, &want))

	must.Be(t, tab.Rows(), len(want), "rows")

	naive, random := 0.0, 0.0
	for i, run := range tab.Column("run").Strings {
		w, ok := want[run]
		must.Never(t, !ok, "a run %q", run)

		for k, name := range map[int]string{0: "fx", 2: "fz", 4: "my"} {
			for h, v := range [][]float64{w.First, w.Second} {
				got := column(t, tab, fmt.Sprintf("%s_%d", name, h+1))[i]
				must.Near(t, got, v[k], 1e-9, "%s, %s_%d", run, name, h+1)
			}
		}

		naive += w.Naive * w.Naive / float64(len(want))
		random += w.Random * w.Random / float64(len(want))
	}

	// The trap itself: the data's notes have 8 naive standard errors rms between the
	// halves (over all segments, the attempt at 20 m/s among them), random halves 1. What random-samples would hide.
	t.Logf("half-means of Fx differ by %.1f naive standard errors rms, random halves by %.2f", math.Sqrt(naive),
		math.Sqrt(random))

	if n, r := math.Sqrt(naive), math.Sqrt(random); n < 6 || n > 10 || r < 0.8 || r > 1.2 {
		t.Errorf("half-means of Fx differ by %.1f naive standard errors, random halves by %.2f", n, r)
	}
}

// A balance in small, by hand: two voltages, load A = 2 v1, B = v2 − 0.5 v1 v2;
// without wind A reads 1 (a mean zero), B 0; the flow's sensor gives
// U = √(v3 − 0.5)/0.25 = 4 m/s from v3 = 1.5, q = ½·1.25·16 = 10 Pa, with
// ε = 0.1 12.1 Pa; chord · span = 0.5 m². At α = 90° lift is −A, drag is B.
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
	write("run_a.csv", record(2, 3))
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

	// run_a: A = 4 − 1 = 3, B = 3 − 3 = 0; run_b: A = 2 − 1 = 1, B = 4 − 2 = 2.
	const qs = 12.1 * 0.5
	for i, run := range tab.Column("run").Strings {
		cl, cd := -3/qs, 0.0
		if run == "run_b.csv" {
			cl, cd = -2/qs, 1/qs
		}

		for _, h := range []string{"_1", "_2"} {
			if l, d := column(t, tab, "cl"+h)[i], column(t, tab, "cd"+h)[i]; math.Abs(l-cl) > 1e-12 || math.Abs(d-cd) > 1e-12 {
				t.Errorf("%s: cl %v, cd %v; want %v, %v", run, l, d, cl, cd)
			}
		}
	}

	for _, c := range []struct{ old, new, want string }{
		{"        blockage: 0.1\n", "", "the walls' blockage"},
		{"fz_n: -B", "fz_n: v3", ""},
		{"{fx_n: A, fz_n: -B}", "{fx_n: v1, fz_n: v2}", "none of the columns is one of the balance's loads"},
		{`["1*2"]`, `["1*3"]`, `the factor "3"`},
		{"file: zero.csv", "file: none.csv", "none.csv"},
	} {
		write("pipeline.yaml", strings.Replace(yaml, c.old, c.new, 1))

		err := tryIn(dir)
		must.Refuse(t, err, c.want)
	}
}
