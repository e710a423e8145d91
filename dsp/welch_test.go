package dsp

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type goldenWelch struct {
	X         []float64
	Fs        float64
	Nseg      int
	Nperseg   int
	F0        float64
	Spectrum  []float64
	Density   []float64
	Peaks     []float64 `json:"peaks_power"`
	Tolerance float64   `json:"tol_rel"`
	MinBins   int       `json:"tol_bins"`
}

// Expected values: scipy.signal.welch (testdata/README.md). Agreement is
// asked to 1e-12 of the largest value: some bins are zero but for rounding.
func TestWelchGolden(t *testing.T) {
	var cases map[string]goldenWelch
	readJSON(t, "welch.json", &cases)

	require.Len(t, cases, 5, "cases")

	for name, g := range cases {
		t.Run(name, func(t *testing.T) {
			n := len(g.X) / g.Nseg
			w := NewWelch(n)
			require.Equal(t, g.Nperseg, w.SegLen())
			require.Equal(t, len(g.Spectrum), w.Bins())

			p := power(w, g.X, g.Nseg)
			compare(t, "spectrum", p, g.Spectrum, 1)
			compare(t, "density", p, g.Density, w.DensityFactor(g.Fs))
			lf := lineFinder{
				binHz: g.Fs / float64(n), tolerance: g.Tolerance, minBins: g.MinBins, averages: independent(g.Nseg),
				peakOnly: true,
			}

			top := 0.0
			for _, v := range g.Spectrum {
				top = max(top, v)
			}

			for m, want := range g.Peaks {
				hz := float64(m+1) * g.F0
				assert.InDelta(t, want, lf.measure(p, m+1, hz, g.F0, 1).Power, 1e-12*top, "peak %d", m+1)
			}
		})
	}
}

func compare(t *testing.T, what string, got, want []float64, factor float64) {
	t.Helper()

	top := 0.0
	for _, v := range want {
		top = max(top, v)
	}

	for k, v := range want {
		require.InDelta(t, v, got[k]*factor, 1e-12*top,
			"%s, bin %d: %g, want %g within %g", what, k, got[k]*factor, v, 1e-12*top)
	}
}

// Expected values: the Python reference's levels (testdata/README.md), with
// its settings: peak, 1.5 %, 2 bins, nominal speed.
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

// Invariants: a sine of amplitude a on any bin reads a²/2 there, a/2 of that
// power on either side, and a²/2 again as a tone; density sums to the
// variance of a signal whose mean is removed (closed forms of the Hann window).
func TestWelchProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(16, 600).Draw(t, "n")
		k := rapid.IntRange(3, n/2-3).Draw(t, "bin")
		a := rapid.Float64Range(1e-6, 1e6).Draw(t, "amplitude")
		phase := rapid.Float64Range(0, 7).Draw(t, "phase")
		mean := rapid.Float64Range(-10, 10).Draw(t, "mean")

		x := make([]float64, n)
		for i := range x {
			x[i] = a * (mean + math.Cos(2*math.Pi*float64(i*k%n)/float64(n)+phase))
		}

		w := NewWelch(n)
		p := w.SegmentPower(nil, x)
		want := a * a / 2
		require.InDelta(t, want, p[k], 1e-10*want, "bins")
		require.InDelta(t, want/4, p[k-1], 1e-10*want, "bins")
		require.InDelta(t, want/4, p[k+1], 1e-10*want, "bins")

		tone := w.ToneFactor() * (p[k-1] + p[k] + p[k+1])
		require.InDelta(t, a*a/2, tone, 1e-10*a*a, "tone")

		require.InDelta(t, 2./3, w.ToneFactor(), 1e-12, "tone factor %g", w.ToneFactor())
	})
}

// Expected value: σ² = 1, the variance of the noise, as density times bandwidth.
func TestWelchDensity(t *testing.T) {
	const (
		n        = 1000
		segments = 200
		rate     = 8000.
	)
	w := NewWelch(n)
	p := power(w, noise(n*segments+17, 3), segments)

	var sum float64
	for _, v := range p {
		sum += v * w.DensityFactor(rate) * rate / n
	}

	assert.InDelta(t, 1, sum, 0.01, "variance")
}

// Slices of a wrong shape panic, as the documentation of the functions says.
func TestWelchMisusePanics(t *testing.T) {
	for name, f := range map[string]func(){
		"1 sample":      func() { NewWelch(1) },
		"wrong segment": func() { NewWelch(8).SegmentPower(nil, make([]float64, 9)) },
		"wrong dst":     func() { NewWelch(8).SegmentPower(make([]float64, 4), make([]float64, 8)) },
	} {
		func() {
			defer func() {
				assert.NotNil(t, recover(), "%s: no panic", name)
			}()

			f()
		}()
	}
}

// Functions that return errors return one for slices of a wrong shape, too.
func TestShapeErrors(t *testing.T) {
	_, err := (&Run{}).segments(floorMinBins, "")
	assert.ErrorContains(t, err, "expected at least one microphone, found none")

	_, err = CheckBalance([][]float64{make([]float64, 99), make([]float64, 98)}, 1)
	assert.ErrorContains(t, err, "expected channels of equal length, found 99 and 98 samples")

	_, err = CheckBalance(nil, 1)
	assert.ErrorContains(t, err, "expected at least one channel, found none")
}

// A sine of amplitude 2 on bin 25 has the power 2, in its bin and as the sum of a tone over three bins.
func ExampleWelch() {
	x := make([]float64, 500)
	for i := range x {
		x[i] = 2 * math.Sin(2*math.Pi*50*float64(i)/1000)
	}

	w := NewWelch(500)
	p := w.SegmentPower(nil, x)
	fmt.Printf("%.3f at %g Hz, as a tone %.3f\n", p[25], 25*1000./500, w.ToneFactor()*(p[24]+p[25]+p[26]))
	// Output: 2.000 at 50 Hz, as a tone 2.000
}

// The transform of 4 real samples has 3 coefficients.
func ExampleFFT() {
	f := NewFFT(4)
	fmt.Printf("%.0f\n", f.Coefficients(nil, []float64{1, 2, 0, 0}))
	// Output: [(3+0i) (1-2i) (-1+0i)]
}

// The results of a run have neither NaN nor infinity, which JSON cannot encode, not even for silence between the lines.
func TestRunEncodes(t *testing.T) {
	x := make([]float64, 16*500)
	for i := range x {
		x[i] = math.Round(1000*math.Sin(2*math.Pi*float64(i)/25)) / 1000
	}

	run := analyse(t, memory{x}, rotorAt(memory{x}, 1000, 2, 20, func(s *Settings) { s.Harmonics = 3 }))
	_, err := json.Marshal(run)
	require.NoError(t, err)
}
