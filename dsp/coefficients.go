package dsp

import "math"

// WindAxes turns body-axis forces, fx aft and fz up, at angle of attack
// alphaDeg into lift and drag (docs/method.md#random-samples): L = F_z cos α − F_x sin α,
// D = F_x cos α + F_z sin α.
func WindAxes(fx, fz, alphaDeg float64) (lift, drag float64) {
	sin, cos := math.Sincos(alphaDeg * math.Pi / 180)
	return fz*cos - fx*sin, fx*cos + fz*sin
}

// Coefficient divides a force in N by q·c·b, dynamic pressure in Pa times chord times
// span in m.
func Coefficient(forceN, qPa, chordM, spanM float64) float64 { return forceN / (qPa * chordM * spanM) }

// MomentsAbout changes moments about the origin, in N·m, to moments about the point r, in m: it subtracts r × F from
// each sample, in place. A moment that was not measured is nil, and stays nil. A force may be nil if its arms in r are
// 0.
func MomentsAbout(moments, forces [3][]float64, r [3]float64) {
	for x, moment := range moments {
		y := (x + 1) % 3
		z := (x + 2) % 3
		subtractMoment(moment, r[y], forces[z])
		subtractMoment(moment, -r[z], forces[y])
	}
}

// subtractMoment subtracts arm·force from moment, in place. If arm is 0, force may be nil.
func subtractMoment(moment []float64, arm float64, force []float64) {
	if arm == 0 {
		return
	}

	for k := range moment {
		moment[k] -= float64(arm * force[k])
	}
}
