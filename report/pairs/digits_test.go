package pairs

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The expected answers are a person's: whether one number of a row may be the other, rounded to the digits that were
// written. A whole number of one or two digits is exact: nobody means 12.3 by 12. One of three digits may be rounded.
func TestToDigitsOf(t *testing.T) {
	for _, c := range []struct {
		pair    float64 // in the table of pairs
		written string  // in the file of predictions
		matches bool
	}{
		{3.14159, "3.14", true},
		{3.14159, "3.142", true},
		{3.14159, "3.15", false},
		{3.145, "3.14", true},
		{3.145, "3.15", true},
		{3.14, "3.14159", true},
		{3.1, "3.14159", true},
		{3, "3.14159", false},
		{3.4, "3", false},
		{3.04, "3.0", true},
		{1249.7, "1250", true},
		{1249.7, "1249", false},
		{1250, "1249.7", true},
		{12, "12.3", false},
		{99, "99.3", false},
		{100, "100.3", true},
		{125.3, "125", true},
		{125.6, "125", false},
		{12.3, "12", false},
		{-2.5, "-2.50", true},
		{-2.503, "-2.50", true},
		{-2.503, "2.50", false},
		{0.1 + 0.2, "0.3", true},
		{1e5, "1.0e5", true},
		{104000, "1.0e5", true},
		{106000, "1.0e5", false},
		{0.00123, "1.2e-3", true},
		{20.1, "20,1", true},
		{20.14, "20,1", true},
		{7, "7.0", true},
		{7, "7", true},
		{1.0 / 3, "0.333", true},
		{2.0 / 3, "0.667", true},
		{2.0 / 3, "0.66", false},
		{125000, "125000.3", true},
		{1e6, "1000000.3", true},
		{1.2e6, "1240000", false},
		{1.25e6, "1253000", false},
		{1.25e6, "1.25e6", true},
		{1.2e21, "1.24e21", false},
		{0.00001, "0.000012", true},
		{0.00001, "0.000016", false},
		{0.000012, "0.00001234", true},
		{0.000012, "0.000013", false},
	} {
		value, ok := readWritten(c.written)
		assert.True(t, ok, "%s", c.written)
		theirs := written{values: []float64{value}, halfSteps: []float64{halfStep(c.written)}}
		got := writtenShortest([]float64{c.pair}).toDigitsOf(theirs)[0] == value
		assert.Equal(t, c.matches, got, "%v and %s", c.pair, c.written)
	}
}

// A number that equals two numbers of the other file to the written digits stays, because nobody knows which it is.
func TestToDigitsOfTwo(t *testing.T) {
	theirs := written{values: []float64{3.1}, halfSteps: []float64{halfStep("3.1")}}
	pairs := []float64{3.08, 3.12}
	assert.Equal(t, pairs, writtenShortest(pairs).toDigitsOf(theirs), "two values that are written as one")
	assert.Equal(t, []float64{3.08, 3.1}, writtenShortest([]float64{3.08, 3.1}).toDigitsOf(written{
		values: []float64{3.1, 3.0}, halfSteps: []float64{0.005, 0.005},
	}), "an exact value stays")

	both := written{values: []float64{3.12, 3.14}, halfSteps: []float64{0.005, 0.005}}
	assert.Equal(t, []float64{3.1}, writtenShortest([]float64{3.1}).toDigitsOf(both), "two values of the other file")
}

// readWritten reads a number with either decimal sign.
func readWritten(text string) (float64, bool) {
	v, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	return v, err == nil
}
