package trainstage

import (
	"slices"
	"strconv"

	"doubletake/internal/lists"
	"doubletake/pipeline/config"
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

// Card describes a model.json: the network's file holds numbers only, its card
// the names and units of inputs and outcomes, the measured conditions, and those
// held out.
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
	// Record names the splits whose held-out values judge the model, where nothing
	// was held out of its own training.
	Record []string `json:"record_of_splits,omitempty"`

	// Conditions are the distinct training conditions, rows of inputs, in order
	// of first appearance; none where there are more than maxCardConditions.
	Conditions [][]float64 `json:"training_conditions,omitempty"`

	// AbsCov is E|cov| on the training conditions, as metrics.json has it; 0 in cards of earlier versions.
	AbsCov float64 `json:"abs_cov,omitempty"`
}

// maxCardConditions bounds a card's size.
const maxCardConditions = 5000

// Input and Outcome are the quantities that a model maps.
type (
	Input   = honest.Input
	Outcome = honest.Outcome
)

// Estimate are the settings of the raw covariance of the model's predictions.
type Estimate struct {
	Samples int    `json:"samples"`
	Sampler string `json:"sampler"`
	Seed    uint64 `json:"seed"`
}

// card describes the model trained on the training part of s, of pairs of that kind.
func card(exp plan.Experiment, pairs string, s triplets.Set, split config.Split, k int, configDigest string,
	est *train.Estimates,
) Card {
	trained := s.Of(triplets.Train)
	c := Card{
		Format: CardFormat, Version: CardVersion, Program: "doubletake " + exp.Program.Version, Experiment: exp.Family(),
		Data: exp.Ingest.Data, Pairs: pairs, Couples: s.Couples,
		Split: split.Name, HeldOut: split.Test.String(), Seed: k, Config: configDigest, Triplets: trained.N,
		Estimate: Estimate{est.Samples, est.Sampler, estimateSeed(exp, k)},
	}

	if split.Final() {
		c.Record = record(exp)
	}

	c.Inputs = honest.Inputs(s, scatter(exp))
	for j := range c.Inputs {
		if v := trained.Values(j); len(v) <= 100 {
			c.Inputs[j].Values = v
		}
	}

	c.Outcomes = lists.Each(s.Outcomes, func(q triplets.Quantity) Outcome { return Outcome{Name: q.Name, Unit: q.Unit} })
	present := slices.Sorted(slices.Values(trained.Present()))
	for _, i := range present {
		if len(present) <= maxCardConditions {
			c.Conditions = append(c.Conditions, slices.Clone(s.At(i)))
		}

		c.AbsCov += est.AbsCov(i) / float64(len(present))
	}

	return c
}

// record names the splits that judge a final model.
func record(exp plan.Experiment) []string {
	judges := lists.Keep(exp.Train.Splits, func(s config.Split) bool { return !s.Final() })
	return lists.Each(judges, func(s config.Split) string { return s.Name })
}

// scatter tells how far values of an input may lie from the middle of a set point; 0 of one without.
func scatter(exp plan.Experiment) func(input string, point float64) float64 {
	within := plan.Tolerances(exp.Ingest.Within)
	return func(input string, point float64) float64 { return within[input].At(point) }
}

func estimateSeed(exp plan.Experiment, k int) uint64 {
	return plan.SeedOf(exp.Train.Seed, "estimate", strconv.Itoa(k))
}
