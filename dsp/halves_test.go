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

// A mean needs one sample, and two halves need two. With fewer samples, the construction returns an error about the
// data.
func TestTooFewSamples(t *testing.T) {
	s := DefaultSettings()
	for _, c := range []struct {
		construction string
		samples      int
		want, found  string
	}{
		{"repeats", 0, "at least 1 sample for a mean", "0"},
		{"repeats", 1, "", ""},
		{"split-halves", 0, "at least 2 samples to make two halves", "0"},
		{"split-halves", 1, "at least 2 samples to make two halves", "1"},
		{"split-halves", 2, "", ""},
	} {
		construction := Configure(Find(c.construction, Balance), &s).(OfSeries)
		pairs, err := construction.Pairs(&Run{Settings: &s}, []Series{{Name: "cl", Values: make([]float64, c.samples)}})
		if c.want == "" {
			require.NoError(t, err, "%+v", c)
			assert.Len(t, pairs.Rows, 1, "%+v", c)
			continue
		}

		var e *fault.Error
		require.ErrorAs(t, err, &e, "%+v", c)
		assert.Equal(t, c.want, e.Want)
		assert.Equal(t, c.found, e.Found)
	}
}
