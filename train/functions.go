package train

import (
	"math"

	"doubletake/train/kernel"
)

// The functions in this file compute in float64 and round every product before it is added, so that they
// give the same bits on every architecture. The functions of package math need not: some architectures
// have them in assembly, or use fused multiply-add.

// cosPi returns cos(πx) for 0 ≤ x ≤ 1 with an error of 1e-15, by the Taylor series about 0, ½ or 1, whichever is
// nearest.
func cosPi(x float64) float64 {
	switch {
	case x > 0.75:
		return -cosPi(1 - x)
	case x > 0.25:
		t := math.Pi * (0.5 - x)
		return t * taylor(t, 2)
	}

	return taylor(math.Pi*x, 1)
}

// taylor returns 1 − t²/(k(k+1)) + t⁴/(k(k+1)(k+2)(k+3)) − …, which is cos t for k = 1 and sin t/t for k = 2.
func taylor(t float64, k int) float64 {
	z := t * t

	sum := 1.0
	term := 1.0
	for i := range 12 {
		n := float64(k + 2*i)
		term = -term * z / (n * (n + 1))
		sum += term
	}

	return sum
}

// expNeg returns e^−x for x ≥ 0 with a relative error of 2e-16·(1+x). It returns 0 if x is above 700.
func expNeg(x float64) float64 {
	if x > 700 { // e^−x is below 1e-304, and pow2 could not scale it
		return 0
	}

	// e^−x is 2⁻ⁿ·e^r with r = n·ln 2 − x. The two constants are the low and the high digits of ln 2.
	n := math.Floor(float64(x*(1/math.Ln2)) + 0.5)
	r := float64(n*0x1.a39ef35793c76p-33) - (x - float64(n*0x1.62e42fee00000p-1))

	// The Taylor series for |r| ≤ ½ln2. Even and odd powers are summed separately, which the processor does at
	// the same time.
	z := float64(r * r)

	even := expEven[0]
	odd := expOdd[0]
	for i := 1; i < len(expOdd); i++ {
		even = float64(even*z) + expEven[i]
		odd = float64(odd*z) + expOdd[i]
	}

	even = float64(even*z) + 1
	sum := even + float64(odd*r)

	// 2⁻ⁿ may be smaller than the least normal number: multiply by two factors instead.
	h := int(n) / 2

	return float64(sum*pow2(-h)) * pow2(h-int(n))
}

// The coefficients of the Taylor series of e^r: 1/14!, 1/12!, … 1/2! and 1/13!, 1/11!, … 1/1!.
var (
	expEven = [7]float64{1.0 / 87178291200, 1.0 / 479001600, 1.0 / 3628800, 1.0 / 40320, 1.0 / 720, 1.0 / 24, 1.0 / 2}
	expOdd  = [7]float64{1.0 / 6227020800, 1.0 / 39916800, 1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6, 1}
)

// pow2 returns 2ⁿ for −1022 ≤ n ≤ 1023.
func pow2(n int) float64 { return math.Float64frombits(uint64(1023+n) << 52) }

// logPos returns the natural logarithm of a normal number x > 0, with a relative error of 2e-16 unless x is near 1.
// With x = m·2ⁿ and s = (m−1)/(m+1), log m is the series 2·(s + s³/3 + s⁵/5 + …).
func logPos(x float64) float64 {
	b := math.Float64bits(x)
	m := math.Float64frombits(b&(1<<52-1) | 1022<<52)
	n := int(b>>52) - 1022
	if m < math.Sqrt2/2 {
		m *= 2
		n--
	}

	s := (m - 1) / (m + 1)
	z := s * s

	sum := 0.0
	for _, c := range logCoefficients {
		sum = c + float64(z*sum)
	}

	return float64(float64(n)*math.Ln2) + float64(2*s*sum)
}

// logCoefficients are the coefficients of that series, 1/23, 1/21, … 1.
var logCoefficients = [12]float64{
	1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,
	1.0 / 7, 1.0 / 5, 1.0 / 3, 1,
}

// Variance returns the variance for a raw variance, an output of the network: softplus(raw) + kernel.VarianceFloor, in
// standardised units.
func Variance(raw float64) float64 { return softplus(raw) + kernel.VarianceFloor }

// softplus returns log(1+e^r). With e = e^−|r| and u = 1+e, rounded, it computes log(1+e) as log(u)·e/(u−1), in
// which the rounding error of u cancels (Kahan).
func softplus(r float64) float64 {
	e := expNeg(math.Abs(r))
	u := 1 + e
	l := e
	if u > 1 {
		l = float64(logPos(u) * (e / (u - 1)))
	}

	return max(r, 0) + l
}

// invSqrt2Pi is 1/√(2π).
const invSqrt2Pi = 0.398942280401432677939946059934

// normPDF returns the standard normal density. It returns 0 at infinity.
func normPDF(z float64) float64 {
	if math.IsInf(z, 0) {
		return 0
	}
	return invSqrt2Pi * expNeg(0.5*z*z)
}

// normCDF returns the standard normal distribution function with an absolute error of 1e-15. It uses Marsaglia's series
// ½ + φ(z)·(z + z³/3 + z⁵/15 + …), whose terms do not cancel (Evaluating the normal distribution, J. Stat.
// Software 11(4), 2004).
func normCDF(z float64) float64 {
	switch {
	case z < -9:
		return 0
	case z > 9:
		return 1
	}

	sum := z
	term := z
	q := z * z
	for i := 3.0; ; i += 2 {
		term = term * q / i
		next := sum + term
		if next == sum {
			break
		}

		sum = next
	}

	return 0.5 + float64(sum*normPDF(z))
}

// normQuantile returns the inverse of normCDF for 0 < p < 1 with a relative error of 1e-15. It is Wichura's function
// PPND16 (Algorithm AS 241, Applied Statistics 37, 1988): ratios of polynomials, whose coefficients a … f are the
// tables below.
func normQuantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * horner(r, &ppndA) / horner(r, &ppndB)
	}

	r := p
	if q > 0 {
		r = 1 - p
	}

	r = math.Sqrt(-logPos(r))

	var x float64
	if r <= 5 {
		r -= 1.6
		x = horner(r, &ppndC) / horner(r, &ppndD)
	} else {
		r -= 5
		x = horner(r, &ppndE) / horner(r, &ppndF)
	}

	if q < 0 {
		return -x
	}

	return x
}

// horner returns c[0] + c[1]·x + … + c[7]·x⁷.
func horner(x float64, c *[8]float64) float64 {
	s := c[7]
	for i := 6; i >= 0; i-- {
		s = float64(s*x) + c[i]
	}

	return s
}

var (
	ppndA = [8]float64{
		3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
	}
	ppndB = [8]float64{
		1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
	}
	ppndC = [8]float64{
		1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
	}
	ppndD = [8]float64{
		1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
	}
	ppndE = [8]float64{
		6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
	}
	ppndF = [8]float64{
		1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
	}
)
