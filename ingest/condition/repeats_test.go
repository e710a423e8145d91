package condition

import (
	"math"
	"slices"
	"testing"

	"doubletake/internal/lists"
	"doubletake/internal/must"
)

// By hand: row 5 (−0.4) is 0.8 from row 2 (0.4) and begins a group; row 6 (0) joins the first. An unknown value equals
// nothing, with a tolerance and without.
func TestGroups(t *testing.T) {
	nan := math.NaN()
	x := [][]float64{{0, 10}, {5, 10}, {0.4, 10}, {0, 20}, {5, 10.05}, {-0.4, 10}, {0, 10}, {nan, 10}, {nan, 10}}
	groups := func(within ...Tolerance) [][]int {
		columns := lists.Make(2, func(k int) []float64 { return lists.Column(slices.Concat(x...), 2, k) })
		return slices.Collect(Groups(len(x), within, columns, nil))
	}

	must.Equal(t, groups(Tolerance{Absolute: 0.5}, Tolerance{Absolute: 0.1}),
		[][]int{{0, 2, 6}, {1, 4}, {3}, {5}, {7}, {8}}, "within 0.5 and 0.1")
	must.Equal(t, groups(Tolerance{}, Tolerance{}), [][]int{{0, 6}, {1}, {2}, {3}, {4}, {5}, {7}, {8}}, "exactly")
}
