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

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
)

// calibrated writes a run of two microphones of different sensitivity (in units
// per Pa), a rotor of two blades at 40 rev/s with a line of the amplitudes given
// in Pa, and a calibrator's recording for each: both channels are recorded, one
// hears it. edit changes the second's.
func calibrated(t *testing.T, dir string, edit func(x []float64)) {
	t.Helper()
	const rate = 6400.0
	gain := [2]float64{0.03, 0.011}
	line := [2]float64{0.5, 0.2}
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

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// Expected levels: closed form, 20 lg(a/√2/20 µPa) of the pascal the signal was
// made from, whatever the sensitivities; sensitivities: those it was made with.
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
			assert.InDelta(t, 20*math.Log10(a/math.Sqrt2/20e-6), got, 0.02, "microphone %d, half %d: dB", c+1, h)
		}
	}

	recs := readTable(t, dir, "runs", "rotor", "recordings.arrow")
	for c, g := range []float64{0.03, 0.011} {
		if got := column(t, recs, "scale")[c]; math.Abs(got*g-1) > 2e-5 {
			t.Errorf("microphone %d: %g Pa per unit, expected %g", c+1, got, 1/g)
		}

		if got := column(t, recs, "calibrator_spread_db")[c]; !(got >= 0 && got < 0.01) {
			t.Errorf("microphone %d: spread %g dB", c+1, got)
		}

		text := recs.Column("calibration").Strings[c]
		if want := fmt.Sprintf("calibrator cal%d.npy, channel %d: 94 dB at 1000.3 Hz", c+1, c+1); !strings.HasPrefix(text,
			want) {
			t.Errorf("microphone %d: %q", c+1, text)
		}
	}

	page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page),
		"calibrator cal2.npy, channel 2: 94 dB at 1000.3 Hz", "the page does not name the calibrator (%v)", err)

	// What the calibrator's file holds is part of the key: at half the level the
	// second microphone is twice as sensitive, 6.02 dB less.
	before := column(t, tab, "bpf1_db_1")
	calibrated(t, dir, func(x []float64) {
		for i := range x {
			x[i] *= 2
		}
	})

	tripletsIn(t, dir)

	after := column(t, readTable(t, dir, "runs", "rotor", "triplets.arrow"), "bpf1_db_1")
	require.InDelta(t, before[0], after[0], 1e-9, "levels %v became %v", before, after)
	assert.LessOrEqual(t, math.Abs(after[1]-before[1]+20*math.Log10(2)), 1e-4, "levels %v became %v", before, after)

	// gain_db: the runs were recorded with 20 dB more than the calibrator.
	tab = tripletsOf(t, dir, "rotor", strings.Replace(calibratedYAML, "level_db: 94,", "level_db: 94, gain_db: 20,", 1))
	if got := column(t, tab, "bpf1_db_1"); math.Abs(got[0]-before[0]+20) > 1e-9 {
		t.Errorf("with gain_db: 20 %v, expected 20 dB less than %v", got, before)
	}
}

func TestCalibratorFaults(t *testing.T) {
	fade := func(x []float64) { // 0.5 dB from end to end: blocks differ by 0.45 dB
		for i := range x {
			x[i] *= math.Pow(10, 0.5*float64(i)/float64(len(x))/20)
		}
	}

	put := func(x []float64) { clear(x[:6400]) } // put on after a second
	for _, c := range []struct {
		name, old, new string
		edit           func([]float64)
		want           string // "" runs
	}{
		{"fading", "", "", fade, "cal2.npy: channel 2: expected a calibrator's level that is steady within 0.2 dB, found a " +
			"spread of 0.45 dB over 10 blocks of 1 s (block 1: 93.77 dB, block 10: 94.22 dB)"},
		{"allowed", "94,", "94, spread_db: 0.5,", fade, ""},
		{"put on late", "", "", put, "cal2.npy: channel 2: expected a calibrator's level that is steady"},
		{"from_s", "94,", "94, from_s: 1,", put, ""},
		{"beyond", "94,", "94, to_s: 11,", nil, "expected from_s and to_s within its 10 s, found 0 and 11"},
		{"silent", "2: cal2.npy", "2: cal1.npy", nil, "cal1.npy: channel 2: expected a calibrator's tone near"},
		{"which", "2: cal2.npy", `2: "cal1.npy#1"`, nil, ""},
		{"one missing", ", 2: cal2.npy", "", nil, "run.npy: channel 2: expected a calibrator's recording of this channel, " +
			"found recordings of 1"},
		{
			"all from one", "recordings: {1: cal1.npy, 2: cal2.npy}", "file: cal1.npy", nil,
			"cal1.npy: channel 2: expected a calibrator's tone near",
		},
		{"all from one channel", "recordings: {1: cal1.npy, 2: cal2.npy}", "file: cal1.npy, channel: 1", nil, ""},
		{"frequency", "94,", "94, frequency_hz: 250,", nil, "expected a calibrator's tone near 250 Hz"},
		{"no level", "level_db: 94, ", "", nil, "expected level_db"},
		{"two ways", "calibrator:", "pa_per_unit: 2, calibrator:", nil, "keep one of them"},
		{"no file", "cal2", "cal3", nil, "cal3.npy"},
	} {
		if c.want == "" && c.name != "from_s" && os.Getenv("DOUBLETAKE_LONG") == "" {
			continue // of those that run to the triplets, one
		}

		dir := t.TempDir()
		calibrated(t, dir, c.edit)
		write(t, dir, "pipeline.yaml", strings.Replace(calibratedYAML, c.old, c.new, 1))

		err := tryIn(dir)
		if c.want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.want)
		}
	}
}

// Changing the calibrator's recording makes the files' tasks stale; the same
// bytes do not.
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

	first := ran(nil)

	assert.Equal(t, 0, ran(nil), "nothing changed, tasks ran")

	if again := ran(func(x []float64) { x[100] *= 1.01 }); again != first {
		t.Errorf("the calibrator changed: %d tasks ran, expected all %d", again, first)
	}
}
