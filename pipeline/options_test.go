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

// spectralLine is one harmonic of the blades in one half of a recording.
type spectralLine struct{ harmonic, half int }

// spectralLines lists the lines that the variants of spectraVariants have: five harmonics in each half.
func spectralLines() []spectralLine {
	var lines []spectralLine
	for harmonic := 1; harmonic <= 5; harmonic++ {
		lines = append(lines, spectralLine{harmonic, 1}, spectralLine{harmonic, 2})
	}

	return lines
}

// values returns what a table has about the line: its levels for the suffix "", or numbers about them.
func (l spectralLine) values(t *testing.T, tab *table.Table, suffix string) []float64 {
	t.Helper()
	return column(t, tab, fmt.Sprintf("bpf%d_db%s_%d", l.harmonic, suffix, l.half))
}

// spectraVariants are the keys of dsp that TestSpectraOptions adds, by the name of the experiment.
var spectraVariants = map[string]string{
	"base": "", "far": ", distance: {from_m: 1, to_m: 2}", "power": ", output: power", "four": ", segments: 4",
	"easy": ", emergence_db: -100", "strict": ", emergence_db: 20", "loose": ", emergence_db: 1",
	"drop":   ", emergence_db: 1, censored: drop",
	"narrow": ", amplitude: peak, speed: nominal, tolerance: 0.0001, min_bins: 2",
	"wide":   ", amplitude: peak, speed: nominal, tolerance: 0.0001, min_bins: 8",
}

// Each key of a microphone's dsp works as documented, from the configuration to the table. The expected values are
// closed forms of the levels of the run without the key, base.
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
		"triplets: split-half-spectrum, harmonics: 5", spectraVariants)
	require.Equal(t, 12, tab["base"].Rows(), "triplets: two blade counts, two speeds, three microphones")

	t.Run("distance", func(t *testing.T) { checkDistance(t, tab["base"], tab["far"]) })
	t.Run("output", func(t *testing.T) { checkPower(t, tab["base"], tab["power"]) })
	t.Run("segments", func(t *testing.T) { checkSegments(t, tab["four"]) })
	t.Run("min_bins", func(t *testing.T) { checkBins(t, tab["narrow"], tab["wide"]) })
	t.Run("emergence_db", func(t *testing.T) { checkEmergence(t, tab) })
	t.Run("censored", func(t *testing.T) { checkCensored(t, tab["loose"], tab["drop"]) })
}

// checkDistance checks that a level falls by 20 lg 2 dB from one metre to two.
func checkDistance(t *testing.T, base, far *table.Table) {
	t.Helper()

	for _, line := range spectralLines() {
		at2m := line.values(t, far, "")
		for i, level := range line.values(t, base, "") {
			assert.InDelta(t, level-20*math.Log10(2), at2m[i], 1e-9, "%v, row %d", line, i)
		}
	}
}

// checkPower checks that output: power gives mean squares. A level in dBFS is relative to a full-scale sine, whose mean
// square is a half.
func checkPower(t *testing.T, base, power *table.Table) {
	t.Helper()

	for _, line := range spectralLines() {
		square := column(t, power, fmt.Sprintf("bpf%d_power_%d", line.harmonic, line.half))
		for i, level := range line.values(t, base, "") {
			assert.InDelta(t, level, 10*math.Log10(2*square[i]), 1e-9, "%v, row %d: mean square %g", line, i, square[i])
		}
	}
}

// checkSegments checks the deviation of a level from four segments: 4.343·√((1+2ρ)/segments)/(1+ρ), as
// docs/method.md#split-half-spectra has it. ρ is the line's power over the power of the noise.
func checkSegments(t *testing.T, four *table.Table) {
	t.Helper()

	for _, line := range spectralLines() {
		sd := line.values(t, four, "_sd")
		for i, rhoDB := range line.values(t, four, "_rho_db") {
			rho := math.Pow(10, rhoDB/10)
			want := 10 / math.Ln10 * math.Sqrt((1+2*rho)/4) / (1 + rho)
			assert.InEpsilon(t, want, sd[i], 1e-9, "%v, row %d", line, i)
		}
	}
}

// checkBins checks that the largest of 8 bins on either side of a line is at least the largest of 2. For the weak lines
// from the third harmonic on, some bin farther away is larger.
func checkBins(t *testing.T, narrow, wide *table.Table) {
	t.Helper()

	for _, line := range spectralLines() {
		of2 := line.values(t, narrow, "")
		of8 := line.values(t, wide, "")
		for i := range of2 {
			assert.GreaterOrEqual(t, of8[i], of2[i], "%v, row %d", line, i)
		}

		if line.harmonic >= 3 {
			assert.NotEqual(t, of2, of8, "%v", line)
		}
	}
}

// emergent reports for each row whether a harmonic is above the floor by the table's emergence_db.
func emergent(tab *table.Table, harmonic int) []bool {
	return tab.Column(fmt.Sprintf("bpf%d_db_emergent", harmonic)).Bools
}

// checkEmergence checks that every line is above the floor by −100 dB, and that a line above it by 20 dB also is above
// it by the default, 6 dB.
func checkEmergence(t *testing.T, tab map[string]*table.Table) {
	t.Helper()

	strict := 0 // values that are compared with the default
	for harmonic := 1; harmonic <= 5; harmonic++ {
		easy := emergent(tab["easy"], harmonic)
		assert.Equal(t, slices.Repeat([]bool{true}, tab["easy"].Rows()), easy, "harmonic %d from −100 dB", harmonic)

		by6 := emergent(tab["base"], harmonic)
		for i, by20 := range emergent(tab["strict"], harmonic) {
			if by20 {
				assert.True(t, by6[i], "harmonic %d, row %d", harmonic, i)
				strict++
			}
		}
	}

	assert.Positive(t, strict, "lines above the floor by 20 dB")
}

// checkCensored checks that censored: drop keeps the rows of which all five lines are above the floor, by 1 dB as in
// the table loose, which has all rows.
func checkCensored(t *testing.T, loose, drop *table.Table) {
	t.Helper()

	var kept []string
	for i, recording := range loose.Column("recording").Strings {
		isKept := true
		for harmonic := 1; harmonic <= 5; harmonic++ {
			isKept = isKept && emergent(loose, harmonic)[i]
		}

		if isKept {
			kept = append(kept, recording)
		}
	}

	require.NotEmpty(t, kept)
	require.Less(t, len(kept), loose.Rows())
	assert.Equal(t, kept, drop.Column("recording").Strings)
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

// trainVariant is a section train with keys of its own.
type trainVariant struct {
	name, keys string
	want       map[string]any // what its model.json states
	retrained  bool           // its weights differ from those of base
}

// trainVariants are the variants of TestTrainOptions. The first, base, has the documented defaults. The expected values
// are those of the keys.
var trainVariants = []trainVariant{
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

// yaml returns the experiment of a variant. It has a small network and few epochs, unless the keys say otherwise.
func (v trainVariant) yaml() string {
	text := "  " + v.name + `:
    ingest: {simulate: {campaign: toy, triplets: 60}}
    train:
      inputs: [x]
      seeds: 1
      splits: {right: {test: {x: {min: 3}}}}
`
	if !strings.HasPrefix(v.keys, "model:") {
		text += "      model: {hidden: [8]}\n"
	}

	if !strings.HasPrefix(v.keys, "optimizer:") {
		text += "      optimizer: {epochs: 3}\n"
	}

	if v.keys != "" {
		text += "      " + v.keys + "\n"
	}

	return text
}

// storedModel is a part of model.json.
type storedModel struct {
	Config map[string]any
	Layers []struct{ Weights [][]float64 }
}

// lastWeights returns the weights of the second and last layer.
func (m storedModel) lastWeights() [][]float64 { return m.Layers[1].Weights }

// modelOf reads the one model of an experiment. The seed's number is a part of the folder's name.
func modelOf(t *testing.T, dir, experiment string) storedModel {
	t.Helper()

	list, err := filepath.Glob(filepath.Join(dir, "runs", experiment, "splits/right/seed-*/model.json"))
	require.NoError(t, err)
	require.Len(t, list, 1)

	var m storedModel
	require.NoError(t, json.Unmarshal(testfile.Read(t, list[0]), &m))

	return m
}

// The keys of train reach the model: its file states them, and its weights are not those of the defaults. The keys of
// the estimate reach the numbers without touching the weights.
func TestTrainOptions(t *testing.T) {
	longtest.Skip(t, "trains with each option")

	dir := t.TempDir()
	yaml := "version: 1\nkernels: portable\nexperiments:\n"
	for _, v := range trainVariants {
		yaml += v.yaml()
	}

	runConfig(t, dir, yaml, engine.Options{Jobs: 2})

	base := modelOf(t, dir, "base")
	for _, v := range trainVariants {
		t.Run(v.name, func(t *testing.T) { v.check(t, modelOf(t, dir, v.name), base) })
	}

	t.Run("estimate", func(t *testing.T) {
		const predictions = "splits/right/seed-0/predictions.arrow"
		checkSampler(t, readTable(t, dir, "runs", "base", predictions), readTable(t, dir, "runs", "sampler", predictions))
	})
}

// check checks what the model of a variant states, and whether it has other weights than base.
func (v trainVariant) check(t *testing.T, m, base storedModel) {
	t.Helper()

	for key, want := range v.want {
		assert.Equal(t, want, m.Config[key], key)
	}

	if v.retrained {
		assert.NotEqual(t, base.lastWeights(), m.lastWeights())
	} else {
		assert.Equal(t, base.lastWeights(), m.lastWeights())
	}
}

// checkSampler checks the predictions of two equal networks, whose covariance was estimated by the default and by 30
// plain samples. The tables name the samplers. The sampled covariance differs, and the one in closed form does not.
func checkSampler(t *testing.T, antithetic, plain *table.Table) {
	t.Helper()
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
