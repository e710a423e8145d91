// Package report renders what the experiments found: the paper's tables for a
// terminal, as Markdown and as LaTeX, and metrics.json for programs.
//
// It takes plain values and computes nothing but differences and roundings; it
// returns bytes or writes to a writer it is given, and neither touches files
// nor knows where its numbers come from. The same values give the same bytes.
package report

import (
	"math"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// SetMetrics are the metrics of the train or the test part of a split, uniform
// means over its outcomes.
type SetMetrics struct {
	score.Values
	Outcomes               []OutcomeMetrics // the same per outcome, in order
	Rows, Conditions, Runs int              // triplets, distinct conditions, runs
	Notes                  []string         // what limits the trust in these numbers, in words
}

// OutcomeMetrics are the metrics of one outcome.
type OutcomeMetrics struct {
	Name, Unit string // Unit is that of the outcome itself; the metrics are in standardised units
	score.Values
}

// Split is what one train/test rule gave.
type Split struct {
	Name      string
	HeldOut   string // the test part in words: "blades = 2"
	Reach     string // whether that is within the training conditions: "interpolation in blades"; "" when not known
	Seeds     int
	MCSamples int    // Monte-Carlo samples of E|cov| per input
	Sampler   string // "antithetic" or "plain"
	CovMethod string // how C was computed: "exact", "cubature", …
	Kernels   string // the set of numeric kernels that ran
	Train     SetMetrics
	Test      SetMetrics
	Methods   []Compared           // scores of methods on the test part; empty when none were compared
	Ranking   []Ranked             // those of them that were trained, best first; not part of metrics.json
	Flags     []Violation          // identities of the theory that the models violate
	Network   []score.OutcomeTrust // what the network claims on the test part, by outcome; means over seeds
	Rivals    []score.OutcomeTrust // of another program's predictions on the test part, named with their outcomes
	Honest    *interval.Result     // the calibration on left-out groups; nil where none was asked for
}

// Experiment is the report's data of one entry of pipeline.yaml.
type Experiment struct {
	Name         string
	Data         string // "simulated" or "measured"
	Pairs        string // "same-run", "repeat-run" or "synthetic"
	Construction string // "split-half-spectrum", "random-samples", …
	PairsFrom    string // how y1 and y2 come about: "y1 and y2 are …"; empty: not known
	Couples      bool   // y2 is y1, one draw used twice
	Inputs       []string
	Outcomes     []string
	OutcomeUnits []string // one for each outcome, "" when it has none; or nil
	Splits       []Split
	Suspects     []string // files, runs and channels that warnings accuse, with what in a few words
	Warnings     []string
	Widening     int      // how many of the first warnings are of mistakes that widen intervals
	Skipped      []string // recordings left out, with the reason
	Final        []string // models trained on everything, and what judges them
	Between      []string // shares of the variance between the occasions that repeats are paired across

	Recordings, Runs, Triplets int
	ConfigDigest, Version      string // provenance: of the configuration, of the program
}

// difference returns (test − train)/train in percent of the means, and why it
// is undefined.
func difference(train, test score.Value) (pct float64, undefined string) {
	switch {
	case !train.Defined():
		return math.NaN(), "train: " + train.Reason()
	case !test.Defined():
		return math.NaN(), "test: " + test.Reason()
	case train.Mean <= 0:
		return math.NaN(), "the train mean is not positive"
	}

	pct = 100 * (test.Mean - train.Mean) / train.Mean
	if math.IsInf(pct, 0) || math.IsNaN(pct) {
		return math.NaN(), "not a finite number"
	}

	return pct, ""
}
