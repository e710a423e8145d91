package experiment

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/ingest/condition"
	"doubletake/train/holdout"
)

// A recording that does not state a condition does not have the value 0 of it. Here the only recording with a flap of 0
// is held out, so that nothing is trained at 0.
func TestTrainsOnWithoutCondition(t *testing.T) {
	e := &Experiment{Campaign: Campaign{Known: condition.Rows{
		{Numbers: map[string]float64{"u": 20, "flap": 0}},
		{Numbers: map[string]float64{"u": 10, "flap": 5}},
		{Numbers: map[string]float64{"u": 10}},
	}}}
	test := holdout.Values("u", 20)
	assert.False(t, e.trainsOn(test, "flap", 0))
	assert.True(t, e.trainsOn(test, "flap", 5))
}
