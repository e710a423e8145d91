package suggest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A change costs what the user sets: the stated speed and diameter, from which the tip speed of the model is computed.
// Expected totals by hand: 60 for the diameter, 1 for a speed, 2 for each measurement.
func TestCostsOfSources(t *testing.T) {
	costs := Costs{Change: []float64{1, 60, 0}, Repeat: 2} // rpm, diameter_m and the computed tip speed
	slowSmall := Step{Suggestion: Suggestion{Candidate: Candidate{Stated: []float64{2000, 0.3}, At: []float64{31.4}}}}
	fastSmall := Step{Suggestion: Suggestion{Candidate: Candidate{Stated: []float64{3000, 0.3}, At: []float64{47.1}}}}
	fastLarge := Step{Suggestion: Suggestion{Candidate: Candidate{Stated: []float64{3000, 0.45}, At: []float64{70.7}}}}

	assert.InDelta(t, 63, costs.total([]Step{slowSmall}), 1e-9, "both are set for the first measurement")
	assert.InDelta(t, 65, costs.total([]Step{slowSmall, slowSmall}), 1e-9, "a repeat changes nothing")
	assert.InDelta(t, 66, costs.total([]Step{slowSmall, fastSmall}), 1e-9, "another speed")
	assert.InDelta(t, 125, costs.total([]Step{fastSmall, fastLarge}), 1e-9, "another diameter at the same speed")
}
