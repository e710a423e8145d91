package kernel

import "math"

// leastDistance is added to squared distances, so that the derivative of a distance stays finite where two points are
// equal.
const leastDistance = 1e-12

// maternStep is the number of distances that the assembly computes together.
const maternStep = 4

// Matern sets correlation[i] to the Matérn-5/2 correlation at the squared scaled distance q[i] ≥ 0, and slope[i] to −2
// times its derivative with respect to q[i]. On amd64 the bits are the same with and without the assembly.
func Matern(q, correlation, slope []float64) {
	need(len(q) == len(correlation) && len(q) == len(slope), "lengths differ")

	for i := 0; i < len(q); {
		i += maternFast(q[i:], correlation[i:], slope[i:])

		// The assembly leaves the last distances, and distances at which exp is not a normal number.
		for end := min(i+maternStep, len(q)); i < end; i++ {
			correlation[i], slope[i] = MaternAt(q[i])
		}
	}
}

// MaternAt returns the numbers of Matern at one squared scaled distance.
func MaternAt(q float64) (correlation, slope float64) {
	r := math.Sqrt(5 * (q + leastDistance))
	e := math.Exp(-r)

	return (1 + r + r*r/3) * e, 5.0 / 3 * (1 + r) * e
}
