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

// neededRuns reads the runs that each strategy needs, by set, from a table that the whole study wrote. It returns the
// sets in the order of the table.
func neededRuns(t *testing.T, path string) (order []string, needed map[string]map[string]float64) {
	t.Helper()

	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()

	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)

	needed = map[string]map[string]float64{}
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

	return order, needed
}

// words reads a page with single spaces between its words.
func words(t *testing.T, path string) string {
	t.Helper()

	page, err := os.ReadFile(path)
	require.NoError(t, err)

	return strings.Join(strings.Fields(string(page)), " ")
}

// The page quotes the table that the whole study wrote.
func TestPageQuotesTable(t *testing.T) {
	order, needed := neededRuns(t, "../tables/savings.csv")
	page := words(t, "../../suggest.md")
	random := 0.0
	even := 0.0
	for _, name := range order {
		n := needed[name]
		line := fmt.Sprintf("| %.0f | %.0f | %.0f |", n["suggest"], n["even"], n["random"])
		assert.Contains(t, page, line, name)

		random += math.Log(n["suggest"]/n["random"]) / float64(len(order))
		even += math.Log(n["suggest"]/n["even"]) / float64(len(order))
	}

	stated := fmt.Sprintf("× %.2f of the runs of random choice and × %.2f of the runs of an even filling",
		math.Exp(random), math.Exp(even))
	assert.Contains(t, page, stated)
}

// The pages quote what the weights of gain save: the runs of suggest over its runs without weights, in the table of the
// same seeds that was written before gain had weights.
func TestPagesQuoteWeights(t *testing.T) {
	order, needed := neededRuns(t, "../tables/savings.csv")
	_, before := neededRuns(t, "../tables/savings-before.csv")
	mean := 0.0
	row := ""
	for _, name := range order {
		ratio := needed[name]["suggest"] / before[name]["suggest"]
		mean += math.Log(ratio) / float64(len(order))
		row += fmt.Sprintf("| × %.2f ", ratio)
	}

	for _, path := range []string{"../../suggest.md", "../savings.md"} {
		assert.Contains(t, words(t, path), fmt.Sprintf("× %.2f of the runs that it needs without", math.Exp(mean)), path)
	}

	assert.Contains(t, words(t, "../savings.md"), row+"|")
}
