package trainstage

import (
	"slices"
	"strconv"

	"doubletake/pipeline/stages/plan"
	"doubletake/train"
	"doubletake/train/card"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// Bounds of a card's size.
const (
	maxCardConditions = 5000 // largest number of conditions that a card lists
	maxCardValues     = 100  // largest number of values of an input that a card lists
)

// newCard describes a model that was trained on the training part of set. pairs is the kind of the set's pairs.
func newCard(exp plan.Experiment, pairs string, set triplets.Set, tr training, configDigest string,
	est *train.Estimates,
) card.Card {
	trained := set.Of(triplets.Train)
	c := card.Card{
		Format: card.Format, Version: card.Version, Program: "doubletake " + exp.Program.Version, Experiment: exp.Family(),
		Data: exp.Ingest.Data, Pairs: pairs, Couples: set.Couples,
		Split: tr.split.Name, HeldOut: tr.split.Test.String(), Seed: tr.number, Config: configDigest, Triplets: trained.N,
		Estimate: card.Estimate{
			Samples: est.Samples, Sampler: est.Sampler, Seed: estimateSeed(exp, tr.number),
		},
	}

	if tr.split.Final() {
		c.Record = record(exp)
	}

	c.Inputs = honest.Inputs(set, scatter(exp))
	for j := range c.Inputs {
		if values := trained.Values(j); len(values) <= maxCardValues {
			c.Inputs[j].Values = values
		}
	}

	for _, q := range set.Outcomes {
		c.Outcomes = append(c.Outcomes, card.Outcome{Name: q.Name, Unit: q.Unit})
	}

	present := slices.Sorted(slices.Values(trained.Present()))
	for _, i := range present {
		if len(present) <= maxCardConditions {
			c.Conditions = append(c.Conditions, slices.Clone(set.At(i)))
		}

		c.AbsCov += est.AbsCov(i) / float64(len(present))
	}

	return c
}

// record names the splits that judge a final model.
func record(exp plan.Experiment) (names []string) {
	for _, split := range exp.Train.Splits {
		if !split.Final() {
			names = append(names, split.Name)
		}
	}

	return names
}

// scatter returns a function that returns how far values of an input may lie from the middle of a set point, and 0 if
// the input has no set points.
func scatter(exp plan.Experiment) func(input string, point float64) float64 {
	tolerances := plan.Tolerances(exp.Ingest.Tolerances)
	return func(input string, point float64) float64 { return tolerances[input].At(point) }
}

// estimateSeed returns the seed with which the covariance of the k-th network is sampled.
func estimateSeed(exp plan.Experiment, k int) uint64 {
	return plan.SeedOf(exp.Train.Seed, "estimate", strconv.Itoa(k))
}
