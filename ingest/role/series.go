package role

import (
	"math"
	"regexp"
	"slices"

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

// leastSteps is the least number of values of a setting in a file that is a sweep over them. Two values may be a
// switch.
const leastSteps = 3

// restSamples is the least number of samples, on average, for which a setting rests at a value.
const restSamples = 10

// Rests reports whether values rest at one of at least leastSteps levels after the other. Values that hardly vary were
// measured: they do not rest. NaN is a value that is missing, and Rests leaves it out.
func Rests(values []float64) bool {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	levels := map[float64]bool{}
	rests := 0
	sum := 0.0
	for k, v := range values {
		if k == 0 || v != values[k-1] {
			rests++
		}

		sum += v
		levels[v] = true
		if rests*restSamples > len(values) {
			return false
		}
	}

	if len(levels) < leastSteps {
		return false
	}

	mean := sum / float64(len(values))
	isNarrow := slices.Max(values)-slices.Min(values) < mostNarrow*math.Abs(mean)

	return !isNarrow
}

// IsStepwise reports whether values rise or fall all the way, over at least leastSteps values. Between two steps they
// may rest at a value.
func IsStepwise(values []float64) bool {
	ups := 0
	downs := 0
	for k := 1; k < len(values); k++ {
		switch {
		case values[k] > values[k-1]:
			ups++
		case values[k] < values[k-1]:
			downs++
		case values[k] != values[k-1]: // NaN
			return false
		}
	}

	isOneWay := ups == 0 || downs == 0

	return isOneWay && ups+downs >= leastSteps-1
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
