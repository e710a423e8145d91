package holdout

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds contains the keys with which a configuration states a range, {min, max}, or a value with a tolerance,
// {near, within}.
type Bounds struct {
	Min    *float64 `key:"min"`
	Max    *float64 `key:"max"`
	Near   *float64 `key:"near"`
	Within *float64 `key:"within"`
}

// Of returns the holdout of a condition. An error is about the key that it returns, or about all keys if that is "".
func (b Bounds) Of(condition string) (h Holdout, key string, err error) {
	hasRange := b.Min != nil || b.Max != nil
	hasTolerance := b.Near != nil || b.Within != nil
	isComplete := b.Near != nil && b.Within != nil
	switch {
	case hasRange == hasTolerance, hasTolerance && !isComplete:
		return nil, "", errors.New("expected {min, max} or {near, within}")
	case hasTolerance && !(*b.Within >= 0): // also NaN
		return nil, "within", fmt.Errorf("expected 0 or more, found %g", *b.Within)
	case hasTolerance && math.IsNaN(*b.Near):
		return nil, "near", fmt.Errorf("expected a number, found %g", *b.Near)
	case hasTolerance:
		return Near(condition, *b.Near, *b.Within), "", nil
	}

	lo := math.Inf(-1)
	hi := math.Inf(1)
	if b.Min != nil {
		lo = *b.Min
	}

	if b.Max != nil {
		hi = *b.Max
	}

	if !(lo <= hi) { // also if one of them is NaN, with which no row compares
		return nil, "", fmt.Errorf("expected min ≤ max, found min %g and max %g", lo, hi)
	}

	return Range(condition, lo, hi), "", nil
}

// Parse parses the holdout of a command line: "blades=3", "blades=2,3", "rpm=3000:5000" for a range,
// "propeller=APC-8x6" for a name, or several of them with ";" or "&" between them.
func Parse(text string) (Holdout, error) {
	var parts []Holdout
	for _, part := range strings.FieldsFunc(text, isSeparator) {
		name, value, ok := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		value = strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("hold out %q: expected condition=value, condition=value,value or condition=from:to", part)
		}

		h, err := parse(name, value)
		if err != nil {
			return nil, fmt.Errorf("hold out %q: %w", part, err)
		}

		parts = append(parts, h)
	}

	if len(parts) == 0 {
		return nil, fmt.Errorf("hold out %q: expected condition=value", text)
	}

	return All(parts...), nil
}

// isSeparator reports whether a character separates the parts of a holdout.
func isSeparator(c rune) bool { return c == ';' || c == '&' }

// parseNumber parses a number between blanks. NaN is not a number.
func parseNumber(text string) (float64, error) {
	number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && math.IsNaN(number) {
		return 0, fmt.Errorf("expected a number, found %q", text)
	}

	return number, err
}

// parse parses the text after the equals sign of a part: a range, numbers, or names.
func parse(condition, text string) (Holdout, error) {
	if first, second, isRange := strings.Cut(text, ":"); isRange {
		start, startErr := parseNumber(first)
		end, endErr := parseNumber(second)
		switch {
		case startErr == nil && endErr == nil && start <= end:
			return Range(condition, start, end), nil
		case startErr == nil || endErr == nil:
			return nil, fmt.Errorf("expected a range from:to of numbers with from ≤ to, found %q", text)
		}
	}

	var values []float64
	names := strings.Split(text, ",")
	for i, name := range names {
		names[i] = strings.TrimSpace(name)
		if number, err := parseNumber(name); err == nil {
			values = append(values, number)
		}
	}

	switch len(values) {
	case len(names):
		return Of(condition, values...)
	case 0:
		return OfLabels(condition, names...)
	}

	return nil, fmt.Errorf("expected numbers, or names alone, found %q", text)
}

// Of returns the holdout that a configuration or a command line states as a key with numbers. It returns an error if
// there are none, or if one is NaN.
func Of(key string, values ...float64) (Holdout, error) {
	switch {
	case key == Random:
		return newRandom(values)
	case len(values) == 0:
		return nil, errNoValue
	case slices.ContainsFunc(values, math.IsNaN):
		return nil, fmt.Errorf("expected numbers, found %v", values)
	}

	return Values(key, values...), nil
}

// errNoValue is the error about a list that names nothing to hold out.
var errNoValue = errors.New("expected at least one value, found an empty list")

// OfLabels returns the holdout that a configuration or a command line states as a key with names. It returns an error
// if there are none, or if one is empty.
func OfLabels(key string, names ...string) (Holdout, error) {
	switch {
	case key == Random:
		return nil, fmt.Errorf("expected one share of the conditions, above 0 and below 1, found %q", names)
	case len(names) == 0:
		return nil, errNoValue
	case slices.Contains(names, ""):
		return nil, errors.New("expected a number or a name, found an empty one")
	}

	return Labels(key, names...), nil
}
