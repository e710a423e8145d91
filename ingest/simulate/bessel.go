package simulate

import "math"

// besselJ fills dst[n] with the Bessel function J_n(z), n = 0 … len(dst)−1, by Miller's backward recurrence,
// normalised with J_0 + 2·ΣJ_2k = 1. It computes all orders at once; math.Jn computes one order per call.
func besselJ(dst []float64, z float64) {
	clear(dst)

	if z == 0 {
		dst[0] = 1
		return
	}

	a := math.Abs(z)

	// J is negligible far above n = |z|. The recurrence starts there, at an even n, and its errors shrink downwards.
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
		if math.Abs(here) > 1e200 { // before it overflows; the division by the sum cancels the factor
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
