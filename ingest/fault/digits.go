package fault

import (
	"math"
	"strconv"
	"strings"
)

// Digits returns a number with n significant digits for a message. It does not round the whole part of a number, and
// writes no exponent below 10¹⁵, so that 12345.6 is 12346 with any n up to 5. Small numbers have an exponent below
// 10⁻⁴, as the verb %g prints them.
func Digits(v float64, n int) string {
	const most = 1e15 // float64 has all digits of the whole numbers up to there

	text := strconv.FormatFloat(v, 'g', n, 64)
	if strings.Contains(text, "e+") && math.Abs(v) < most {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}

	return text
}
