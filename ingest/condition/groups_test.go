package condition

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The expected groups of rows were found by hand. Row 5 is −0.4, which is 0.8 from row 2 with 0.4, so it begins a group
// of its own. Row 6 is 0 and joins row 0. An unknown value equals nothing, with a tolerance and without.
func TestGroups(t *testing.T) {
	nan := math.NaN()
	columns := [][]float64{
		{0, 5, 0.4, 0, 5, -0.4, 0, nan, nan},
		{10, 10, 10, 20, 10.05, 10, 10, 10, 10},
	}
	groups := func(within ...Tolerance) [][]int {
		return slices.Collect(Groups(len(columns[0]), within, columns, nil))
	}

	assert.Equal(t, [][]int{{0, 2, 6}, {1, 4}, {3}, {5}, {7}, {8}},
		groups(Tolerance{Absolute: 0.5}, Tolerance{Absolute: 0.1}),
		"within 0.5 and 0.1")
	assert.Equal(t, [][]int{{0, 6}, {1}, {2}, {3}, {4}, {5}, {7}, {8}}, groups(Tolerance{}, Tolerance{}), "exactly")
}
