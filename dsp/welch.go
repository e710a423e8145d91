package dsp

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Welch estimates one-sided power spectra from segments of one length. For each segment it subtracts
// the mean, multiplies by a periodic window, transforms, and multiplies the squared magnitudes by
// 2/(Σw)², or by 1/(Σw)² at 0 Hz and at the Nyquist frequency. A sine of amplitude a on a bin then has
// the power a²/2 in that bin (docs/method.md#split-half-spectra; scipy.signal.welch with
// scaling="spectrum").
//
// A Welch is reusable and not safe for concurrent use.
type Welch struct {
	n              int       // samples of a segment
	name           string    // of the window
	fft            *FFT      // of n samples
	window         []float64 // n values
	sum, sumSquare float64   // Σw and Σw² over the window
	buf            []float64 // scratch: a segment under the window
	coef           []complex128
	lanes          *lanePairs // transforms two segments at a time; nil if the length or window does not allow it
}

// lanePairs transforms pairs of segments under the Hann window.
type lanePairs struct {
	*lanePlan
	window    *hann
	low, high []float64 // the first and the last values of a pair's transform, as method powers fills them
}

// NewWelch returns a plan for segments of segLen samples under the Hann window.
// It panics if segLen < 2, because a single sample minus its mean is 0.
func NewWelch(segLen int) *Welch { return newWelch(segLen, DefaultWindow) }

// newWelch returns a plan for segments of segLen samples under the window of that name.
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

	if w.name == DefaultWindow { // kernel.Set.LoadPair has no other window
		if p := newLanePlan(segLen); p != nil {
			w.lanes = &lanePairs{lanePlan: p, window: p.hann()}
		}
	}

	for _, v := range w.window {
		w.sum += v
		w.sumSquare += float64(v * v) // the conversion rounds; function mul explains why
	}

	return w
}

// SegLen returns the segments' length in samples.
func (w *Welch) SegLen() int { return w.n }

// Bins returns the number of frequencies, SegLen/2+1; bin k lies at
// k·rate/SegLen.
func (w *Welch) Bins() int { return w.n/2 + 1 }

// SegmentPower computes the power spectrum of one segment, in the square of x's unit, into dst and
// returns it. dst has Bins values; if it is nil, SegmentPower allocates it. SegmentPower panics if
// len(x) is not SegLen, or len(dst) is not Bins.
func (w *Welch) SegmentPower(dst, x []float64) []float64 {
	if len(x) != w.n {
		panic(fmt.Sprintf("dsp: Welch segment of %d samples given %d", w.n, len(x)))
	}

	dst = w.grow(dst)
	offset := mean(x)
	win := w.window[:len(x)]

	buf := w.buf[:len(x)]
	for i, v := range x {
		buf[i] = (v - offset) * win[i]
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

// fold fills dst with scale times the sum of the one-sided power spectra of segments. sum is the sum of the
// squared magnitudes that method powers adds for pairs of segments, n values.
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

// DensityFactor returns the factor from a power to a power spectral density in unit²/Hz at that sampling
// rate: (Σw)²/(rate·Σw²).
func (w *Welch) DensityFactor(rateHz float64) float64 {
	return w.sum * w.sum / (rateHz * w.sumSquare)
}

// ToneFactor returns the factor from the sum of the powers of a tone's bins to the mean square of the
// tone: (Σw)²/(N·Σw²), which is 2/3 for the Hann window (docs/method.md#split-half-spectra).
func (w *Welch) ToneFactor() float64 {
	return w.sum * w.sum / (float64(w.n) * w.sumSquare)
}

// grow returns dst, or a new slice of Bins values if dst is nil. It panics if dst has another length.
func (w *Welch) grow(dst []float64) []float64 {
	if dst == nil {
		return make([]float64, w.Bins())
	}

	if len(dst) != w.Bins() {
		panic(fmt.Sprintf("dsp: Welch spectrum of %d bins, dst has %d", w.Bins(), len(dst)))
	}

	return dst
}

// mean returns the mean of x. It adds in four separate sums, which is faster and has smaller rounding
// errors than one sum.
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

// segmentFor returns a length for segments: the least power of two that is at least x and at least
// shortestSegment.
func segmentFor(x float64) int {
	n := shortestSegment
	for float64(n) < x {
		n *= 2
	}

	return n
}

// averagePower returns the mean of the power spectra of the contiguous segments of an interval of a
// channel. Samples left at its end are not used. It reads segment by segment, so that memory does not
// grow with the interval. A sample that is not finite is a *fault.Error.
func averagePower(ctx context.Context, src Source, w *Welch, channel int, start, samples int64) ([]float64, error) {
	n := int64(w.SegLen())
	segments := samples / n
	mean := make([]float64, w.Bins())
	one := make([]float64, w.Bins())

	blocks := blockReader{interval: interval{start, segments * n}, src: src, channel: channel, size: n}
	for blocks.more() {
		x, offset, err := blocks.read(ctx)
		if err != nil {
			return nil, err
		}

		if slices.ContainsFunc(x, func(v float64) bool { return !finite(v) }) {
			return nil, badSample(x, channel, start+offset)
		}

		w.SegmentPower(one, x)

		for k, p := range one {
			mean[k] += p / float64(segments)
		}
	}

	return mean, nil
}
