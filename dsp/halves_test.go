package dsp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The halves of five samples are the first two and the next two. The expected means were computed by hand.
func TestSplitHalves(t *testing.T) {
	a, b := SplitHalves([][]float64{{1, 2, 3, 4, 100}, {0, 0, 5, 5, 5}})
	require.Equal(t, []float64{1.5, 0}, a, "first half")
	assert.Equal(t, []float64{3.5, 5}, b, "second half")
}
