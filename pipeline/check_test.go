package pipeline_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest"
	"doubletake/internal/testfile"
	"doubletake/pipeline"
)

// A thousand recordings are checked by their headers. One of another rate is named.
func TestCheckThousandFiles(t *testing.T) {
	dir := t.TempDir()
	x := make([]float64, 3000)
	writeWAV(t, filepath.Join(dir, "first.wav"), 6000, x)

	for i := range 999 {
		require.NoError(t, os.Link(filepath.Join(dir, "first.wav"), filepath.Join(dir, fmt.Sprintf("r%d.wav", 1000+i))))
	}

	require.NoError(t, os.Remove(filepath.Join(dir, "first.wav")))

	writeWAV(t, filepath.Join(dir, "r3000.wav"), 8000, make([]float64, 4000)) // as long in seconds
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  rotor:
    ingest: {files: "*.wav", pattern: "r{rpm}.wav", constants: {blades: 20}}
    dsp: {triplets: split-half-spectrum, harmonics: 3}
`)

	w, err := checkFiles(t, dir)
	require.NoError(t, err)

	require.Len(t, w, 1)
	assert.Contains(t, w[0].Text, "6000 Hz in 999 (first r1000.wav), 8000 Hz in 1 (first r3000.wav)")
}

// A clock whose unit is doubtful is told by check, once for all files: whole numbers without a unit, in a file that
// DuckDB wrote, and seconds that are likely microseconds.
func TestCheckClock(t *testing.T) {
	dir := t.TempDir()

	write(t, dir, "a1.parquet", string(testfile.Read(t, "../ingest/format/parquet/testdata/times/integer.parquet")))

	rows := "time (s),x\n"
	for i := range 100 {
		rows += fmt.Sprintf("%d,%d\n", 100*i, i%7)
	}

	write(t, dir, "b1.csv", rows)
	write(t, dir, "pipeline.yaml", `version: 1
experiments:
  a:
    ingest: {files: "*.parquet", pattern: "a{n}.parquet", columns: {lift_n: x}}
    dsp: {triplets: random-samples, samples: 20}
  b:
    ingest: {files: "*.csv", pattern: "b{n}.csv", columns: {lift_n: x}}
    dsp: {triplets: random-samples, samples: 20}
`)

	w, err := checkFiles(t, dir)
	require.NoError(t, err)
	require.Len(t, w, 2)
	assert.Equal(t, "clock-unit", w[0].Code)
	assert.Contains(t, w[0].Text, "(in 1 of 1 files)")
	assert.Equal(t, "odd-rate", w[1].Code)
	assert.Contains(t, w[1].Text, "0.01 Hz is a rate outside 0.1 Hz … 10 MHz")
}

// checkIn checks an experiment, whose files are in a folder, and returns the warnings as text.
func checkIn(t *testing.T, dir, experiment string) (warnings string, err error) {
	t.Helper()

	write(t, dir, "pipeline.yaml", "version: 1\nexperiments:\n  rig:\n"+experiment)

	list, err := checkFiles(t, dir)

	return fmt.Sprint(list), err
}

// checkFiles checks a folder's pipeline.yaml and its files, as the command check does.
func checkFiles(t *testing.T, dir string) ([]ingest.Warning, error) {
	t.Helper()

	p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
	if err != nil {
		return nil, err
	}

	return p.CheckFiles(t.Context())
}

// Experiments of the tests of pipeline check. checkedFan, checkedBalance and checkedLoads are on the files whose names
// begin with the inserted letter; the last inserted text is further settings.
const (
	checkedFan = "    ingest: {files: \"%s*.wav\", pattern: \"%s{rpm}.wav\", constants: {blades: 2}%s}\n" +
		"    dsp: {triplets: split-half-spectrum}\n"
	checkedBalance = "    ingest: {files: \"%s*.csv\", pattern: \"%s{rpm}.csv\", columns: {lift: f}}\n" +
		"    dsp: {triplets: random-samples, samples: %d}\n"
	checkedLoads = "    ingest: {files: \"d*.csv\", conditions: %s, columns: {load: Fz}, " +
		"balance: {voltages: [f], matrix: [[2]], components: [Fz], tare: {column: zero, interpolation: mean}}}\n" +
		"    dsp: {triplets: random-samples, samples: 20}\n"
	checkedTraining = "    train: {inputs: [rpm], splits: {x: {test: {rpm: 1600}}}%s}\n"
	trainingOfNames = "    train: {inputs: [%s], splits: {x: {test: {propeller: HQ}}}%s}\n"
)

var (
	checkedBands  = strings.Replace(checkedFan, "spectrum}", "bands}", 1)
	twentySamples = fmt.Sprintf(checkedBalance, "b", "b", 20)
)

// writeCheckedFiles writes the files of the experiments into a new folder. Each kind has a file for each of four
// speeds, from 1500 to 1800 rpm:
//
//   - a: sound of 3 s at 10 kHz, and a shorter file at 1900 rpm;
//   - s: the same samples at 48 Hz, in equal files;
//   - b: 600 samples of a force; c: equal files of 600 samples, of which the one at 1600 rpm has a NaN;
//   - d: a balance's voltage at 1500 rpm, whose logs name a file without wind that is missing or has another channel.
func writeCheckedFiles(t *testing.T) (dir string) {
	t.Helper()

	dir = t.TempDir()
	noise := "t,f\n"
	bad := "t,f\n"
	for i := range 600 {
		noise += fmt.Sprintf("%g,%d\n", 0.01*float64(i), i*i%17)
		bad += fmt.Sprintf("%g,1.5\n", 0.01*float64(i))
	}

	sound := make([]float64, 30000)
	for i := range sound {
		sound[i] = float64(i*i%101)/200 - 0.25
	}

	for rpm := 1500; rpm <= 1800; rpm += 100 {
		writeWAV(t, filepath.Join(dir, fmt.Sprintf("a%d.wav", rpm)), 10000, sound)
		writeWAV(t, filepath.Join(dir, fmt.Sprintf("s%d.wav", rpm)), 48, sound)
		write(t, dir, fmt.Sprintf("b%d.csv", rpm), strings.Replace(noise, "0,0", fmt.Sprint("0,", rpm), 1))
		write(t, dir, fmt.Sprintf("c%d.csv", rpm), noise)
	}

	writeWAV(t, filepath.Join(dir, "a1900.wav"), 10000, sound[:10000])
	writeWAV(t, filepath.Join(dir, "calibrator.wav"), 10000, sound[:100])
	write(t, dir, "d1500.csv", noise)
	write(t, dir, "wind-off.csv", strings.Replace(noise, "t,f", "t,other", 1))
	write(t, dir, "tares.csv", "file,rpm,zero\nd1500.csv,1500,gone.csv\n")
	write(t, dir, "tares2.csv", "file,rpm,zero\nd1500.csv,1500,wind-off.csv\n")
	write(t, dir, "names.csv", "propeller,rpm,lift_1,lift_2\nAPC,1,1,2\nAPC,2,3,4\nHQ,1,5,6\nHQ,2,4,4\n")
	write(t, dir, "pairs.csv", "rpm,lift_1,lift_2,drag_1,drag_2\n1,1,2,0,0\n2,3,4,0,0\n3,5,6,0,0\n")
	write(t, dir, "c1600.csv", strings.Replace(bad, "4.17,1.5", "4.17,NaN", 1))

	return dir
}

// checkCase is an experiment that a run would refuse, and what the error of the check must contain.
type checkCase struct {
	name, yaml string
	wants      []string
}

// checkCases are on the files of writeCheckedFiles. By hand, 16 segments of 4 periods of 2·1900/60 Hz at 10 kHz are 632
// samples each.
var checkCases = []checkCase{
	{
		"too short", fmt.Sprintf(checkedFan, "a", "a", ""),
		[]string{
			"a1900.wav: expected at least 10112 samples (2 halves of 8 segments, each 4 periods of the blade passing " +
				"frequency 63.3333 Hz), found 10000 (record longer or ask for fewer segments)",
		},
	},
	{
		"kHz for Hz", fmt.Sprintf(checkedFan, "s", "s", ""),
		[]string{
			"s1500.wav", "harmonic 1 of the blade passing frequency", "found 50 Hz (2 blades at 25 rev/s)",
			"a sampling rate of 48 Hz (in the file) may be meant in kHz: write rate_hz: 48000",
		},
	},
	{
		"few samples", fmt.Sprintf(checkedBalance, "b", "b", 301),
		[]string{"b1500.csv: expected at least 602 samples for two outcomes of 301 samples each, found 600"},
	},
	{
		"no number", fmt.Sprintf(checkedBalance, "c", "c", 20),
		[]string{"c1600.csv: channel f, sample 417: expected a finite number, found NaN (samples count from 0; list"},
	},
	{
		"no repeats", strings.Replace(twentySamples, "random-samples", "repeats", 1),
		[]string{"expected conditions that were measured more than once, found 4 runs, all at different conditions"},
	},
	{
		"tare", strings.Replace(fmt.Sprintf(checkedLoads, "tares.csv"), "column: z", "file: z", 1),
		[]string{"zero: no such file"},
	},
	{
		"form", twentySamples + fmt.Sprintf(checkedTraining, ", form: log"),
		[]string{"train.form: expected raw, auto or one of raw"},
	},
	{
		"batch of a selection", twentySamples + fmt.Sprintf(checkedTraining, ", optimizer: {batch: 50}") +
			"    sweep: [{}, {loss.beta: 1}]\n    select: {on: rpm}\n",
		[]string{`expected up to 40 triplets, which the training set of split "x/inner/rpm=1500" has, found 50`},
	},
	{
		"one value without a group",
		twentySamples + strings.Replace(fmt.Sprintf(checkedTraining, ", honest: {base: pair}"), "1600", "[1600, 1700]", 1),
		[]string{"train.honest: without a group, on rpm=1800: fit ensemble: no input varies over the 20 training rows"},
	},
	{
		"a copy", fmt.Sprintf(checkedBands, "s", "s", ""),
		[]string{"s1600.wav: expected another measurement than s1500.wav"},
	},
	{"theory", twentySamples + "    report: {compare: pairs.csv}\n", []string{"pairs.csv: expected a column named as an"}},
	{
		"no column", strings.Replace(twentySamples, "lift: f", "lift: ''", 1),
		[]string{`lift: expected the name of a column`},
	},
	{
		"one of a pair", "    ingest: {table: {file: pairs.csv, y1: [lift_1], y2: [lift_2, drag_2]}}\n",
		[]string{"pairs.csv: ingest.table: y1 names 1 column, y2 2: they must be as many"},
	},
	{
		"no outcome", twentySamples + fmt.Sprintf(checkedTraining, ", outcomes: [lifd]"),
		[]string{`train.outcomes: "lifd" is not an outcome of this experiment, which has [lift]; did you mean "lift"?`},
	},
	{
		"short calibrator",
		strings.Replace(fmt.Sprintf(checkedFan, "a", "a", ", exclude: [a1900.wav], "+
			"calibration: {calibrator: {file: calibrator.wav, level_db: 94}}"), "split-half-spectrum", "split-half-bands", 1),
		[]string{"calibrator.wav: channel 1: expected at least 2048 samples (0.205 s), found 100"},
	},
	{
		"no tare", fmt.Sprintf(checkedLoads, "tares.csv"),
		[]string{`column zero: expected a recording without wind, found no file "gone.csv"`},
	},
	{
		"no voltage in the tare", fmt.Sprintf(checkedLoads, "tares2.csv"),
		[]string{`wind-off.csv: expected a channel "f", found only "t", "other"`},
	},
	{
		"constant outcome", "    ingest: {table: pairs.csv}\n" +
			strings.Replace(fmt.Sprintf(checkedTraining, ", outcomes: [lift, drag]"), "1600", "2", 1),
		[]string{"pairs.csv: expected outcomes that vary, found drag is 0 in all 3 pairs (nothing can be learned from it"},
	},
	{
		"names alone as inputs", "    ingest: {table: names.csv}\n" + fmt.Sprintf(trainingOfNames, "propeller", ""),
		[]string{"train.inputs: [propeller] are names: expected a condition of numbers too"},
	},
	{
		"names without a process", "    ingest: {table: names.csv}\n" +
			fmt.Sprintf(trainingOfNames, "propeller, rpm", ", honest: {base: none}"),
		[]string{"train.inputs: [propeller] are names, which the process", "expected honest: {base: gp}, found none"},
	},
	{
		"more blocks than values", twentySamples + fmt.Sprintf(checkedTraining, ", honest: {blocks: 5}"),
		[]string{
			"train.honest.blocks: expected up to 3 blocks of rpm, as many as it has values in the training set of split " +
				`"x", found 5; take fewer blocks, or leave them out`,
		},
	},
}

// What would stop a run later is found before it, with file, place, finding and remedy.
func TestCheckFindsBeforeRun(t *testing.T) {
	dir := writeCheckedFiles(t)
	for _, c := range checkCases {
		t.Run(c.name, func(t *testing.T) {
			_, err := checkIn(t, dir, c.yaml)
			for _, part := range c.wants {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

// Microphones of one run that no condition tells apart give a warning.
func TestCheckWarnsOfEqualMicrophones(t *testing.T) {
	dir := t.TempDir()
	pair := "time (s),p1 (Pa),p2 (Pa)\n"
	for i := range 2000 {
		pair += fmt.Sprintf("%g,%d,%d\n", 0.001*float64(i), i*i%17, i*i%13)
	}

	write(t, dir, "two.csv", pair)

	warnings, err := checkIn(t, dir, "    ingest: {files: two.csv, constants: {blades: 2, rpm: 6000}}\n"+
		"    dsp: {triplets: split-half-spectrum, harmonics: 2}\n")
	require.NoError(t, err)
	assert.Contains(t, warnings, "2 microphones of one run have equal conditions; give what")
}

// A constant outcome beside others gives a warning, because nothing is trained on it.
// The test covers case constant-outcome.
func TestCheckWarnsOfConstantOutcome(t *testing.T) {
	dir := writeCheckedFiles(t)
	heldOut := strings.Replace(fmt.Sprintf(checkedTraining, ""), "1600", "2", 1)
	warnings, err := checkIn(t, dir, "    ingest: {table: pairs.csv}\n"+heldOut)
	require.NoError(t, err)
	assert.Contains(t, warnings, "drag is 0 in all 3 pairs: nothing is trained on it")
}

// A column of names may be an input beside a condition of numbers, whether or not the table lists its inputs.
func TestCheckAcceptsNamesAsInputs(t *testing.T) {
	dir := writeCheckedFiles(t)
	for _, table := range []string{"names.csv", "{file: names.csv, inputs: [propeller, rpm]}"} {
		_, err := checkIn(t, dir, "    ingest: {table: "+table+"}\n"+fmt.Sprintf(trainingOfNames, "propeller, rpm", ""))
		require.NoError(t, err, table)
	}
}

// A sampling rate that may be meant in kHz gives a warning if the analysis is possible nevertheless.
func TestCheckWarnsOfRate(t *testing.T) {
	dir := writeCheckedFiles(t)
	warnings, err := checkIn(t, dir, fmt.Sprintf(checkedBands, "s", "s", ", exclude: ['s1[678]*']"))
	require.NoError(t, err)
	assert.Contains(t, warnings, "48 Hz (in the file) may be meant in kHz: write rate_hz: 48000 (in 1")
}

// Splits of each value that cut set points, or are many, are warned of with a remedy, after which there is no warning.
// The table has 6 speeds of 10 runs each at ± 0.3 %.
func TestCheckEach(t *testing.T) {
	dir := t.TempDir()
	text := "rpm,u,thrust_1,thrust_2\n"
	for i := range 60 {
		text += fmt.Sprintf("%g,%d,%d,%d\n", float64(1000+400*(i%6))*(1+0.003*math.Sin(float64(i))), i%30, i%7, i%5)
	}

	write(t, dir, "t.csv", text)

	warnings := func(within, splits string) string {
		t.Helper()

		w, err := checkIn(t, dir, "    ingest: {table: {file: t.csv, inputs: [rpm, u]}"+within+"}\n"+
			"    train: {inputs: [rpm, u], splits: "+splits+"}\n")
		require.NoError(t, err)

		return w
	}

	const none = "[]"
	assert.Contains(t, warnings("", "{each: rpm}"), "rig: rpm has 60 values about 6 set points, ± 0.3 %: splits of each "+
		"cut set points; name them with ingest: {within: {rpm: 0.5 %}}")
	assert.Equal(t, none, warnings(", within: {rpm: 0.5 %}", "{each: rpm}"))

	assert.Contains(t, warnings("", "{each: u}"),
		"each u makes 30 splits, a training per seed each; hold out blocks of values: {each: u, blocks: 8}")
	assert.Equal(t, none, warnings("", "{n: {each: u, blocks: 8}}"))
}

// The repository's examples have no fault, no splits that cut set points and no doubtful rate, whether their data are
// in the repository or measured.
func TestCheckExamples(t *testing.T) {
	for name, data := range map[string]string{
		"propeller-stand": "", "rm2-turbine": "", "turbine-forces": "", "crisscl-motor": "crisscl-motor-9450-propeller",
		"cyclone-balance": "cyclone-ojf-force-balance", "princeton-balance": "princeton-mae224-lift-drag",
		"lcav-microphones": "lcav-crazyflie-propeller/propellers_only_4mics",
		"lcav-propeller":   "lcav-crazyflie-propeller/propellers",
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join("..", "examples", name)
			if data != "" {
				dir = example(t, name, measuredData(t, data))
			}

			w, err := checkFiles(t, dir)
			require.NoError(t, err)

			for _, warning := range w {
				assert.NotContains(t, []string{"each", "rate-unit"}, warning.Code, warning.Text)
			}
		})
	}
}
