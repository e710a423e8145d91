package dsp

import (
	"fmt"
	"math"
)

// Welch estimates one-sided power spectra from segments of one length: per
// segment the mean is removed, the periodic window applied, and the
// squared magnitude of the transform scaled by 2/(Σw)² (1/(Σw)² at 0 Hz and at
// the Nyquist frequency), so that a sine of amplitude a on a bin reads a²/2
// (docs/method.md#split-half-spectra; scipy.signal.welch with scaling="spectrum").
//
// A Welch is reusable and not safe for concurrent use.
type Welch struct {
	n              int
	name           string // of the window
	fft            *FFT
	window         []float64
	sum, sumSquare float64 // Σw, Σw²
	buf            []float64
	coef           []complex128
	lanes          *lanePairs // two segments at a time; nil where the length or the window is none for it
}

// lanePairs transforms pairs of segments under the Hann window.
type lanePairs struct {
	*lanePlan
	window    *hann
	low, high []float64 // ends of a pair's transform
}

// NewWelch returns a plan for segments of segLen samples under the Hann window.
// It panics if segLen < 2: nothing is left of one sample without its mean.
func NewWelch(segLen int) *Welch { return newWelch(segLen, DefaultWindow) }

func newWelch(segLen int, name string) *Welch {
	if segLen < 2 {
		panic(fmt.Sprintf("dsp: Welch segments of %d samples", segLen))
	}

	w := &Welch{
		n: segLen, name: name, fft: NewFFT(segLen),
		window: periodic(name, segLen),
		buf:    make([]float64, segLen),
		coef:   make([]complex128, segLen/2+1),
	}

	if w.name == DefaultWindow { // the lanes know no other
		if p := newLanePlan(segLen); p != nil {
			w.lanes = &lanePairs{lanePlan: p, window: p.hann()}
		}
	}

	for _, v := range w.window {
		w.sum += v
		w.sumSquare += float64(v * v)
	}

	return w
}

// SegLen returns the segments' length in samples.
func (w *Welch) SegLen() int { return w.n }

// Bins returns the number of frequencies, SegLen/2+1; bin k lies at
// k·rate/SegLen.
func (w *Welch) Bins() int { return w.n/2 + 1 }

// SegmentPower computes the power spectrum of one segment, in the square of
// x's unit, into dst (Bins values; nil allocates) and returns it. It panics
// unless len(x) is SegLen and len(dst), if given, Bins.
func (w *Welch) SegmentPower(dst, x []float64) []float64 {
	if len(x) != w.n {
		panic(fmt.Sprintf("dsp: Welch segment of %d samples given %d", w.n, len(x)))
	}

	dst = w.grow(dst)
	mean := mean(x)
	win := w.window[:len(x)]

	buf := w.buf[:len(x)]
	for i, v := range x {
		buf[i] = (v - mean) * win[i]
	}

	c := w.fft.Coefficients(w.coef, buf)
	scale := 2 / (w.sum * w.sum)

	dst = dst[:len(c)]
	for k, v := range c {
		dst[k] = (float64(real(v)*real(v)) + float64(imag(v)*imag(v))) * scale
	}

	dst[0] *= 0.5
	if w.n%2 == 0 {
		dst[len(dst)-1] *= 0.5
	}

	return dst
}

// fold turns the sum of pairs' squared magnitudes over n points into the sum of
// their one-sided power spectra, times scale.
func (w *Welch) fold(dst, sum []float64, scale float64) {
	scale /= w.sum * w.sum
	n := w.n

	dst[0] = sum[0] * scale
	for k := 1; k < len(dst); k++ {
		dst[k] = (sum[k] + sum[n-k]) * scale
	}

	if n%2 == 0 {
		dst[n/2] = sum[n/2] * scale
	}
}

// DensityFactor times a power is the power spectral density in unit²/Hz at the
// sampling rate given: (Σw)²/(rate·Σw²).
func (w *Welch) DensityFactor(rateHz float64) float64 {
	return w.sum * w.sum / (rateHz * w.sumSquare)
}

// ToneFactor times the sum of powers over a tone's bins is the tone's mean
// square: (Σw)²/(N·Σw²), 2/3 for the Hann window (docs/method.md#split-half-spectra).
func (w *Welch) ToneFactor() float64 {
	return w.sum * w.sum / (float64(w.n) * w.sumSquare)
}

func (w *Welch) grow(dst []float64) []float64 {
	if dst == nil {
		return make([]float64, w.Bins())
	}

	if len(dst) != w.Bins() {
		panic(fmt.Sprintf("dsp: Welch spectrum of %d bins, dst has %d", w.Bins(), len(dst)))
	}

	return dst
}

// mean sums in four lanes: faster, and the error grows with a quarter of the
// length.
func mean(x []float64) float64 {
	var a, b, c, d float64

	i := 0
	for ; i+4 <= len(x); i += 4 {
		v := x[i : i+4 : i+4]
		a += v[0]
		b += v[1]
		c += v[2]
		d += v[3]
	}

	for ; i < len(x); i++ {
		a += x[i]
	}

	return ((a + b) + (c + d)) / float64(len(x))
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
