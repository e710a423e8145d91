package contrast

import (
	"maps"
	"math"
	"slices"
)

// grid contains numbers by unit and condition, such as mean outcomes.
type grid map[string]map[string]float64

// set stores the number of a unit at a condition.
func (g grid) set(unit, cell string, y float64) {
	if g[unit] == nil {
		g[unit] = map[string]float64{}
	}
	g[unit][cell] = y
}

// conditions contains the values of conditions by their keys.
type conditions map[string][]float64

// sorted returns keys in the order of the values of their conditions.
func (c conditions) sorted(keys map[string]bool) []string {
	return slices.SortedFunc(maps.Keys(keys), func(a, b string) int { return slices.Compare(c[a], c[b]) })
}

// grids returns the mean outcomes of the units of both sides at each condition, and the conditions by their keys.
func (c *comparison) grids(outcome int) (grids [2]grid, places conditions) {
	grids = [2]grid{{}, {}}
	places = conditions{}
	count := [2]grid{{}, {}}
	for _, r := range c.rows {
		if math.IsNaN(r.y[outcome]) {
			continue
		}

		cell := key(r.x)
		places[cell] = r.x
		n := count[r.side][r.unit][cell] + 1
		mean := grids[r.side][r.unit][cell]
		count[r.side].set(r.unit, cell, n)
		grids[r.side].set(r.unit, cell, mean+(r.y[outcome]-mean)/n)
	}

	return grids, places
}
