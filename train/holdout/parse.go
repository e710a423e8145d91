package holdout

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds is how a configuration writes a range, {min, max}, or a value with a
// tolerance, {near, within}.
type Bounds struct {
	Min    *float64 `key:"min"`
	Max    *float64 `key:"max"`
	Near   *float64 `key:"near"`
	Within *float64 `key:"within"`
}

// Of returns the holdout of a condition. Its error belongs to the key, "" for the whole.
func (b Bounds) Of(condition string) (h Holdout, key string, err error) {
	ranged, near := b.Min != nil || b.Max != nil, b.Near != nil && b.Within != nil
	switch {
	case ranged && (b.Near != nil || b.Within != nil), !ranged && !near:
		return nil, "", fmt.Errorf("expected {min, max} or {near, within}")
	case near && !(*b.Within >= 0):
		return nil, "within", fmt.Errorf("expected 0 or more, found %g", *b.Within)
	case near:
		return Near(condition, *b.Near, *b.Within), "", nil
	}

	lo, hi := math.Inf(-1), math.Inf(1)
	if b.Min != nil {
		lo = *b.Min
	}

	if b.Max != nil {
		hi = *b.Max
	}

	if lo > hi {
		return nil, "", fmt.Errorf("expected min ≤ max, found %g > %g", lo, hi)
	}

	return Range(condition, lo, hi), "", nil
}

// Parse reads what a command line holds out: "blades=3", "blades=2,3", "rpm=3000:5000" (a
// range), "propeller=APC-8x6" (a name), several joined with ";" or "&".
func Parse(text string) (Holdout, error) {
	var parts []Holdout
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == ';' || c == '&' }) {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
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

func parse(condition, text string) (Holdout, error) {
	number := func(s string) (float64, error) { return strconv.ParseFloat(strings.TrimSpace(s), 64) }
	if lo, hi, ok := strings.Cut(text, ":"); ok {
		a, err1 := number(lo)

		b, err2 := number(hi)
		if (err1 == nil || err2 == nil) && (err1 != nil || err2 != nil || a > b) {
			return nil, fmt.Errorf("expected a range from:to of numbers, found %q", text)
		}

		if err1 == nil {
			return Range(condition, a, b), nil
		}
	}

	var values []float64

	names := strings.Split(text, ",")
	for i, v := range names {
		names[i] = strings.TrimSpace(v)
		if x, err := number(v); err == nil {
			values = append(values, x)
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

// Of returns the holdout that a configuration or a command line writes as a key with values.
func Of(key string, values ...float64) (Holdout, error) {
	switch {
	case key == Random:
		return newRandom(values)
	case len(values) == 0:
		return nil, errors.New("expected at least one value, found an empty list")
	}

	return Values(key, values...), nil
}

// OfLabels is Of with names.
func OfLabels(key string, names ...string) (Holdout, error) {
	switch {
	case key == Random:
		return nil, fmt.Errorf("expected one share of the conditions, above 0 and below 1, found %q", names)
	case slices.Contains(names, ""):
		return nil, errors.New("expected a number or a name, found an empty one")
	}

	return Labels(key, names...), nil
}
