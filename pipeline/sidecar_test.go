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

// Conditions come from the keys of a YAML file next to each recording. Without names of values they are the numbers
// that all files have at their top.
func TestSidecar(t *testing.T) {
	dir := t.TempDir()
	writeNPY(t, filepath.Join(dir, "a.npy"), tone(80, 12800))
	writeNPY(t, filepath.Join(dir, "b.npy"), tone(100, 12800))
	write(t, dir, "a.yaml", "blades: 2\nrpm: 2400\noperator: Ada\nroom: {temperature: 21.5, serial: \"007\"}\n")
	write(t, dir, "b.yaml", "# JSON is YAML\n{\"rpm\": 3000, \"blades\": 2, \"room\": {\"temperature\": 22}, \"extra\": "+
		"1}\n")
	for ingest, columns := range map[string]map[string][]float64{
		".yaml": {"blades": {2, 2}, "rpm": {2400, 3000}},
		"{ending: .yaml, values: {blades: blades, rpm: rpm, temperature_c: room.temperature}}": {
			"blades": {2, 2}, "rpm": {2400, 3000}, "temperature_c": {21.5, 22},
		},
	} {
		tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(sidecarYAML, ingest))
		for name, want := range columns {
			assertColumn(t, tab, name, want)
		}

		assert.Nil(t, tab.Column("operator"), "%s: a text", ingest)
		assert.Nil(t, tab.Column("extra"), "%s: a number of one file alone", ingest)
	}
}

// sidecarYAML is the configuration of recordings with a file next to each of them. The key's value is inserted.
const sidecarYAML = `version: 1
experiments:
  rotor:
    ingest: {files: "*.npy", rate_hz: 6400, sidecar: %s}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`

// A file next to a recording that is missing, lacks a value, is malformed or contradicts the configuration is refused
// with its name.
func TestSidecarFaults(t *testing.T) {
	dir := t.TempDir()
	writeNPY(t, filepath.Join(dir, "a.npy"), tone(80, 12800))
	writeNPY(t, filepath.Join(dir, "b.npy"), tone(100, 12800))
	write(t, dir, "a.yaml", "blades: 2\nrpm: 2400\nroom: {temperature: 21.5}\n")

	for _, c := range []struct{ name, sidecar, b, want string }{
		{
			"no such value", "{ending: .yaml, values: {blades: blades, rpm: rmp}}", "blades: 2\nrpm: 3000\n",
			`a.yaml: expected a number "rmp", found blades, rpm, room.temperature (did you mean "rpm"?)`,
		},
		{"no file", ".yml", "blades: 2\n", "a.yml: expected a file with the conditions of a.npy, found none"},
		{"a value less", ".yaml", "blades: 2\n", `b.yaml: expected a number "rpm", found blades`},
		{"a list", ".yaml", "- 2\n", "b.yaml: read conditions: expected keys and values"},
		{"a key twice", ".yaml", "rpm: 1\nrpm: 2\n", `b.yaml: read conditions: line 2: "rpm" occurs twice`},
		{
			"another value", ".yaml, constants: {blades: 3}", "rpm: 3000\nblades: 2\n",
			"a.npy: condition blades: expected 3, as in the configuration, found 2 in the file next to it",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, dir, "b.yaml", c.b)
			assertRefuses(t, dir, fmt.Sprintf(sidecarYAML, c.sidecar), c.want)
		})
	}
}

// writeVolts writes 6 s of a balance's voltage about a mean, in a little irregular noise.
func writeVolts(t *testing.T, dir, name string, mean float64) {
	t.Helper()

	var text strings.Builder
	text.WriteString("time_s,V1\n")
	for i := range 600 {
		fmt.Fprintf(&text, "%g,%.6f\n", float64(i)/100, mean+0.01*math.Sin(float64(i*i)))
	}

	write(t, dir, name, text.String())
}

// Each run has its own recording without wind, which the table of conditions names. With 2 N/V the runs read 3 N on
// zeros of 1, −2 and 0.5 N, so that the lift is 3 N in all of them.
func TestTareOfEachRun(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	require.NoError(t, os.Mkdir(data, 0o755))

	table := "file,alpha_deg,tare\n"
	for i, zero := range []float64{1, -2, 0.5} {
		writeVolts(t, data, fmt.Sprintf("zero%d.csv", i), zero/2)
		writeVolts(t, data, fmt.Sprintf("run%d.csv", i), (zero+3)/2)
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
	for _, v := range column(t, recs, "integral_time_s") { // the noise has next to no correlation: half a sample of 10 ms
		assert.Greater(t, v, 0.0, "integral time in s")
		assert.Less(t, v, 0.1, "integral time in s")
	}

	// A recording without wind may be named without folder and ending, as recordings are.
	write(t, dir, "conditions.csv", strings.ReplaceAll(table, ",zero1.csv", ",zero1"))
	require.Equal(t, 3, tripletsOf(t, dir, "wing", yaml).Rows(), "triplets")

	yaml = strings.Replace(yaml, "data/*.csv", "data/run*.csv", 1)
	write(t, dir, "conditions.csv", strings.Replace(table, ",zero1.csv", ",zero9.csv", 1))
	assertRefuses(t, dir, yaml, "zero9.csv")

	assertRefuses(t, dir, strings.Replace(yaml, "column: tare,", "column: zero,", 1),
		"expected a column zero with the names of recordings without wind, found columns of text: tare")
}

// Conditions come from an array inside the file, which has a value for each microphone.
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

// With theta_from: axis the angle is 90° less the given one, whatever it comes from, and splits are made of the new
// angle.
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
		ingest string
		want   []float64
	}{
		{"inside: {theta_deg: angle}, theta_from: axis", []float64{60, 0, -60}},
		{"inside: {theta_deg: angle}", []float64{30, 90, 150}},
		{"channels: [p], conditions: conditions.csv, theta_from: axis", []float64{60, 0, -60}},
		{`channels: ["p[1]"], pattern: "run_{theta_deg}.npz", theta_from: axis`, []float64{-30}},
	} {
		assertColumn(t, tripletsOf(t, dir, "rotor", fmt.Sprintf(yaml, c.ingest)), "theta_deg", c.want)
		assertColumn(t, readTable(t, dir, "runs", "rotor", "recordings.arrow"), "theta_deg", c.want)
	}

	write(t, dir, "pipeline.yaml", fmt.Sprintf(yaml, "channels: [p], conditions: conditions.csv, theta_from: axis")+
		"    train: {inputs: [theta_deg], seeds: 1, optimizer: {epochs: 2}, splits: {each: theta_deg}}\n")
	runIn(t, dir)

	var heldOut []string
	for _, s := range readMetrics(t, dir, "rotor").Splits {
		heldOut = append(heldOut, s.HeldOut)
	}

	assert.Equal(t, []string{"theta_deg = -60", "theta_deg = 0", "theta_deg = 60"}, heldOut, "held out")

	assertRefuses(t, dir, fmt.Sprintf(yaml, "inside: {theta_deg: angle}, theta_from: axes"), `did you mean "axis"?`)
}

// Tables of conditions are read from HDF5 and both MATLAB levels, in groups and structs, with several shapes and types
// (h5py and scipy wrote the files in testdata/make_inside.py). Conditions and amplitudes are those of truth.json: each
// condition belongs to the microphone whose line has its amplitude, at 20 lg(amplitude/√2) dB re 1 unit.
func TestTableInsideHDF5AndMATLAB(t *testing.T) {
	data, err := filepath.Abs(filepath.Join("testdata", "inside"))
	require.NoError(t, err)

	var truth struct {
		Theta     []float64 `json:"theta_deg"`
		Amplitude []float64 `json:"amplitude"`
	}

	require.NoError(t, json.Unmarshal(testfile.Read(t, filepath.Join(data, "truth.json")), &truth))

	const yaml = `version: 1
experiments:
  rotor:
    ingest: {files: %q, constants: {blades: 2, rpm: 2400}%s, inside: {%s}}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`

	for _, c := range []struct{ file, channels, theta string }{
		{"mics.h5", ", channels: [/run/p]", "/geometry/theta"},
		{"mics_v5.mat", "", "geometry.theta"},
		{"mics_v73.mat", "", "geometry.theta"},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(data, c.file)
			tab := tripletsOf(t, dir, "rotor", fmt.Sprintf(yaml, file, c.channels, "theta_deg: "+c.theta))
			assertColumn(t, tab, "theta_deg", truth.Theta)

			for i, amplitude := range truth.Amplitude {
				level := 20 * math.Log10(amplitude/math.Sqrt2)
				assert.InDelta(t, level, column(t, tab, "bpf1_db_1")[i], 0.05, "row %d, first half: dB", i+1)
				assert.InDelta(t, level, column(t, tab, "bpf1_db_2")[i], 0.05, "row %d, second half: dB", i+1)
			}

			// An array of another length is an error that names it.
			assertRefuses(t, dir, fmt.Sprintf(yaml, file, c.channels, "theta_deg: "+c.theta+", x: fs"), "array fs")
		})
	}
}
