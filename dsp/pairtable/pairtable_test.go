package pairtable

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/ingest/derive"
	"doubletake/ingest/table"
)

// All runs of a file have the outcomes of the first one.
func TestCheckOutcomes(t *testing.T) {
	f := &Table{}
	require.NoError(t, f.checkOutcomes(&dsp.Pairs{Outcomes: []dsp.Outcome{{Name: "a"}, {Name: "b"}}}))
	assert.ErrorContains(t, f.checkOutcomes(&dsp.Pairs{Outcomes: []dsp.Outcome{{Name: "a"}}}),
		"expected the outcomes of the file's other runs, a, b, found a")
}

// A derived outcome needs no conditions: here it is twice an outcome, of a recording without any.
func TestDerivedWithoutConditions(t *testing.T) {
	definitions := []derive.Definition{{Name: "twice", Text: "2*lift"}}
	set, err := derive.New(definitions, nil, nil, nil, []string{"lift"})
	require.NoError(t, err)

	f := &Table{Triplets: &table.Table{}, Derive: set, Cells: func(*table.Table, string, ingest.Recording) {}}
	pairs := &dsp.Pairs{
		Outcomes: []dsp.Outcome{{Name: "lift"}},
		Rows:     []dsp.Row{{Values: []dsp.Value{{Y: [2]float64{3, 4}}}}},
	}
	require.NoError(t, f.Add(pairs, "r1", []ingest.Recording{{ID: "r1"}}))
	assert.Equal(t, []float64{6}, f.Triplets.Column("twice_1").Floats)
	assert.Equal(t, []float64{8}, f.Triplets.Column("twice_2").Floats)
}
