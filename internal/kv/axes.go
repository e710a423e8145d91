package kv

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Axis is a condition with its values.
type Axis struct {
	Name   string
	Values []float64
}

// MaxPoints is the greatest number of conditions that axes may span.
const MaxPoints = 1_000_000

// Axes reads axes such as "blades=3,rpm=2000:9000:500": conditions, each with a value or from:to:step. The value to is
// included if a step reaches it. known returns an error for a name that is not a condition. Axes returns an error if
// the axes span more than MaxPoints conditions.
func Axes(text string, known func(name string) error) ([]Axis, error) {
	terms, err := Parse(text)
	if err != nil {
		return nil, err
	}

	var axes []Axis
	points := 1
	for _, term := range terms {
		if err := known(term.Key); err != nil {
			return nil, err
		}

		axis, err := readAxis(term)
		if err != nil {
			return nil, err
		}

		points *= len(axis.Values)
		if points > MaxPoints {
			return nil, fmt.Errorf("the grid has more than %d points", MaxPoints)
		}

		axes = append(axes, axis)
	}

	return axes, nil
}

// readAxis reads an axis: a name with a value or from:to:step.
func readAxis(term Pair) (Axis, error) {
	var numbers []float64
	for text := range strings.SplitSeq(term.Value, ":") {
		number, err := Number(text)
		if err != nil {
			return Axis{}, fmt.Errorf("%s: %w", term.Key, err)
		}
		numbers = append(numbers, number)
	}

	switch {
	case len(numbers) == 1:
		return Axis{Name: term.Key, Values: numbers}, nil
	case len(numbers) == 3 && numbers[2] > 0 && numbers[0] <= numbers[1]:
		values := steps(numbers[0], numbers[1], numbers[2])
		if values == nil {
			return Axis{}, fmt.Errorf("%s=%s has more than %d values", term.Key, term.Value, MaxPoints)
		}

		return Axis{Name: term.Key, Values: values}, nil
	}

	return Axis{}, fmt.Errorf("%s: expected a value or from:to:step with from ≤ to and a step above zero, found %q",
		term.Key, term.Value)
}

// steps returns the values from start up to end at steps. It returns nil if there are more than MaxPoints.
func steps(start, end, step float64) []float64 {
	// Without these tolerances rounding could miss the end: (0.3 − 0)/0.1 is less than 3.
	const (
		relative = 1e-12
		absolute = 1e-9 // in steps
	)
	last := math.Floor((end-start)/step*(1+relative) + absolute) // index of the last value
	if last >= MaxPoints {
		return nil
	}

	var values []float64
	for k := range int(last) + 1 {
		value := start + float64(k)*step
		if math.Abs(value) < absolute*step { // −0.3 + 3·0.1 is 5.6e-17, which has no digits to round
			value = 0
		}

		values = append(values, rounded(value))
	}

	return values
}

// rounded returns a value to 14 digits. Sums of decimal steps differ from decimal numbers only in later digits:
// 0.4 + 4·0.2 is 1.2000000000000002 in binary, and becomes 1.2.
func rounded(value float64) float64 {
	const digits = 14
	result, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', digits, 64), 64)
	if err != nil {
		return value // rounding up would be infinite
	}

	return result
}

// Points returns all combinations of one value of each list. The last list varies fastest.
func Points(lists ...[]float64) [][]float64 {
	points := [][]float64{nil}
	for _, list := range lists {
		var longer [][]float64
		for _, point := range points {
			for _, value := range list {
				longer = append(longer, append(slices.Clip(point), value))
			}
		}

		points = longer
	}

	return points
}

// Same reports whether two numbers are equal to nine digits. A number that a person writes and a number in a file may
// differ beyond these digits.
func Same(a, b float64) bool {
	const nineDigits = 1e-9

	return math.Abs(a-b) <= nineDigits*math.Max(math.Abs(a), math.Abs(b))
}
