package content

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table/tabletest"
	"doubletake/report"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// Upper bounds are counted value by value. In errors and in the shares inside, a bound counts as the level that was
// read; a pair with a bound is left out of both without bounds. By hand: the training values follow y = 2x − 2 and have
// the mean 2, so the plain predictions are wrong by 5 and 7, and by 1. Both models predict 5 and 8, and are wrong by 2
// and 1. The second pair has a bound: without it the error is 2.
func TestHeldOutcomes(t *testing.T) {
	tab := tabletest.MustParse(t, `
run recording x y_1 y_2 y_bound_1 y_bound_2
a   a         1 0   0   true      true
b   b         2 2   2   false     false
c   c         3 4   4   false     false
d   d         4 7   7   false     false
e   e         5 9   9   false     true`)
	d := details(t, tab, "x")
	set := d.set
	set.Part = []triplets.Part{triplets.Train, triplets.Train, triplets.Train, triplets.Test, triplets.Test}
	answers := triplets.Answers{
		Mu: []float64{0, 0, 0, 5, 8}, Var: []float64{1, 1, 1, 1, 1}, Cov: make([]float64, 5),
	}
	calibrated := &interval.Result{
		Calibration: &interval.Calibration{Level: 0.95, Condition: "x"},
		Record:      &interval.Record{Mu: []float64{5, 8}, Half: []float64{3, 3}, Half68: []float64{1, 1}},
	}

	for name, honest := range map[string]*interval.Result{"network": nil, "calibrated": calibrated} {
		sp := &report.Split{Honest: honest}
		groupByHeldOut(&set, sp)
		held, err := heldOutcomes(t.Context(), set, boundsOf(tab, set), sp, []triplets.Answers{answers})
		require.NoError(t, err)
		require.Len(t, held, 1, name)
		assert.Equal(t, 4, held[0].Values, name)
		assert.Equal(t, 1, held[0].Bounds, name)
		assert.InDelta(t, math.Sqrt((25.0+49)/2), held[0].MeanError, 1e-9, name)
		assert.InDelta(t, 1, held[0].LinearError, 1e-6, name)
		require.NotNil(t, held[0].Measured, name)
		assert.InDelta(t, 2, held[0].Measured.RMSE, 1e-12, name)
		assert.Equal(t, 1, held[0].Measured.Runs, name)

		// Both values of d are 7, 2 from 5. Networks state no residual.
		residual := map[string]float64{"network": math.NaN(), "calibrated": 2}[name]
		assert.InDelta(t, residual, held[0].MeasuredResidual, 1e-12, name)

		// 7 lies 2 from 5: outside the network's ± 1.96 and the 68 % interval ± 1, inside the calibrated ± 3.
		inside := map[string]float64{"network": 0, "calibrated": 1}[name]
		assert.Equal(t, inside, held[0].Measured.Inside, name)
		assert.Zero(t, held[0].Measured.At[0], name)
	}

	// With the bound, 9 lies 1 from 8, inside the network's ± 1.96.
	all := networkTrust(set, answers)
	require.Len(t, all, 1)
	assert.InDelta(t, math.Sqrt((4.0+1)/2), all[0].RMSE, 1e-12, "error with the bound")
	assert.Equal(t, 0.5, all[0].Inside, "share inside with the bound")

	// The page shows which values are bounds, and which means contain one.
	assert.Equal(t, []bool{true, false, false, false, false}, d.page.Bound1)
	assert.Equal(t, []bool{true, false, false, false, true}, d.page.Bound2)
	assert.Equal(t, []bool{true, false, false, false, true}, d.page.MeanBound)
}

// A table without columns of bounds has none.
func TestNoBounds(t *testing.T) {
	tab := tabletest.MustParse(t, `
run recording x y_1 y_2
a   a         1 0   0.5`)
	d := details(t, tab, "x")
	assert.Zero(t, boundsOf(tab, d.set).number(0))
	assert.Nil(t, d.page.Bound1)
	assert.Nil(t, d.page.MeanBound)
}

// The share inside intervals of a level counts the values whose narrowest interval has at most that level. By hand
// these are one, three and four of four values of the first outcome, and no value of the second below 99 %.
func TestReached(t *testing.T) {
	containedAt := []float64{0.04, 0.5, 0.97, 0.98, 0.96, 0.2, 0.97, 0.999} // rows × outcomes × values
	list := shareReached(triplets.Set{Out: 2}, containedAt)
	require.Len(t, list, 2)
	shares := list[0].Observed[0]
	assert.Equal(t, 0.25, shares[0], "at 5 %%")
	assert.Equal(t, 0.75, shares[9], "at 50 %%")
	assert.Equal(t, 1.0, shares[19], "at 99 %%")
	assert.Zero(t, list[1].Observed[0][18], "at 95 %%")
	assert.Equal(t, 0.75, list[1].Observed[0][19], "at 99 %%")
}
