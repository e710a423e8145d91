package report

import (
	"bytes"
	"iter"
	"math"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// MetricsCSV returns every number of metrics.json, one a line, after a line of
// headings; undefined numbers are empty with the reason in the last column, and
// floats read back to the same bits.
func MetricsCSV(experiments []Experiment) []byte {
	var records []numbers.Object
	for _, e := range experiments {
		for n := range e.Numbers() {
			mean, std := n.Mean, n.Std
			if !n.Defined() {
				mean, std = math.NaN(), math.NaN()
			}

			records = append(records, numbers.Object{
				"experiment", e.Name, "data", e.Data, "split", n.Split, "held_out", n.HeldOut, "set", n.Set,
				"outcome", n.Outcome, "unit", n.Unit, "metric", n.Key, "mean", mean, "std", std, "seeds", n.N,
				"undefined", n.Reason(),
			})
		}
	}

	var b bytes.Buffer
	if err := CSV(&b, records); err != nil {
		panic("report: write to memory: " + err.Error())
	}

	return b.Bytes()
}

// Number is one metric of a part of a split, over its seeds.
type Number struct {
	Split, HeldOut, Set string
	Outcome, Unit       string // "all" for the mean over outcomes
	score.Keyed
}

// Numbers are all metrics that were computed, also where they are undefined.
func (e Experiment) Numbers() iter.Seq[Number] {
	return func(yield func(Number) bool) {
		for _, s := range e.Splits {
			for i, m := range []SetMetrics{s.Train, s.Test} {
				all := OutcomeMetrics{Name: "all", Values: m.Values}
				for _, o := range append([]OutcomeMetrics{all}, m.Outcomes...) {
					for _, v := range o.Values {
						n := Number{
							Split: s.Name, HeldOut: s.HeldOut, Set: []string{"train", "test"}[i], Outcome: o.Name, Unit: o.Unit, Keyed: v,
						}
						if !yield(n) {
							return
						}
					}
				}
			}
		}
	}
}
