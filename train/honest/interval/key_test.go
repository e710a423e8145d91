package interval

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Rows with different places of any factor have different keys, also if a condition has tens of thousands of values.
func TestKey(t *testing.T) {
	seen := map[string][]int{}
	places := []int{Unknown, Scattered, 0, 1, 125, 126, 127, 128, 300, 0xd7fe, 0xd7ff, 0xdfff, 0xe000, 70_000, 1_200_000}
	for _, a := range places {
		for _, b := range places {
			row := []int{a, b}
			other := key(row, []int{0, 1})
			require.NotContains(t, seen, other, "%v and %v", row, seen[other])
			seen[other] = row
		}
	}

	assert.Equal(t, key([]int{5, 7, 9}, []int{0, 2}), key([]int{5, 8, 9}, []int{0, 2}), "a factor that does not count")
}
