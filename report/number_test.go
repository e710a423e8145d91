package report

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/train/score"
)

// The expected strings are written by hand from the rule in the comment of round.
func TestRound(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name      string
		v         score.Value
		scale     float64
		text, tex string
	}{
		{"two digits of the spread", val(0.99134, 0.00123), 1, "0.9913 ± 0.0012", `$0.9913 \pm 0.0012$`},
		{"the paper's table, drone 2 blades", val(0.05634, 0.0052), 100, "5.63 ± 0.52", `$5.63 \pm 0.52$`},
		{"spread rounds up to the next decade", val(0.5, 0.0996), 1, "0.50 ± 0.10", `$0.50 \pm 0.10$`},
		{"spread of ten keeps no decimals", val(47.26, 12.4), 1, "47 ± 12", `$47 \pm 12$`},
		{"spread of hundreds rounds to tens", val(1234.5, 123), 1, "1230 ± 120", `$1230 \pm 120$`},
		{"spread beyond the mean", val(0.4, 120), 1, "0 ± 120", `$0 \pm 120$`},
		{"negative mean", val(-0.0456, 0.017), 1, "-0.046 ± 0.017", `$-0.046 \pm 0.017$`},
		{"no negative zero", val(-0.0004, 0.12), 1, "0.00 ± 0.12", `$0.00 \pm 0.12$`},
		{"no spread at all: four digits", val(0.97931, 0), 1, "0.9793", `$0.9793$`},
		{"spread of float32 rounding is none", val(0.97931, 3e-8), 1, "0.9793", `$0.9793$`},
		{"zero without spread", score.Value{N: 5}, 1, "0.000", `$0.000$`},
		{"one seed: three digits", score.Value{Mean: 0.870123, Std: nan, N: 1}, 1, "0.870", `$0.870$`},
		{"one seed, a deviation of 0 is no knowledge", score.Value{Mean: 0.870123, Std: 0, N: 1}, 1, "0.870", `$0.870$`},
		{"one seed, large", score.Value{Mean: 123456, Std: nan, N: 1}, 1, "123000", `$123000$`},
		{"diverged", val(3.21e20, 4.5e20), 1, "(3.2 ± 4.5)e+20", `$(3.2 \pm 4.5) \times 10^{20}$`},
		{"diverged, one seed", score.Value{Mean: 3.214e20, Std: nan, N: 1}, 1, "3.21e+20", `$3.21 \times 10^{20}$`},
		{"tiny", val(3.21e-7, 1.1e-8), 1, "(3.21 ± 0.11)e-7", `$(3.21 \pm 0.11) \times 10^{-7}$`},
		{"just below a million", val(999_999, 2e4), 1, "1000000 ± 20000", `$1000000 \pm 20000$`},
		{"undefined", undef("one condition only"), 1, "–", "--"},
		{"never computed", score.Value{}, 1, "–", "--"},
		{"infinite", score.Value{Mean: math.Inf(1), N: 5}, 1, "–", "--"},
		{"overflow by the factor", val(1e308, 1), 100, "–", "--"},
		{"reason given, mean left at zero", score.Value{N: 5, Undefined: "couples"}, 1, "–", "--"},
	} {
		if c.name == "zero without spread" {
			c.v = score.Value{Mean: 0, Std: 0, N: 5}
		}

		n := round(c.v, c.scale)
		assert.Equal(t, c.text, n.plain(), "%s", c.name)
		assert.Equal(t, c.tex, n.tex(), "%s", c.name)
	}
}

// Expected strings by hand: two significant digits.
func TestTwoDigits(t *testing.T) {
	for _, c := range []struct {
		v    score.Value
		want string
	}{
		{val(0.031, 0.004), "3.1"},
		{val(0.000996, 0.1), "0.10"},
		{val(1.234, 0), "120"},
		{score.Value{}, "–"},
		{undef("one run only"), "–"},
	} {
		assert.Equal(t, c.want, twoDigits(c.v, 100).plain(), "twoDigits(%v)", c.v)
	}
}

// Expected values: (test − train)/train by hand; the first two are the rows of
// the paper's table (docs/method.md#what-to-expect): .97 → .77, 2.358 → 5.634.
func TestDifference(t *testing.T) {
	for _, c := range []struct {
		train, test score.Value
		want        string
	}{
		{val(0.97, 0), val(0.77, 0.02), "-21 %"},
		{val(0.02358, 0.0011), val(0.05634, 0.0052), "+139 %"},
		{val(0.98, 0), val(0.93, 0), "-5.1 %"},
		{val(0.98, 0), val(0.98, 0), "0.0 %"},
		{val(1, 0), val(1.0997, 0), "+10 %"},
		{val(1e-9, 0), val(1, 0), "+1.0e+11 %"},
		{val(-0.2, 0), val(0.5, 0), "–"},
		{val(0, 1), val(0.5, 0), "–"},
		{undef("x"), val(0.5, 0), "–"},
		{val(0.5, 0), undef("x"), "–"},
	} {
		pct, why := percentChange(c.train, c.test)
		assert.Equal(t, c.want, percentCell(pct).plain(), "difference(%v, %v)", c.train.Mean, c.test.Mean)
		assert.Equal(t, c.want != "–", why == "", "difference(%v, %v): reason %q", c.train.Mean, c.test.Mean, why)
	}
}

// A printed number must read back to the value within half a unit of the last
// digit of the spread, and the spread must show exactly two digits.
func TestRoundProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mean := rapid.Float64Range(-1e5, 1e5).Draw(t, "mean")

		std := math.Pow(10, rapid.Float64Range(-3, 4).Draw(t, "log std"))
		if std < 1e-6*math.Abs(mean) {
			t.Skip("counts as none")
		}

		n := round(val(mean, std), 1)
		m, err1 := strconv.ParseFloat(n.mean, 64)

		s, err2 := strconv.ParseFloat(n.std, 64)
		require.NoError(t, err1)
		require.NoError(t, err2, "%q does not read back", n.plain())

		// The place of the second digit: 10^(⌊lg std⌋ − 1), one more after rounding up.
		place := math.Pow(10, math.Floor(math.Log10(std)*(1+1e-15))-1)
		require.InDelta(t, std, s, 0.5001*place*10)
		require.InDelta(t, mean, m, 0.5001*place*10)

		if digits := strings.TrimLeft(strings.Replace(n.std, ".", "", 1), "0"); len(strings.TrimRight(digits, "0")) > 2 {
			t.Fatalf("%v ± %v printed as %q", mean, std, n.plain())
		}
	})
}
