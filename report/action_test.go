package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/score"
)

// Each action says which outcomes further test runs can have. The numbers of runs are those of score.TestOutlook.
func TestUndecidedAction(t *testing.T) {
	nan := math.NaN()
	for want, evidence := range map[string]score.Evidence{
		"Measure 1 more test run: with 1 more run like these it would hold, and whatever they show, it cannot fail.": {
			Level: 0.95, Units: 13, Inside: 1, Inside68: nan, Effective: 13,
		},
		"Rely on the error of y (3 N), not on the interval: with 1 more run like these it would fail; it can hold from " +
			"23 runs in all, if all new values are inside.": {
			Level: 0.95, Units: 15, Inside: 0.85, Inside68: 0.36, Effective: 120,
		},
		"Use only the 95\u00a0% interval of y; more runs like these do not help.": {
			Level: 0.95, Units: 15, Inside: 0.96, Inside68: 0.46, Effective: 200,
		},
		"Train on runs there before you predict y.": {
			Level: 0.95, Units: 15, Inside: 1, Inside68: 0.9, Effective: 200, WidthOverSpread: 3.1,
		},
	} {
		assert.Equal(t, want, undecidedAction(evidence, "y", " (3 N)"))
	}
}
