package numbers

import (
	"math"
	"strconv"
	"strings"
)

// Exponent is the decimal exponent of v once rounded to so many digits: 0.0996 to two
// digits is 0.10, so −1.
func Exponent(v float64, digits int) int {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}

	s := strconv.FormatFloat(v, 'e', digits-1, 64)
	e, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])

	return e
}

// Decimals is the number of decimals that shows so many digits of v; negative ones are
// tens, hundreds….
func Decimals(v float64, digits int) int { return digits - 1 - Exponent(v, digits) }

// Shift returns v·10^k, rounded once more than exact at most.
func Shift(v float64, k int) float64 {
	if k < 0 {
		return v / math.Pow10(-k)
	}
	return v * math.Pow10(k)
}

// Fixed writes v with so many decimals; negative ones round to tens, hundreds…. What
// rounds to zero has no sign.
func Fixed(v float64, decimals int) string {
	if decimals < 0 {
		v = Shift(math.Round(Shift(v, decimals)), -decimals)
		decimals = 0
	}

	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}

	return s
}
