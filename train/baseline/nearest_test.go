package baseline

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/triplets"
)

// The groups are at the values 2, 3 and 5 of the first input, and the second input chooses the condition within a
// group. By hand, the group at 2 is nearest to 2.4, and the groups at 3 and 5 are equally near to 4. Conditions that
// are equally near are averaged.
func TestNearestGroupByHand(t *testing.T) {
	d := triplets.Set{
		N: 6, In: 2, Out: 1, X: []float64{2, 10, 2, 20, 3, 10, 3, 20, 5, 10, 5, 20}, Group: []int{7, 7, 8, 8, 9, 9},
		Y1: []float64{1, 2, 4, 8, 16, 32}, Y2: []float64{1, 2, 4, 8, 16, 32},
	}
	r := predicted(t, fitted(t, "nearest-group", d, 1), []float64{2.4, 11, 4, 19, 5, 15, 9, 99})
	for i, want := range []float64{1, 20, 24, 32} {
		assert.InDelta(t, want, r.Mu[i], 1e-12, "query %d", i)
	}

	// Left out, 2 is predicted by 3, 3 by 2, and 5 by 3.
	want := ((9.0+36)/2 + (9.0+36)/2 + (144.0+576)/2) / 3
	assert.InDelta(t, want, r.Epistemic[0], 1e-9, "epistemic")
}

// The errors are computed at every second one of 2000 conditions. If all of these have one value each, the variances
// are not known. Expected: an error, and numbers if one of the conditions has two values.
func TestNearestGroupOfRowsAlone(t *testing.T) {
	const n = 2 * nearestAsked
	d := triplets.Set{N: n, In: 1, Out: 1}
	for i := range n {
		d.X = append(d.X, float64(i))
		d.Y1 = append(d.Y1, float64(i))
		d.Y2 = append(d.Y2, float64(i+i%2))
		d.Alone = append(d.Alone, i%2 == 0)
	}

	_, err := NearestGroup{}.Fit(t.Context(), d, 1)
	assert.ErrorContains(t, err, "fit nearest-group: expected a pair at a condition")

	d.Alone[10] = false
	r := predicted(t, fitted(t, "nearest-group", d, 1), []float64{0})
	assert.InDelta(t, 0.5*0.5, r.Epistemic[0], 1e-12, "without 10, its neighbours 9 and 11 predict 10.5")
}
