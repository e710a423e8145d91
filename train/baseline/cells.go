package baseline

import (
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// cells contains the distinct conditions of each group of a set. A condition that several groups have is a cell of
// each.
type cells struct {
	collapsed
	group  []int // group of each cell, from 0
	groups int   // number of groups
}

// cellsOf returns the cells of a set with the groups that grouping returns.
func cellsOf(d triplets.Set) cells {
	groupOf, names := grouping(d)

	keyed := d // has the group as an additional first input
	keyed.In = d.In + 1
	keyed.X = nil
	for i, g := range groupOf {
		number, _ := slices.BinarySearch(names, g)
		keyed.X = append(keyed.X, float64(number))
		keyed.X = append(keyed.X, d.X[i*d.In:(i+1)*d.In]...)
	}

	c := cells{collapsed: collapse(keyed), groups: len(names)}

	x := c.x
	c.x = nil
	for ; len(x) > 0; x = x[keyed.In:] {
		c.group = append(c.group, int(x[0]))
		c.x = append(c.x, x[1:keyed.In]...)
	}

	return c
}

// grouping returns the group of each row, and the groups, ascending. It takes the groups of the set if there are two or
// more, otherwise the distinct conditions if there are two or more, and otherwise the rows.
func grouping(d triplets.Set) (groupOf, names []int) {
	if names = distinctNumbers(d.Group); len(names) > 1 {
		return d.Group, names
	}

	conditions, _ := triplets.Index(d.X, d.In)
	if names = distinctNumbers(conditions); len(names) > 1 {
		return conditions, names
	}

	rows := lists.Numbers(d.N)

	return rows, rows
}

// distinctNumbers returns the distinct numbers of a list, ascending.
func distinctNumbers(list []int) []int { return slices.Compact(slices.Sorted(slices.Values(list))) }

// at returns the inputs of a cell.
func (c cells) at(k int) []float64 {
	width := len(c.x) / c.n
	return c.x[k*width : (k+1)*width]
}

// collapsed contains the distinct conditions of a set with the means of all their measurements. The weight of a row is
// the number of pairs that it counts as. For example, three repeats make three pairs of weight ½, and so count as three
// measurements.
type collapsed struct {
	n     int       // number of conditions
	index []int     // condition of each row
	x     []float64 // n×In, inputs
	y     []float64 // n×Out, mean outcomes
	count []float64 // number of measurements of each condition, two for each pair
}

// collapse returns the distinct conditions of a set, in order of first appearance. Weights must be positive, as
// triplets.Set.Check requires.
func collapse(d triplets.Set) collapsed {
	index, x := triplets.Index(d.X, d.In)
	c := collapsed{n: len(x) / d.In, index: index, x: x}
	c.y = make([]float64, c.n*d.Out)
	c.count = make([]float64, c.n)

	for i, k := range index {
		w := triplets.WeightAt(d.Weight, i)
		for j := range d.Out {
			c.y[k*d.Out+j] += w * (d.Y1[i*d.Out+j] + d.Y2[i*d.Out+j])
		}

		c.count[k] += 2 * w
	}

	for k := range c.y {
		c.y[k] /= c.count[k/d.Out]
	}

	return c
}
