package condition

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"doubletake/internal/lists"
)

// Groups gathers n rows of equal conditions, which are columns: each joins the first group whose every member it
// equals, by the tolerance of each condition and by its labels. What is not known, a NaN, equals nothing. Groups come
// in the order of their first rows; all of them are parts of one list, since there may be millions.
func Groups(n int, within []Tolerance, conditions [][]float64, labels [][]string) iter.Seq[[]int] {
	exact := lists.Where(len(within), func(k int) bool { return within[k] == Tolerance{} })
	compare := func(i, j int) int {
		for _, k := range exact {
			if c := cmp.Compare(conditions[k][i], conditions[k][j]); c != 0 {
				return c
			}
		}

		for _, l := range labels {
			if c := cmp.Compare(l[i], l[j]); c != 0 {
				return c
			}
		}

		return 0
	}

	rows := lists.Numbers(n)
	slices.SortFunc(rows, func(i, j int) int { return cmp.Or(compare(i, j), i-j) })
	var parts [][2]int32 // the places of each group in rows
	for from := 0; from < n; {
		end := from + 1
		for end < n && compare(rows[from], rows[end]) == 0 {
			end++
		}

		unknown := func(c []float64) bool { return math.IsNaN(c[rows[from]]) }
		if len(exact) == len(within) && !slices.ContainsFunc(conditions, unknown) {
			parts, from = append(parts, [2]int32{int32(from), int32(end)}), end
			continue
		}

		for _, g := range near(rows[from:end], within, conditions) {
			n := copy(rows[from:], g)
			parts, from = append(parts, [2]int32{int32(from), int32(from + n)}), from+n
		}
	}

	slices.SortFunc(parts, func(a, b [2]int32) int { return rows[a[0]] - rows[b[0]] })

	return func(yield func([]int) bool) {
		for _, p := range parts {
			if !yield(rows[p[0]:p[1]]) {
				return
			}
		}
	}
}

// near gathers rows by their tolerances: one equals all members of a group where it equals the least and the greatest
// values of its conditions. Groups are sought about its value of the condition with the most.
func near(rows []int, within []Tolerance, conditions [][]float64) (groups [][]int) {
	counts := lists.Each(conditions, func(c []float64) int {
		_, distinct := lists.Index(lists.Rows(c, 1, rows))
		return len(distinct)
	})
	by := slices.Index(counts, slices.Max(counts))

	var low, high [][]float64 // of each group
	var first []float64       // the values of groups' first rows, sorted
	var of []int              // whose they are
	for _, i := range rows {
		at := lists.Each(conditions, func(c []float64) float64 { return c[i] })
		place, _ := slices.BinarySearch(first, at[by])
		n := len(groups)
		for _, step := range []int{1, -1} {
			for p := place - (1-step)/2; p >= 0 && p < len(of) && within[by].Equal(at[by], first[p]); p += step {
				k, g := 0, of[p]
				for k < len(at) && within[k].Equal(at[k], low[g][k]) && within[k].Equal(at[k], high[g][k]) {
					k++
				}

				if k == len(at) {
					n = min(n, g)
				}
			}
		}

		if n == len(groups) {
			groups, low, high = append(groups, nil), append(low, slices.Clone(at)), append(high, slices.Clone(at))
			first, of = slices.Insert(first, place, at[by]), slices.Insert(of, place, n)
		}

		groups[n] = append(groups[n], i)
		for k, v := range at {
			low[n][k], high[n][k] = min(low[n][k], v), max(high[n][k], v)
		}
	}

	return groups
}
