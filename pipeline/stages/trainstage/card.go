package trainstage

import (
	"slices"
	"strconv"

	"doubletake/pipeline/stages/plan"
	"doubletake/train"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

const cardJSON = "card.json"

// CardFormat and CardVersion identify a card.
const (
	CardFormat  = "doubletake-card"
	CardVersion = 1
)

// Card describes a model.json. The file of a network contains only numbers; its card contains the names and units of
// inputs and outcomes, the measured conditions and the conditions that were held out.
type Card struct {
	Format     string    `json:"format"`
	Version    int       `json:"version"`
	Program    string    `json:"program"`
	Experiment string    `json:"experiment"`
	Data       string    `json:"data"`  // "simulated" or "measured"
	Pairs      string    `json:"pairs"` // "same-run", "repeat-run", "synthetic"
	Couples    bool      `json:"couples"`
	Split      string    `json:"split"`
	HeldOut    string    `json:"held_out"`
	Seed       int       `json:"seed"` // number of the training, from 0
	Config     string    `json:"config_digest"`
	Triplets   int       `json:"training_triplets"`
	Inputs     []Input   `json:"inputs"`
	Outcomes   []Outcome `json:"outcomes"`
	Estimate   Estimate  `json:"estimate"`
	// Record names the splits whose held-out values judge the model. It is empty if the model's own split holds something
	// out.
	Record []string `json:"record_of_splits,omitempty"`

	// Conditions are the distinct training conditions as rows of inputs, in the order of their numbers. It is empty if
	// there are more than maxCardConditions.
	Conditions [][]float64 `json:"training_conditions,omitempty"`

	// AbsCov is E|cov| on the training conditions, as metrics.json has it.
	AbsCov float64 `json:"abs_cov,omitempty"`
}

// Bounds of a card's size.
const (
	maxCardConditions = 5000 // largest number of conditions that a card lists
	maxCardValues     = 100  // largest number of values of an input that a card lists
)

// The quantities that a model maps.
type (
	// Input is a condition that the model takes.
	Input = honest.Input

	// Outcome is a quantity that the model predicts.
	Outcome = honest.Outcome
)

// Estimate contains the settings with which the raw covariance of the model's predictions is estimated.
type Estimate struct {
	Samples int    `json:"samples"`
	Sampler string `json:"sampler"`
	Seed    uint64 `json:"seed"`
}

// card describes a model that was trained on the training part of set. pairs is the kind of the set's pairs.
func card(exp plan.Experiment, pairs string, set triplets.Set, tr training, configDigest string,
	est *train.Estimates,
) Card {
	trained := set.Of(triplets.Train)
	c := Card{
		Format: CardFormat, Version: CardVersion, Program: "doubletake " + exp.Program.Version, Experiment: exp.Family(),
		Data: exp.Ingest.Data, Pairs: pairs, Couples: set.Couples,
		Split: tr.split.Name, HeldOut: tr.split.Test.String(), Seed: tr.number, Config: configDigest, Triplets: trained.N,
		Estimate: Estimate{est.Samples, est.Sampler, estimateSeed(exp, tr.number)},
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
		c.Outcomes = append(c.Outcomes, Outcome{Name: q.Name, Unit: q.Unit})
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
