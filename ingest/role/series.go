package role

import (
	"math"
	"regexp"

	"doubletake/ingest/vocabulary"
)

// Columns of numbers whose names differ only in a number, such as P001 to P064, are channels from leastChannels on if
// one of them has more than mostLevels values. Factors of a design, such as x1 to x4, have fewer.
const (
	leastChannels = 4
	mostLevels    = 5
)

// anyDigits matches the number in the name of a channel.
var anyDigits = regexp.MustCompile(`\d+`)

// isChannel reports whether a column is one of several measured channels whose names differ only in a number.
func (s *Sheet) isChannel(column *Column) bool {
	if !isMeasuredNumber(column) || !anyDigits.MatchString(column.Head) {
		return false
	}

	name := anyDigits.ReplaceAllString(column.Head, "0")
	channels := 0
	most := 0
	for _, other := range s.Columns {
		if isMeasuredNumber(other) && anyDigits.ReplaceAllString(other.Head, "0") == name {
			channels++
			most = max(most, other.CountDistinct())
		}
	}

	return channels >= leastChannels && most > mostLevels
}

// isMeasuredNumber reports whether a column of a table has numbers, and is not called as a setting.
func isMeasuredNumber(column *Column) bool {
	return column.Values != nil && !column.FromName && !column.HasWord(vocabulary.Inputs)
}

// isEven reports whether values rise in equal steps, to a thousandth of a step. NaN does not rise.
func isEven(values []float64) bool {
	if len(values) < 2 {
		return true
	}

	step := values[1] - values[0]
	for i := 1; i < len(values); i++ {
		isAlike := math.Abs(values[i]-values[i-1]-step) <= 1e-3*math.Abs(step)
		if !isAlike {
			return false
		}
	}

	return step > 0
}

// Rises reports whether each sample is greater than the one before it. NaN is not.
func Rises(x []float64) bool {
	for k := 1; k < len(x); k++ {
		if !(x[k-1] < x[k]) {
			return false
		}
	}

	return true
}
