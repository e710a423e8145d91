package honest

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
)

// Grouping assigns every row of a data set to a group.
type Grouping struct {
	Condition string        // the condition or the label column
	Kind      interval.Kind //
	Names     []string      // of the groups, ascending in their coordinate or name
	Of        []int         // group of each row
	Z         []float64     // coordinate of each row; nil for labels
}

// ByValue groups rows by the values z of a condition. Neighbouring values that
// differ by no more than tolerance belong to one group.
func ByValue(condition string, z []float64, tolerance float64) Grouping {
	order := ascending(z)
	g := Grouping{Condition: condition, Kind: interval.Values, Of: make([]int, len(z)), Z: z}

	start := 0
	for k, i := range order {
		if k > 0 && z[i]-z[order[k-1]] > tolerance {
			g.Names = append(g.Names, valueName(z, order[start:k]))
			start = k
		}

		g.Of[i] = len(g.Names)
	}

	if len(z) > 0 {
		g.Names = append(g.Names, valueName(z, order[start:]))
	}

	return g
}

// valueName is the value itself where all rows have the same, else the mean of
// the smallest and the largest with four digits.
func valueName(z []float64, rows []int) string {
	lo, hi := z[rows[0]], z[rows[len(rows)-1]]
	if lo == hi {
		return strconv.FormatFloat(lo, 'g', -1, 64)
	}

	return strconv.FormatFloat((lo+hi)/2, 'g', 4, 64)
}

// ByBlock cuts the values z of a continuous condition into at most n blocks of
// about equal numbers of rows. Equal values stay together, so that there may be
// fewer blocks.
func ByBlock(condition string, z []float64, n int) Grouping {
	g := Grouping{Condition: condition, Kind: interval.Blocks, Of: make([]int, len(z)), Z: z}
	order := ascending(z)

	var cuts []float64
	for i := 1; i < n && len(z) > 0; i++ {
		c := z[order[len(z)*i/n]]
		if c > z[order[0]] && (len(cuts) == 0 || c > cuts[len(cuts)-1]) {
			cuts = append(cuts, c)
		}
	}

	for i, v := range z {
		g.Of[i] = sort.Search(len(cuts), func(k int) bool { return cuts[k] > v })
	}

	for k := 0; k <= len(cuts) && len(z) > 0; k++ {
		of := lists.Rows(z, 1, lists.Where(len(z), func(i int) bool { return g.Of[i] == k }))
		g.Names = append(g.Names, fmt.Sprintf("%.4g to %.4g", slices.Min(of), slices.Max(of)))
	}

	return g
}

// ByLabel groups rows by equal labels. Such groups have no coordinate: the
// distance between any two is 1, and none lies outside the others.
func ByLabel(column string, label []string) Grouping {
	names := slices.Compact(slices.Sorted(slices.Values(label)))
	place := func(l string) int { return slices.Index(names, l) }

	return Grouping{Condition: column, Kind: interval.Labels, Names: names, Of: lists.Each(label, place)}
}

// Extend returns the grouping of rows with the coordinates z, where g is that of the
// distinct values, ascending.
func (g Grouping) Extend(values, z []float64) (Grouping, error) {
	of := g.Of

	g.Of = make([]int, len(z))
	for i, v := range z {
		k, known := slices.BinarySearch(values, v)
		if !known {
			return g, fmt.Errorf("%s %g of a triplet was not known when the trainings were planned", g.Condition, v)
		}

		g.Of[i] = of[k]
	}

	if g.Z != nil {
		g.Z = z
	}

	return g, nil
}

// Axis returns the coordinates measured in the given rows, with the range of
// all rows as the unit of distances. It is nil for labels.
func (g Grouping) Axis(rows []int) *interval.Axis {
	if g.Z == nil {
		return nil
	}

	return interval.NewAxis(lists.Rows(g.Z, 1, rows), slices.Max(g.Z)-slices.Min(g.Z))
}

func ascending(z []float64) []int {
	order := lists.Numbers(len(z))
	sort.SliceStable(order, func(a, b int) bool { return z[order[a]] < z[order[b]] })
	return order
}
