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

// sectionM2 is the area of a blade's section, which sets the thickness noise. The share of the squared radius is the
// Python reference's.
const sectionM2 = 0.0016 * tipRadiusM * tipRadiusM

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
// with the phases of the rig. The constants of the loads are the Python reference's.
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
	axial := thrust * sin                                     // thrust towards the observer, N
	drag := soundSpeedMS * torque / (omega * radius * radius) // force of the torque, N

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

		// The addends are complex rms amplitudes.
		steady := complex(gain*(axial-drag), 0) * j * minusIPower(mn)
		thickness := complex(densityKgM3*sectionM2*tipRadiusM*n*fmn*fmn*omega*omega/(2*math.Sqrt2*math.Pi*observerM), 0) * j
		all := addUnsteady(steady-thickness, &load, bessel, mn, gain, axial, drag)
		pa[mn] = math.Sqrt2 * all
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

// hump is the trailing-edge noise of a rotor: white noise through a band-pass.
type hump struct {
	lowHz, highHz float64 // corners of the band-pass
	rmsPa         float64 // before the band-pass, without the directivity
}

// The hump of the trailing edge has the constants of the Python reference. The frequency of a corner is a Strouhal
// number times the tip speed over a length.
const (
	lowStrouhal  = 0.02
	lowLengthM   = 0.002
	highStrouhal = 0.16
	highLengthM  = 0.0016

	referencePa    = 0.016 // rms of two blades at the tip speed referenceTipMS
	referenceTipMS = 55
)

// newHump returns the hump of a rotor. Its power grows with the fifth power of the tip speed.
func newHump(blades int, rpm, rateHz float64) hump {
	tip := 2 * math.Pi * rpm / 60 * tipRadiusM
	highHz := math.Min(highStrouhal*tip/highLengthM, 0.40*rateHz)

	return hump{
		lowHz:  math.Min(lowStrouhal*tip/lowLengthM, 0.5*highHz),
		highHz: highHz,
		rmsPa:  referencePa * math.Pow(tip/referenceTipMS, 2.5) * math.Sqrt(float64(blades)/2),
	}
}

// directivity returns the factor of the hump's amplitude at a polar angle.
func directivity(thetaDeg float64) float64 {
	sin := math.Sin(thetaDeg * math.Pi / 180)
	return math.Sqrt(0.45 + sin*sin)
}
