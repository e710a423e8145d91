package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/simulate"
	"doubletake/ingest/table"
	"doubletake/internal/longtest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// runDSP runs experiments that differ in the settings given by name up to their
// triplets, and returns these.
func runDSP(t *testing.T, dir, ingest, base string, variants map[string]string) map[string]*table.Table {
	t.Helper()
	var b strings.Builder
	b.WriteString("version: 1\nexperiments:\n")

	for name, v := range variants {
		fmt.Fprintf(&b, "  %s:\n    ingest: {%s}\n    dsp: {%s%s}\n", name, ingest, base, v)
	}

	runConfig(t, dir, b.String(), engine.Options{Jobs: 2, Selection: engine.Selection{To: "dsp"}})

	out := map[string]*table.Table{}
	for name := range variants {
		out[name] = readTable(t, dir, "runs", name, "triplets.arrow")
	}

	return out
}

// TestSpectraOptions: each key of a microphone's dsp works as documented, from
// the configuration to the table. Expected values are
// closed forms of the levels of the run without the key.
func TestSpectraOptions(t *testing.T) {
	dir := t.TempDir()
	c := simulate.DefaultRotor()
	c.Seed = 5
	c.DurationS = 2
	c.Blades = []int{2, 4}
	c.RPM = []float64{3000, 5000}
	c.ThetaDeg = []float64{-30, 0, 60}

	require.NoError(t, simulate.WriteDir(context.Background(), c, filepath.Join(dir, "data"), 2, nil))

	tab := runDSP(t, dir, "files: data/*.wav, conditions: data/conditions.csv, data: simulated",
		"triplets: split-half-spectrum, harmonics: 5", map[string]string{
			"base": "", "far": ", distance: {from_m: 1, to_m: 2}", "power": ", output: power", "four": ", segments: 4",
			"easy": ", emergence_db: -100", "strict": ", emergence_db: 20", "loose": ", emergence_db: 1",
			"drop":   ", emergence_db: 1, censored: drop",
			"narrow": ", amplitude: peak, speed: nominal, tolerance: 0.0001, min_bins: 2",
			"wide":   ", amplitude: peak, speed: nominal, tolerance: 0.0001, min_bins: 8",
		})

	base := tab["base"]
	n := base.Rows()
	require.Equal(t, 12, n, "triplets")

	kept := make([]bool, n) // all five lines are 1 dB above the floor
	for i := range kept {
		kept[i] = true
	}

	for m := 1; m <= 5; m++ {
		name := fmt.Sprintf("bpf%d_db", m)
		emergent := base.Column(name + "_emergent").Bools

		for h := 1; h <= 2; h++ {
			half := func(of, suffix string) []float64 { return column(t, tab[of], fmt.Sprintf("%s%s_%d", name, suffix, h)) }
			level := half("base", "")
			far := half("far", "")
			power := column(t, tab["power"], fmt.Sprintf("bpf%d_power_%d", m, h))
			rho := half("four", "_rho_db")
			sd := half("four", "_sd")

			narrow := half("narrow", "")
			wide := half("wide", "")
			for i, l := range level {
				assert.InDelta(t, l-20*math.Log10(2), far[i], 1e-9, "%s, row %d: at twice the distance", name, i)

				// dBFS is relative to a full-scale sine, whose mean square is a half.
				assert.InDelta(t, l, 10*math.Log10(2*power[i]), 1e-9, "%s, row %d: a mean square of %g is dBFS", name, i, power[i])

				// docs/method.md#split-half-spectra: 4.343·√((1+2ρ)/segments)/(1+ρ).
				r := math.Pow(10, rho[i]/10)
				if want := 10 / math.Ln10 * math.Sqrt((1+2*r)/4) / (1 + r); math.Abs(sd[i]-want) > 1e-9*want {
					t.Errorf("%s, row %d: deviation of %g dB from 4 segments, expected %g", name, i, sd[i], want)
				}

				if wide[i] < narrow[i] { // the largest of more bins
					t.Errorf("%s, row %d: %.3f in 8 bins either side, %.3f in 2 of them", name, i, wide[i], narrow[i])
				}
			}

			if slices.Equal(wide, narrow) && m > 2 {
				t.Errorf("%s: the weak lines are the same in 2 bins and in 8", name)
			}
		}

		easy := tab["easy"].Column(name + "_emergent").Bools
		loose := tab["loose"].Column(name + "_emergent").Bools
		strict := tab["strict"].Column(name + "_emergent").Bools
		for i := range emergent {
			kept[i] = kept[i] && loose[i]
			if !easy[i] || strict[i] && !emergent[i] {
				t.Errorf("%s, row %d: emergent from -100 dB %v, from 6 dB %v, from 20 dB %v", name, i, easy[i], emergent[i],
					strict[i])
			}
		}
	}

	var want []string
	for i, k := range kept {
		if k {
			want = append(want, base.Column("recording").Strings[i])
		}
	}

	if got := tab["drop"].Column("recording").Strings; !slices.Equal(got, want) || len(want) == 0 || len(want) == n {
		t.Errorf("censored: drop keeps %q, expected %q", got, want)
	}
}

// TestLoadsOptions: the air's density by number or by pressure and temperature,
// p/(R T) with R = 287.05 J/(kg K), and how many samples are drawn from which
// seed.
func TestLoadsOptions(t *testing.T) {
	dir := t.TempDir()

	c := simulate.DefaultAirfoil()
	c.Seed = 2
	c.AlphaDeg = []float64{2, 6}
	c.SpeedMS = []float64{9.1}
	c.DurationS = 2
	require.NoError(t, simulate.WriteDir(context.Background(), c, filepath.Join(dir, "data"), 2, nil))

	tab := runDSP(t, dir, "files: data/*.csv, conditions: data/conditions.csv, columns: {lift_n: Fz, drag_n: Fx}, data: "+
		"simulated, exclude: data/conditions.csv", "chord_m: 0.1, span_m: 0.25, triplets: ", map[string]string{
		"dense":  "random-samples, samples: 30, density_kg_m3: 1",
		"warm":   "random-samples, samples: 30, pressure_pa: 95000, temperature_c: 40",
		"seeded": "random-samples, samples: 30, density_kg_m3: 1, seed: 1", "halves": "split-halves, density_kg_m3: 1",
	})

	dense := column(t, tab["dense"], "cl_1")
	warm := column(t, tab["warm"], "cl_1")
	if len(dense) != 60 || len(warm) != 60 || tab["halves"].Rows() != 2 {
		t.Fatalf("%d, %d and %d triplets, expected 2 runs × 30 samples, and 2 runs", len(dense), len(warm),
			tab["halves"].Rows())
	}

	rho := 95000 / (287.05 * (273.15 + 40))
	for i := range dense {
		if want := dense[i] / rho; math.Abs(warm[i]-want) > 1e-4*math.Abs(want) {
			t.Fatalf("row %d: cl = %g at %.4f kg/m³, expected %g", i, warm[i], rho, want)
		}
	}

	assert.NotEqual(t, dense, column(t, tab["seeded"], "cl_1"), "another seed draws the same samples")

	// Excluded files are listed, except for the table of conditions, which is used.
	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)
	assert.Empty(t, p.Warnings)
}

// TestTrainOptions: the keys of train reach the model: its file states them, and
// its weights are not those of the defaults; those of the estimate reach the
// numbers without touching the weights.
func TestTrainOptions(t *testing.T) {
	longtest.Skip(t, "trains with each option")

	dir := t.TempDir()
	variants := []struct {
		name, train string
		config      map[string]any // as model.json states it
		retrained   bool
	}{
		{"base", "", map[string]any{
			"dropout": 0.05, "beta": 0.5, "pairs": "symmetrised", "feedback": "drop-weights",
			"weight_decay": 0.0, "learning_rate": 0.001, "batch": 32.0, "schedule": "constant",
		}, false},
		{"dropout", "model: {hidden: [8], dropout: 0.5}", map[string]any{"dropout": 0.5}, true},
		{
			"constant", "model: {hidden: [8], feedback: constant, feedback_value: -20}",
			map[string]any{"feedback": "constant", "feedback_value": -20.0},
			true,
		},
		{"flag", "model: {hidden: [8], feedback: flag}", map[string]any{"feedback": "flag"}, true},
		{"beta", "loss: {beta: 0}", map[string]any{"beta": 0.0}, true},
		{"swap", "loss: {pairs: swap}", map[string]any{"pairs": "swap"}, true},
		{"plain", "loss: {pairs: plain}", map[string]any{"pairs": "plain"}, true},
		{"decay", "optimizer: {epochs: 3, weight_decay: 0.5}", map[string]any{"weight_decay": 0.5}, true},
		{"rate", "optimizer: {epochs: 3, learning_rate: 0.01}", map[string]any{"learning_rate": 0.01}, true},
		{"batch", "optimizer: {epochs: 3, batch: 7}", map[string]any{"batch": 7.0}, true},
		{"cosine", "optimizer: {epochs: 3, schedule: cosine}", map[string]any{"schedule": "cosine"}, true},
		{"seed", "seed: 9", nil, true},
		{"sampler", "estimate: {sampler: plain, samples: 30}", nil, false},
	}

	var b strings.Builder
	b.WriteString("version: 1\nkernels: portable\nexperiments:\n")

	for _, v := range variants {
		fmt.Fprintf(&b, "  %s:\n    ingest: {simulate: {campaign: toy, triplets: 60}}\n    train:\n      inputs: [x]\n     "+
			" seeds: 1\n      splits: {right: {test: {x: {min: 3}}}}\n", v.name)

		for key, def := range map[string]string{"model": "{hidden: [8]}", "optimizer": "{epochs: 3}", "": v.train} {
			switch {
			case key == "" && v.train != "":
				fmt.Fprintf(&b, "      %s\n", v.train)
			case key != "" && !strings.HasPrefix(v.train, key+":"):
				fmt.Fprintf(&b, "      %s: %s\n", key, def)
			}
		}
	}

	runConfig(t, dir, b.String(), engine.Options{Jobs: 2})
	type model struct {
		Config map[string]any
		Layers []struct{ Weights [][]float64 }
	}

	read := func(name string) (m model) {
		// The seed's number is part of the folder's name.
		list, err := filepath.Glob(filepath.Join(dir, "runs", name, "splits/right/seed-*/model.json"))
		require.NoError(t, err)
		require.Len(t, list, 1)

		raw := testfile.Read(t, list[0])

		require.NoError(t, json.Unmarshal(raw, &m))

		return m
	}

	base := read("base")
	for _, v := range variants {
		m := read(v.name)
		for key, want := range v.config {
			assert.Equal(t, want, m.Config[key], "%s: the model states %s", v.name, key)
		}

		same := len(m.Layers[1].Weights) == len(base.Layers[1].Weights)
		for i := range base.Layers[1].Weights {
			same = same && slices.Equal(m.Layers[1].Weights[i], base.Layers[1].Weights[i])
		}

		assert.NotEqual(t, v.retrained, same, "%s: weights the same as with the defaults: %v", v.name, same)
	}

	predictions := func(name string) *table.Table {
		return readTable(t, dir, "runs", name, "splits/right/seed-0/predictions.arrow")
	}

	a := predictions("base")
	p := predictions("sampler")
	if a.Get("sampler") != "antithetic" || p.Get("sampler") != "plain" || a.Get("samples") != "1000" ||
		p.Get("samples") != "30" {
		t.Errorf("samplers %q and %q, samples %q and %q", a.Get("sampler"), p.Get("sampler"), a.Get("samples"),
			p.Get("samples"))
	}

	if slices.Equal(column(t, a, "y_cov_raw"), column(t, p, "y_cov_raw")) ||
		!slices.Equal(column(t, a, "y_cov"), column(t, p, "y_cov")) {
		t.Error("the sampler must touch the sampled covariance, and only that")
	}
}

// TestTableOptions: single measurements of equal conditions are paired in the
// order of the rows, under the name and unit the configuration gives them.
func TestTableOptions(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "single.csv"),
		[]byte("angle,load,note\n0,1,7\n2,5,7\n0,1.5,7\n2,4,7\n"),
		0o644))

	runConfig(t, dir, `version: 1
experiments:
  wing:
    ingest: {table: {file: single.csv, inputs: [angle], repeats: [load], outcomes: [lift],
      units: {lift: N, angle: deg}, pairs: repeat-run}}
`, engine.Options{Jobs: 2, Selection: engine.Selection{To: "dsp"}})

	tab := readTable(t, dir, "runs/wing/triplets.arrow")
	if a, y1, y2 := column(t, tab, "angle"), column(t, tab, "lift_1"),
		column(t, tab, "lift_2"); !slices.Equal(a, []float64{0, 2}) || !slices.Equal(y1, []float64{1, 5}) ||
		!slices.Equal(y2, []float64{1.5, 4}) {
		t.Errorf("angles %v, pairs %v and %v", a, y1, y2)
	}

	if tab.Column("note") != nil || tab.Column("lift_1").Unit != "N" || tab.Column("angle").Unit != "deg" {
		t.Errorf("columns do not follow inputs and units: lift_1 in %q, angle in %q", tab.Column("lift_1").Unit,
			tab.Column("angle").Unit)
	}
}

// TestTextOptions: a file without a header, whose columns, delimiter and time
// the configuration names. Expected by hand: 10 samples a second, mean 2.5 of
// the column called drag, which is the second.
func TestTextOptions(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a0.txt", "a5.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("0.0;1;9\n0.1;2;9.5\n0.2;3;9\n0.3;4;9.5\n"),
			0o644))
	}

	runConfig(t, dir, `version: 1
experiments:
  wing:
    ingest:
      files: "*.txt"
      pattern: "a{alpha_deg}.txt"
      text: {delimiter: semicolon, columns: [clock, drag, lift], time: clock}
      columns: {drag_n: drag}
      units: {drag_n: N}
    dsp: {triplets: random-samples, samples: 2}
`, engine.Options{Jobs: 2, Selection: engine.Selection{To: "ingest"}})

	tab := readTable(t, dir, "runs/wing/recordings.arrow")
	rate := column(t, tab, "rate_hz")
	mean := column(t, tab, "mean")
	require.Len(t, rate, 2, "rates %v, means %v, expected two of 10 Hz and 2.5", rate, mean)
	require.InDelta(t, 10, rate[0], 1e-9, "rates %v, means %v, expected two of 10 Hz and 2.5", rate, mean)
	assert.Equal(t, 2.5, mean[0], "rates %v, means %v, expected two of 10 Hz and 2.5", rate, mean)
}

// TestTachometerOptions: 40 revolutions a second with a pulse of 5 V each and
// one of 3 V half a turn later. Midway between the extremes only the high one
// counts (an edge is passed by a fifth of the range), from 1.5 V on both: 2400 and 4800 1/min, and with two pulses per
// revolution 2400 again, on whichever edge.
func TestTachometerOptions(t *testing.T) {
	const rate, n = 6400, 4 * 6400
	tacho := make([]float64, n)
	mic := make([]float64, n)
	for i := range n {
		switch turn := math.Mod(40*float64(i)/rate, 1); {
		case turn < 0.1:
			tacho[i] = 5
		case turn >= 0.5 && turn < 0.6:
			tacho[i] = 3
		}

		mic[i] = math.Cos(2*math.Pi*120*float64(i)/rate) + 0.001*float64(i*7919%101)
	}

	for options, want := range map[string]float64{
		"": 2400, ", threshold: 1.5": 4800,
		", threshold: 1.5, pulses_per_rev: 2": 2400, ", edge: falling, threshold: 1.5, pulses_per_rev: 2": 2400,
	} {
		dir := t.TempDir()
		writeNPY(t, filepath.Join(dir, "run.npy"), tacho, mic)
		runConfig(t, dir, `version: 1
experiments:
  rotor:
    ingest:
      files: run.npy
      constants: {blades: 3, rpm: 2400}
      rate_hz: 6400
      calibration: {unit: Pa}
      tachometer: {channel: 1`+options+`}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`, engine.Options{Jobs: 2, Selection: engine.Selection{To: "dsp"}})

		if got := column(t, readTable(t, dir, "runs/rotor/triplets.arrow"), "rpm_measured"); len(got) != 1 ||
			math.Abs(got[0]-want) > 1 {
			t.Errorf("tachometer%s: %v 1/min, expected %v", options, got, want)
		}
	}
}
