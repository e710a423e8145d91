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
	rumblePa     = 0.012 // white, before the low-pass at rumbleHz
	rumbleHz     = 80.0
	microphonePa = 4e-5
)

// rig is the test bench that all runs of a campaign share.
type rig struct {
	phase     [loadHarmonics]float64 // phase of each loading harmonic, from harmonic 1 on, rad
	imbalance map[int]orderPa        // imbalance of each rotor by its number of blades, at 6000 rpm and θ = 0
}

// orderPa has the complex peak amplitude in Pa of each shaft order, from order 0 on.
type orderPa [maxOrder + 1]complex128

// newRig draws the rig of a seed, with rotors of those numbers of blades. The phases are uniform.
func newRig(seed uint64, blades ...int) rig {
	g := rig{imbalance: map[int]orderPa{}}
	phases := newStream(seed, "rotor", "inflow")
	for i := range g.phase {
		g.phase[i] = 2 * math.Pi * phases.uniform()
	}

	for _, n := range blades {
		g.imbalance[n] = drawImbalance(seed, n)
	}

	return g
}

// drawImbalance draws the imbalance of a rotor. The amplitude of order k is lognormal with a
// median of 0.6 mPa·k^−0.9, and the phase uniform.
func drawImbalance(seed uint64, blades int) orderPa {
	var pa orderPa
	draws := newStream(seed, "rotor", "imbalance", blades)
	for k := 1; k <= maxOrder; k++ {
		amplitude := 6e-4 * math.Exp(0.5*draws.norm()) * math.Pow(float64(k), -0.9)
		pa[k] = cmplx.Rect(amplitude, 2*math.Pi*draws.uniform())
	}

	return pa
}

// orders returns the complex peak amplitude in Pa of every shaft order at a polar angle (0 is the rotor plane).
// Every order has a part by the rotor's imbalance. The multiples of the number of blades have the far field of
// the blades, too: rotating steady loading (Gutin 1936), thickness noise, and unsteady loading harmonics (Lowson 1965)
// with the phases of the rig. axial and drag are the thrust towards the observer and the force of the torque in N.
// The constants of the loads are the Python reference's.
func (g rig) orders(blades int, rpm, thetaDeg float64) orderPa {
	n := float64(blades)
	omega := 2 * math.Pi * rpm / 60
	revs := rpm / 60
	radius := 0.75 * tipRadiusM // effective radius
	mach := omega * radius / soundSpeedMS
	sin, cos := math.Sincos(thetaDeg * math.Pi / 180)
	d := 2 * tipRadiusM
	thrust := 0.085 * math.Pow(n/2, 0.75) * densityKgM3 * revs * revs * d * d * d * d
	torque := 0.0075 * math.Pow(n/2, 0.85) * densityKgM3 * revs * revs * d * d * d * d * d
	axial := thrust * sin
	drag := soundSpeedMS * torque / (omega * radius * radius)

	var load [loadHarmonics]complex128 // half the relative amplitude of each harmonic of the loads, with its phase
	for k := range load {
		load[k] = cmplx.Rect(0.5*0.22*math.Pow(float64(k+1), -1.8), g.phase[k])
	}

	var pa orderPa
	bessel := make([]float64, maxOrder+loadHarmonics+1)
	for m := 1; m*blades <= maxOrder; m++ {
		mn := m * blades
		fmn := float64(mn)
		besselJ(bessel, fmn*mach*cos)
		gain := fmn * omega / (2 * math.Sqrt2 * math.Pi * soundSpeedMS * observerM)
		j := complex(bessel[mn], 0)

		// p is the complex rms amplitude: of the steady loading, of the thickness, and of the unsteady loading.
		p := complex(gain*(axial-drag), 0) * j * minusIPower(mn)
		p -= complex(densityKgM3*(0.0016*tipRadiusM*tipRadiusM)*tipRadiusM*n*fmn*fmn*omega*omega/
			(2*math.Sqrt2*math.Pi*observerM), 0) * j

		p = addUnsteady(p, &load, bessel, mn, gain, axial, drag)
		pa[mn] = math.Sqrt2 * p
	}

	imbalance := g.imbalance[blades]
	scale := complex((rpm/6000)*(rpm/6000)*cos, 0)
	for k := 1; k <= maxOrder; k++ {
		pa[k] += imbalance[k] * scale
	}

	return pa
}

// addUnsteady adds the part of the unsteady loading to p, the complex rms amplitude of shaft order mn. Harmonic k of
// the loads turns the orders mn − k and mn + k into order mn. The other parameters are the variables of orders with the
// same names.
func addUnsteady(p complex128, load *[loadHarmonics]complex128, bessel []float64, mn int, gain, axial, drag float64,
) complex128 {
	for k := 1; k <= loadHarmonics; k++ {
		for _, sign := range [2]int{+1, -1} {
			nu := mn - sign*k

			amplitude := load[k-1]
			if sign < 0 {
				amplitude = cmplx.Conj(amplitude)
			}

			p += complex(gain*(axial-float64(nu)/float64(mn)*drag)*signedJ(bessel, nu), 0) * amplitude * minusIPower(nu)
		}
	}

	return p
}

// minusIPower returns (−i)^n for any integer n, also a negative one.
func minusIPower(n int) complex128 {
	return [4]complex128{1, -1i, -1, 1i}[((n%4)+4)%4]
}

// signedJ returns the Bessel function J_nu for any integer nu. table has it for the orders from 0 on. J_−n is
// (−1)^n·J_n.
func signedJ(table []float64, nu int) float64 {
	if nu >= 0 {
		return table[nu]
	}

	if nu%2 != 0 {
		return -table[-nu]
	}

	return table[-nu]
}

// besselJ fills dst[n] with the Bessel function J_n(z), n = 0 … len(dst)−1, by Miller's backward recurrence,
// normalised with J_0 + 2·ΣJ_2k = 1. It computes all orders at once; math.Jn computes one order per call.
func besselJ(dst []float64, z float64) {
	clear(dst)

	if z == 0 {
		dst[0] = 1
		return
	}

	a := math.Abs(z)

	// The recurrence starts so far above the turning point n = z that J is negligible there.
	start := (max(len(dst), int(a+12*math.Cbrt(a))) + 40) &^ 1
	sum := 0.0
	above := 0.0   // J of order n+1, not normalised
	here := 1e-300 // J of order n, not normalised
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

		next := 2*float64(n)/a*here - above
		above = here
		here = next
		if math.Abs(here) > 1e200 { // before it overflows
			const shrink = 1e-250
			here *= shrink
			above *= shrink
			sum *= shrink

			for i := n; i < len(dst); i++ {
				dst[i] *= shrink
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

// bandPass is a first-order Butterworth band-pass by the bilinear transform with
// prewarped corners: y = b·(x − x₂) − a1·y₁ − a2·y₂. Subscripts count samples back.
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

// hump is the trailing-edge noise of a rotor: white noise through a band-pass.
type hump struct {
	lowHz, highHz float64 // corners of the band-pass
	rmsPa         float64 // before the band-pass, without the directivity
}

// newHump returns the hump of a rotor. Its power grows with the fifth power of the tip speed.
func newHump(blades int, rpm, rateHz float64) hump {
	tip := 2 * math.Pi * rpm / 60 * tipRadiusM
	highHz := math.Min(0.16*tip/0.0016, 0.40*rateHz)

	return hump{
		lowHz:  math.Min(0.02*tip/0.002, 0.5*highHz),
		highHz: highHz,
		rmsPa:  0.016 * math.Pow(tip/55, 2.5) * math.Sqrt(float64(blades)/2),
	}
}

// directivity returns the factor of the hump's amplitude at a polar angle.
func directivity(thetaDeg float64) float64 {
	sin := math.Sin(thetaDeg * math.Pi / 180)
	return math.Sqrt(0.45 + sin*sin)
}
