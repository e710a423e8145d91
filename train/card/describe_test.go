package card

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train"
	"doubletake/train/triplets"
)

// A card lists at most maxValues values of an input, and at most maxConditions conditions.
func TestCardIsBounded(t *testing.T) {
	for _, n := range []int{maxValues, maxValues + 1, maxConditions, maxConditions + 1} {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i)
		}

		set := triplets.New([]triplets.Quantity{{Name: "rpm"}}, []triplets.Quantity{{Name: "y"}}, x, x, x)
		est := &train.Estimates{Out: 1, Answers: triplets.Answers{CovRaw: make([]float64, n)}}

		var c Card
		c.Describe(set, est, func(string, float64) float64 { return 0 })
		assert.Equal(t, n <= maxValues, c.Inputs[0].Values != nil, "whether %d values are listed", n)
		assert.Equal(t, n <= maxConditions, c.Conditions != nil, "whether %d conditions are listed", n)
		assert.Equal(t, float64(n-1), c.Inputs[0].Max, "%d conditions", n)
		assert.Equal(t, n, c.Triplets)
	}
}
