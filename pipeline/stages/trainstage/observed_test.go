package trainstage

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// A training of 1000 epochs over 5000 rows takes the loss of 4096 of the 5000 held-out
// rows, evenly chosen, every 17th epoch: 20 · 4096 rows are trained on in 16.4. One of 30 takes it ten times.
func TestObserved(t *testing.T) {
	const n = 10000
	set := triplets.New(make([]triplets.Quantity, 1), make([]triplets.Quantity, 1), make([]float64, n), make([]float64, n),
		make([]float64, n))
	set.Part = make([]triplets.Part, n)
	for i := range n {
		set.X[i] = float64(i)
		if i%2 == 1 {
			set.Part[i] = triplets.Test
		}
	}

	assert.Equal(t, 3, observed(set, 30).HeldOutEvery, "of 30 epochs it takes the loss every")

	o := observed(set, 1000)
	x := o.HeldOut.X
	if len(x) != heldOutRows || x[0] != 1 || x[heldOutRows-1] < n-5 || o.HeldOutEvery != 17 {
		t.Errorf("%d held-out rows, from %g to %g, every %d epochs", len(x), x[0], x[len(x)-1], o.HeldOutEvery)
	}

	for _, number := range x {
		require.Equal(t, 1.0, math.Mod(number, 2), "row %g is not held out", number)
	}
}
