package budget

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"doubletake/internal/lists"
)

// Nested are the variances of observations that are nested in units of several levels, such as samples in runs in days,
// about the mean of each condition. Levels count from 0, the widest (days). The observations themselves are the last
// level. Depths count the same nesting, but from the conditions: depth 0 is the conditions, depth 1 the units of level
// 0.
//
// Variances estimates them. It computes the mean square of each level, solves for the component of each level from the
// last to the first (estimate), and derives the degrees of freedom from the covariance of the mean squares
// (setCovariance). docs/budget.md has the formulas.
type Nested struct {
	Components []float64   // variance of each level; 0 if its estimate is negative
	DoF        []float64   // by level: twice the squared component over its variance; +Inf if it is not positive
	Squares    []float64   // mean square of each level; 0 if nothing repeats at the level
	Free       []float64   // degrees of freedom of each mean square; 0 if nothing repeats at the level
	weights    [][]float64 // component l is the sum over k of weights[l][k] × Squares[k]
	covariance [][]float64 // of the mean squares of two levels
}

// depthOf returns the depth of a level.
func depthOf(level int) int { return level + 1 }

// unitSizes returns the number of observations of each unit.
func unitSizes(units []int) map[int]float64 {
	sizes := map[int]float64{}
	for _, unit := range units {
		sizes[unit]++
	}

	return sizes
}

// centred returns the deviations of y from the mean of each condition. Sums of squares of the values
// themselves would lose all digits if the values are large and scatter little.
func centred(y []float64, conditions []int) []float64 {
	sizes := unitSizes(conditions)
	sum := map[int]float64{}
	for i, c := range conditions {
		sum[c] += y[i]
	}

	deviations := make([]float64, len(y))
	for i, c := range conditions {
		deviations[i] = y[i] - sum[c]/sizes[c]
	}

	return deviations
}

// Variances estimates the components of variance of y by mean squares, without bias for any numbers of observations in
// the units (Henderson's method 1). units[d][i] is the unit of depth d that observation i is in. Each unit is within
// one unit of the depth before. Variances adds the observations themselves as the last depth.
func Variances(y []float64, units [][]int) Nested {
	y = centred(y, units[0])
	units = append(slices.Clip(units), lists.Numbers(len(y)))
	levels := len(units) - 1

	raw := make([]float64, levels+1)    // by depth: sum over the units of n ȳ², n observations with the mean ȳ
	coef := make([][]float64, levels+1) // the expectation of raw[d] is the sum over e of coef[d][e] × component of depth e
	free := make([]float64, levels+1)   // by depth: number of units
	for depth, unitOf := range units {
		sizes := unitSizes(unitOf)
		free[depth] = float64(len(sizes))
		sum := map[int]float64{}
		for i, unit := range unitOf {
			sum[unit] += y[i]
		}

		for _, unit := range slices.Sorted(maps.Keys(sizes)) { // sums in a fixed order have the same rounding
			raw[depth] += sum[unit] * sum[unit] / sizes[unit]
		}

		coef[depth] = make([]float64, levels+1)
		for deeper := 1; deeper <= levels; deeper++ {
			coef[depth][deeper] = float64(len(y))
			if deeper > depth {
				coef[depth][deeper] = sharedSum(unitOf, units[deeper], sizes) // Σ n²/n of the unit around it
			}
		}
	}

	v := Nested{
		Components: make([]float64, levels), DoF: make([]float64, levels), Squares: make([]float64, levels),
		Free: make([]float64, levels), weights: make([][]float64, levels),
	}

	for level := levels - 1; level >= 0; level-- {
		v.estimate(level, raw, coef, free)
	}

	v.setCovariance(units)
	for level, weights := range v.weights {
		v.DoF[level] = v.degreesOfFreedom(weights)
	}

	return v
}

// estimate sets the mean square and the component of a level: the mean square less the parts of the levels below, whose
// components must be set already. raw, coef and free are the variables of the same names in Variances, by depth. If
// nothing repeats at the level, its mean square and its component stay 0.
func (v *Nested) estimate(level int, raw []float64, coef [][]float64, free []float64) {
	levels := len(v.Components)
	weights := make([]float64, levels)
	depth := depthOf(level)
	dof := free[depth] - free[depth-1]
	v.Free[level] = dof
	v.weights[level] = weights
	if dof == 0 {
		return // nothing repeats at this level
	}

	v.Squares[level] = (raw[depth] - raw[depth-1]) / dof
	own := (coef[depth][depth] - coef[depth-1][depth]) / dof // factor of the level's component in the mean square
	weights[level] = 1 / own
	for below := level + 1; below < levels; below++ {
		deeper := depthOf(below)
		other := (coef[depth][deeper] - coef[depth-1][deeper]) / dof // factor of the component below
		for k, weight := range v.weights[below] {
			weights[k] -= other / own * weight
		}
	}

	for k, weight := range weights {
		v.Components[level] += weight * v.Squares[k]
	}

	v.Components[level] = max(0, v.Components[level])
}

// Crossed lowers the degrees of freedom of a level that has the same units in several units of the depth before, such
// as days on which all conditions were measured. free is the number of degrees of freedom of the differences between
// such units. Crossed changes nothing if the level has no component, or no more degrees of freedom than free.
func (v *Nested) Crossed(level int, free float64) {
	if v.Components[level] == 0 || free >= v.Free[level] {
		return
	}

	// The component has the share between of the mean square. Only this share has fewer degrees of freedom, so the
	// variance of the mean square grows by the square of factor.
	between := v.Components[level] / (v.weights[level][level] * v.Squares[level])
	factor := math.Sqrt(1 + (v.Free[level]/max(free, 1)-1)*between*between)
	for m := range v.covariance {
		v.covariance[level][m] *= factor
		v.covariance[m][level] *= factor
	}

	for k, weights := range v.weights {
		v.DoF[k] = v.degreesOfFreedom(weights)
	}
}

// sharedSum returns the sum of n_w²/n_u over all parts w, where u is the unit around the part, and n the number of
// observations. units and parts have the unit and the part of each observation, and sizes has n_u.
func sharedSum(units, parts []int, sizes map[int]float64) float64 {
	small := unitSizes(parts)
	sum := 0.0
	for i, unit := range units {
		sum += small[parts[i]] / sizes[unit] // each of the n_w observations adds n_w/n_u
	}

	return sum
}

// degreesOfFreedom returns the degrees of freedom of a linear combination of the mean squares: twice its square over
// its variance. It returns +Inf if the combination is not positive, or has no variance.
func (v Nested) degreesOfFreedom(weights []float64) float64 {
	value := 0.0
	for k, weight := range weights {
		value += weight * v.Squares[k]
	}

	if value <= 0 {
		return math.Inf(1)
	}

	variance := 0.0
	for k, weight := range weights {
		for m, other := range weights {
			variance += weight * other * v.covariance[k][m]
		}
	}

	if variance <= 0 {
		return math.Inf(1)
	}

	return 2 * value * value / variance
}

// setCovariance sets the covariance of the mean squares. The mean square of level l is y'Q_l y over its degrees of
// freedom, where Q_l projects on the differences of the units of level l from the units of the depth before. For normal
// y with the covariance V, the covariance of y'Q_l y and y'Q_m y is 2 tr(Q_l V Q_m V).
//
// An element of Q_l V depends only on the sizes of the units of two observations and on the deepest unit that they
// share. So pairs of observations are counted by these, and one pair of each kind is computed.
func (v *Nested) setCovariance(units [][]int) {
	levels := len(v.Components)
	v.covariance = make([][]float64, levels)
	for level := range v.covariance {
		v.covariance[level] = make([]float64, levels)
	}

	sizes := make([]map[int]float64, len(units))
	for depth, list := range units {
		sizes[depth] = unitSizes(list)
	}

	class, examples := sizeClasses(units[:levels], sizes)

	ij := make([]float64, levels)        // by level l: element of Q_l V for observations i and j, of the classes of a pair
	ji := make([]float64, levels)        // by level l: element for j and i, as Q_l V is not symmetric
	here := pairsWithin(units[0], class) // pairs that share a unit of the depth
	for depth := range units {
		below := map[classPair]float64{} // pairs that also share a unit of the next depth
		if depth+1 < levels {
			below = pairsWithin(units[depth+1], class)
		} else if depth+1 == levels { // an observation shares itself with itself alone
			for k, n := range unitSizes(class) {
				below[classPair{k, k}] = n
			}
		}

		for _, p := range slices.SortedFunc(maps.Keys(here), classPair.compare) {
			i := examples[p.a]
			j := examples[p.b]
			v.setElements(ij, units, sizes, i, j, depth)
			v.setElements(ji, units, sizes, j, i, depth)
			v.addPairs(here[p]-below[p], ij, ji)
		}

		here = below
	}
}

// addPairs adds a number of pairs of observations, with the elements ij and ji of Q_l V, to the covariance.
func (v *Nested) addPairs(pairs float64, ij, ji []float64) {
	for level := range ij {
		for m := range ji {
			if f := v.Free[level] * v.Free[m]; f > 0 {
				v.covariance[level][m] += 2 * pairs * ij[level] * ji[m] / f
			}
		}
	}
}

// sizeClasses returns a class for each observation, and an observation of each class as an example. Observations of a
// class have units of the same sizes at all depths. sizes has the size of each unit, by depth.
func sizeClasses(units [][]int, sizes []map[int]float64) (class, examples []int) {
	observations := len(units[0])
	texts := make([]string, observations)
	for i := range texts {
		own := make([]float64, len(units))
		for depth := range own {
			own[depth] = sizes[depth][units[depth][i]]
		}

		texts[i] = fmt.Sprint(own)
	}

	class, _ = lists.Index(texts)
	for i, k := range class {
		if k == len(examples) {
			examples = append(examples, i)
		}
	}

	return class, examples
}

// classPair is the classes of two observations.
type classPair struct{ a, b int }

func (p classPair) compare(other classPair) int {
	return cmp.Or(cmp.Compare(p.a, other.a), cmp.Compare(p.b, other.b))
}

// pairsWithin counts the pairs of observations that are in one unit, by the classes of both. It counts each pair in
// both orders, and each observation with itself.
func pairsWithin(units, class []int) map[classPair]float64 {
	byUnit := map[int]map[int]float64{}
	for i, unit := range units {
		if byUnit[unit] == nil {
			byUnit[unit] = map[int]float64{}
		}
		byUnit[unit][class[i]]++
	}

	pairs := map[classPair]float64{}
	for _, sizes := range byUnit { // the sums of whole numbers are the same in any order
		for a, x := range sizes {
			for b, y := range sizes {
				pairs[classPair{a, b}] += x * y
			}
		}
	}

	return pairs
}

// setElements writes the element of each Q_l V for observations i and j into dst. The observations share units down to
// the depth deepest.
func (v *Nested) setElements(dst []float64, units [][]int, sizes []map[int]float64, i, j, deepest int) {
	last := 0.0 // the element of V projected on the units of the depth before
	for depth := range units {
		sum := 0.0 // the element of V projected on the units of this depth
		for level, component := range v.Components {
			own := depthOf(level)
			switch {
			case own <= depth && own <= deepest:
				sum += component
			case own > depth && depth <= deepest:
				sum += component * sizes[own][units[own][j]] / sizes[depth][units[depth][i]]
			}
		}

		if depth > 0 { // a difference to the depth before is a level
			dst[depth-1] = sum - last
		}

		last = sum
	}
}

// MeanVariances returns the variance that each level contributes to the mean of the observations rows, and the degrees
// of freedom of the sum of these variances, which are +Inf if the sum is 0. units is the argument of Variances. A level
// contributes nothing if nothing repeats at it. rows must not be empty.
func (v Nested) MeanVariances(units [][]int, rows []int) (parts []float64, dof float64) {
	parts = make([]float64, len(v.Components))
	weights := make([]float64, len(v.Components))
	for level := range parts {
		// The variance of the mean is share times the component: Σ n_u²/n² over the level's units u.
		share := 1 / float64(len(rows))
		if depthOf(level) < len(units) { // otherwise the units are the observations
			unitOf := lists.Pick(units[depthOf(level)], rows)
			whole := make([]int, len(unitOf)) // one unit 0 that contains all rows
			size := map[int]float64{0: float64(len(unitOf))}
			share = sharedSum(whole, unitOf, size) / float64(len(unitOf))
		}

		parts[level] = v.Components[level] * share
		if parts[level] > 0 {
			for k, weight := range v.weights[level] {
				weights[k] += share * weight
			}
		}
	}

	return parts, v.degreesOfFreedom(weights)
}
