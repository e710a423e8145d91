package budget

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// significance is the probability that the tests of equal scatter, over all conditions and levels together, find a
// difference although there is none.
const significance = 0.05

// alike returns the condition by which scatter is to be pooled, so that the observations of a pool scatter alike: the
// condition over which the scatter of the observations y differs most by Levene's test. pools has this one condition,
// because with several, few values would be left in a pool. why says what the test shows. If scatter does not differ,
// pools is nil and why is "".
func (c *campaign) alike(y []float64) (pools []string, why string) {
	least := significance / float64(len(c.conditions)*len(c.levels)) // of each single test (Bonferroni)
	for k, name := range c.conditions {
		for depth, level := range c.levels { // the level with this number lies within the units of this depth
			chance := equalScatterChance(c.deviations(y, depth, k))
			if chance >= least {
				continue
			}

			least = chance
			pools = []string{name}
			why = fmt.Sprintf(", as that between %s differs over it (Levene's test, p = %.1g)", level, chance)
		}
	}

	return pools, why
}

// unitPart is a unit of the next depth within a unit, or an observation within a unit of the last depth.
type unitPart struct {
	unit, number int
}

func compareParts(a, b unitPart) int {
	return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.number, b.number))
}

// unitDeviations returns numbers that measure the scatter between the parts of a unit. For few parts it returns their
// standard deviation alone. For more parts it returns the distance of each part from their median (Brown and Forsythe
// 1974), so that a single unit is enough to test a value of a condition. It returns nil for a single part.
func unitDeviations(parts []float64) []float64 {
	const few = 4 // up to so few parts, distances from the median carry hardly more information than one number
	if len(parts) < 2 {
		return nil
	}

	if len(parts) <= few {
		return []float64{stat.StdDev(parts, nil)}
	}

	sorted := slices.Sorted(slices.Values(parts))
	median := (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	distances := make([]float64, len(parts))
	for i, v := range parts {
		distances[i] = math.Abs(v - median)
	}

	return distances
}

// deviations returns the deviations between the parts of each unit of a depth. Units are grouped by the value
// of a condition, in ascending order. Units with one part are left out. Depth 0 is the conditions.
func (c *campaign) deviations(y []float64, depth, condition int) [][]float64 {
	byPart := map[unitPart][]float64{}
	valueOf := map[int]float64{} // value of the condition, by unit
	for k, v := range y {
		p := unitPart{c.units[depth][k], k}
		if depth+1 < len(c.units) {
			p.number = c.units[depth+1][k]
		}

		if !math.IsNaN(v) {
			byPart[p] = append(byPart[p], v)
			valueOf[p.unit] = c.values[condition][c.cells[k][0].row]
		}
	}

	means := map[int][]float64{} // mean of each part, by unit
	for _, p := range slices.SortedFunc(maps.Keys(byPart), compareParts) {
		means[p.unit] = append(means[p.unit], stat.Mean(byPart[p], nil))
	}

	byValue := map[float64][]float64{} // deviations, by the value of the condition
	for _, unit := range slices.Sorted(maps.Keys(means)) {
		value := valueOf[unit]
		byValue[value] = append(byValue[value], unitDeviations(means[unit])...)
	}

	groups := make([][]float64, 0, len(byValue))
	for _, value := range slices.Sorted(maps.Keys(byValue)) {
		groups = append(groups, byValue[value])
	}

	return groups
}

// equalScatterChance returns the probability that the means of groups differ as much as these, or more, if the groups
// are alike, by a one-way analysis of variance. For groups of deviations this is Levene's test. It returns 1 if a group
// is too small to be compared, if there are fewer than two groups, or if no group scatters.
func equalScatterChance(groups [][]float64) float64 {
	const fewest = 3 // numbers of a group

	mean := stat.Mean(slices.Concat(groups...), nil)
	total := 0.0   // number of all numbers
	between := 0.0 // sum of squares of the groups' means about the mean
	inside := 0.0  // sum of squares about the groups' own means
	for _, group := range groups {
		if len(group) < fewest {
			return 1
		}

		groupMean, variance := stat.PopMeanVariance(group, nil)
		size := float64(len(group))
		total += size
		inside += size * variance
		between += size * (groupMean - mean) * (groupMean - mean)
	}

	count := float64(len(groups))
	if count < 2 || inside == 0 {
		return 1
	}

	law := distuv.F{D1: count - 1, D2: total - count}

	return 1 - law.CDF(between/(count-1)*(total-count)/inside)
}
