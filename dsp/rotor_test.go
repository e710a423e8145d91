package dsp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/fault"
)

// Errors about data name the place, the expected value, the value found and the remedy.
func TestErrors(t *testing.T) {
	x := memory{spinningRotor{
		rate: 6400, seconds: 2, blades: 2, shaft: constant(100),
		fallDB: 3, sideDB: 20, noise: 0.1, seed: 1,
	}.samples(), make([]float64, 12800)}
	bad := slices.Clone(x[0])
	bad[9000] = math.NaN()
	x = append(x, bad)

	for _, c := range []struct {
		name string
		edit func(*Run)
		want string
	}{
		{"short", func(r *Run) { r.Samples = 1000 }, "expected at least 2048 samples (2 halves of 8 segments, " +
			"each 4 periods of the blade passing frequency 200 Hz), found 1000 (record longer or ask for fewer segments)"},
		{
			"Nyquist", func(r *Run) { r.Settings.Harmonics = 20 },
			"harmonic 16 of the blade passing frequency: expected less than the Nyquist frequency 3200 Hz, found 3200 Hz (2 " +
				"blades at 100 rev/s) (set harmonics to 15 or less, or record at more than 8000 Hz for all 20)",
		},
		{"end", func(r *Run) { r.Samples = 14400 }, "sample 12800: expected 14400 samples from 0 on, found the " +
			"end of the data"},
		{
			"silence", func(r *Run) { r.Microphones[0].Channel = 1 },
			"channel 2, first half: expected sound, found silence (all samples equal) (leave the channel out if it was not " +
				"connected)",
		},
		{"NaN", func(r *Run) { r.Microphones[0].Channel = 2 }, "channel 3, sample 9000: expected a finite number, found " +
			"NaN (samples count from 0)"},
		{
			"no speed", func(r *Run) { delete(r.Microphones[0].Conditions, "rps") },
			"expected a shaft speed above zero, found 0 rev/s",
		},
		{"rate", func(r *Run) { r.RateHz = -1 }, "expected a sampling rate above 0 Hz, found -1 (state the rate if " +
			"the file does not)"},
		{"blades", func(r *Run) { r.Microphones[0].Conditions["blades"] = 0 }, "expected a whole number of blades, found " +
			"blades = 0"},
	} {
		r := rotorAt(x[:1], 6400, 2, 100)
		c.edit(r)
		_, err := NewAnalyser().run(t.Context(), x, r)

		var e *fault.Error
		require.ErrorAs(t, err, &e, c.name)
		assert.EqualError(t, err, c.want, c.name)
	}
}

// A rotor of 3 blades turns at 66.2 rev/s. Its nominal speed, 66 rev/s, is refined in each half of the recording, so
// that the harmonics are found at their true frequencies.
func ExampleAnalyser() {
	x := spinningRotor{
		rate: 12800, seconds: 8, blades: 3, shaft: constant(66.2),
		fallDB: 6, sideDB: 30, noise: 0.01, seed: 1,
	}.samples()

	run, err := NewAnalyser().run(context.Background(), memory{x}, rotorAt(memory{x}, 12800, 3, 66))
	if err != nil {
		fmt.Println(err)
		return
	}

	for _, l := range run.Channels[0].Halves[0].Lines {
		fmt.Printf("%d × BPF at %.0f Hz: %.1f dB re full scale\n", l.Order, l.Hz, LevelDB(l.Power, 1))
	}
	// Output:
	// 1 × BPF at 199 Hz: -3.0 dB re full scale
	// 2 × BPF at 397 Hz: -9.0 dB re full scale
	// 3 × BPF at 596 Hz: -15.0 dB re full scale
	// 4 × BPF at 794 Hz: -21.0 dB re full scale
	// 5 × BPF at 993 Hz: -27.0 dB re full scale
}

// Expected values: the levels of the reference in Python (testdata/README.md), with its settings: amplitude "peak", a
// tolerance of 1.5 % and 2 bins, and the nominal speed.
func TestRotorFeaturesGolden(t *testing.T) {
	var g struct {
		X         [][]float64
		Fs        float64
		N         int
		RPM       float64
		Y1, Y2    [][]float64
		Tolerance float64 `json:"tol_rel"`
		MinBins   int     `json:"tol_bins"`
	}

	readJSON(t, "features.json", &g)
	run := analyse(t, g.X, rotorAt(g.X, g.Fs, g.N, g.RPM/60, func(s *Settings) {
		s.Speed = "nominal"
		s.Amplitude = "peak"
		s.Tolerance = g.Tolerance
		s.MinBins = g.MinBins
	}))

	for c, ch := range run.Channels {
		for h, want := range [][]float64{g.Y1[c], g.Y2[c]} {
			for m, w := range want {
				power := 20e-6 * 20e-6 * math.Pow(10, w/10)
				assert.InDelta(t, power, ch.Halves[h].Lines[m].Power, 1e-9*power, "channel %d, half %d, harmonic %d", c, h, m+1)

				assert.InDelta(t, w, LevelDB(ch.Halves[h].Lines[m].Power, 20e-6), 1e-8,
					"channel %d, half %d, harmonic %d: dB", c, h, m+1)
			}
		}
	}
}

// The results of a run contain neither NaN nor infinity, which JSON cannot encode. The sound is periodic, so that there
// is silence between its lines, and ρ would be infinite.
func TestRunEncodes(t *testing.T) {
	x := make([]float64, 16*500)
	for i := range x {
		x[i] = math.Round(1000*math.Sin(2*math.Pi*float64(i)/25)) / 1000
	}

	run := analyse(t, memory{x}, rotorAt(memory{x}, 1000, 2, 20, func(s *Settings) { s.Harmonics = 3 }))
	_, err := json.Marshal(run)
	require.NoError(t, err)
}
