package condition

import (
	"math"
	"slices"
	"testing"

	"doubletake/internal/lists"
	"github.com/stretchr/testify/assert"
)

// By hand: row 5 (−0.4) is 0.8 from row 2 (0.4) and begins a group; row 6 (0) joins the first. An unknown value equals
// nothing, with a tolerance and without.
func TestGroups(t *testing.T) {
	nan := math.NaN()
	x := [][]float64{{0, 10}, {5, 10}, {0.4, 10}, {0, 20}, {5, 10.05}, {-0.4, 10}, {0, 10}, {nan, 10}, {nan, 10}}
	groups := func(within ...Tolerance) [][]int {
		values := slices.Concat(x...)
		columns := [][]float64{lists.Column(values, 2, 0), lists.Column(values, 2, 1)}
		return slices.Collect(Groups(len(x), within, columns, nil))
	}

	assert.Equal(t, [][]int{{0, 2, 6}, {1, 4}, {3}, {5}, {7}, {8}},
		groups(Tolerance{Absolute: 0.5}, Tolerance{Absolute: 0.1}),
		"within 0.5 and 0.1")
	assert.Equal(t, [][]int{{0, 6}, {1}, {2}, {3}, {4}, {5}, {7}, {8}}, groups(Tolerance{}, Tolerance{}), "exactly")
}
