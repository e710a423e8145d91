package kv

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// SyntaxError is the error about a part of a list that is not name=value.
type SyntaxError struct{ Part string }

// Error returns what is expected, and the part.
func (e *SyntaxError) Error() string { return fmt.Sprintf("expected name=value, found %q", e.Part) }

// Parse reads a list of names and values of a command line, such as "blades=3,rpm=5000". A value between slashes may
// contain commas. Parse returns a *SyntaxError for a part that is not name=value, and an error if a name occurs twice.
func Parse(text string) ([]Pair, error) {
	var pairs []Pair
	seen := map[string]bool{}
	for more := text != ""; more; {
		key, rest, found := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" || strings.Contains(key, ",") {
			term, _, _ := strings.Cut(text, ",")
			return nil, &SyntaxError{Part: term}
		}

		if seen[key] {
			return nil, fmt.Errorf("%s occurs twice", key)
		}

		seen[key] = true

		var value string
		value, text, more = cutValue(rest)
		pairs = append(pairs, Pair{key, strings.TrimSpace(value)})
	}

	return pairs, nil
}

// cutValue returns the value with which a text begins, and the rest after the comma behind it. more is false if there
// is not a comma, which means that the value is the last.
func cutValue(text string) (value, rest string, more bool) {
	closing := 0 // index of the slash that closes the value; 0 if the value does not begin with a slash or does not close
	if strings.HasPrefix(text, "/") {
		closing = strings.Index(text[1:], "/") + 1
	}

	end, rest, more := strings.Cut(text[closing:], ",")

	return text[:closing] + end, rest, more
}

// Number reads a finite number. It returns 0 for -0.
func Number(text string) (float64, error) {
	value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, fmt.Errorf("expected a number, found %q", text)
	}

	return value + 0, nil // −0 + 0 is 0
}

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
	const relative, absolute = 1e-12, 1e-9
	last := math.Floor((end-start)/step*(1+relative) + absolute) // index of the last value
	if last >= MaxPoints {
		return nil
	}

	var values []float64
	for k := range int(last) + 1 {
		values = append(values, rounded(start+float64(k)*step))
	}

	return values
}

// rounded returns a value without the last digits of a sum of decimal steps, so that 0.4 + 4·0.2 is 1.2.
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
