package app

import (
	"math"
	"strings"
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

// Of two long values that begin alike, the part that differs is shown. Expected texts by hand.
func TestBriefChange(t *testing.T) {
	long := strings.Repeat("a", 70)
	for _, c := range []struct{ a, b, oldText, newText string }{
		{"1", "2", "1", "2"},
		{"", "2", "none", "2"},
		{"x" + long, "y" + long, "x" + long[:59] + "…", "y" + long[:59] + "…"},
		{long + "1", long + "2", "…" + long[:20] + "1", "…" + long[:20] + "2"},
		{long, long + "b", "…" + long[:20], "…" + long[:20] + "b"},
		{
			long + "1" + long, long + "2" + long,
			"…" + long[:20] + "1" + long[:39] + "…", "…" + long[:20] + "2" + long[:39] + "…",
		},
	} {
		assert.Equal(t, c.oldText+" → "+c.newText, briefChange(c.a, c.b))
	}
}

// Changes share a line only if they are equal, also behind the letters that are shown.
func TestGroupChanges(t *testing.T) {
	long := strings.Repeat("a", 70)
	lines := groupChanges([]runs.Change{
		{Where: "e", Key: "k", A: "1", B: "2"},
		{Where: "f", Key: "k", A: "1", B: "2"},
		{Key: "program", A: "v1", B: "v2"},
		{Where: "e", Key: "list", A: "x", B: long + "1"},
		{Where: "f", Key: "list", A: "x", B: long + "2"},
	})
	assert.Equal(t, []string{
		"e and 1 more: k: 1 → 2", "program: v1 → v2", "e: list: x → " + long[:60] + "…", "f: list: x → " + long[:60] + "…",
	}, lines)
}
