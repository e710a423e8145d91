package kv_test

import (
	"fmt"
	"testing"

	"doubletake/internal/kv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ExampleParse reads conditions of a command line. The value between slashes contains a comma.
func ExampleParse() {
	list, err := kv.Parse("blades=3, run=/^a{1,2}/,rpm=2000:9000:500")
	for _, p := range list {
		fmt.Println(p.Key, p.Value)
	}
	fmt.Println(err)
	// Output:
	// blades 3
	// run /^a{1,2}/
	// rpm 2000:9000:500
	// <nil>
}

// Spaces around names and values do not count, values may be empty, and an unclosed slash is part of a value.
func TestParse(t *testing.T) {
	for text, want := range map[string][]kv.Pair{
		"":           nil,
		"a= 1 ":      {{Key: "a", Value: "1"}},
		"a=,b=x=y":   {{Key: "a"}, {Key: "b", Value: "x=y"}},
		"a=/x":       {{Key: "a", Value: "/x"}},
		"a=/,b=/,c=": {{Key: "a", Value: "/,b=/"}, {Key: "c"}},
	} {
		got, err := kv.Parse(text)
		require.NoError(t, err, "%q", text)
		assert.Equal(t, want, got, "%q", text)
	}
}

// The error quotes the term that is not a name with a value.
func TestParseRefused(t *testing.T) {
	for text, found := range map[string]string{
		"blades":    `"blades"`,
		"blades=3,": `""`,
		"=3":        `"=3"`,
		"a=1,b,c=2": `"b"`,
		",a=1":      `""`,
	} {
		_, err := kv.Parse(text)
		assert.EqualError(t, err, "expected name=value, found "+found, "%q", text)
	}
}

// anyName takes every name for a condition.
func anyName(string) error { return nil }

// A grid includes its end, also if the steps are decimal fractions: 3·0.1 in binary is 0.30000000000000004, and -0 is
// 0.
func TestAxes(t *testing.T) {
	axes, err := kv.Axes("b=2:5:1, a=-0:0.5:0.1,c=-1e2", anyName)
	require.NoError(t, err)
	assert.Equal(t, []kv.Axis{
		{Name: "b", Values: []float64{2, 3, 4, 5}},
		{Name: "a", Values: []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5}},
		{Name: "c", Values: []float64{-100}},
	}, axes)
}

// Each message names what is wrong with the grid.
func TestAxesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"b=5:2:1": "from ≤ to", "b=1:2:0": "step above zero", "b=1:2": "from:to:step", "b=0:1:1e-9": "more than",
		"b=1,b=2": "twice", "a=0:1000:1,b=0:1000:0.5": "more than", "a=one": "expected a number", "a=NaN": "a number",
		"a=": "a number", "a": "name=value",
	} {
		_, err := kv.Axes(text, anyName)
		assert.ErrorContains(t, err, want, "%q", text)
	}
}

// The last list varies fastest.
func TestPoints(t *testing.T) {
	want := [][]float64{{1, 3, 4}, {1, 3, 5}, {2, 3, 4}, {2, 3, 5}}
	assert.Equal(t, want, kv.Points([]float64{1, 2}, []float64{3}, []float64{4, 5}))
}

// Axes returns a grid of at most MaxPoints points, or an error, for any text.
func FuzzAxes(f *testing.F) {
	for _, s := range []string{"b=0:4:1", "a=1:2:0.25,b=3", "=", "a=1e308:1e309:1", "a=:,;"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		axes, err := kv.Axes(s, anyName)
		if err != nil {
			return
		}

		points := 1
		for _, axis := range axes {
			points *= len(axis.Values)
		}

		assert.Positive(t, points, "%q", s)
		assert.LessOrEqual(t, points, kv.MaxPoints, "%q", s)
	})
}
