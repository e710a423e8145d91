package train

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A shuffle is a permutation, and each is equally likely: χ² over the 24 permutations of four is below 49.7, its 99.9 %
// quantile at 23 degrees of freedom.
func TestShuffle(t *testing.T) {
	p := newStream(3, streamOrder)
	counts := map[[4]int32]int{}

	const n = 24000
	for range n {
		idx := []int32{0, 1, 2, 3}
		shuffle(p, idx)
		counts[[4]int32(idx)]++
	}

	chi := 0.0
	for _, c := range counts {
		d := float64(c) - n/24
		chi += d * d / (n / 24)
	}

	require.Len(t, counts, 24, "permutations")
	assert.LessOrEqual(t, chi, 49.7, "χ²")
}
