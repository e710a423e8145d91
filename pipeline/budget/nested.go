package budget

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"doubletake/internal/lists"
)

// Nested are variances of observations that are nested in units of several levels, such as samples in
// runs in days, about the mean of each condition.
type Nested struct {
	Components []float64   // variance of each level, the widest first; below zero it is zero
	DoF        []float64   // of each component's estimate: twice its square over its variance
	Squares    []float64   // mean squares of the levels
	Free       []float64   // their degrees of freedom
	by         [][]float64 // weights of the mean squares in each component
	covariance [][]float64 // of the mean squares
}

// level counts, for the units of one level, the observations by unit.
func counts(units []int) map[int]float64 {
	n := map[int]float64{}
	for _, u := range units {
		n[u]++
	}

	return n
}

// centred are the deviations from the mean of each condition: sums of squares of the values
// themselves lose all digits where the values are large and scatter little.
func centred(y []float64, conditions []int) []float64 {
	n, sum := counts(conditions), map[int]float64{}
	for i, c := range conditions {
		sum[c] += y[i]
	}

	return lists.Make(len(y), func(i int) float64 { return y[i] - sum[conditions[i]]/n[conditions[i]] })
}

// Variances estimates the components of variance of y by mean squares, without bias for any numbers of
// observations (Henderson's method 1). units[0] are the conditions, units[l] the units of level l, each
// within one of the level before; observations themselves are the last level.
func Variances(y []float64, units [][]int) Nested {
	y = centred(y, units[0])
	units = append(slices.Clip(units), lists.Numbers(len(y)))
	levels := len(units) - 1

	// raw[l] is Σ n ȳ² over the units of level l; its expectation has coef[l][m] of component m.
	raw, coef, free := make([]float64, levels+1), make([][]float64, levels+1), make([]float64, levels+1)
	for l, of := range units {
		n := counts(of)
		free[l] = float64(len(n))
		sum := map[int]float64{}
		for i, u := range of {
			sum[u] += y[i]
		}

		for _, u := range slices.Sorted(maps.Keys(n)) { // sums in one order give the same bytes
			raw[l] += sum[u] * sum[u] / n[u]
		}

		coef[l] = make([]float64, levels+1)
		for m := 1; m <= levels; m++ {
			coef[l][m] = float64(len(y))
			if m > l {
				coef[l][m] = shared(of, units[m], n)
			}
		}
	}

	v := Nested{
		Components: make([]float64, levels), DoF: make([]float64, levels), Squares: make([]float64, levels),
		Free: make([]float64, levels), by: make([][]float64, levels),
	}

	for l := levels; l >= 1; l-- {
		f := free[l] - free[l-1]
		v.Free[l-1], v.by[l-1] = f, make([]float64, levels)
		if f == 0 {
			continue // nothing repeats at this level
		}

		v.Squares[l-1] = (raw[l] - raw[l-1]) / f
		c := func(m int) float64 { return (coef[l][m] - coef[l-1][m]) / f }
		v.by[l-1][l-1] = 1 / c(l)
		for m := l + 1; m <= levels; m++ {
			for k, w := range v.by[m-1] {
				v.by[l-1][k] -= c(m) / c(l) * w
			}
		}

		for k, w := range v.by[l-1] {
			v.Components[l-1] += w * v.Squares[k]
		}

		v.Components[l-1] = max(0, v.Components[l-1])
	}

	v.vary(units)
	for l, w := range v.by {
		_, v.DoF[l] = v.combine(w)
	}

	return v
}

// Crossed says that level l has the same units in several of the level before, such as days on which all conditions
// were measured: what differs between them has so many degrees of freedom.
func (v *Nested) Crossed(l int, free float64) {
	if v.Components[l] == 0 || free >= v.Free[l] {
		return
	}

	between := v.Components[l] / (v.by[l][l] * v.Squares[l]) // its share of the mean square
	r := math.Sqrt(1 + (v.Free[l]/max(free, 1)-1)*between*between)
	for m := range v.covariance {
		v.covariance[l][m] *= r
		v.covariance[m][l] *= r
	}

	for k, w := range v.by {
		_, v.DoF[k] = v.combine(w)
	}
}

// shared is Σ over units u of a level of Σ over units w within u of n_w²/n_u.
func shared(of, within []int, n map[int]float64) (sum float64) {
	small := counts(within)
	for i, u := range of {
		sum += small[within[i]] / n[u] // n_w times n_w/n_u
	}

	return sum
}

// combine returns a linear combination of the mean squares, not below zero, and its degrees of freedom.
func (v Nested) combine(weights []float64) (value, dof float64) {
	for k, w := range weights {
		value += w * v.Squares[k]
	}

	if value <= 0 {
		return 0, math.Inf(1)
	}

	own := 0.0
	for k, w := range weights {
		for m, x := range weights {
			own += w * x * v.covariance[k][m]
		}
	}

	if own <= 0 {
		return value, math.Inf(1)
	}

	return value, 2 * value * value / own
}

// vary sets the covariance of the mean squares of normal observations y'Q_l y, 2 tr(Q_l V Q_m V) over
// their degrees of freedom. Q_l projects on the differences of the units of level l from those of the
// level before, V is the covariance of y. An element of Q_l V depends only on the sizes of the units of two
// observations and on the deepest unit they share, so pairs are counted by these.
func (v *Nested) vary(units [][]int) {
	levels := len(v.Components)
	v.covariance = make([][]float64, levels)
	for l := range v.covariance {
		v.covariance[l] = make([]float64, levels)
	}

	sizes := lists.Each(units, counts)
	alike := lists.Make(len(units[0]), func(i int) string { // observations whose units have equal sizes
		return fmt.Sprint(lists.Make(levels, func(l int) float64 { return sizes[l][units[l][i]] }))
	})
	of, _ := lists.Index(alike)
	one := lists.Each(lists.Alike(alike), func(same []int) int { return same[0] })

	// Pairs that share a unit of a level, but none of the next.
	ij, ji := make([]float64, levels), make([]float64, levels)
	here := pairsWithin(units[0], of)
	for depth := range units {
		below := map[[2]int]float64{}
		if depth+1 < levels {
			below = pairsWithin(units[depth+1], of)
		} else if depth+1 == levels { // an observation shares itself with itself alone
			for k, n := range counts(of) {
				below[[2]int{k, k}] = n
			}
		}

		for _, p := range slices.SortedFunc(maps.Keys(here), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
			i, j, pairs := one[p[0]], one[p[1]], here[p]-below[p]
			v.elements(ij, units, sizes, i, j, depth)
			v.elements(ji, units, sizes, j, i, depth)
			for l := range levels {
				for m := range levels {
					if f := v.Free[l] * v.Free[m]; f > 0 {
						v.covariance[l][m] += 2 * pairs * ij[l] * ji[m] / f
					}
				}
			}
		}

		here = below
	}
}

// pairsWithin counts the pairs of observations of one unit by their classes, in both orders and each with itself.
func pairsWithin(units, class []int) map[[2]int]float64 {
	in := map[int]map[int]float64{}
	for i, u := range units {
		if in[u] == nil {
			in[u] = map[int]float64{}
		}
		in[u][class[i]]++
	}

	pairs := map[[2]int]float64{}
	for _, n := range in { // whole numbers: any order gives the same sums
		for a, x := range n {
			for b, y := range n {
				pairs[[2]int{a, b}] += x * y
			}
		}
	}

	return pairs
}

// elements are those of each Q_l V for observations i and j, which share units down to a depth.
func (v *Nested) elements(out []float64, units [][]int, sizes []map[int]float64, i, j, depth int) {
	before := 0.0
	for l := range units {
		sum := 0.0 // of the projection on the units of level l
		for k := 1; k < len(units); k++ {
			switch c := v.Components[k-1]; {
			case k <= l && k <= depth:
				sum += c
			case k > l && l <= depth:
				sum += c * sizes[k][units[k][j]] / sizes[l][units[l][i]]
			}
		}

		if l > 0 {
			out[l-1] = sum - before
		}

		before = sum
	}
}

// OfMean returns the variance that each level contributes to the mean of the observations rows, and the
// degrees of freedom of their sum. A level that nothing repeats contributes nothing.
func (v Nested) OfMean(units [][]int, rows []int) (parts []float64, dof float64) {
	parts = make([]float64, len(v.Components))
	weights := make([]float64, len(v.Components))
	for l := range parts {
		share := 1 / float64(len(rows))
		if l+1 < len(units) {
			of := lists.Rows(units[l+1], 1, rows)
			share = shared(make([]int, len(of)), of, map[int]float64{0: float64(len(of))}) / float64(len(of))
		}

		parts[l] = v.Components[l] * share
		if parts[l] > 0 {
			for k, w := range v.by[l] {
				weights[k] += share * w
			}
		}
	}

	_, dof = v.combine(weights)

	return parts, dof
}
