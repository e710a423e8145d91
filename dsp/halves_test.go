package dsp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/fault"
)

// The halves of five samples are the first two and the next two. The expected means were computed by hand.
func TestSplitHalves(t *testing.T) {
	a, b := SplitHalves([][]float64{{1, 2, 3, 4, 100}, {0, 0, 5, 5, 5}})
	require.Equal(t, []float64{1.5, 0}, a, "first half")
	assert.Equal(t, []float64{3.5, 5}, b, "second half")
}

// A run that is too short for the construction is an error about the data: no sample has no mean, and one sample has no
// halves.
func TestTooFewSamples(t *testing.T) {
	s := DefaultSettings()
	for name, samples := range map[string]int{"repeats": 0, "split-halves": 1} {
		c := Configure(Find(name, Balance), &s).(OfSeries)
		_, err := c.Pairs(&Run{Settings: &s}, []Series{{Name: "cl", Values: make([]float64, samples)}})

		var e *fault.Error
		require.ErrorAs(t, err, &e, name)
		assert.Contains(t, e.Want, "at least", name)
	}
}
