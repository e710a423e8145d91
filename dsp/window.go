package dsp

import (
	"fmt"
	"math"

	"github.com/mjibson/go-dsp/window"
)

// DefaultWindow is the window of spectra where nothing else is stated.
const DefaultWindow = "hann"

// noiseBins is the noise bandwidth of the Hann window in bins.
const noiseBins = 1.5

// windows are those a spectrum may have. A cosine window of m terms has a main
// lobe of m bins to either side.
var windows = []struct {
	name      string
	symmetric func(int) []float64
	lobe      int     // half the width of the main lobe, bins
	noise     float64 // noise bandwidth, bins
}{
	{DefaultWindow, window.Hann, 2, noiseBins},
	{"hamming", window.Hamming, 2, 1 + 0.46*0.46/(2*0.54*0.54)},
	{"blackman", window.Blackman, 3, 1 + (0.5*0.5+0.08*0.08)/(2*0.42*0.42)},
	{"flattop", window.FlatTop, 5, 1 + (0.41663158*0.41663158+0.277263158*0.277263158+0.083578947*0.083578947+
		0.006947368*0.006947368)/(2*0.21557895*0.21557895)},
}

// windowOf returns the number of a window in windows; "" is the default. It
// panics where there is none of that name.
func windowOf(name string) int {
	if name == "" {
		return 0
	}

	for i, w := range windows {
		if w.name == name {
			return i
		}
	}

	panic(fmt.Sprintf("dsp: no window %q", name))
}

// periodic returns a window of n points. go-dsp's are symmetric; the periodic
// one is the symmetric one of a point more without its last.
func periodic(name string, n int) []float64 {
	return windows[windowOf(name)].symmetric(n + 1)[:n]
}

// NoiseBins returns the noise bandwidth of a window in bins ("": the default): a
// sum over bins that a sine reads its mean square from is that many times the
// mean square. It panics where there is no window of that name.
func NoiseBins(name string) float64 { return windows[windowOf(name)].noise }

// averages states how a mean of the spectra of segments scatters (Welch 1967):
// segments that overlap are correlated, as are neighbouring bins.
type averages struct {
	segments float64
	bins     []float64 // [d]: covariance of noise d bins apart, times segments over both powers; twice it for d > 0
	line     float64   // variance of the product of a line and noise, times segments
}

// independent are averages of Hann-windowed segments that do not overlap.
func independent(segments int) averages {
	return averages{segments: float64(segments), bins: []float64{1, 8. / 9, 1. / 18}, line: 1}
}

// double are the averages of two estimates that are independent.
func (a averages) double() averages {
	a.segments *= 2
	return a
}

// count is the effective number of averages: independent ones with the same
// variance of a bin of noise.
func (a averages) count() float64 { return a.segments / a.bins[0] }

// lineSD is the predicted standard deviation of the level of a steady line of
// that ρ: 4.343·√((1+2ρ)/K)/(1+ρ) dB of K segments that do not overlap
// (docs/method.md#split-half-spectra). Of others K is count for the noise, and
// segments/line for its product with the line.
func (a averages) lineSD(rho float64) float64 {
	return 10 / math.Ln10 * math.Sqrt((1+2*rho*(a.line/a.bins[0]))/a.count()) / (1 + rho)
}

// averagesOf returns those of segments hop samples apart. Of two segments j hops
// apart the covariance of noise d bins apart is |Σ w(n)·w(n+j·hop)·e^(−2πidn/N)|²
// over (Σw²)².
func (w *Welch) averagesOf(segments, hop int) averages {
	if w.name == DefaultWindow && hop >= w.n {
		return independent(segments)
	}

	const maxLag = 24 // bins; beyond them there is less than 1e-6
	a := averages{segments: float64(segments), bins: make([]float64, min(maxLag, w.n/2)), line: 1}

	x := make([]float64, w.n)
	for j := 0; j*hop < w.n && j < segments; j++ {
		weight := 1.
		if j > 0 {
			weight = 2 * (1 - float64(j)/float64(segments))
		}

		clear(x)

		for i := range w.n - j*hop {
			x[i] = w.window[i] * w.window[i+j*hop]
		}

		for d, c := range w.fft.Coefficients(nil, x)[:len(a.bins)] {
			re, im := real(c)/w.sumSquare, imag(c)/w.sumSquare
			if d == 0 && j > 0 {
				a.line += weight * re
			}

			both := 2.
			if d == 0 {
				both = 1
			}

			a.bins[d] += both * weight * (re*re + im*im)
		}
	}

	for len(a.bins) > 1 && a.bins[len(a.bins)-1] < 1e-9 {
		a.bins = a.bins[:len(a.bins)-1]
	}

	return a
}

// level sums the mean power spectrum p over a band as BandPower does, bins
// counted by gain (nil: 1), and returns the standard deviation of the sum's level in
// dB for Gaussian noise. It is estimated from p itself, whose scatter makes the
// products of shares too large by 1 + their covariance, and their scale, the sum's
// square, by 1 + its variance.
func (a averages) level(p []float64, binHz float64, b Band, gain []float64) (power, sdDB float64) {
	part := func(k int) float64 {
		w := max(0, min(b.Hi, (float64(k)+0.5)*binHz)-max(b.Lo, (float64(k)-0.5)*binHz))
		if gain != nil {
			w *= gain[k]
		}

		return p[k] * w / binHz
	}

	first, last := max(1, int(b.Lo/binHz-0.5)), min(len(p)-1, int(b.Hi/binHz+0.5))
	for k := first; k <= last; k++ {
		power += part(k)
	}

	if !(power > 0) {
		return power, math.NaN()
	}

	sum := 0.0

	shares := make([]float64, last-first+1)
	for k := range shares {
		shares[k] = part(first+k) / power
		for d, c := range a.bins[:min(len(a.bins), k+1)] {
			if d > 0 {
				sum += float64(c * shares[k] * shares[k-d] / (1 + c/2/a.segments))
			} else {
				sum += float64(c * shares[k] * shares[k] / (1 + c/a.segments))
			}
		}
	}

	sum /= a.segments

	return power, 10 / math.Ln10 * math.Sqrt(sum/(1-sum))
}
