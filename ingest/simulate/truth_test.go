package simulate

import (
	"math"
	"math/cmplx"
)

// The functions below return the numbers that a perfect analysis of the recordings would find, by the formulas that
// make the recordings.

// Orders returns the complex peak amplitudes in Pa of the shaft orders 0…maxOrder, without modulation.
func (r Rotor) Orders(blades int, rpm, thetaDeg float64) []complex128 {
	a := newRig(r.Seed, blades).orders(blades, rpm, thetaDeg)
	return a[:]
}

// TonePower returns the mean square pressure in Pa² of each shaft order, |A_k|²/2. The tone modulation adds its mean
// square to orders that are multiples of the blade number. Orders above the recorder's limit have 0.
func (r Rotor) TonePower(blades int, rpm, thetaDeg float64) []float64 {
	a := r.Orders(blades, rpm, thetaDeg)
	am := r.ToneModulation

	p := make([]float64, len(a))
	for k := 1; k <= topOrder(rpm, r.RateHz); k++ {
		p[k] = (real(a[k])*real(a[k]) + imag(a[k])*imag(a[k])) / 2
		if k%blades == 0 {
			p[k] *= 1 + am*am*slowPower(modulationTauS)
		}
	}

	return p
}

// NoiseDensity returns the one-sided power density of the broadband noise in Pa²/Hz, without the noise of the
// quantisation.
func (r Rotor) NoiseDensity(blades int, rpm, thetaDeg, fHz float64) float64 {
	hump := newHump(blades, rpm, r.RateHz)
	h := hump.rmsPa * directivity(thetaDeg)
	p := h*h*newBandPass(hump.lowHz, hump.highHz, r.RateHz).power(fHz, r.RateHz) +
		rumblePa*rumblePa*newLowPass(rumbleHz, r.RateHz).power(fHz, r.RateHz) +
		microphonePa*microphonePa

	return p * 2 / r.RateHz
}

// power returns |H|² at a frequency.
func (f bandPass) power(fHz, rateHz float64) float64 {
	z := cmplx.Rect(1, -2*math.Pi*fHz/rateHz)
	h := complex(f.b, 0) * (1 - z*z) / (1 + complex(f.a1, 0)*z + complex(f.a2, 0)*z*z)
	return real(h)*real(h) + imag(h)*imag(h)
}

// power returns |H|² at a frequency.
func (f lowPass) power(fHz, rateHz float64) float64 {
	z := cmplx.Rect(1, -2*math.Pi*fHz/rateHz)
	h := complex(f.b, 0) * (1 + z) / (1 + complex(f.a1, 0)*z)
	return real(h)*real(h) + imag(h)*imag(h)
}

// slowPower returns the mean square of a slow process. It is 1 at the points of the grid and less between them, on
// average (2+a)/3 with the correlation a of neighbours.
func slowPower(tauS float64) float64 { return (2 + math.Exp(-1/(tauS*slowRateHz))) / 3 }
