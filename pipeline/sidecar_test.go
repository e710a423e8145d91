package pipeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/internal/testfile"
)

// Conditions from a YAML file next to each recording, by their keys; expected
// values are those written there.
func TestSidecar(t *testing.T) {
	dir := t.TempDir()
	writeNPY(t, filepath.Join(dir, "a.npy"), tone(80, 12800))
	writeNPY(t, filepath.Join(dir, "b.npy"), tone(100, 12800))
	write(t, dir, "a.yaml", "blades: 2\nrpm: 2400\noperator: Ada\nroom: {temperature: 21.5, serial: \"007\"}\n")
	write(t, dir, "b.yaml", "# JSON is YAML\n{\"rpm\": 3000, \"blades\": 2, \"room\": {\"temperature\": 22}, \"extra\": "+
		"1}\n")
	yaml := `version: 1
experiments:
  rotor:
    ingest: {files: "*.npy", rate_hz: 6400, sidecar: %s}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`

	for _, c := range []struct {
		how  string
		want map[string][]float64
	}{
		{".yaml", map[string][]float64{"blades": {2, 2}, "rpm": {2400, 3000}}},
		{
			"{ending: .yaml, values: {blades: blades, rpm: rpm, temperature_c: room.temperature}}",
			map[string][]float64{"blades": {2, 2}, "rpm": {2400, 3000}, "temperature_c": {21.5, 22}},
		},
	} {
		tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(yaml, c.how))
		for name, want := range c.want {
			assertColumn(t, tab, name, want)
		}

		require.Nil(t, tab.Column("operator"), "%s: texts, or what only one file has, are conditions", c.how)
		assert.Nil(t, tab.Column("extra"), "%s: texts, or what only one file has, are conditions", c.how)
	}

	for _, c := range []struct{ how, file, text, want string }{
		{
			"{ending: .yaml, values: {blades: blades, rpm: rmp}}", "", "",
			`a.yaml: expected a number "rmp", found blades, rpm, room.temperature (did you mean "rpm"?)`,
		},
		{".yml", "", "", "a.yml: expected a file with the conditions of a.npy, found none"},
		{".yaml", "b.yaml", "blades: 2\n", `b.yaml: expected a number "rpm", found blades`},
		{".yaml", "b.yaml", "- 2\n", "b.yaml: read conditions: expected keys and values"},
		{".yaml", "b.yaml", "rpm: 1\nrpm: 2\n", `b.yaml: read conditions: line 2: "rpm" occurs twice`},
		{
			".yaml, constants: {blades: 3}", "b.yaml", "rpm: 3000\nblades: 2\n",
			"a.npy: condition blades: expected 3, as in the configuration, found 2 in the file next to it",
		},
	} {
		write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, c.how))

		if c.file != "" {
			write(t, dir, c.file, c.text)
		}

		assert.ErrorContains(t, tryIn(dir), c.want)
	}
}

// Each run's own recording without wind, named in the table of conditions: the
// force is 3 N in all runs, on zeros of 1, −2 and 0.5 N, which drift from run to
// run. Expected: 3 N.
func TestTareOfEachRun(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))

	table := "file,alpha_deg,tare\n"
	for i, zero := range []float64{1, -2, 0.5} {
		for _, wind := range []float64{0, 3} {
			var b strings.Builder
			b.WriteString("time_s,V1\n")

			for k := range 600 {
				fmt.Fprintf(&b, "%g,%.6f\n", float64(k)/100, (zero+wind)/2+0.01*math.Sin(float64(k*k)))
			}

			name := fmt.Sprintf("run%d.csv", i)
			if wind == 0 {
				name = fmt.Sprintf("zero%d.csv", i)
			}

			write(t, filepath.Join(dir, "data"), name, b.String())
		}

		table += fmt.Sprintf("run%d.csv,%d,zero%d.csv\n", i, i, i)
	}

	write(t, dir, "conditions.csv", table)
	yaml := `version: 1
experiments:
  wing:
    ingest:
      files: data/*.csv
      conditions: conditions.csv
      columns: {lift_n: Fz}
      balance: {voltages: [V1], matrix: [[2]], components: [Fz], tare: {column: tare, interpolation: mean}}
    dsp: {triplets: split-halves}
`

	tab := tripletsOf(t, dir, "wing", yaml)
	require.Equal(t, 3, tab.Rows(), "triplets")

	for i, v := range column(t, tab, "lift_n_1") {
		assert.InDelta(t, 3, v, 0.005, "run %d: N", i)
	}

	recs := readTable(t, dir, "runs", "wing", "recordings.arrow")
	for _, v := range column(t, recs, "integral_time_s") {
		if !(v > 0 && v < 0.1) { // next to no correlation: of the order of half a sample of 10 ms
			t.Errorf("integral time %g s", v)
		}
	}

	// As recordings are named: without folder and ending.
	write(t, dir, "conditions.csv", strings.ReplaceAll(table, ",zero1.csv", ",zero1"))
	require.Equal(t, 3, tripletsOf(t, dir, "wing", yaml).Rows(), "triplets")

	yaml = strings.Replace(yaml, "data/*.csv", "data/run*.csv", 1)
	write(t, dir, "pipeline.yaml", yaml)
	write(t, dir, "conditions.csv", strings.Replace(table, ",zero1.csv", ",zero9.csv", 1))

	assert.ErrorContains(t, tryIn(dir), "zero9.csv")

	assertRefuses(t, dir, strings.Replace(yaml, "column: tare,", "column: zero,", 1),
		"expected a column zero with the names of recordings without wind, found columns of text: tare")
}

// Conditions from a table inside the file: a value for each microphone. Expected values are those written.
func TestTableInsideTheFile(t *testing.T) {
	dir := t.TempDir()
	yaml := `version: 1
experiments:
  rotor:
    ingest: {files: run.npz, rate_hz: 6400, constants: {blades: 2%s}, inside: {%s}}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`

	p := tone(80, 12800)
	writeNPZ(t, filepath.Join(dir, "run.npz"), []string{"p", "theta_deg"}, [][]float64{p, p, p}, [][]float64{{-30, 0, 30}})
	tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(yaml, ", rpm: 2400", "theta_deg: theta_deg"))
	assertColumn(t, tab, "theta_deg", []float64{-30, 0, 30})

	assertRefuses(t, dir, fmt.Sprintf(yaml, ", rpm: 2400", "theta_deg: thet_deg"), `"theta_deg"`)

	writeNPZ(t, filepath.Join(dir, "run.npz"), []string{"p", "theta_deg"}, [][]float64{p, p, p},
		[][]float64{{-30, 0, 30, 60}})
	assertRefuses(t, dir, fmt.Sprintf(yaml, ", rpm: 2400", "theta_deg: theta_deg"),
		"run.npz: array theta_deg: expected a value for each of the 3 recordings, found 4 values")
}

// Conditions come from attributes of files, one of a group and one of each channel: 3200 Hz and a period of 1/12800 s,
// which h5py wrote. Intervals in seconds have the lines of their speeds.
func TestConditionsFromAttributesAndSeconds(t *testing.T) {
	data, err := filepath.Abs("testdata")
	require.NoError(t, err)

	dir := t.TempDir()
	run := func(ingest string) *table.Table {
		t.Helper()
		return tripletsOf(t, dir, "rotor", fmt.Sprintf("version: 1\nexperiments:\n  rotor:\n    ingest: {%s}\n    dsp: "+
			"{triplets: split-half-spectrum, harmonics: 1}\n", ingest))
	}

	tab := run(fmt.Sprintf(
		`files: %q, channels: [/run/p], constants: {blades: 2, rpm: 2400}, attributes: {sampled: "/run@fs"}`,
		filepath.Join(data, "inside", "mics.h5")))
	assertColumn(t, tab, "sampled", []float64{3200, 3200, 3200})

	tab = run(fmt.Sprintf(
		`files: %q, channels: [/Table1/Ds03-MIC], constants: {blades: 2, rpm: 12480}, `+
			`attributes: {period: "@ChannelInformationSamplingPeriod"}`,
		filepath.Join(data, "tunnel", "tunnel_U10_a4.h5")))

	assertColumn(t, tab, "period", []float64{1 / 12800.0})

	file := filepath.Join(data, "inside", "intervals.h5") // 2400/min for 2 s, then 3000
	write(t, dir, "conditions.csv", fmt.Sprintf("file,t0_s,t1_s,blades,rpm\n%s,0.25,2,2,2400\n%s,2,,2,3000\n", file, file))

	tab = run(fmt.Sprintf("files: %q, channels: [/p], conditions: conditions.csv", file))
	lines := column(t, tab, "bpf1_db_hz_1")
	require.Len(t, lines, 2)
	assert.InDelta(t, 80, lines[0], 0.5, "line at 2400/min")
	assert.InDelta(t, 100, lines[1], 0.5, "line at 3000/min")

	intervals := tab.Column("run").Strings
	assert.Regexp(t, `\[800:6400\]$`, intervals[0])
	assert.Regexp(t, `\[6400:(12800)?\]$`, intervals[1])

	write(t, dir, "pipeline.yaml", fmt.Sprintf(`version: 1
experiments:
  rotor:
    ingest: {files: %q, channels: [/run/p], constants: {blades: 2, rpm: 2400}, attributes: {sampled: "/run@sf"}}
    dsp: {triplets: split-half-spectrum}
`, filepath.Join(data, "inside", "mics.h5")))

	refusal := tryIn(dir)
	assert.ErrorContains(t, refusal, "condition sampled:")
	assert.ErrorContains(t, refusal, "/run@fs")
}

// theta_from: axis. Expected: 90° minus the given angle, from any source, before
// splits are made of it.
func TestThetaFromAxis(t *testing.T) {
	dir := t.TempDir()
	p := tone(80, 12800)
	writeNPZ(t, filepath.Join(dir, "run_120.npz"), []string{"p", "angle"}, [][]float64{p, p, p},
		[][]float64{{30, 90, 150}})
	write(t, dir, "conditions.csv", "file,channel,theta_deg\nrun_120.npz,1,30\nrun_120.npz,2,90\nrun_120.npz,3,150\n")
	const yaml = `version: 1
experiments:
  rotor:
    ingest: {files: run_*.npz, rate_hz: 6400, constants: {blades: 2, rpm: 2400}, %s}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`

	for _, c := range []struct {
		how  string
		want []float64
	}{
		{"inside: {theta_deg: angle}, theta_from: axis", []float64{60, 0, -60}},
		{"inside: {theta_deg: angle}", []float64{30, 90, 150}},
		{"channels: [p], conditions: conditions.csv, theta_from: axis", []float64{60, 0, -60}},
		{`channels: ["p[1]"], pattern: "run_{theta_deg}.npz", theta_from: axis`, []float64{-30}},
	} {
		write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, c.how))
		tripletsIn(t, dir)

		for _, name := range []string{"triplets.arrow", "recordings.arrow"} {
			assertColumn(t, readTable(t, dir, "runs", "rotor", name), "theta_deg", c.want)
		}
	}

	write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, "channels: [p], conditions: conditions.csv, theta_from: axis")+
		"    train: {inputs: [theta_deg], seeds: 1, optimizer: {epochs: 2}, splits: {each: theta_deg}}\n")
	var held []string
	runIn(t, dir)

	for _, s := range readMetrics(t, dir, "rotor").Splits {
		held = append(held, s.HeldOut)
	}

	assert.Equal(t, []string{"theta_deg = -60", "theta_deg = 0", "theta_deg = 60"}, held, "held out")

	assertRefuses(t, dir, fmt.Sprintf(yaml, "inside: {theta_deg: angle}, theta_from: axes"), `did you mean "axis"?`)
}

// The same in HDF5 and both MATLAB levels, with tables of several shapes and
// types, in groups and structs (testdata/make_inside.py by h5py and scipy).
// Expected: the conditions of truth.json, each with the line of its own amplitude
// there: 20 lg(a/√2) dB re 1 unit; and so the right microphone.
func TestTableInsideHDF5AndMATLAB(t *testing.T) {
	data, err := filepath.Abs(filepath.Join("testdata", "inside"))
	require.NoError(t, err)

	b := testfile.Read(t, filepath.Join(data, "truth.json"))

	var truth struct {
		Theta     []float64 `json:"theta_deg"`
		Amplitude []float64 `json:"amplitude"`
	}

	require.NoError(t, json.Unmarshal(b, &truth))

	yaml := `version: 1
experiments:
  rotor:
    ingest: {files: %q, constants: {blades: 2, rpm: 2400}%s, inside: {%s}}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`

	level := func(tab *table.Table, what string, amplitude []float64) {
		t.Helper()

		require.Equal(t, len(amplitude), tab.Rows(), "%s: triplets", what)

		for h := 1; h <= 2; h++ {
			for i, got := range column(t, tab, fmt.Sprintf("bpf1_db_%d", h)) {
				assert.InDelta(t, 20*math.Log10(amplitude[i]/math.Sqrt2), got, 0.05, "%s: row %d, half %d: dB", what, i+1, h)
			}
		}
	}

	for _, c := range []struct{ file, channels, theta, signal string }{
		{".h5", ", channels: [/run/p]", "/geometry/theta", "/run/p"},
		{"_v5.mat", "", "geometry.theta", "p"},
		{"_v73.mat", "", "geometry.theta", "p"},
	} {
		dir := t.TempDir()
		file := filepath.Join(data, "mics"+c.file)
		tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(yaml, file, c.channels, "theta_deg: "+c.theta))
		assertColumn(t, tab, "theta_deg", truth.Theta)

		level(tab, "mics"+c.file, truth.Amplitude)

		// An array of another length is an error that names it.
		write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, file, c.channels, "theta_deg: "+c.theta+", x: fs"))
		want := "array fs"
		assert.ErrorContains(t, tryIn(dir), want)
	}
}
