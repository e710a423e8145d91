package gp

import (
	"slices"

	"doubletake/internal/lists"
)

// This file gives levels of a label curves of their own. Two wings may differ in how the lift follows the angle, and
// not only by an offset. So the covariance of two conditions of the same level has one more term: a Matérn kernel on
// the inputs Others, with the lengths of the shared kernel and the deviation Hyper.Own.
//
// A process takes the term only if Options.Curves names a label. Package train/honest compares the evidence with and
// without it.

// noCurve is a level without a curve: conditions with this level have no covariance by curves.
const noCurve = -1

// addCurves adds to dst[i] the covariance by curves of condition a, which has the given level, with row i of conditions
// b, whose levels are given too. It adds nothing if the level is noCurve.
func (c *covariance) addCurves(dst, a, b []float64, level int, levels []int) {
	if level == noCurve {
		return
	}

	inputs := len(a)
	for i, other := range levels[:len(dst)] {
		if other == level {
			// The conversion keeps processors from fusing the product with the sum, which rounds otherwise.
			dst[i] += float64(c.own * c.sharedCorrelation(a, b[i*inputs:(i+1)*inputs]))
		}
	}
}

// ownLevels returns, for the label with curves, the level of each of n conditions. It returns nil if no label has
// curves. level has the levels of all labels, conditions × labels; nil: all conditions are of one new thing.
func (m *Model) ownLevels(level []int, n int) []int {
	if m.Curves == 0 {
		return nil
	}

	label := m.Curves - 1
	if level == nil {
		return slices.Repeat(m.Labels[label:label+1], n)
	}

	return lists.Column(level, len(m.Labels), label)
}

// levelOf returns the level of condition i, or noCurve if levels is nil.
func levelOf(levels []int, i int) int {
	if levels == nil {
		return noCurve
	}
	return levels[i]
}

// setCurves gives the levels of a label curves, if the label is not 0. Labels are counted from 1.
func (s *searchData) setCurves(label int) {
	if label == 0 {
		return
	}

	s.layout.curves = true
	s.sameLevel = sameLevels(lists.Column(s.labels.levels, len(s.labels.count), label-1))
}

// withCurves changes a Matérn term of the shared kernel so that it includes the curves: for two conditions of the same
// level, the variance is larger by the variance of the curves.
func (s *searchData) withCurves(term maternTerm, c covariance) {
	factor := 1 + c.own/c.shared
	for p, same := range s.sameLevel {
		if same {
			term.covariance[p] *= factor
			term.slope[p] *= factor
		}
	}
}

// sameLevels returns, packed, whether two conditions have the same level.
func sameLevels(levels []int) []bool {
	same := make([]bool, 0, len(levels)*(len(levels)-1)/2)
	for i, level := range levels {
		for _, other := range levels[:i] {
			same = append(same, level == other)
		}
	}

	return same
}

// knownCurves returns ownLevels of n conditions, with noCurve instead of levels that the data do not have.
func (m *Model) knownCurves(level []int, n int) []int {
	own := m.ownLevels(level, n)
	for i, v := range own {
		if v >= m.Labels[m.Curves-1] {
			own[i] = noCurve
		}
	}

	return own
}

// freshVariance returns the variance that a new level of a label adds to a prediction: the variance of its offset and,
// if the label has curves, the variance of its curve, own. label is counted from 0. curved is the label with curves,
// counted from 1; 0: none has.
func freshVariance(fresh []float64, own float64, label, curved int) float64 {
	if label == curved-1 {
		return fresh[label] + own*selfCorrelation
	}
	return fresh[label]
}

// setCurves adds the curves of new levels to the unknowns. counts are the numbers of levels of the labels.
func (p *Posterior) setCurves(counts []int, levels Levels) {
	if p.curved == 0 {
		return
	}

	label := p.curved - 1
	places := map[newCurve]int{}
	placeOf := func(c newCurve) int {
		if _, known := places[c]; !known {
			places[c] = p.size()
			p.newCurves = append(p.newCurves, c)
		}

		return places[c]
	}

	for i := range p.conditions {
		if v := levelAt(levels.Asked, i*len(counts)+label); v >= counts[label] {
			p.asked[i] = append(p.asked[i], placeOf(newCurve{v, i}))
		}

		if v := levelAt(levels.Measured, i*len(counts)+label); v >= counts[label] {
			p.measured[i] = append(p.measured[i], placeOf(newCurve{v, i}))
		}
	}
}

// curvePrior returns the covariances of the curves of new levels before any measurement, as a packed lower triangle. z
// are the standardised conditions.
func (p *Posterior) curvePrior(c covariance, z []float64) []float64 {
	columns := len(c.linear)
	n := len(p.newCurves)
	lower := make([]float64, 0, n*(n+1)/2)
	for a, first := range p.newCurves {
		x := z[first.condition*columns : (first.condition+1)*columns]
		for _, second := range p.newCurves[:a+1] {
			v := 0.0
			if first.level == second.level {
				v = c.own * c.sharedCorrelation(x, z[second.condition*columns:(second.condition+1)*columns])
			}

			lower = append(lower, v)
		}
	}

	return lower
}
