package pipeline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/internal/longtest"
	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// calibrated writes a run of a rotor of two blades at 40 rev/s, which two microphones hear as lines of different
// amplitudes, and a recording of a calibrator for each microphone. The microphones have different sensitivities, and
// both are recorded when one of them hears the calibrator. edit changes the second microphone's calibrator.
func calibrated(t *testing.T, dir string, edit func(x []float64)) {
	t.Helper()
	const rate = 6400.0
	gain := [2]float64{0.03, 0.011} // units per Pa
	line := [2]float64{0.5, 0.2}    // Pa
	rng := rand.New(rand.NewPCG(5, 6))

	run := [2][]float64{}
	for c := range run {
		for i := range 8 * int(rate) {
			p := line[c]*math.Sin(2*math.Pi*80*float64(i)/rate) + 0.001*rng.NormFloat64()
			run[c] = append(run[c], gain[c]*p)
		}
	}

	writeNPY(t, filepath.Join(dir, "run.npy"), run[:]...)

	for c := range 2 {
		x := [2][]float64{}

		// 94 dB re 20 µPa rms, the definition of the level.
		a := math.Sqrt2 * 20e-6 * math.Pow(10, 94.0/20)
		for i := range 10 * int(rate) {
			s := float64(i) / rate
			x[c] = append(x[c], gain[c]*a*math.Sin(2*math.Pi*1000.3*s))
			x[1-c] = append(x[1-c], gain[1-c]*0.001*rng.NormFloat64())
		}

		if c == 1 && edit != nil {
			edit(x[1])
		}

		writeNPY(t, filepath.Join(dir, fmt.Sprintf("cal%d.npy", c+1)), x[:]...)
	}
}

const calibratedYAML = `version: 1
experiments:
  rotor:
    ingest:
      files: run.npy
      constants: {blades: 2, rpm: 2400}
      rate_hz: 6400
      calibration: {calibrator: {level_db: 94, recordings: {1: cal1.npy, 2: cal2.npy}}}
    dsp: {triplets: split-half-spectrum, harmonics: 1}
`

// A tone of the amplitude a has the level 20 lg(a/√2/20 µPa) whatever the microphone's sensitivity, which is found from
// the calibrator.
func TestCalibratorChain(t *testing.T) {
	dir := t.TempDir()
	calibrated(t, dir, nil)
	write(t, dir, "pipeline.yaml", calibratedYAML)
	runIn(t, dir)

	tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
	assert.Equal(t, "dB re 20 µPa", tab.Column("bpf1_db_1").Unit, "levels in")

	for c, a := range []float64{0.5, 0.2} {
		for h := 1; h <= 2; h++ {
			got := column(t, tab, fmt.Sprintf("bpf1_db_%d", h))[c]
			assert.InDelta(t, soundLevel(a), got, 0.02, "microphone %d, half %d: dB", c+1, h)
		}
	}

	recs := readTable(t, dir, "runs", "rotor", "recordings.arrow")
	for c, g := range []float64{0.03, 0.011} {
		assert.InEpsilon(t, 1/g, column(t, recs, "scale")[c], 2e-5, "Pa per unit of microphone %d", c+1)

		spread := column(t, recs, "calibrator_spread_db")[c]
		assert.GreaterOrEqual(t, spread, 0.0, "spread of microphone %d", c+1)
		assert.Less(t, spread, 0.01, "spread of microphone %d", c+1)

		assert.Contains(t, recs.Column("calibration").Strings[c],
			fmt.Sprintf("calibrator cal%d.npy, channel %d: 94 dB at 1000.3 Hz", c+1, c+1))
	}

	page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "calibrator cal2.npy, channel 2: 94 dB at 1000.3 Hz")

	// If the second calibrator's signal is twice as large, that microphone is taken to be twice as sensitive, and its
	// levels are 6.02 dB less.
	before := column(t, tab, "bpf1_db_1")
	calibrated(t, dir, func(x []float64) {
		for i := range x {
			x[i] *= 2
		}
	})

	tripletsIn(t, dir)

	after := column(t, readTable(t, dir, "runs", "rotor", "triplets.arrow"), "bpf1_db_1")
	assert.InDelta(t, before[0], after[0], 1e-9)
	assert.InDelta(t, before[1]-20*math.Log10(2), after[1], 1e-4)

	// By gain_db the runs were recorded with 20 dB more than the calibrator.
	tab = tripletsOf(t, dir, "rotor", strings.Replace(calibratedYAML, "level_db: 94,", "level_db: 94, gain_db: 20,", 1))
	assert.InDelta(t, before[0]-20, column(t, tab, "bpf1_db_1")[0], 1e-9)
}

// tryCalibrated runs calibratedYAML with a text replaced, and the second microphone's calibrator edited.
func tryCalibrated(t *testing.T, old, new string, edit func([]float64)) error {
	t.Helper()

	dir := t.TempDir()
	calibrated(t, dir, edit)
	write(t, dir, "pipeline.yaml", strings.Replace(calibratedYAML, old, new, 1))

	return tryIn(dir)
}

// fade raises a calibrator's level by 0.5 dB from end to end, so that the first and the last of ten blocks differ by
// 0.45 dB.
func fade(x []float64) {
	for i := range x {
		x[i] *= math.Pow(10, 0.5*float64(i)/float64(len(x))/20)
	}
}

// putOnLate silences the first second of a calibrator's recording.
func putOnLate(x []float64) { clear(x[:6400]) }

// A calibrator that is put on late is used from the second that the configuration states.
func TestCalibratorFromSecond(t *testing.T) {
	assert.NoError(t, tryCalibrated(t, "94,", "94, from_s: 1,", putOnLate))
}

// Calibrators' recordings are used as the configuration says.
func TestCalibratorSettings(t *testing.T) {
	longtest.Skip(t, "runs three calibrations to the triplets")

	assert.NoError(t, tryCalibrated(t, "94,", "94, spread_db: 0.5,", fade), "a spread that is allowed")
	assert.NoError(t, tryCalibrated(t, "2: cal2.npy", `2: "cal1.npy#1"`, nil), "a channel of another recording")
	assert.NoError(t, tryCalibrated(t, "recordings: {1: cal1.npy, 2: cal2.npy}", "file: cal1.npy, channel: 1", nil),
		"one channel for all microphones")
}

// A calibrator's recording that is not steady, silent, too short or not stated is refused with what was found.
func TestCalibratorFaults(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		edit           func([]float64)
		want           string
	}{
		{"fading", "", "", fade, "cal2.npy: channel 2: expected a calibrator's level that is steady within 0.2 dB, found a " +
			"spread of 0.45 dB over 10 blocks of 1 s (block 1: 93.77 dB, block 10: 94.22 dB)"},
		{"put on late", "", "", putOnLate, "cal2.npy: channel 2: expected a calibrator's level that is steady"},
		{"beyond", "94,", "94, to_s: 11,", nil, "expected from_s and to_s within its 10 s, found 0 and 11"},
		{"silent", "2: cal2.npy", "2: cal1.npy", nil, "cal1.npy: channel 2: expected a calibrator's tone near"},
		{"one missing", ", 2: cal2.npy", "", nil, "run.npy: channel 2: expected a calibrator's recording of this channel, " +
			"found recordings of 1"},
		{
			"all from one", "recordings: {1: cal1.npy, 2: cal2.npy}", "file: cal1.npy", nil,
			"cal1.npy: channel 2: expected a calibrator's tone near",
		},
		{"frequency", "94,", "94, frequency_hz: 250,", nil, "expected a calibrator's tone near 250 Hz"},
		{"no level", "level_db: 94, ", "", nil, "expected level_db"},
		{"two ways", "calibrator:", "pa_per_unit: 2, calibrator:", nil, "keep one of them"},
		{"no file", "cal2", "cal3", nil, "cal3.npy"},
	} {
		assert.ErrorContains(t, tryCalibrated(t, c.old, c.new, c.edit), c.want, c.name)
	}
}

// If the calibrator's recording changes, the files' tasks run again. If the same bytes are written again, they do not.
func TestCalibratorIsInTheKey(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", calibratedYAML)
	ran := func(edit func([]float64)) int {
		calibrated(t, dir, edit)

		p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
		require.NoError(t, err)

		res, err := p.Run(context.Background(), engine.Options{Jobs: 2})
		require.NoError(t, err)

		return res.Ran
	}

	all := ran(nil)
	assert.Equal(t, 0, ran(nil), "tasks where nothing changed")
	assert.Equal(t, all, ran(func(x []float64) { x[100] *= 1.01 }), "tasks where the calibrator changed")
}
