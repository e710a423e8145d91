package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A small study: one seed and one batch of a simulated and a measured set. The same campaign gives the same errors
// twice, all strategies start with the same runs, and errors are finite.
func TestSmallStudy(t *testing.T) {
	small := simulated("cylinders", []string{"u_m_s", "gap"}, cylinders, steps(8, 28, 4), steps(1.2, 6.2, 9))
	turbine, err := tables[0].read("../../../examples")
	require.NoError(t, err)
	assert.Len(t, turbine.x, 125, "conditions, by the README of the example")

	for _, s := range []set{small, turbine} {
		curves, err := s.curves(t.Context(), 1, 1)
		require.NoError(t, err)
		require.Len(t, curves, len(strategies))

		again, err := s.curves(t.Context(), 1, 1)
		require.NoError(t, err)
		require.Equal(t, curves, again, "another result of the same campaign")

		for k, curve := range curves {
			require.Equal(t, curves[0][0], curve[0], "%s starts with other runs", strategies[k].name)
			for _, e := range curve {
				require.False(t, math.IsNaN(e) || math.IsInf(e, 0), "%s: %v", strategies[k].name, curve)
			}
		}
	}
}

// By hand: between 8 runs with an error of 0.4 and 14 with 0.1, 0.2 is half way by its logarithm.
func TestRunsNeeded(t *testing.T) {
	assert.InDelta(t, 11.0, runsNeeded([]float64{0.4, 0.1, 0.05}, 0.2), 1e-12)
	assert.Equal(t, 8.0, runsNeeded([]float64{0.4, 0.1}, 0.5))
	assert.Equal(t, 14.0, runsNeeded([]float64{0.4, 0.1}, 0.01), "more than were measured")
}

// By hand: of the corners and the middle of a square, with one corner measured, the opposite one is farthest, and then
// the other two corners.
func TestEven(t *testing.T) {
	c := &campaign{
		set:  set{inputs: []string{"a", "b"}, x: [][]float64{{0, 0}, {0, 10}, {2, 0}, {2, 10}, {1, 5}}},
		runs: []int{0}, extremes: [2][]float64{{0, 0}, {2, 10}},
	}
	runs, err := c.even(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []int{3, 1, 2, 4}, runs[:4])
}

// The page quotes the table that the whole study wrote.
func TestPageQuotesTable(t *testing.T) {
	f, err := os.Open("../tables/savings.csv")
	require.NoError(t, err)
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	page, err := os.ReadFile("../../suggest.md")
	require.NoError(t, err)

	needed := map[string]map[string]float64{} // runs, by set and strategy
	var order []string
	for _, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[6], 64)
		require.NoError(t, err)

		if needed[row[0]] == nil {
			needed[row[0]] = map[string]float64{}
			order = append(order, row[0])
		}

		needed[row[0]][row[3]] = v
	}

	require.Len(t, order, len(laws())+len(tables))

	random := 0.0
	even := 0.0
	for _, name := range order {
		n := needed[name]
		line := fmt.Sprintf("| %.0f | %.0f | %.0f |", n["suggest"], n["even"], n["random"])
		assert.Contains(t, string(page), line, name)

		random += math.Log(n["suggest"]/n["random"]) / float64(len(order))
		even += math.Log(n["suggest"]/n["even"]) / float64(len(order))
	}

	stated := fmt.Sprintf("× %.2f of the runs of random choice and × %.2f of the runs of an even filling",
		math.Exp(random), math.Exp(even))
	assert.Contains(t, strings.Join(strings.Fields(string(page)), " "), stated)
}
