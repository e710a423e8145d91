package stages

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp/analysis"
	"doubletake/dsp/background"
	"doubletake/dsp/calibration"
)

// pulses returns 8 s of a tachometer with this many pulses a second, at 1 kHz.
func pulses(hz float64) []float64 {
	x := make([]float64, 8000)
	for i := range x {
		x[i] = 2.5 + 2.5*math.Tanh(20*math.Sin(2*math.Pi*hz*float64(i)/1000))
	}

	return x
}

// The speed by the tachometer becomes the condition rpm_measured and replaces rpm, also for bands, which need no shaft.
// 50 pulses a second are 3000 revolutions a minute; the conditions state 2700, which a flag of the spectra reports.
func TestTachometer(t *testing.T) {
	files := map[string]string{"a.npy": npy(sound(1), pulses(50)), "c.csv": "file,blades,rpm\na.npy,2,2700\n"}
	for _, d := range []string{
		`{triplets: split-half-spectrum, harmonics: 2}`,
		`{triplets: split-half-spectrum, harmonics: 2, amplitude: synchronous}`,
		`{triplets: split-half-bands, bands_hz: [80, 125]}`,
	} {
		b := plannedDSP(t, files, `{files: "*.npy", conditions: c.csv, rate_hz: 1000, tachometer: {channel: "2"}}`, d)
		_, err := planDSP(b.Experiment, b.ing)
		require.NoError(t, err)

		res := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 2700})
		run := &res.Runs[0]
		run.Run.Recordings = run.Run.Recordings[:1] // without the tachometer
		run.Units = run.Units[:1]
		run.Scale = run.Scale[:1]
		f := analysis.NewRows(b.Source.Reading)

		notes := &analysis.FileNotes{}
		require.NoError(t, f.AddFile(context.Background(), res, b.Files[0].raw.File.Open, notes))

		speeds, err := f.Triplets.Floats("rpm_measured")
		require.NoError(t, err, "%s", d)
		assert.InDeltaSlice(t, []float64{3000}, speeds, 0.5, "%s", d)

		if strings.Contains(d, "spectrum") {
			flags := notes.Notes[0].Flags
			require.NotEmpty(t, flags, "%s", d)
			assert.Equal(t, "speed-differs", flags[0].Code, "%s", d)
		}

		// A tachometer among the microphones is refused.
		all := result(t, b, 0, map[string]float64{"blades": 2, "rpm": 2700})
		assert.ErrorContains(t, f.AddFile(context.Background(), all, b.Files[0].raw.File.Open, &analysis.FileNotes{}),
			"channel 2: expected a microphone, found the tachometer")
	}
}

// The expected values are a closed form: noise of deviation σ has the density 2σ²/rate, and a hum of amplitude a has
// the mean square a²/2 at 150 Hz, which a warning names. The calibration multiplies mean squares by 2² = 4.
func TestBackgroundAdd(t *testing.T) {
	const sigma, amplitude = 0.01, 0.05
	rng := rand.New(rand.NewPCG(4, 4))

	x := make([]float64, 16000)
	for i := range x {
		x[i] = sigma*rng.NormFloat64() + amplitude*math.Sin(2*math.Pi*150*float64(i)/1000)
	}

	files := map[string]string{"a.npy": npy(sound(1)), "q.npy": npy(x), "c.csv": "file,blades,rpm\na.npy,2,3000\n"}
	b := plannedDSP(t, files,
		`{files: a.npy, conditions: c.csv, rate_hz: 1000, calibration: {pa_per_unit: 2}, background: {files: q.npy}}`,
		`{triplets: split-half-spectrum, harmonics: 2}`)
	planned, err := planDSP(b.Experiment, b.ing)
	require.NoError(t, err)

	require.NotNil(t, planned.Background)
	assert.Equal(t, "x/dsp/background", planned.Background.Task)

	var bg Background
	reading := background.Reading{
		Options: b.Reading.Options, Grouping: b.Reading.Grouping,
		Chain: &calibration.Chain{Settings: b.Source.Ingest.Calibration},
	}
	require.NoError(t, bg.Add(context.Background(), reading, "q.npy", b.File.Resolve("q.npy")))

	require.Len(t, bg.Channels, 1)
	channel := bg.Channels[0]
	assert.Equal(t, "Pa", channel.Unit)
	assert.Equal(t, 16.0, channel.Seconds)

	const bandHz = 200
	assert.InEpsilon(t, 4*2*sigma*sigma/1000*bandHz, channel.MeanSquare(200, 200+bandHz), 0.1, "noise of the band")

	require.Len(t, channel.Tones, 1)
	assert.InEpsilon(t, 4*amplitude*amplitude/2, channel.Tones[0].MeanSquare, 0.05, "hum")

	require.Len(t, bg.Warnings, 1)
	assert.Equal(t, "background-tones", bg.Warnings[0].Code)
	assert.Contains(t, bg.Warnings[0].Text, "150 Hz (71.0 dB re 20 µPa")
}
