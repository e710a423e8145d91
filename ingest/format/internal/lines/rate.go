package lines

import (
	"math"
	"strconv"
	"strings"
)

// exponents gives numbers the usual exponent sign and decimal sign: 1,5D-3 becomes 1.5e-3.
var exponents = strings.NewReplacer("D", "e", "d", "e", "E", "e", ",", ".")

// Rate returns the sampling rate in Hz that belongs to a time increment, in a unit of unitSeconds. written is the text
// in which the file gives the increment. The text may be rounded: every rate from low to high has an increment that is
// written in this way. Rate returns the nearest integer if it lies between low and high, and the inverse of the
// increment otherwise.
func Rate(increment float64, written string, unitSeconds float64) (hz, low, high float64) {
	mantissa, exponent, _ := strings.Cut(exponents.Replace(written), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")

	largestError := 1e-12 * increment // rounding of float64
	power, err := strconv.Atoi(exponent)
	if err == nil || exponent == "" {
		lastDigit := math.Pow(10, float64(power-len(decimals)))
		largestError += 0.5 * (1 + 1e-9) * lastDigit
	}

	seconds := unitSeconds * increment
	largestError = unitSeconds * min(largestError, increment/2)

	hz = 1 / seconds
	low = 1 / (seconds + largestError)
	high = 1 / (seconds - largestError)

	near := math.Round(hz)
	if near >= low && near <= high && near > 0 {
		hz = near
	}

	return hz, low, high
}
