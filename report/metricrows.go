package report

import (
	"bytes"
	"iter"
	"math"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// MetricsCSV returns every metric of an experiment, one on each line, after a line of
// headings. Undefined numbers are empty, with the reason in the last column. Floats read
// back to the same bits.
func MetricsCSV(experiments []Experiment) ([]byte, error) {
	var records []numbers.Object
	for _, experiment := range experiments {
		for metric := range experiment.Numbers() {
			mean := metric.Mean
			std := metric.Std
			if !metric.Defined() {
				mean = math.NaN() // CSV writes NaN as an empty cell
				std = math.NaN()
			}

			records = append(records, numbers.Object{
				"experiment", experiment.Name, "data", experiment.Data, "split", metric.Split, "held_out", metric.HeldOut,
				"set", metric.Set, "outcome", metric.Outcome, "unit", metric.Unit, "metric", metric.Key, "mean", mean,
				"std", std, "seeds", metric.N, "undefined", metric.Reason(),
			})
		}
	}

	var b bytes.Buffer
	if err := CSV(&b, records); err != nil {
		return nil, err
	}

	return b.Bytes(), nil
}

// Number is one metric of a part of a split, over its seeds.
type Number struct {
	Split, HeldOut string // name and held-out part of the split
	Set            string // "train" or "test"
	Outcome        string // "all" for the mean over outcomes
	Unit           string // of the outcome; "" for the mean over outcomes
	score.Keyed           // the key of the metric, and its value
}

// Numbers yields all metrics that were computed, including undefined metrics.
func (e Experiment) Numbers() iter.Seq[Number] {
	return func(yield func(Number) bool) {
		for _, split := range e.Splits {
			if !split.yieldSet("train", split.Train, yield) || !split.yieldSet("test", split.Test, yield) {
				return
			}
		}
	}
}

// yieldSet yields the metrics of a part of the split, first of all outcomes together, then of each outcome. It reports
// whether the loop over Numbers goes on.
func (s Split) yieldSet(name string, set SetMetrics, yield func(Number) bool) bool {
	all := OutcomeMetrics{Name: "all", Values: set.Values}
	for _, outcome := range append([]OutcomeMetrics{all}, set.Outcomes...) {
		for _, value := range outcome.Values {
			metric := Number{
				Split: s.Name, HeldOut: s.HeldOut, Set: name, Outcome: outcome.Name, Unit: outcome.Unit, Keyed: value,
			}
			if !yield(metric) {
				return false
			}
		}
	}

	return true
}
