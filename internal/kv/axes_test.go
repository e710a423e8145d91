package kv_test

import (
	"testing"

	"doubletake/internal/kv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

// A grid across zero contains zero, and its values are the decimal numbers that a person counts.
func TestAxesAcrossZero(t *testing.T) {
	axes, err := kv.Axes("a=-0.3:0.3:0.1,b=-0.6:0.6:0.2,c=-0.7:0.7:0.1,d=-1.2:1.2:0.4,e=-3e-9:3e-9:1e-9", anyName)
	require.NoError(t, err)
	assert.Equal(t, []kv.Axis{
		{Name: "a", Values: []float64{-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3}},
		{Name: "b", Values: []float64{-0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6}},
		{Name: "c", Values: []float64{-0.7, -0.6, -0.5, -0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}},
		{Name: "d", Values: []float64{-1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2}},
		{Name: "e", Values: []float64{-3e-9, -2e-9, -1e-9, 0, 1e-9, 2e-9, 3e-9}},
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
