package dsp

import "math"

// averages describes how the mean of the power spectra of segments scatters (Welch 1967). Segments that
// overlap are correlated, and so are neighbouring bins.
type averages struct {
	segments float64 // number of segments

	// bins[0] is the variance of a bin of noise, relative to its squared power, times segments. bins[d] is the sum of two
	// covariances, with the bin d bins below and with the bin d bins above, relative to the product of the powers, times
	// segments. Bins that are len(bins) bins or more apart are not correlated.
	bins []float64

	// line is the variance of the product of a line and noise, times segments: 1 without overlap.
	line float64
}

// independent returns the averages of Hann-windowed segments that do not overlap.
func independent(segments int) averages {
	return averages{segments: float64(segments), bins: []float64{1, 8. / 9, 1. / 18}, line: 1}
}

// double returns the averages of the mean of two independent estimates with the averages a.
func (a averages) double() averages {
	a.segments *= 2
	return a
}

// count returns the effective number of averages: the number of independent segments that would give a bin
// of noise the same variance.
func (a averages) count() float64 { return a.segments / a.bins[0] }

// lineSD returns the predicted standard deviation in dB of the level of a steady line whose power is rho
// times the floor: 4.343·√((1+2ρ)/K)/(1+ρ) for K segments that do not overlap
// (docs/method.md#split-half-spectra). If they overlap, K is count() for the noise, and segments/line for
// the product of the line and the noise.
func (a averages) lineSD(rho float64) float64 {
	return 10 / math.Ln10 * math.Sqrt((1+2*rho*(a.line/a.bins[0]))/a.count()) / (1 + rho)
}

// averagesOf returns the averages of the given number of segments. A segment starts hop samples after the segment
// before. For two segments j hops apart, the covariance of two bins of noise d bins apart is |Σ
// w(n)·w(n+j·hop)·e^(−2πidn/N)|²/(Σw²)², relative to the product of their powers. Among the ordered pairs of segments,
// 2·(segments − j) pairs are j > 0 hops apart.
func (w *Welch) averagesOf(segments, hop int) averages {
	if w.name == DefaultWindow && hop >= w.n {
		return independent(segments)
	}

	const maxDistance = 24 // bins; at greater distances the covariance is less than 1e-6
	a := averages{segments: float64(segments), bins: make([]float64, min(maxDistance, w.n/2)), line: 1}

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
			re := real(c) / w.sumSquare
			im := imag(c) / w.sumSquare
			if d == 0 && j > 0 {
				a.line += weight * re
			}

			sides := 2. // bins at that distance
			if d == 0 {
				sides = 1
			}

			a.bins[d] += sides * weight * (re*re + im*im)
		}
	}

	for len(a.bins) > 1 && a.bins[len(a.bins)-1] < 1e-9 {
		a.bins = a.bins[:len(a.bins)-1]
	}

	return a
}

// level returns the sum of the mean power spectrum p over a band, as BandPower does, with each bin's power times gain
// (nil: 1). It also returns the standard deviation in dB that the level of this sum has if p is the spectrum of
// Gaussian noise. If the sum is not positive, the standard deviation is NaN.
//
// The variance of the sum is the sum of the covariances of all pairs of bins. level estimates the covariances from p,
// which scatters itself: on average, the product of two bins is too large by the factor 1 + their covariance, and the
// square of the sum by the factor 1 + its variance. level divides by these factors.
func (a averages) level(p []float64, binHz float64, b Band, gain []float64) (power, sdDB float64) {
	part := func(k int) float64 { // returns the contribution of bin k to the sum
		w := max(0, min(b.Hi, (float64(k)+0.5)*binHz)-max(b.Lo, (float64(k)-0.5)*binHz))
		if gain != nil {
			w *= gain[k]
		}

		return p[k] * w / binHz
	}

	first := max(1, int(b.Lo/binHz-0.5))
	last := min(len(p)-1, int(b.Hi/binHz+0.5))
	for k := first; k <= last; k++ {
		power += part(k)
	}

	if !(power > 0) {
		return power, math.NaN()
	}

	sum := 0.0 // variance over the square of the measured sum

	shares := make([]float64, last-first+1) // part of each bin in the sum
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

	// With v, the variance over the square of the true sum, the loop has estimated v/(1+v). Solved for v:
	return power, 10 / math.Ln10 * math.Sqrt(sum/(1-sum))
}
