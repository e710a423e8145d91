package role

import (
	"regexp"

	"doubletake/ingest/vocabulary"
)

var (
	// lengthEnd matches names that end with a unit of length.
	lengthEnd = vocabulary.Whole(`.*[_ (\[](mm|cm|m)[)\]]?`)
	// axisWords are the names of axes.
	axisWords = vocabulary.Whole(`[xyz]`)
)

// Called returns a column without cells, which tells what its name and its unit say.
func Called(name, unit string) *Column { return &Column{Name: name, Head: name, Unit: unit} }

// IsSetting reports whether a column, or a channel, is called as a setting, a clock, a counter, an uncertainty, a
// state of the air or a position.
func (c *Column) IsSetting() bool {
	isPosition := c.isLength() && c.HasWord(axisWords)
	if isPosition || c.HasWord(vocabulary.Inputs, vocabulary.Clocks, vocabulary.Uncertainties) {
		return true
	}

	return c.IsAir() || c.IsNumbered()
}

// isLength reports whether the unit of a channel, or the end of its name, is a length.
func (c *Column) isLength() bool {
	return c.Unit == "m" || c.Unit == "cm" || c.Unit == "mm" || lengthEnd.MatchString(c.Name)
}

// Columns of numbers whose names differ only in a number, such as P001 to P064, are channels if there are at least
// leastChannels of them and one of them has more than mostLevels different values. Factors of a design, such as x1 to
// x4, have fewer different values.
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
