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

// runDSP runs experiments up to their triplets, which it returns by name. All have the keys ingest and dsp, and each
// has the keys of its variant too.
func runDSP(t *testing.T, dir, ingest, dsp string, variants map[string]string) map[string]*table.Table {
	t.Helper()

	var yaml strings.Builder
	yaml.WriteString("version: 1\nexperiments:\n")
	for name, keys := range variants {
		fmt.Fprintf(&yaml, "  %s:\n    ingest: {%s}\n    dsp: {%s%s}\n", name, ingest, dsp, keys)
	}

	write(t, dir, "pipeline.yaml", yaml.String())
	tripletsIn(t, dir)

	tables := map[string]*table.Table{}
	for name := range variants {
		tables[name] = readTable(t, dir, "runs", name, "triplets.arrow")
	}

	return tables
}

// Each key of a microphone's dsp works as documented, from the configuration to the table. The expected values are
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

	kept := slices.Repeat([]bool{true}, n) // rows of which all five lines are 1 dB above the floor

	for m := 1; m <= 5; m++ {
		name := fmt.Sprintf("bpf%d_db", m)
		emergent := base.Column(name + "_emergent").Bools

		for h := 1; h <= 2; h++ {
			half := func(variant, suffix string) []float64 {
				return column(t, tab[variant], fmt.Sprintf("%s%s_%d", name, suffix, h))
			}
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
				want := 10 / math.Ln10 * math.Sqrt((1+2*r)/4) / (1 + r)
				assert.InEpsilon(t, want, sd[i], 1e-9, "%s, row %d: deviation of 4 segments", name, i)

				assert.GreaterOrEqual(t, wide[i], narrow[i], "%s, row %d: the largest of more bins", name, i)
			}

			if m > 2 {
				assert.NotEqual(t, narrow, wide, "%s: weak lines in 2 and in 8 bins either side", name)
			}
		}

		easy := tab["easy"].Column(name + "_emergent").Bools
		loose := tab["loose"].Column(name + "_emergent").Bools
		strict := tab["strict"].Column(name + "_emergent").Bools
		for i := range emergent {
			kept[i] = kept[i] && loose[i]
			assert.True(t, easy[i], "%s, row %d: emergent from −100 dB", name, i)
			if strict[i] {
				assert.True(t, emergent[i], "%s, row %d: emergent from 20 dB, but not from 6 dB", name, i)
			}
		}
	}

	var want []string
	for i, recording := range base.Column("recording").Strings {
		if kept[i] {
			want = append(want, recording)
		}
	}

	require.NotEmpty(t, want)
	require.Less(t, len(want), n)
	assert.Equal(t, want, tab["drop"].Column("recording").Strings, "rows that censored: drop keeps")
}

// The air's density is given by a number, or by pressure and temperature as p/(R T) with R = 287.05 J/(kg K). As many
// samples are drawn as the configuration says, and others by another seed.
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
	require.Len(t, dense, 60, "30 samples of each of 2 runs")
	require.Len(t, warm, 60, "30 samples of each of 2 runs")
	assert.Equal(t, 2, tab["halves"].Rows(), "halves of 2 runs")

	rho := 95000 / (287.05 * (273.15 + 40))
	for i := range dense {
		require.InEpsilon(t, dense[i]/rho, warm[i], 1e-4, "cl of row %d at %.4f kg/m³", i, rho)
	}

	assert.NotEqual(t, dense, column(t, tab["seeded"], "cl_1"), "another seed draws the same samples")

	// Excluded files are listed, except for the table of conditions, which is used.
	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	require.NoError(t, err)
	assert.Empty(t, p.Warnings)
}

// The keys of train reach the model: its file states them, and its weights are not those of the defaults. The keys of
// the estimate reach the numbers without touching the weights.
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

	var yaml strings.Builder
	yaml.WriteString("version: 1\nkernels: portable\nexperiments:\n")
	for _, v := range variants {
		fmt.Fprintf(&yaml, `  %s:
    ingest: {simulate: {campaign: toy, triplets: 60}}
    train:
      inputs: [x]
      seeds: 1
      splits: {right: {test: {x: {min: 3}}}}
`, v.name)

		for _, section := range []string{"model: {hidden: [8]}", "optimizer: {epochs: 3}"} {
			key, _, _ := strings.Cut(section, ":")
			if !strings.HasPrefix(v.train, key+":") {
				fmt.Fprintf(&yaml, "      %s\n", section)
			}
		}

		if v.train != "" {
			fmt.Fprintf(&yaml, "      %s\n", v.train)
		}
	}

	runConfig(t, dir, yaml.String(), engine.Options{Jobs: 2})
	type model struct {
		Config map[string]any
		Layers []struct{ Weights [][]float64 }
	}

	read := func(name string) model {
		// The seed's number is part of the folder's name.
		list, err := filepath.Glob(filepath.Join(dir, "runs", name, "splits/right/seed-*/model.json"))
		require.NoError(t, err)
		require.Len(t, list, 1)

		var m model
		require.NoError(t, json.Unmarshal(testfile.Read(t, list[0]), &m))

		return m
	}

	base := read("base")
	for _, v := range variants {
		m := read(v.name)
		for key, want := range v.config {
			assert.Equal(t, want, m.Config[key], "%s: the model states %s", v.name, key)
		}

		const last = 1 // layer
		if v.retrained {
			assert.NotEqual(t, base.Layers[last].Weights, m.Layers[last].Weights, "weights of %s", v.name)
		} else {
			assert.Equal(t, base.Layers[last].Weights, m.Layers[last].Weights, "weights of %s", v.name)
		}
	}

	predictions := func(name string) *table.Table {
		return readTable(t, dir, "runs", name, "splits/right/seed-0/predictions.arrow")
	}

	antithetic := predictions("base")
	plain := predictions("sampler")
	assert.Equal(t, "antithetic", antithetic.Get("sampler"))
	assert.Equal(t, "1000", antithetic.Get("samples"))
	assert.Equal(t, "plain", plain.Get("sampler"))
	assert.Equal(t, "30", plain.Get("samples"))

	assert.NotEqual(t, column(t, antithetic, "y_cov_raw"), column(t, plain, "y_cov_raw"), "the sampled covariance")
	assert.Equal(t, column(t, antithetic, "y_cov"), column(t, plain, "y_cov"), "the covariance in closed form")
}

// Single measurements of equal conditions are paired in the order of the rows, under the name and the unit that the
// configuration gives them. Other columns are left out.
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
	assert.Equal(t, []float64{0, 2}, column(t, tab, "angle"))
	assert.Equal(t, []float64{1, 5}, column(t, tab, "lift_1"))
	assert.Equal(t, []float64{1.5, 4}, column(t, tab, "lift_2"))
	assert.Equal(t, "N", tab.Column("lift_1").Unit)
	assert.Equal(t, "deg", tab.Column("angle").Unit)
	assert.Nil(t, tab.Column("note"), "which is not an input")
}

// The configuration names the columns, the delimiter and the time of a file without a header. By hand the file has 10
// samples a second, and the second column, which is called drag, has the mean 2.5.
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
	require.Len(t, rate, 2)
	assert.InDelta(t, 10, rate[0], 1e-9)
	assert.Equal(t, 2.5, mean[0])
}

// A tachometer at 40 revolutions a second has a pulse of 5 V each turn and one of 3 V half a turn later. If the
// threshold is midway between the extremes, only the high pulse counts, as an edge passes the threshold by a fifth of
// the range: 2400 1/min. If it is 1.5 V, both count: 4800 1/min, and 2400 again with two pulses per revolution, on
// either edge.
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

		rpm := column(t, readTable(t, dir, "runs/rotor/triplets.arrow"), "rpm_measured")
		require.Len(t, rpm, 1, options)
		assert.InDelta(t, want, rpm[0], 1, options)
	}
}
