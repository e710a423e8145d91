package kernel

import "math"

// Tiny is added to squared scaled distances: the derivative of a distance stays
// finite where two inputs are equal.
const Tiny = 1e-12

// Matern sets k to the Matérn-5/2 correlation at the squared scaled distances q, and slope
// to −2·(its derivative with respect to q), both times the variance. The bytes are those of
// math.Exp.
func Matern(k, slope, q []float64, variance float64) {
	need(len(k) == len(q) && len(slope) == len(q), "lengths differ")

	done := maternFast(k, slope, q, variance)
	for i, v := range q[done:] {
		a, b := matern(v)
		k[done+i], slope[done+i] = variance*a, variance*b
	}
}

func matern(q float64) (k, slope float64) {
	r := math.Sqrt(5 * (q + Tiny))
	e := math.Exp(-r)

	return (1 + r + r*r/3) * e, 5.0 / 3 * (1 + r) * e
}

// Tails sets erfc to math.Erfc of each x and gauss to exp(−x²). The bytes are those of math.
func Tails(erfc, gauss, x []float64) {
	need(len(erfc) == len(x) && len(gauss) == len(x), "lengths differ")

	done := tailsFast(erfc, gauss, x)
	for i, v := range x[done:] {
		erfc[done+i], gauss[done+i] = math.Erfc(v), math.Exp(-v*v)
	}
}
