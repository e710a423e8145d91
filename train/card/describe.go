package card

import (
	"slices"

	"doubletake/train"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// Bounds of a card's size.
const (
	maxConditions = 5000 // a card with more conditions lists none
	maxValues     = 100  // a card lists no values of an input that has more
)

// Describe describes the data of a network that was trained on the training part of set: its inputs with their ranges,
// its outcomes, its conditions, and E|cov| of the estimates on these conditions. scatter returns how far values of an
// input may lie from the middle of a set point. Describe adds to the card's outcomes and conditions, so it must be
// called only once.
func (c *Card) Describe(set triplets.Set, est *train.Estimates, scatter func(input string, point float64) float64) {
	trained := set.Only(triplets.Train)
	c.Triplets = trained.N
	c.Couples = set.Couples
	c.Estimate.Samples = est.Samples
	c.Estimate.Sampler = est.Sampler

	c.Inputs = honest.Inputs(set, scatter)
	for j := range c.Inputs {
		if values := trained.Values(j); len(values) <= maxValues {
			c.Inputs[j].Values = values
		}
	}

	for _, q := range set.Outcomes {
		c.Outcomes = append(c.Outcomes, Outcome{Name: q.Name, Unit: q.Unit})
	}

	present := slices.Sorted(slices.Values(trained.Present()))
	for _, i := range present {
		if len(present) <= maxConditions {
			c.Conditions = append(c.Conditions, slices.Clone(set.At(i)))
		}

		c.AbsCov += est.AbsCov(i) / float64(len(present))
	}
}
