package kv

import (
	"fmt"
	"math"
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
		value, text, more = cutValue(strings.TrimLeft(rest, " "))
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
