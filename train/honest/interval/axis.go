package interval

import (
	"cmp"
	"math"
	"slices"
)

// Kind is the kind of the groups that are left out.
type Kind string

// Kinds of groups.
const (
	Values Kind = "values" // values of a condition
	Blocks Kind = "blocks" // intervals of a continuous condition
	Labels Kind = "labels" // names without a coordinate: a propeller, a day, a rig
)

// MinDistance is added to every distance, so that its logarithm is finite at a measured value.
const MinDistance = 1e-4

// Axis holds the measured values of the coordinate of groups, the condition whose values they are. For labels, which
// have no coordinate, it is nil.
type Axis struct {
	Values []float64 `json:"values"` // distinct and ascending, in the unit of the coordinate
	Range  float64   `json:"range"`  // unit of distances, in the unit of the coordinate
}

// NewAxis returns the axis of the values z (in any order, not empty). unit is the unit of distances. If it is not
// positive, the unit is the range of the values, or 1 if all values are equal.
func NewAxis(z []float64, unit float64) *Axis {
	v := slices.Compact(slices.Sorted(slices.Values(z)))
	if unit <= 0 {
		unit = cmp.Or(v[len(v)-1]-v[0], 1)
	}

	return &Axis{Values: v, Range: unit}
}

// ascends reports whether there are values, none below the one before, and a positive range.
func (a *Axis) ascends() bool {
	return len(a.Values) > 0 && a.Range > 0 && slices.IsSorted(a.Values)
}

// Distance returns the distance of z to the measured values, plus MinDistance, and whether z lies beyond them. Between
// the neighbours a and b the distance is 2(z−a)(b−z)/((b−a)·Range), outside it is 2|z−edge|/Range. This is the
// variance, up to a factor, with which a Brownian path that is known at the measured values is predicted at z (kriging
// with the covariance −|h| and a constant mean). For labels Distance returns 1, not outside.
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

	first := a.Values[0]
	last := a.Values[len(a.Values)-1]
	outside = z < first-Edge*a.Range || z > last+Edge*a.Range

	return d + MinDistance, outside
}

// Edge is the share of the range by which rounding may take a value beyond the measured values without it counting as
// outside.
const Edge = 1e-9

// Bracket returns the measured values next to z: the largest one that is not above z, and the smallest one that is not
// below z. A value that does not exist is NaN.
func (a *Axis) Bracket(z float64) (below, above float64) {
	below = math.NaN()
	above = math.NaN()
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
