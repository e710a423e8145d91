package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"doubletake/train/honest/interval"
	"doubletake/train/honest/scale"
)

// Two splits have priors with different records of rises, and a third has the first prior again. Expected: the words of
// both records, each once.
func TestRisesOfSeveralPriors(t *testing.T) {
	own := scale.BuiltInRises()
	own.Source = "two campaigns"

	var e Experiment
	for _, record := range []scale.Rises{scale.BuiltInRises(), own, scale.BuiltInRises()} {
		calibration := &interval.Calibration{Scale: &scale.Scale{Prior: scale.Prior{Rises: record}}}
		result := &interval.Result{Calibration: calibration, Record: &interval.Record{}}
		e.Splits = append(e.Splits, Split{Honest: result})
	}

	assert.Equal(t, scale.BuiltInRises().Words()+" "+own.Words(), e.risesWords())
}
