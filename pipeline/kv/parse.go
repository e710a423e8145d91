package kv

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Parse reads what a command line says of several names: "blades=3,rpm=5000". A value between slashes may hold
// commas. No name may occur twice.
func Parse(text string) (list []Pair, err error) {
	seen := map[string]bool{}
	for more := text != ""; more; {
		key, value, ok := strings.Cut(text, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" || strings.Contains(key, ",") {
			term, _, _ := strings.Cut(text, ",")
			return nil, fmt.Errorf("expected name=value, found %q", term)
		}

		if seen[key] {
			return nil, fmt.Errorf("%s occurs twice", key)
		}

		end := 0
		if strings.HasPrefix(value, "/") {
			end = strings.Index(value[1:], "/") + 1
		}

		rest := ""
		before := value[:end]
		value, rest, more = strings.Cut(value[end:], ",")
		list, text, seen[key] = append(list, Pair{key, strings.TrimSpace(before + value)}), rest, true
	}

	return list, nil
}

// Number reads a finite number.
func Number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("expected a number, found %q", s)
	}

	return v + 0, nil // −0 is 0
}

// Axis is a condition with its values.
type Axis struct {
	Name   string
	Values []float64
}

// MaxPoints bounds the conditions that axes span.
const MaxPoints = 1_000_000

// Axes reads "blades=3,rpm=2000:9000:500": conditions with a value, or from:to:step (to included where a step meets
// it). known returns an error for names that are no conditions.
func Axes(text string, known func(name string) error) (axes []Axis, err error) {
	terms, err := Parse(text)
	if err != nil {
		return nil, err
	}

	points := 1
	for _, t := range terms {
		if err := known(t.Key); err != nil {
			return nil, err
		}

		a := Axis{Name: t.Key}
		var v []float64
		for p := range strings.SplitSeq(t.Value, ":") {
			x, err := Number(p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.Key, err)
			}
			v = append(v, x)
		}

		switch {
		case len(v) == 1:
			a.Values = v
		case len(v) == 3 && v[2] > 0 && v[0] <= v[1]:
			n := math.Floor((v[1]-v[0])/v[2]*(1+1e-12) + 1e-9)
			if n >= MaxPoints {
				return nil, fmt.Errorf("%s=%s has more than %d values", t.Key, t.Value, MaxPoints)
			}

			for k := range int(n) + 1 {
				a.Values = append(a.Values, rounded(v[0]+float64(k)*v[2]))
			}

		default:
			return nil, fmt.Errorf("%s: expected a value or from:to:step with from ≤ to and a step above zero, found %q",
				t.Key, t.Value)
		}

		if points *= len(a.Values); points > MaxPoints {
			return nil, fmt.Errorf("the grid has more than %d points", MaxPoints)
		}

		axes = append(axes, a)
	}

	return axes, nil
}

// rounded is a value without the last digits of a sum of decimal steps: 0.4 + 4·0.2 is 1.2.
func rounded(v float64) float64 {
	if r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 14, 64), 64); err == nil {
		return r
	}
	return v
}

// Points are all combinations of a value of each list, those of the last list next to each other.
func Points(lists ...[]float64) [][]float64 {
	points := [][]float64{nil}
	for _, l := range lists {
		var next [][]float64
		for _, p := range points {
			for _, v := range l {
				next = append(next, append(p[:len(p):len(p)], v))
			}
		}

		points = next
	}

	return points
}
