package honest

import (
	"fmt"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
	"doubletake/train/triplets"
)

// LeftOut holds the predictions for one group by a model that was trained
// without it, and the pairs measured there. Slices are row-major N×Out unless
// stated otherwise, in the data's own units (variances in unit²).
type LeftOut struct {
	Name     string
	N        int
	Mu       []float64 // mean
	Claim    []float64 // v̂, the model's own epistemic variance
	Noise    []float64 // σ², the variance of one measurement that the model states
	Y1, Y2   []float64
	Distance []float64 // N; to the measured groups, see interval.Axis.Distance
	Outside  []bool    // N
	Run      []int     // N
	Alone    []bool    // N, of triplets.Set; nil: none

	// Condition, unless nil, numbers the conditions of the rows (N): all measurements of a
	// condition count as one value, their mean. nil: every row is one.
	Condition []int
	// Weight is how many pairs each row then counts for (N); nil: one.
	Weight []float64
}

func (l LeftOut) check(out int) {
	n := l.N * out
	if len(l.Mu) != n || len(l.Claim) != n || len(l.Noise) != n || len(l.Y1) != n || len(l.Y2) != n ||
		len(l.Distance) != l.N || len(l.Outside) != l.N || len(l.Run) != l.N ||
		l.Condition != nil && len(l.Condition) != l.N || l.Weight != nil && len(l.Weight) != l.N {
		panic(fmt.Sprintf("honest: left-out group %q of %d rows and %d outcomes has a slice of another length",
			l.Name, l.N, out))
	}
}

// alone reports whether the two outcomes of a row are one.
func (l LeftOut) alone(row int) bool { return l.Alone != nil && l.Alone[row] }

// conditions lists the rows of each condition, in order of first appearance.
func (l LeftOut) conditions() (rows [][]int) {
	if l.Condition == nil {
		return lists.Alike(lists.Numbers(l.N))
	}

	return lists.Alike(l.Condition)
}

// group is what the scale of new groups is learned from, in units of the deviations: the
// mean of n pairs of a condition varies about the truth by σ²/2n.
func (l LeftOut) group(deviation []float64) scale.Group {
	out := len(deviation)

	var g scale.Group
	for _, rows := range l.conditions() {
		n, pairs, distance := float64(len(rows)), 0.0, 0.0
		for _, i := range rows {
			distance += l.Distance[i] / n
			pairs += triplets.WeightAt(l.Weight, i)
		}

		for j, s := range deviation {
			var r, noise, claim float64
			for _, i := range rows {
				k := i*out + j
				r += (l.Y1[k] + l.Y2[k] - 2*l.Mu[k]) / (2 * n)
				noise, claim = noise+max(l.Noise[k], 0)/n, claim+l.Claim[k]/n
			}

			g.Residual, g.Claim = append(g.Residual, r/s), append(g.Claim, claim/(s*s))
			g.Noise = append(g.Noise, noise/pairs/(s*s))
		}

		g.Distance = append(g.Distance, distance)
		g.Conditions++
	}

	return g
}

// scaleGroups are what the scale of a calibration was learned from, with the noise of their
// pairs.
func scaleGroups(left []LeftOut, c *interval.Calibration) (list []scale.Group) {
	for _, l := range left {
		g := l.group(c.Deviation)
		for k := range g.Noise {
			g.Noise[k] *= c.Scale.Noise.Scale
		}

		list = append(list, g)
	}

	return list
}

// pairNoise learns from the pairs of the left-out groups by how much their noise differs
// from the σ² that the model states.
func pairNoise(left []LeftOut) scale.Noise {
	var ratio []float64
	var values []int
	for _, l := range left {
		sum, n := 0.0, 0
		for k, noise := range l.Noise {
			if noise > 0 && !l.alone(k*l.N/len(l.Noise)) {
				d := l.Y1[k] - l.Y2[k]
				sum += d * d / 2 / noise
				n++
			}
		}

		if n > 0 {
			ratio, values = append(ratio, sum/float64(n)), append(values, n)
		}
	}

	return scale.PairNoise(ratio, values)
}
