package contrast

import (
	"cmp"
	"math"
	"slices"

	"doubletake/internal/lists"
)

// setPoints is the number of set points at which units of unequal conditions are compared.
const setPoints = 9

// interpolate replaces the rows by rows at common set points, which are evenly spaced within the range of most units.
// The outcomes of a unit at a set point are interpolated between the unit's two neighbouring rows.
func (c *comparison) interpolate() {
	type unit struct {
		side int
		name string
	}

	units := make([]unit, len(c.rows))
	for i, r := range c.rows {
		units[i] = unit{r.side, r.unit}
	}

	var curves [][]row
	for _, members := range lists.Alike(units) {
		curve := means(lists.Pick(c.rows, members))
		slices.SortFunc(curve, func(a, b row) int { return cmp.Compare(a.x[0], b.x[0]) })
		curves = append(curves, curve)
	}

	points := commonPoints(commonRange(curves))
	c.rows = nil
	for _, curve := range curves {
		for _, x := range points {
			if r, ok := interpolated(curve, x); ok {
				c.rows = append(c.rows, r)
			}
		}
	}
}

// commonPoints returns evenly spaced set points from low to high, or none if low is above high.
func commonPoints(low, high float64) []float64 {
	if low > high {
		return nil
	}

	points := make([]float64, setPoints)
	for i := range points {
		points[i] = low + (high-low)*float64(i)/(setPoints-1)
	}

	points[setPoints-1] = high // the sum may be above it by its last digit, which no unit reaches

	return points
}

// commonRange returns the range that most units reach: at either end, three quarters of the units of each side have
// rows up to the end or beyond.
func commonRange(curves [][]row) (low, high float64) {
	low = math.Inf(-1)
	high = math.Inf(1)
	for side := range 2 {
		var first, last []float64
		for _, curve := range curves {
			if curve[0].side == side {
				first = append(first, curve[0].x[0])
				last = append(last, curve[len(curve)-1].x[0])
			}
		}

		slices.Sort(first)
		slices.Sort(last)
		low = max(low, first[len(first)*3/4])
		high = min(high, last[len(last)/4])
	}

	return low, high
}

// means returns the rows of one unit, averaged at equal conditions. A mean leaves out outcomes that are NaN.
func means(rows []row) []row {
	x := make([]float64, len(rows))
	for i, r := range rows {
		x[i] = r.x[0]
	}

	var averaged []row
	for _, same := range lists.Alike(x) {
		r := rows[same[0]]
		r.y = make([]float64, len(r.y))
		for k := range r.y {
			r.y[k] = meanOutcome(lists.Pick(rows, same), k)
		}

		averaged = append(averaged, r)
	}

	return averaged
}

// meanOutcome returns the mean of outcome k over the rows that have a number, or NaN if none has.
func meanOutcome(rows []row, k int) float64 {
	mean := math.NaN()
	n := 0.0
	for _, r := range rows {
		switch {
		case math.IsNaN(r.y[k]):
			continue
		case n == 0:
			mean = r.y[k]
		default:
			mean += (r.y[k] - mean) / (n + 1)
		}
		n++
	}

	return mean
}

// interpolated returns the outcomes of a unit at x, by a line through its two neighbouring rows. curve contains the
// unit's rows in ascending order. interpolated returns false if x is outside of them.
func interpolated(curve []row, x float64) (row, bool) {
	i := slices.IndexFunc(curve, func(r row) bool { return r.x[0] >= x })
	if i < 0 || i == 0 && curve[0].x[0] > x {
		return row{}, false
	}

	right := curve[i]
	r := right
	r.x = []float64{x}
	r.y = slices.Clone(right.y)
	if right.x[0] == x { // the row itself, whatever its neighbour has
		return r, true
	}

	left := curve[i-1] // there is one, because the first row is below x
	for k := range r.y {
		r.y[k] += (left.y[k] - right.y[k]) * (right.x[0] - x) / (right.x[0] - left.x[0])
	}

	return r, true
}
