package app

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/pipeline/runs"
)

// Numbers with their spreads. Expected: by the rule of rounding, by hand; a half is rounded to the even number, thus
// 0.5 % to 0 % and 1.5 % to 2 %. Other spreads have two digits, as in the report. A number that is not finite has no
// unit.
func TestValueText(t *testing.T) {
	nan := math.NaN()
	inside := runs.MetricKey{Metric: "coverage"}
	half := runs.MetricKey{Metric: "half_width", Unit: "N"}
	for _, c := range []struct {
		key      runs.MetricKey
		mean, se float64
		want     string
	}{
		{inside, 0.95, 0.02, "95 ± 2 %"},
		{inside, 0.95, 0.015, "95 ± 2 %"},
		{inside, 0.95, 0.0051, "95 ± 1 %"},
		{inside, 0.95, 0.005, "95 %"},
		{inside, 0.95, 0, "95 %"},
		{inside, 0.95, nan, "95 %"},
		{inside, nan, nan, "–"},
		{inside, math.Inf(1), nan, "–"},
		{half, 3, 0.5, "3.00 ± 0.50 N"},
		{half, nan, nan, "–"},
		{half, math.Inf(1), nan, "–"},
		{half, math.Inf(-1), 1, "–"},
	} {
		got := valueText(c.key, runs.Number{Mean: c.mean, SE: c.se, Std: nan})
		assert.Equal(t, c.want, got, "%s of %g with %g", c.key.Metric, c.mean, c.se)
	}
}
