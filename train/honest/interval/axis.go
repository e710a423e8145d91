package interval

import (
	"cmp"
	"math"
	"slices"
)

// Kind is the kind of the groups of a Grouping.
type Kind string

// Kinds of groups.
const (
	Values Kind = "values" // values of a condition
	Blocks Kind = "blocks" // intervals of a continuous condition
	Labels Kind = "labels" // names without a coordinate: a propeller, a day, a rig
)

// MinDistance is added to every distance, so that its logarithm is finite at a
// measured value.
const MinDistance = 1e-4

// Axis holds the measured values of a group's coordinate. A nil *Axis is that
// of labels.
type Axis struct {
	Values []float64 `json:"values"` // distinct, ascending
	Range  float64   `json:"range"`  // the unit of distances, in the coordinate's unit
}

// NewAxis returns the axis of the values z (in any order, not empty). unit 0
// takes their range.
func NewAxis(z []float64, unit float64) *Axis {
	v := slices.Compact(slices.Sorted(slices.Values(z)))
	if unit <= 0 {
		unit = cmp.Or(v[len(v)-1]-v[0], 1)
	}

	return &Axis{Values: v, Range: unit}
}

// Distance returns the variance, up to a factor, with which a Brownian path
// known at the measured values predicts its value at z (kriging with the
// covariance −|h| and a constant mean): 2(z−a)(b−z)/((b−a)·Range) between
// neighbours a and b, 2|z−edge|/Range outside, plus MinDistance. outside
// reports whether z lies beyond the measured values. For labels it is 1.
func (a *Axis) Distance(z float64) (d float64, outside bool) {
	if a == nil {
		return 1, false
	}

	lo, hi := a.Bracket(z)
	switch {
	case math.IsNaN(lo):
		d = 2 * (hi - z) / a.Range
	case math.IsNaN(hi):
		d = 2 * (z - lo) / a.Range
	case lo < hi:
		d = 2 * (z - lo) * (hi - z) / ((hi - lo) * a.Range)
	}

	first, last := a.Values[0], a.Values[len(a.Values)-1]

	return d + MinDistance, z < first-Edge*a.Range || z > last+Edge*a.Range
}

// Edge is the share of the range by which a value may exceed the measured
// values, from rounding, and still not lie outside.
const Edge = 1e-9

// Bracket returns the measured values next to z: the largest that is not above
// it and the smallest that is not below it. Where there is none, NaN.
func (a *Axis) Bracket(z float64) (below, above float64) {
	below, above = math.NaN(), math.NaN()
	if a == nil {
		return below, above
	}

	i, found := slices.BinarySearch(a.Values, z)
	if found {
		return z, z
	}

	if i > 0 {
		below = a.Values[i-1]
	}

	if i < len(a.Values) {
		above = a.Values[i]
	}

	return below, above
}
