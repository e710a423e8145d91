package honest

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
)

// Grouping assigns every row of a data set to a group.
type Grouping struct {
	Condition string        // condition or label column whose values are the groups
	Kind      interval.Kind // values, blocks of values, or labels
	Names     []string      // names of the groups, ascending in their coordinate or name
	Group     []int         // group of each row, a place in Names
	Z         []float64     // coordinate of each row, its value of the condition; nil for labels
}

// ByValue groups rows by the values z of a condition. Neighbouring values that differ by at most tolerance belong to
// one group.
func ByValue(condition string, z []float64, tolerance float64) Grouping {
	order := ascending(z)
	g := Grouping{Condition: condition, Kind: interval.Values, Group: make([]int, len(z)), Z: z}

	start := 0 // place in order at which the present group begins
	for k, i := range order {
		if k > 0 && z[i]-z[order[k-1]] > tolerance {
			g.Names = append(g.Names, valueName(z, order[start:k]))
			start = k
		}

		g.Group[i] = len(g.Names)
	}

	if len(z) > 0 {
		g.Names = append(g.Names, valueName(z, order[start:]))
	}

	return g
}

// valueName returns the value of the rows if all have the same, and otherwise the mean of the smallest and the largest
// with four digits. rows must be in the order of their values.
func valueName(z []float64, rows []int) string {
	lo := z[rows[0]]
	hi := z[rows[len(rows)-1]]
	if lo == hi {
		return strconv.FormatFloat(lo, 'g', -1, 64)
	}

	return fault.Digits((lo+hi)/2, 4)
}

// ByBlock cuts the values z of a continuous condition into at most n blocks of about equal numbers of rows. Equal
// values stay together, so that there may be fewer blocks.
func ByBlock(condition string, z []float64, n int) Grouping {
	g := Grouping{Condition: condition, Kind: interval.Blocks, Group: make([]int, len(z)), Z: z}
	order := ascending(z)

	if len(z) == 0 {
		return g
	}

	var cuts []float64 // smallest value of each block but the first
	last := z[order[0]]
	for i := 1; i < n; i++ {
		c := z[order[len(z)*i/n]]
		if c > last {
			cuts = append(cuts, c)
			last = c
		}
	}

	values := make([][]float64, len(cuts)+1) // by block
	for i, v := range z {
		k := sort.Search(len(cuts), func(k int) bool { return cuts[k] > v })
		g.Group[i] = k
		values[k] = append(values[k], v)
	}

	for _, v := range values {
		g.Names = append(g.Names, fault.Digits(slices.Min(v), 4)+" to "+fault.Digits(slices.Max(v), 4))
	}

	return g
}

// ByLabel groups rows by equal labels. Such groups have no coordinate: the distance between any two groups is 1, and
// none lies outside the others. label is the label of each row.
func ByLabel(column string, label []string) Grouping {
	g := Grouping{Condition: column, Kind: interval.Labels, Names: distinctNames(label)}
	for _, l := range label {
		g.Group = append(g.Group, slices.Index(g.Names, l))
	}

	return g
}

// distinctNames returns the distinct names in ascending order.
func distinctNames(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// Extend returns the grouping of the rows whose coordinates are z. g must be a grouping of the distinct values,
// ascending: each row gets the group of its value. Extend returns an error if a coordinate is not among the values.
func (g Grouping) Extend(values, z []float64) (Grouping, error) {
	groups := g.Group

	g.Group = make([]int, len(z))
	for i, v := range z {
		k, known := slices.BinarySearch(values, v)
		if !known {
			return g, fmt.Errorf("%s %g of a triplet was not known when the trainings were planned", g.Condition, v)
		}

		g.Group[i] = groups[k]
	}

	if g.Z != nil {
		g.Z = z
	}

	return g, nil
}

// Axis returns the coordinates that were measured in the given rows, with the range of all rows as the unit of
// distances. It returns nil for labels.
func (g Grouping) Axis(rows []int) *interval.Axis {
	if g.Z == nil {
		return nil
	}

	return interval.NewAxis(lists.Pick(g.Z, rows), slices.Max(g.Z)-slices.Min(g.Z))
}

// ascending returns the rows in the order of their values z.
func ascending(z []float64) []int {
	order := lists.Numbers(len(z))
	sort.SliceStable(order, func(a, b int) bool { return z[order[a]] < z[order[b]] })
	return order
}
