// Package report renders the results of experiments: the paper's tables for a
// terminal, as Markdown and as LaTeX, and the numbers as JSON for programs.
//
// The package takes plain values. It returns bytes or writes to a writer. It writes no
// files, and reads only the numbers of an earlier report (ReadMetrics). It computes
// nothing but differences, ranges and roundings, and what its figures show: means,
// medians and errors (RMSE). The same values give the same bytes.
//
// An Experiment has the numbers of the tables, and a Detail also the data of the
// figures. Terminal, Markdown, LaTeX, MetricsJSON and Page write them.
package report

import (
	"math"

	"doubletake/train/honest/interval"
	"doubletake/train/score"
)

// SetMetrics are the metrics of the training or the test part of a split.
type SetMetrics struct {
	score.Values                            // means over the outcomes, each with the same weight
	Outcomes               []OutcomeMetrics // the same metrics for each outcome
	Rows, Conditions, Runs int              // numbers of triplets, distinct conditions and runs
	Notes                  []string         // limits of the trust in these numbers, in words
}

// OutcomeMetrics are the metrics of one outcome.
type OutcomeMetrics struct {
	Name, Unit string // Unit is the unit of the outcome; the metrics are in standardised units
	score.Values
}

// Split is the result of one train/test rule.
type Split struct {
	Name      string
	HeldOut   string // the test part in words: "blades = 2"
	Reach     string // whether the test part is within the training conditions: "interpolation in blades"; "" if unknown
	Seeds     int    // number of trained networks
	MCSamples int    // Monte-Carlo samples of E|cov| per input
	Sampler   string // "antithetic" or "plain"
	CovMethod string // how C was computed: "exact", "cubature", …
	Kernels   string // the numeric kernels that ran, such as "avx2"
	Train     SetMetrics
	Test      SetMetrics
	Methods   []Compared           // scores of methods on the test part; empty if none were compared
	Ranking   []Ranked             // the methods that were trained, the best first; MetricsJSON does not have them
	Flags     []Violation          // identities of the theory that the models violate
	Network   []score.OutcomeTrust // trust in the network on the test part, by outcome; means over seeds
	Rivals    []score.OutcomeTrust // trust in another program's predictions on the test part, for comparison
	Honest    *interval.Result     // the calibration on left-out groups; nil if none was asked for
	Held      []HeldOutcome        // upper bounds and plain predictions on the test part, by outcome; nil if unknown
}

// isCalibrated reports whether the split has a calibration, and the calibration's record on the held-out part. If it
// does not, the network's predictions are the ones that are judged and drawn.
func (s Split) isCalibrated() bool {
	return s.Honest != nil && s.Honest.Absent == "" && s.Honest.Record != nil
}

// Experiment is the report's data of one entry of pipeline.yaml.
type Experiment struct {
	Name         string
	Data         string // "simulated" or "measured"
	Pairs        string // "same-run", "repeat-run" or "synthetic"
	Construction string // "split-half-spectrum", "random-samples", …
	PairsFrom    string // how y1 and y2 come about: "y1 and y2 are …"; "" if unknown
	Couples      bool   // y2 is y1: one draw is used twice
	Inputs       []string
	Outcomes     []string
	OutcomeUnits []string // the unit of each outcome, "" if it has none; or nil if no units are known
	Splits       []Split
	Suspects     []string // files, runs and channels that warnings are about, with the reason in a few words
	Warnings     []string // sentences; the first Widening are about mistakes that widen intervals
	Widening     int
	Skipped      []string // recordings that were left out, with the reason
	Final        []string // remarks on the models that were trained on everything
	Between      []string // remarks on the variance between occasions, if repeats are paired across occasions

	Recordings, Runs, Triplets int    // numbers of the data
	ConfigDigest, Version      string // SHA-256 of the configuration, and version of the program
}

// percentChange returns the difference (test − train)/train of the means, in percent. If
// the difference is undefined, percentChange returns NaN and the reason, and otherwise "".
func percentChange(train, test score.Value) (pct float64, reason string) {
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
