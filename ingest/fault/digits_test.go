package fault_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/fault"
)

// Expected texts are rounded by hand. The comments name what the verb %g would print.
func TestDigits(t *testing.T) {
	for _, c := range []struct {
		value  float64
		digits int
		want   string
	}{
		{0, 2, "0"},
		{0.12345, 2, "0.12"},
		{9.96, 2, "10"},
		{1.6, 2, "1.6"},
		{99.4, 2, "99"},
		{99.6, 2, "100"},      // 1e+02
		{150, 2, "150"},       // 1.5e+02
		{-1234.5, 2, "-1234"}, // -1.2e+03; halves are rounded to even
		{11000, 2, "11000"},   // 1.1e+04
		{999.6, 3, "1000"},    // 1e+03
		{1800.4, 3, "1800"},   // 1.8e+03
		{51200, 4, "51200"},   // 5.12e+04
		{12345.6, 4, "12346"}, // 1.235e+04
		{9999.4, 4, "9999"},
		{1e6, 6, "1000000"}, // 1e+06
		{0.0005, 2, "0.0005"},
		{0.00002, 2, "2e-05"},
		{2e15, 4, "2e+15"},
		{math.Inf(1), 2, "+Inf"},
		{math.NaN(), 2, "NaN"},
	} {
		assert.Equal(t, c.want, fault.Digits(c.value, c.digits), "%v to %d digits", c.value, c.digits)
	}
}
