package pipeline_test

import (
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

// Both microphones of writeCalibrated.
var (
	calibratedUnitsPerPa = [2]float64{0.03, 0.011}
	calibratedLinesPa    = [2]float64{0.5, 0.2} // amplitudes
)

// calibratedRateHz is the rate of the recordings of writeCalibrated.
const calibratedRateHz = 6400

// writeCalibrated writes a run of a rotor of two blades at 40 rev/s, which two microphones hear as lines of different
// amplitudes, and a recording of a calibrator for each microphone. The microphones have different sensitivities, and
// both are recorded when one of them hears the calibrator. edit changes the second microphone's calibrator; nil leaves
// it as it is.
func writeCalibrated(t *testing.T, dir string, edit func(samples []float64)) {
	t.Helper()

	rng := rand.New(rand.NewPCG(5, 6))
	sine := func(hz float64, i int) float64 { return math.Sin(2 * math.Pi * hz * float64(i) / calibratedRateHz) }

	run := make([][]float64, 2)
	for m := range run {
		for i := range 8 * calibratedRateHz {
			p := calibratedLinesPa[m]*sine(80, i) + 0.001*rng.NormFloat64()
			run[m] = append(run[m], calibratedUnitsPerPa[m]*p)
		}
	}

	writeNPY(t, filepath.Join(dir, "run.npy"), run...)

	amplitude := math.Sqrt2 * soundReferencePa * math.Pow(10, 94.0/20) // 94 dB re 20 µPa
	for calibrated := range 2 {
		recording := make([][]float64, 2)
		for i := range 10 * calibratedRateHz {
			for m := range recording {
				p := 0.001 * rng.NormFloat64()
				if m == calibrated {
					p = amplitude * sine(1000.3, i)
				}

				recording[m] = append(recording[m], calibratedUnitsPerPa[m]*p)
			}
		}

		if calibrated == 1 && edit != nil {
			edit(recording[calibrated])
		}

		writeNPY(t, filepath.Join(dir, fmt.Sprintf("cal%d.npy", calibrated+1)), recording...)
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
	writeCalibrated(t, dir, nil)
	write(t, dir, "pipeline.yaml", calibratedYAML)
	runIn(t, dir)

	tab := readTable(t, dir, "runs", "rotor", "triplets.arrow")
	assert.Equal(t, "dB re 20 µPa", tab.Column("bpf1_db_1").Unit, "levels in")

	for m, amplitude := range calibratedLinesPa {
		for half := 1; half <= 2; half++ {
			level := column(t, tab, fmt.Sprintf("bpf1_db_%d", half))[m]
			assert.InDelta(t, soundLevel(amplitude), level, 0.02, "microphone %d, half %d: dB", m+1, half)
		}
	}

	recordings := readTable(t, dir, "runs", "rotor", "recordings.arrow")
	for m, unitsPerPa := range calibratedUnitsPerPa {
		assert.InEpsilon(t, 1/unitsPerPa, column(t, recordings, "scale")[m], 2e-5, "Pa per unit of microphone %d", m+1)

		spread := column(t, recordings, "calibrator_spread_db")[m]
		assert.GreaterOrEqual(t, spread, 0.0, "spread of microphone %d", m+1)
		assert.Less(t, spread, 0.01, "spread of microphone %d", m+1)

		assert.Contains(t, recordings.Column("calibration").Strings[m],
			fmt.Sprintf("calibrator cal%d.npy, channel %d: 94 dB at 1000.3 Hz", m+1, m+1))
	}

	page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "calibrator cal2.npy, channel 2: 94 dB at 1000.3 Hz")

	// If the second calibrator's signal is twice as large, that microphone is taken to be twice as sensitive, and its
	// levels are 20 lg 2 = 6.02 dB less.
	before := column(t, tab, "bpf1_db_1")
	writeCalibrated(t, dir, func(x []float64) {
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

// tryCalibrated runs calibratedYAML with a text replaced, and the second microphone's calibrator edited. It returns the
// error of the run.
func tryCalibrated(t *testing.T, old, replacement string, edit func([]float64)) error {
	t.Helper()

	require.Contains(t, calibratedYAML, old)

	dir := t.TempDir()
	writeCalibrated(t, dir, edit)
	write(t, dir, "pipeline.yaml", strings.Replace(calibratedYAML, old, replacement, 1))

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
func putOnLate(x []float64) { clear(x[:calibratedRateHz]) }

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
		name, old, replacement string
		edit                   func([]float64)
		want                   string
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
		assert.ErrorContains(t, tryCalibrated(t, c.old, c.replacement, c.edit), c.want, c.name)
	}
}

// If the calibrator's recording changes, all tasks run again. If the same bytes are written again, none does.
func TestCalibratorIsInTheKey(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "pipeline.yaml", calibratedYAML)
	tasksRun := func(edit func([]float64)) int {
		writeCalibrated(t, dir, edit)

		p, err := pipeline.Load(filepath.Join(dir, "pipeline.yaml"))
		require.NoError(t, err)

		result, err := p.Run(t.Context(), engine.Options{Jobs: 2})
		require.NoError(t, err)

		return result.Ran
	}

	all := tasksRun(nil)
	assert.Zero(t, tasksRun(nil), "tasks after the same bytes were written")
	assert.Equal(t, all, tasksRun(func(x []float64) { x[100] *= 1.01 }), "tasks after one sample changed")
}
