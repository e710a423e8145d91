package dsp

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// goldenWelch is a case of testdata/welch.json.
type goldenWelch struct {
	X         []float64
	Fs        float64   // sampling rate, Hz
	Nseg      int       // number of segments
	Nperseg   int       // samples of a segment
	F0        float64   // frequency of the first harmonic, Hz
	Spectrum  []float64 // mean power spectrum
	Density   []float64 // spectral density
	Peaks     []float64 `json:"peaks_power"` // of each harmonic, in the spectrum
	Tolerance float64   `json:"tol_rel"`
	MinBins   int       `json:"tol_bins"`
}

// Expected values: scipy.signal.welch (testdata/README.md). The tolerance is 1e-12 of the largest value, because some
// bins would be 0 without rounding.
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

// compare compares got·factor with the expected values, with a tolerance of 1e-12 of the largest one.
func compare(t *testing.T, what string, got, want []float64, factor float64) {
	t.Helper()

	top := 0.0
	for _, v := range want {
		top = max(top, v)
	}

	for k, v := range want {
		require.InDelta(t, v, got[k]*factor, 1e-12*top, "%s, bin %d", what, k)
	}
}

// Expected: closed forms of the Hann window. A sine of amplitude a on a bin has the power a²/2 in this bin and a
// quarter of it in each neighbour. The sum of the three, times the tone factor of 2/3, is a²/2. A mean does not count.
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
		require.InDelta(t, want, p[k], 1e-10*want, "bin of the sine")
		require.InDelta(t, want/4, p[k-1], 1e-10*want, "bin below")
		require.InDelta(t, want/4, p[k+1], 1e-10*want, "bin above")

		tone := w.ToneFactor() * (p[k-1] + p[k] + p[k+1])
		require.InDelta(t, want, tone, 1e-10*want, "tone")
		require.InDelta(t, 2./3, w.ToneFactor(), 1e-12, "tone factor")
	})
}

// The density of white noise sums over all frequencies to the variance of the noise, which is 1.
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
	for name, misuse := range map[string]func(){
		"1 sample":      func() { NewWelch(1) },
		"wrong segment": func() { NewWelch(8).SegmentPower(nil, make([]float64, 9)) },
		"wrong dst":     func() { NewWelch(8).SegmentPower(make([]float64, 4), make([]float64, 8)) },
	} {
		assert.Panics(t, misuse, name)
	}
}

// A sine of amplitude 2 on bin 25 has the mean square 2: in its bin, and as the sum over three bins times the tone
// factor.
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
