package pairtable

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
)

// All runs of a file have the outcomes of the first one.
func TestCheckOutcomes(t *testing.T) {
	f := &Table{}
	require.NoError(t, f.checkOutcomes(&dsp.Pairs{Outcomes: []dsp.Outcome{{Name: "a"}, {Name: "b"}}}))
	assert.ErrorContains(t, f.checkOutcomes(&dsp.Pairs{Outcomes: []dsp.Outcome{{Name: "a"}}}),
		"expected the outcomes of the file's other runs, a, b, found a")
}
