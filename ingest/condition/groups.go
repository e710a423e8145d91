package condition

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// Groups returns the groups of n rows of equal conditions and labels, which are columns. A row joins the first group
// all of whose rows it equals, by the tolerance of each condition and by its labels. An unknown value, NaN, equals
// nothing. Groups come in the order of their first rows. All groups are parts of one list, since there may be
// millions.
func Groups(n int, tolerances []Tolerance, conditions [][]float64, labels [][]string) iter.Seq[[]int] {
	exact := exactParts{labels: labels}
	for k, tolerance := range tolerances {
		if tolerance == (Tolerance{}) {
			exact.conditions = append(exact.conditions, conditions[k])
		}
	}

	areAllExact := len(exact.conditions) == len(tolerances)

	// Rows that are equal but for conditions with a tolerance become neighbours. Within them, rows keep their order.
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}

	slices.SortFunc(rows, func(i, j int) int { return cmp.Or(exact.compare(i, j), i-j) })

	var parts []rowRange
	for begin := 0; begin < n; {
		end := begin + 1
		for end < n && exact.compare(rows[begin], rows[end]) == 0 {
			end++
		}

		if areAllExact && isComplete(conditions, rows[begin]) {
			parts = append(parts, rowRange{int32(begin), int32(end)})
			begin = end

			continue
		}

		for _, g := range nearGroups(rows[begin:end], tolerances, conditions) {
			next := begin + copy(rows[begin:], g)
			parts = append(parts, rowRange{int32(begin), int32(next)})
			begin = next
		}
	}

	slices.SortFunc(parts, func(a, b rowRange) int { return rows[a.begin] - rows[b.begin] })

	return func(yield func([]int) bool) {
		for _, p := range parts {
			if !yield(rows[p.begin:p.end]) {
				return
			}
		}
	}
}

// exactParts are the conditions without a tolerance, and the labels, of all rows.
type exactParts struct {
	conditions [][]float64
	labels     [][]string
}

// compare orders rows i and j by their exact conditions and then by their labels.
func (e *exactParts) compare(i, j int) int {
	for _, values := range e.conditions {
		if c := cmp.Compare(values[i], values[j]); c != 0 {
			return c
		}
	}

	for _, names := range e.labels {
		if c := cmp.Compare(names[i], names[j]); c != 0 {
			return c
		}
	}

	return 0
}

// rowRange is a part of a list of rows. It is small, since there may be millions.
type rowRange struct{ begin, end int32 }

// isComplete reports whether no condition of a row is NaN.
func isComplete(conditions [][]float64, row int) bool {
	for _, c := range conditions {
		if math.IsNaN(c[row]) {
			return false
		}
	}

	return true
}

// valueRange is the least and the greatest value of a condition in a group.
type valueRange struct{ low, high float64 }

// nearGroups returns the groups of rows that are equal within tolerances. A row equals all members of a group if it
// equals the least and the greatest values of its conditions. Only groups whose first row is near in one condition,
// the key, can match: the key is the condition with the most distinct values.
func nearGroups(rows []int, tolerances []Tolerance, conditions [][]float64) [][]int {
	key := mostDistinct(rows, conditions)

	var groups [][]int
	var ranges [][]valueRange // by group and condition
	var firstKeys []float64   // the keys of the first rows of all groups, sorted
	var groupAt []int         // the group of each of firstKeys
	for _, i := range rows {
		row := make([]float64, len(conditions))
		for k, c := range conditions {
			row[k] = c[i]
		}

		// The first group that matches: neighbours below, then above, as far as the key is equal.
		place, _ := slices.BinarySearch(firstKeys, row[key])
		best := len(groups)
		for p := place - 1; p >= 0 && tolerances[key].Equal(row[key], firstKeys[p]); p-- {
			if g := groupAt[p]; g < best && isWithin(row, ranges[g], tolerances) {
				best = g
			}
		}

		for p := place; p < len(groupAt) && tolerances[key].Equal(row[key], firstKeys[p]); p++ {
			if g := groupAt[p]; g < best && isWithin(row, ranges[g], tolerances) {
				best = g
			}
		}

		if best == len(groups) { // a new group
			groups = append(groups, nil)
			ranges = append(ranges, make([]valueRange, len(row)))
			firstKeys = slices.Insert(firstKeys, place, row[key])
			groupAt = slices.Insert(groupAt, place, best)
			for k, v := range row {
				ranges[best][k] = valueRange{v, v}
			}
		}

		groups[best] = append(groups[best], i)
		for k, v := range row {
			ranges[best][k].low = min(ranges[best][k].low, v)
			ranges[best][k].high = max(ranges[best][k].high, v)
		}
	}

	return groups
}

// mostDistinct returns the index of the condition with the most distinct values in some rows.
func mostDistinct(rows []int, conditions [][]float64) int {
	best := 0
	most := -1
	for k, c := range conditions {
		distinct := map[float64]bool{}
		for _, i := range rows {
			distinct[c[i]] = true // each NaN is an entry of its own
		}

		if len(distinct) > most {
			best = k
			most = len(distinct)
		}
	}

	return best
}

// isWithin reports whether the conditions of a row equal the least and the greatest values of a group.
func isWithin(row []float64, ranges []valueRange, tolerances []Tolerance) bool {
	for k, v := range row {
		if !tolerances[k].Equal(v, ranges[k].low) || !tolerances[k].Equal(v, ranges[k].high) {
			return false
		}
	}

	return true
}
