package role

import "doubletake/ingest/vocabulary"

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
