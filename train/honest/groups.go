package honest

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
)

// Kind is the kind of the groups of a Grouping.
type Kind string

// Kinds of groups.
const (
	Values Kind = "values" // values of a condition
	Blocks Kind = "blocks" // intervals of a continuous condition
	Labels Kind = "labels" // names without a coordinate: a propeller, a day, a rig
)

// Grouping assigns every row of a data set to a group.
type Grouping struct {
	Condition string    // the condition or the label column
	Kind      Kind      //
	Names     []string  // of the groups, ascending in their coordinate or name
	Of        []int     // group of each row
	Z         []float64 // coordinate of each row; nil for Labels
}

// ByValue groups rows by the values z of a condition. Neighbouring values that
// differ by no more than tolerance belong to one group.
func ByValue(condition string, z []float64, tolerance float64) Grouping {
	order := ascending(z)
	g := Grouping{Condition: condition, Kind: Values, Of: make([]int, len(z)), Z: z}
	start := 0
	for k, i := range order {
		if k > 0 && z[i]-z[order[k-1]] > tolerance {
			g.Names = append(g.Names, valueName(z, order[start:k]))
			start = k
		}
		g.Of[i] = len(g.Names)
	}
	if len(z) > 0 {
		g.Names = append(g.Names, valueName(z, order[start:]))
	}
	return g
}

// valueName is the value itself where all rows have the same, else the mean of
// the smallest and the largest with four digits.
func valueName(z []float64, rows []int) string {
	lo, hi := z[rows[0]], z[rows[len(rows)-1]]
	if lo == hi {
		return strconv.FormatFloat(lo, 'g', -1, 64)
	}
	return strconv.FormatFloat((lo+hi)/2, 'g', 4, 64)
}

// ByBlock cuts the values z of a continuous condition into at most n blocks of
// about equal numbers of rows. Equal values stay together, so that there may be
// fewer blocks.
func ByBlock(condition string, z []float64, n int) Grouping {
	g := Grouping{Condition: condition, Kind: Blocks, Of: make([]int, len(z)), Z: z}
	order := ascending(z)
	var cuts []float64
	for i := 1; i < n && len(z) > 0; i++ {
		c := z[order[len(z)*i/n]]
		if c > z[order[0]] && (len(cuts) == 0 || c > cuts[len(cuts)-1]) {
			cuts = append(cuts, c)
		}
	}
	lo, hi := make([]float64, len(cuts)+1), make([]float64, len(cuts)+1)
	for k := range lo {
		lo[k], hi[k] = math.Inf(1), math.Inf(-1)
	}
	for i, v := range z {
		k := sort.Search(len(cuts), func(k int) bool { return cuts[k] > v })
		g.Of[i], lo[k], hi[k] = k, min(lo[k], v), max(hi[k], v)
	}
	for k := range lo {
		if len(z) > 0 {
			g.Names = append(g.Names, fmt.Sprintf("%.4g to %.4g", lo[k], hi[k]))
		}
	}
	return g
}

// ByLabel groups rows by equal labels. Such groups have no coordinate: the
// distance between any two is 1, and none lies outside the others.
func ByLabel(column string, label []string) Grouping {
	g := Grouping{Condition: column, Kind: Labels, Of: make([]int, len(label))}
	g.Names = slices.Clone(label)
	slices.Sort(g.Names)
	g.Names = slices.Compact(g.Names)
	for i, l := range label {
		g.Of[i], _ = slices.BinarySearch(g.Names, l)
	}
	return g
}

// Axis returns the coordinates measured in the given rows, with the range of
// all rows as the unit of distances. It is nil for labels.
func (g Grouping) Axis(rows []int) *Axis {
	if g.Z == nil {
		return nil
	}
	z := make([]float64, len(rows))
	for k, i := range rows {
		z[k] = g.Z[i]
	}
	return NewAxis(z, slices.Max(g.Z)-slices.Min(g.Z))
}

func ascending(z []float64) []int {
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return z[order[a]] < z[order[b]] })
	return order
}

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
	v := slices.Clone(z)
	slices.Sort(v)
	v = slices.Compact(v)
	if unit <= 0 {
		unit = v[len(v)-1] - v[0]
	}
	if unit == 0 {
		unit = 1
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
