package honest

import (
	"fmt"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// LeftOut holds the predictions of one group by a model that was trained without it, and the pairs measured there.
type LeftOut struct {
	Name string // name of the group
	N    int    // number of rows

	// Row-major N×Out, in the units of the outcomes (variances in unit²):
	Mu     []float64 // predicted mean
	Claim  []float64 // v̂, the model's own epistemic variance
	Noise  []float64 // σ², the variance of one measurement by the model
	Y1, Y2 []float64 // measured pair

	// By row:
	Distance  []float64 // distance to the measured groups, see interval.Axis.Distance
	Outside   []bool    // whether the row lies beyond the measured groups
	Run       []int     // number of the run
	Alone     []bool    // whether the two outcomes are the same value; nil: no row is alone
	Condition []int     // number of the condition, all of whose rows count as their mean; nil: every row is a condition
	Weight    []float64 // number of pairs that the row counts for; nil: one each
}

// check panics if a slice does not have the length of the group.
func (l LeftOut) check(outcomes int) {
	values := []int{len(l.Mu), len(l.Claim), len(l.Noise), len(l.Y1), len(l.Y2)}
	rows := []int{len(l.Distance), len(l.Outside), len(l.Run)}
	valuesFit := !slices.ContainsFunc(values, func(length int) bool { return length != l.N*outcomes })
	rowsFit := !slices.ContainsFunc(rows, func(length int) bool { return length != l.N })
	optionalFit := isNilOr(l.N, l.Alone) && isNilOr(l.N, l.Condition) && isNilOr(l.N, l.Weight)
	if !valuesFit || !rowsFit || !optionalFit {
		panic(fmt.Sprintf("honest: left-out group %q of %d rows and %d outcomes has a slice of another length",
			l.Name, l.N, outcomes))
	}
}

// isNilOr reports whether a list is nil or has the given length.
func isNilOr[T any](length int, list []T) bool { return list == nil || len(list) == length }

// alone reports whether the two outcomes of a row are the same value.
func (l LeftOut) alone(row int) bool { return l.Alone != nil && l.Alone[row] }

// conditions returns the rows of each condition, in order of first appearance. If the conditions are not known, each
// row counts as a condition.
func (l LeftOut) conditions() [][]int {
	if l.Condition != nil {
		return lists.Alike(l.Condition)
	}

	var ofEachRow [][]int
	for row := range l.N {
		ofEachRow = append(ofEachRow, []int{row})
	}

	return ofEachRow
}

// group returns the numbers that the scale of new groups is learned from, by condition, in units of the deviations of
// the outcomes. The residual of a condition is the mean of its measurements less the mean of its predictions. Its noise
// is σ² over the number of its pairs: twice the variance of the mean of their measurements.
func (l LeftOut) group(deviation []float64) scale.Group {
	outcomes := len(deviation)

	var g scale.Group
	for _, rows := range l.conditions() {
		n := float64(len(rows))
		pairs := 0.0
		distance := 0.0
		for _, i := range rows {
			distance += l.Distance[i] / n
			pairs += triplets.WeightAt(l.Weight, i)
		}

		for j, s := range deviation {
			var residual, noise, claim float64
			for _, i := range rows {
				k := i*outcomes + j
				residual += (l.Y1[k] + l.Y2[k] - 2*l.Mu[k]) / (2 * n)
				noise += max(l.Noise[k], 0) / n
				claim += l.Claim[k] / n
			}

			g.Residual = append(g.Residual, residual/s)
			g.Claim = append(g.Claim, claim/(s*s))
			g.Noise = append(g.Noise, noise/pairs/(s*s))
		}

		g.Distance = append(g.Distance, distance)
		g.Conditions++
	}

	return g
}

// scaleGroups returns the groups that the scale of a calibration was learned from, with the noise that their pairs show
// rather than the noise of the model.
func scaleGroups(left []LeftOut, c *interval.Calibration) []scale.Group {
	var list []scale.Group
	for _, l := range left {
		g := l.group(c.Deviation)
		for k := range g.Noise {
			g.Noise[k] *= c.Scale.Noise.Scale
		}

		list = append(list, g)
	}

	return list
}

// pairNoise learns from the pairs of the left-out groups by which factor the noise of pairs differs from the model's
// σ².
func pairNoise(left []LeftOut) scale.Noise {
	var ratios []float64 // by group: mean of ½(y1−y2)²/σ²
	var values []int     // by group: number of values in this mean
	for _, l := range left {
		outcomes := len(l.Noise) / max(l.N, 1)
		sum := 0.0
		n := 0
		for k, noise := range l.Noise {
			row := k / outcomes
			if noise > 0 && !l.alone(row) {
				d := l.Y1[k] - l.Y2[k]
				sum += d * d / 2 / noise
				n++
			}
		}

		if n > 0 {
			ratios = append(ratios, sum/float64(n))
			values = append(values, n)
		}
	}

	return scale.PairNoise(ratios, values)
}
