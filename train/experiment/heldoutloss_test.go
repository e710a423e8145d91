package experiment

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/train/triplets"
)

// A training of 1000 epochs over 5000 rows computes the loss of 4096 of the 5000 held-out rows, which are the rows
// with odd numbers, evenly chosen. It does so every 17th epoch: 20·4096 rows are 16.4 epochs. A training of 30 epochs
// computes it ten times.
func TestWithHeldOutLoss(t *testing.T) {
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

	assert.Equal(t, 3, WithHeldOutLoss(set, 30).HeldOutEvery)

	options := WithHeldOutLoss(set, 1000)
	assert.Equal(t, 17, options.HeldOutEvery)

	numbers := options.HeldOut.X
	require.Len(t, numbers, maxHeldOutRows)
	assert.Equal(t, 1.0, numbers[0], "first held-out row")
	assert.GreaterOrEqual(t, numbers[maxHeldOutRows-1], float64(n-5), "last held-out row")
	for _, number := range numbers {
		require.Equal(t, 1.0, math.Mod(number, 2), "row %g is not held out", number)
	}
}
