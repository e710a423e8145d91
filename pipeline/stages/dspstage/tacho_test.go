package dspstage

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"doubletake/pipeline/stages/ingeststage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pulses is a tachometer with that many pulses a second at 1 kHz.
func pulses(hz float64) []float64 {
	x := make([]float64, 8000)
	for i := range x {
		x[i] = 2.5 + 2.5*math.Tanh(20*math.Sin(2*math.Pi*hz*float64(i)/1000))
	}

	return x
}

// A tachometer's speed wins over the conditions' and becomes rpm_measured, also
// for bands, which need no shaft. Expected: 50 rev/s are 3000 a minute.
func TestTachometer(t *testing.T) {
	files := map[string]string{"a.npy": npy(sound(1), pulses(50)), "c.csv": "file,blades,rpm\na.npy,2,2700\n"}
	for _, d := range []string{
		`{triplets: split-half-spectrum, harmonics: 2}`,
		`{triplets: split-half-spectrum, harmonics: 2, amplitude: synchronous}`,
		`{triplets: split-half-bands, bands_hz: [80, 125]}`,
	} {
		b := planned(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, tachometer: {channel: "2"}}`, d)
		_, err := Plan(b.Experiment, b.ing)
		require.NoError(t, err)

		res := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 2700})
		run := &res.Runs[0]
		run.Run.Recordings, run.Units, run.Scale = run.Run.Recordings[:1], run.Units[:1], run.Scale[:1]
		f := newFileTables(b.Source)

		notes := &FileNotes{}
		require.NoError(t, f.file(context.Background(), res, b.Files[0].File.Open, notes))

		if v, err := f.triplets.Floats("rpm_measured"); err != nil || len(v) != 1 || math.Abs(v[0]-3000) > 0.5 {
			t.Errorf("%s: %v, %v", d, v, err)
		}

		differs := strings.Contains(d, "spectrum") // the conditions are off by 10 %
		if flags := notes.Notes[0].Flags; differs && (len(flags) == 0 || flags[0].Code != "speed-differs") {
			t.Errorf("%s: flags %v", d, flags)
		}

		// A tachometer among the microphones is refused.
		all := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 2700})
		assert.ErrorContains(t, f.file(context.Background(), all, b.Files[0].File.Open, &FileNotes{}),
			"channel 2: expected a microphone, found the tachometer")
	}
}

// Expected: closed form. Noise of deviation σ has the density 2σ²/rate, its hum
// a²/2 at 150 Hz, which is named in a warning; both in Pa by the calibration.
func TestBackgroundAdd(t *testing.T) {
	const sigma, amplitude = 0.01, 0.05
	rng := rand.New(rand.NewPCG(4, 4))

	x := make([]float64, 16000)
	for i := range x {
		x[i] = sigma*rng.NormFloat64() + amplitude*math.Sin(2*math.Pi*150*float64(i)/1000)
	}

	files := map[string]string{"a.npy": npy(sound(1)), "q.npy": npy(x), "c.csv": "file,blades,rpm\na.npy,2,3000\n"}
	b := planned(t, files,
		`{files: a.npy, conditions: c.csv, rate_hz: 1000, calibration: {pa_per_unit: 2}, background: {files: q.npy}}`,
		`{triplets: split-half-spectrum, harmonics: 2}`)
	planned, err := Plan(b.Experiment, b.ing)
	require.NoError(t, err)

	require.NotNil(t, planned.Background, "background %v", planned.Background)
	assert.Equal(t, "x/dsp/background", planned.Background.Task, "background %v", planned.Background)

	var bg Background
	if err := bg.add(context.Background(), b.Source, []ingeststage.Sensitivity(nil), "q.npy",
		b.File.Resolve("q.npy")); err != nil {
		t.Fatal(err)
	}

	require.Len(t, bg.Channels, 1, "%+v", bg.Channels)
	require.Equal(t, "Pa", bg.Channels[0].Unit, "%+v", bg.Channels)
	require.Equal(t, 16.0, bg.Channels[0].Seconds, "%+v", bg.Channels)

	c := bg.Channels[0]
	if got, want := c.MeanSquare(200, 400), 4*2*sigma*sigma/1000*200; math.Abs(got/want-1) > 0.1 {
		t.Errorf("noise %g, want %g", got, want)
	}

	require.Len(t, c.Tones, 1, "tones %+v", c.Tones)
	assert.InDelta(t, 1, c.Tones[0].MeanSquare/(4*amplitude*amplitude/2), 0.05, "tones %+v", c.Tones)

	if len(bg.Warnings) != 1 || bg.Warnings[0].Code != "background-tones" ||
		!strings.Contains(bg.Warnings[0].Text, "150 Hz (71.0 dB re 20 µPa") {
		t.Errorf("%+v", bg.Warnings)
	}
}
