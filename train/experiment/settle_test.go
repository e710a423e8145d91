package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"doubletake/ingest/condition"
	"doubletake/train/holdout"
)

// The splits of an experiment are expanded to one for each measured value. An asked split is added if the experiment
// has its condition. Without inputs the splits stay as they are.
func TestSettle(t *testing.T) {
	rows := condition.Rows{{Numbers: map[string]float64{"rpm": 2000}}, {Numbers: map[string]float64{"rpm": 1000}}}
	campaign := Campaign{Conditions: []string{"rpm"}, Source: KnownRows(rows)}
	splits := []Split{{Name: "rpm=each", Each: []string{"rpm"}}}
	asked := []Split{{Name: "u", Test: holdout.Values("u", 3)}, {Name: "fast", Test: holdout.Range("rpm", 1500, 9000)}}

	e := &Experiment{Inputs: []string{"rpm"}, Splits: splits, Campaign: campaign}
	fits, err := e.Settle(asked, nil)
	require.NoError(t, err)
	assert.Equal(t, []bool{false, true}, fits)

	var names []string
	for _, split := range e.Splits {
		names = append(names, split.Name)
	}

	assert.Equal(t, []string{"rpm=1000", "rpm=2000", "fast"}, names)

	e = &Experiment{Splits: splits, Campaign: campaign}
	fits, err = e.Settle(asked, nil)
	require.NoError(t, err)
	assert.Equal(t, []bool{false, false}, fits)
	assert.Equal(t, splits, e.Splits)
}
