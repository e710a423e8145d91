package stages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/table/tabletest"
	"doubletake/train"
	"doubletake/train/card"
	"doubletake/train/triplets"
)

// The card describes the training part, with the ranges and values of inputs and the conditions in the order of their
// numbers, and states the rule that holds rows out. The expected values were read off the table by hand.
func TestCard(t *testing.T) {
	tab := tabletest.MustParse(t, rotor)
	b := newStageTest(t, "{inputs: [rpm, blades], seed: 7, splits: {s: {test: {blades: 3}}}}", tab)
	set, err := dividerOf(b.Experiment).Triplets(tab, nil)
	require.NoError(t, err)

	split := b.Train.Splits[0]
	set, err = dividerOf(b.Experiment).Divide(set, tab, split)
	require.NoError(t, err)

	raw := triplets.Answers{CovRaw: []float64{1, -2, 3, -4, 9, 9}}
	est := &train.Estimates{Out: 1, Answers: raw, Samples: 8, Sampler: "plain"}
	c := newCard(b.Experiment, b.Ing.PairKind, set, training{split: split, number: 1}, "digest", est)
	require.Len(t, c.Inputs, 2)
	rpm := c.Inputs[0]
	assert.Equal(t, "rpm", rpm.Name)
	assert.Equal(t, "1/min", rpm.Unit)
	assert.Equal(t, 1000.0, rpm.Min)
	assert.Equal(t, 5000.0, rpm.Max)
	assert.Equal(t, []float64{1000, 2000, 3000, 5000}, rpm.Values)
	assert.Equal(t, []float64{2, 4}, c.Inputs[1].Values)

	c.Inputs = nil
	assert.Equal(t, card.Card{
		Format: "doubletake-card", Version: 1, Program: "doubletake test", Experiment: "x", Data: "measured",
		Pairs: "same-run", Split: "s", HeldOut: "blades = 3", Seed: 1, Config: "digest", Triplets: 4,
		Outcomes:   []card.Outcome{{Name: "y", Unit: "dB"}},
		Estimate:   card.Estimate{Samples: 8, Sampler: "plain", Seed: 17998474354917059471}, // as in TestSeeds
		Conditions: [][]float64{{1000, 2}, {2000, 2}, {3000, 2}, {5000, 4}},
		AbsCov:     (1.0 + 3 + 4 + 9) / 4, // of the conditions that are not held out
	}, c)
}
