package stages

import (
	"strconv"

	"doubletake/ingest/setting"
	"doubletake/pipeline/stages/plan"
	"doubletake/train"
	"doubletake/train/card"
	"doubletake/train/triplets"
)

// newCard describes a model that was trained on the training part of set. pairs is the kind of the set's pairs.
func newCard(exp plan.Experiment, pairs string, set triplets.Set, tr training, configDigest string,
	est *train.Estimates,
) card.Card {
	c := card.Card{
		Format: card.Format, Version: card.Version, Program: "doubletake " + exp.Program.Version, Experiment: exp.Family(),
		Data: exp.Ingest.Data, Pairs: pairs,
		Split: tr.split.Name, HeldOut: tr.split.Test.String(), Seed: tr.number, Config: configDigest,
		Estimate: card.Estimate{Seed: estimateSeed(exp, tr.number)},
	}

	if tr.split.Final() {
		c.Record = settingsOf(exp).Record()
	}

	c.Describe(set, est, scatter(exp))

	return c
}

// scatter returns a function that returns how far values of an input may lie from the middle of a set point, and 0 if
// the input has no set points.
func scatter(exp plan.Experiment) func(input string, point float64) float64 {
	tolerances := setting.Tolerances(exp.Ingest.Tolerances)
	return func(input string, point float64) float64 { return tolerances[input].At(point) }
}

// estimateSeed returns the seed with which the covariance of the k-th network is sampled.
func estimateSeed(exp plan.Experiment, k int) uint64 {
	return plan.SeedOf(exp.Train.Seed, "estimate", strconv.Itoa(k))
}
