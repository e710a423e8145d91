package simulate

import "math"

// bandPass is a first-order Butterworth band-pass by the bilinear transform with prewarped corners:
// y = b·(x − x₂) − a1·y₁ − a2·y₂. Subscripts count samples back.
type bandPass struct{ b, a1, a2 float64 }

// newBandPass returns the filter with corners at f1Hz and f2Hz.
func newBandPass(f1Hz, f2Hz, rateHz float64) bandPass {
	t1 := math.Tan(math.Pi * f1Hz / rateHz)
	t2 := math.Tan(math.Pi * f2Hz / rateHz)
	width := t2 - t1
	product := t1 * t2
	a0 := 1 + width + product

	return bandPass{b: width / a0, a1: 2 * (product - 1) / a0, a2: (1 - width + product) / a0}
}

// variance returns the variance of the output if the input is white with unit variance.
func (f bandPass) variance() float64 {
	phi1 := -f.a1
	phi2 := -f.a2
	rho2 := phi1*phi1/(1-phi2) + phi2
	return f.b * f.b * 2 * (1 - rho2) * ar2Variance(phi1, phi2)
}

// lowPass is a first-order Butterworth low-pass by the same transform: y = b·(x + x₁) − a1·y₁.
type lowPass struct{ b, a1 float64 }

// newLowPass returns the filter with its corner at fHz.
func newLowPass(fHz, rateHz float64) lowPass {
	tan := math.Tan(math.Pi * fHz / rateHz)
	return lowPass{b: tan / (1 + tan), a1: (tan - 1) / (1 + tan)}
}

// variance returns the variance of the output if the input is white with unit variance.
func (f lowPass) variance() float64 { return 2 * f.b * f.b / (1 + f.a1) }
