package train

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The functions that replace package math, whose bits differ between machines, are accurate. Expected values:
// scipy.special.ndtri and package math.
func TestMath64(t *testing.T) {
	for _, c := range []struct{ p, z float64 }{
		// scipy.special.ndtri
		{0.5, 0}, {0.975, 1.959963984540054}, {0.01, -2.3263478740408408}, {1e-10, -6.361340902404056}, {1e-300, -37.0471},
	} {
		tolerance := 1e-14 * max(1, math.Abs(c.z))
		if c.p < 1e-200 {
			tolerance = 1e-4 // as many digits as are written above
		}

		assert.InDelta(t, c.z, normQuantile(c.p), tolerance, "quantile of %g", c.p)
	}

	for i := range 2001 {
		x := float64(i) / 2000
		assert.InDelta(t, math.Cos(math.Pi*x), cosPi(x), 1e-15, "cos π·%g", x)

		z := 18*x - 9
		assert.InDelta(t, 0.5*math.Erfc(-z/math.Sqrt2), normCDF(z), 2e-15, "Φ(%g)", z)
		assert.InDelta(t, 1, expNeg(40*x)/math.Exp(-40*x), 1e-15, "exp(−%g) in math.Exp", 40*x)

		y := math.Exp(60*x - 30)
		assert.InDelta(t, math.Log(y), logPos(y), 5e-16*math.Max(1, math.Abs(math.Log(y))), "log %g", y)

		r := 100*x - 50
		closed := math.Max(r, 0) + math.Log1p(math.Exp(-math.Abs(r)))
		assert.InDelta(t, 1, softplus(r)/closed, 1e-14, "softplus(%g) in its closed form", r)
	}
}
