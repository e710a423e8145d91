package simulate

import (
	"math"
	"math/cmplx"
)

// Geometry and gas of the simulated test bench, SI units.
const (
	densityKgM3   = 1.204
	soundSpeedMS  = 343.0
	tipRadiusM    = 0.0875
	observerM     = 1.62
	maxOrder      = 30 // highest shaft order synthesised
	loadHarmonics = 60 // unsteady loading harmonics
)

// Broadband noise, Pa rms over the recorder's whole band.
const (
	rumblePa     = 0.012 // before its 80 Hz low-pass
	rumbleHz     = 80.0
	microphonePa = 4e-5
)

// rig is what all runs of one campaign have in common: the phases of the
// inflow's distortion, and the imbalance of each rotor.
type rig struct {
	phase     [loadHarmonics]float64                    // of loading harmonic 1…60, rad
	imbalance func(blades int) [maxOrder + 1]complex128 // in Pa at 6000 rpm, θ = 0, per shaft order
}

// newRig draws the rig of a seed: phases uniform, imbalance lognormal per
// rotor (median 0.6 mPa at order 1, falling with k^−0.9).
func newRig(seed uint64) rig {
	var g rig

	s := newStream(seed, "rotor", "inflow")
	for i := range g.phase {
		g.phase[i] = 2 * math.Pi * s.uniform()
	}

	g.imbalance = func(blades int) (out [maxOrder + 1]complex128) {
		s := newStream(seed, "rotor", "imbalance", blades)
		for k := 1; k <= maxOrder; k++ {
			amp := 6e-4 * math.Exp(0.5*s.norm()) * math.Pow(float64(k), -0.9)
			out[k] = cmplx.Rect(amp, 2*math.Pi*s.uniform())
		}

		return out
	}

	return g
}

// orders returns the complex peak amplitude in Pa of every shaft order k·Ω at
// polar angle θ (0 is the rotor plane): at multiples of the blade number the
// far field of rotating steady loading (Gutin 1936), thickness, and unsteady
// loading harmonics (Lowson 1965) with rig-wide phases; at every order the
// rotor's imbalance.
func (g rig) orders(blades int, rpm, thetaDeg float64) [maxOrder + 1]complex128 {
	var out [maxOrder + 1]complex128
	n := float64(blades)
	omega := 2 * math.Pi * rpm / 60
	revs := rpm / 60
	re := 0.75 * tipRadiusM // effective radius
	mach := omega * re / soundSpeedMS
	sin, cos := math.Sincos(thetaDeg * math.Pi / 180)
	d := 2 * tipRadiusM
	thrust := 0.085 * math.Pow(n/2, 0.75) * densityKgM3 * revs * revs * d * d * d * d
	torque := 0.0075 * math.Pow(n/2, 0.85) * densityKgM3 * revs * revs * d * d * d * d * d
	axial := thrust * sin
	drag := soundSpeedMS * torque / (omega * re * re)

	var load [loadHarmonics]complex128 // ½·ε_k·exp(i·phase)
	for k := range load {
		load[k] = cmplx.Rect(0.5*0.22*math.Pow(float64(k+1), -1.8), g.phase[k])
	}

	bessel := make([]float64, maxOrder+loadHarmonics+1)
	for m := 1; m*blades <= maxOrder; m++ {
		mn := m * blades
		fmn := float64(mn)
		z := fmn * mach * cos
		besselJ(bessel, z)
		gain := fmn * omega / (2 * math.Sqrt2 * math.Pi * soundSpeedMS * observerM)
		j := complex(bessel[mn], 0)
		p := complex(gain*(axial-drag), 0) * j * minusIPower(mn)
		p -= complex(densityKgM3*(0.0016*tipRadiusM*tipRadiusM)*tipRadiusM*n*fmn*fmn*omega*omega/
			(2*math.Sqrt2*math.Pi*observerM), 0) * j
		for k := 1; k <= loadHarmonics; k++ {
			for _, s := range [2]int{+1, -1} {
				nu := mn - s*k

				a := load[k-1]
				if s < 0 {
					a = cmplx.Conj(a)
				}

				p += complex(gain*(axial-float64(nu)/fmn*drag)*signedJ(bessel, nu), 0) * a * minusIPower(nu)
			}
		}

		out[mn] = math.Sqrt2 * p
	}

	imb := g.imbalance(blades)

	scale := complex((rpm/6000)*(rpm/6000)*cos, 0)
	for k := 1; k <= maxOrder; k++ {
		out[k] += imb[k] * scale
	}

	return out
}

// minusIPower is (−i)^n, any integer n.
func minusIPower(n int) complex128 {
	return [4]complex128{1, -1i, -1, 1i}[((n%4)+4)%4]
}

// signedJ is J_nu out of the table of non-negative orders.
func signedJ(table []float64, nu int) float64 {
	if nu >= 0 {
		return table[nu]
	}

	if nu%2 != 0 {
		return -table[-nu]
	}

	return table[-nu]
}

// besselJ fills dst[n] = J_n(z), n = 0…len(dst)−1, all at once by Miller's
// backward recurrence, normalised with J_0 + 2·ΣJ_2k = 1. (math.Jn finds one
// order at a time; a run needs 120 orders of the same argument.)
func besselJ(dst []float64, z float64) {
	clear(dst)

	if z == 0 {
		dst[0] = 1
		return
	}

	a := math.Abs(z)

	// Far enough beyond the turning point n = z that J is negligible there.
	start := (max(len(dst), int(a+12*math.Cbrt(a))) + 40) &^ 1
	var sum, above float64

	here := 1e-300
	for n := start; ; n-- {
		if n < len(dst) {
			dst[n] = here
		}

		if n == 0 {
			sum += here
			break
		}

		if n%2 == 0 {
			sum += 2 * here
		}

		above, here = here, 2*float64(n)/a*here-above
		if math.Abs(here) > 1e200 {
			const down = 1e-250
			here *= down
			above *= down
			sum *= down

			for i := n; i < len(dst); i++ {
				dst[i] *= down
			}
		}
	}

	for n := range dst {
		dst[n] /= sum
		if z < 0 && n%2 != 0 {
			dst[n] = -dst[n]
		}
	}
}

// bandPass is a first-order Butterworth band-pass, bilinear transform with
// prewarped corners: y = b·(x − x₂) − a1·y₁ − a2·y₂.
type bandPass struct{ b, a1, a2 float64 }

func newBandPass(f1Hz, f2Hz, rateHz float64) bandPass {
	t1, t2 := math.Tan(math.Pi*f1Hz/rateHz), math.Tan(math.Pi*f2Hz/rateHz)
	w, p := t2-t1, t1*t2
	a0 := 1 + w + p
	return bandPass{b: w / a0, a1: 2 * (p - 1) / a0, a2: (1 - w + p) / a0}
}

// variance of the output for white input of unit variance.
func (f bandPass) variance() float64 {
	phi1, phi2 := -f.a1, -f.a2
	rho2 := phi1*phi1/(1-phi2) + phi2
	return f.b * f.b * 2 * (1 - rho2) * ar2Variance(phi1, phi2)
}

// lowPass is a first-order Butterworth low-pass: y = b·(x + x₁) − a1·y₁.
type lowPass struct{ b, a1 float64 }

func newLowPass(fHz, rateHz float64) lowPass {
	t := math.Tan(math.Pi * fHz / rateHz)
	return lowPass{b: t / (1 + t), a1: (t - 1) / (1 + t)}
}

func (f lowPass) variance() float64 { return 2 * f.b * f.b / (1 + f.a1) }

// hump is the trailing-edge noise of a rotor: corners of its band in Hz and
// rms in Pa before the filter, in the plane-averaged direction. Its power
// grows with the fifth power of the tip speed.
func hump(blades int, rpm, rateHz float64) (f1Hz, f2Hz, rmsPa float64) {
	tip := 2 * math.Pi * rpm / 60 * tipRadiusM
	f2Hz = math.Min(0.16*tip/0.0016, 0.40*rateHz)
	f1Hz = math.Min(0.02*tip/0.002, 0.5*f2Hz)
	rmsPa = 0.016 * math.Pow(tip/55, 2.5) * math.Sqrt(float64(blades)/2)

	return f1Hz, f2Hz, rmsPa
}

// directivity of the hump: amplitude against the polar angle.
func directivity(thetaDeg float64) float64 {
	s := math.Sin(thetaDeg * math.Pi / 180)
	return math.Sqrt(0.45 + s*s)
}
