package budget

import (
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"doubletake/internal/lists"
)

// unequal is the chance of a test of equal scatter, of all conditions and levels together, below which scatter is
// pooled by the condition.
const unequal = 0.05

// alike is the condition over which the scatter of observations differs most, as pools, with the test that shows it;
// nil where none does. One condition is taken: by several, few values would be left to pool.
func (c *campaignOf) alike(y []float64) (pools []string, why string) {
	least := unequal / float64(len(c.conditions)*len(c.levels))
	for k, name := range c.conditions {
		for l, level := range c.levels {
			if p := equal(c.scatter(y, l, k)); p < least {
				least, pools = p, []string{name}
				why = fmt.Sprintf(", as that between %s differs over it (Levene's test, p = %.1g)", level, p)
			}
		}
	}

	return pools, why
}

// scatter is the deviation between the means of the units below each one of level l, by the value of a condition.
func (c *campaignOf) scatter(y []float64, l, condition int) [][]float64 {
	below, within := map[[2]int][]float64{}, map[int][]float64{}
	at := map[int]float64{}
	for k, v := range y {
		unit := [2]int{c.units[l][k], k}
		if l+1 < len(c.units) {
			unit[1] = c.units[l+1][k]
		}

		if v == v {
			below[unit] = append(below[unit], v)
			at[unit[0]] = c.values[condition][c.of[k][0]/2]
		}
	}

	order := func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }
	for _, unit := range slices.SortedFunc(maps.Keys(below), order) {
		within[unit[0]] = append(within[unit[0]], stat.Mean(below[unit], nil))
	}

	groups := map[float64][]float64{}
	for _, unit := range slices.Sorted(maps.Keys(within)) {
		if list := within[unit]; len(list) > 1 {
			groups[at[unit]] = append(groups[at[unit]], stat.StdDev(list, nil))
		}
	}

	return lists.Each(slices.Sorted(maps.Keys(groups)), func(v float64) []float64 { return groups[v] })
}

// equal is the probability of deviations that differ between groups so much where all scatter alike: Levene's test, a
// one-way analysis of variance; 1 where a group is too small for a scatter of its own.
func equal(groups [][]float64) (p float64) {
	const fewest = 3 // of a group
	mean, n, k := stat.Mean(slices.Concat(groups...), nil), 0.0, float64(len(groups))
	between, inside := 0.0, 0.0
	for _, g := range groups {
		if len(g) < fewest {
			return 1
		}

		own, variance := stat.PopMeanVariance(g, nil)
		size := float64(len(g))
		n, inside, between = n+size, inside+size*variance, between+size*(own-mean)*(own-mean)
	}

	if k < 2 || inside == 0 {
		return 1
	}

	return 1 - distuv.F{D1: k - 1, D2: n - k}.CDF(between/(k-1)*(n-k)/inside)
}
