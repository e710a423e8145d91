package condition

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// By hand: the other values lie near multiples of 2, but no tolerance holds for an infinite one.
func TestDiscoverRoundOfInfinity(t *testing.T) {
	for _, end := range []float64{math.Inf(1), math.Inf(-1)} {
		_, ok := DiscoverRound([]float64{2.003, 3.998, 6.001, 8.002, 9.997, end})
		assert.False(t, ok, "%g", end)
	}
}
