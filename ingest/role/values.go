package role

import (
	"math"
	"slices"
	"strconv"

	"doubletake/internal/lists"
)

// stated returns the values of all rows that state one.
func (c *Column) stated() []float64 { return slices.DeleteFunc(slices.Clone(c.Values), math.IsNaN) }

// areCounts reports whether all stated values are whole numbers and not negative.
func (c *Column) areCounts() bool {
	for _, x := range c.stated() {
		if x < 0 || x != math.Trunc(x) {
			return false
		}
	}

	return true
}

// consecutive reports whether the different values are in steps of one. It returns the least value and how many
// different values there are.
func (c *Column) consecutive() (first float64, n int, ok bool) {
	different := slices.Compact(slices.Sorted(slices.Values(c.stated())))
	if len(different) == 0 {
		return 0, 0, false
	}

	first = different[0]
	for i, v := range different {
		if v != first+float64(i) {
			return first, len(different), false
		}
	}

	return first, len(different), true
}

// countsFromOne reports whether the different values are 1, 2, 3 and so on.
func (c *Column) countsFromOne() bool {
	first, _, isConsecutive := c.consecutive()
	return isConsecutive && first == 1
}

// RepeatsValues reports whether values look like settings: each value, or each set point, has two rows on average.
func (c *Column) RepeatsValues() bool { return 2*c.CountDistinct() <= len(c.stated()) }

// isNumber reports whether a column has several different numbers.
func isNumber(column *Column) bool { return column.Values != nil && column.CountDistinct() > 1 }

// isText reports whether the texts of a column are not numbers.
func isText(column *Column) bool { return column.Values == nil }

// shareWithin returns the share of the variance of a column that is within the groups of rows: 0 if each group has one
// value, about 1 if the groups do not matter.
func (c *Column) shareWithin(groups [][]int) float64 {
	inside := 0.0
	degreesOfFreedom := 0
	for _, g := range groups {
		inside += sumOfSquares(lists.Pick(c.Values, g))
		degreesOfFreedom += len(g) - 1
	}

	return inside / float64(degreesOfFreedom) / sumOfSquares(c.Values) * float64(len(c.Values)-1)
}

// sumOfSquares returns the sum of the squared differences of values from their mean, by Welford's recurrence.
func sumOfSquares(values []float64) (sum float64) {
	mean := 0.0
	for i, x := range values {
		d := x - mean
		mean += d / float64(i+1)
		sum += float64(d * (x - mean))
	}

	return sum
}

// isNarrow reports whether the range of values is less than a share of the middle of the range. Values on both sides of
// zero are never narrow. There must be a value.
func isNarrow(values []float64, share float64) bool {
	low := slices.Min(values)
	high := slices.Max(values)

	return low*high > 0 && high-low < share*math.Abs(low+high)/2
}

// Decimal writes a number with as many digits as it needs.
func Decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
