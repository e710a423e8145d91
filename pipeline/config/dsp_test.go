package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Only recordings are paired across an occasion by the section dsp. A table states the occasion in its own section, and
// a simulated table has none.
func TestAcrossOfSectionDSP(t *testing.T) {
	const head = "version: 1\nexperiments:\n  x:\n    ingest: "
	for _, ingest := range []string{"{table: {file: t.csv, repeats: [y]}}", "{simulate: {campaign: toy}}"} {
		_, err := Parse("pipeline.yaml", []byte(head+ingest+"\n    dsp: {across: Day}\n"))
		assert.ErrorContains(t, err, "experiments.x.dsp.across: belongs to triplets: repeats", ingest)
	}

	const recordings = head + "{files: a.wav, conditions: c.csv}\n    dsp: {triplets: repeats, across: Day}\n"
	_, err := Parse("pipeline.yaml", []byte(recordings))
	require.NoError(t, err)
}
