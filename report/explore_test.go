package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The explorer keeps about one of n conditions, for any runs that the page shows: all runs, every second run of an
// experiment, or a single one. The expected numbers are counted by hand.
func TestSelectRuns(t *testing.T) {
	for name, c := range map[string]struct {
		runOf func(condition int) int // number in the experiment of the run of a condition
		want  []int                   // selected conditions of 24, for n = 2
	}{
		"two conditions in each run": {func(c int) int { return c / 2 }, []int{0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21}},
		"every second run is shown":  {func(c int) int { return c / 4 * 2 }, []int{0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19}},
		"a single run":               {func(int) int { return 0 }, []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}},
	} {
		d := &Detail{Inputs: []Quantity{{Name: "rpm"}}}
		for condition := range 24 {
			d.X = append(d.X, float64(condition))
			d.Cond = append(d.Cond, condition)
			d.Run = append(d.Run, c.runOf(condition))
		}

		assert.Equal(t, c.want, d.selectRuns(2).conditions, name)
	}
}

// Inputs that are not known or infinite, for which JSON has no number. Expected: a page with null in their stead.
func TestExploredOddInputs(t *testing.T) {
	for _, odd := range []float64{math.NaN(), math.Inf(1)} {
		d := campaign(2, 2, 2, 1, 1)
		d.X[0] = odd
		assert.Contains(t, string(Page([]*Detail{d})), "null", "input %g", odd)
	}
}
