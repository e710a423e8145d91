package report

import (
	"bytes"
	"encoding/csv"
	"iter"
	"math"
	"strconv"
	"strings"

	"doubletake/train/score"
)

// MetricsCSV returns every number of metrics.json, one a line, after a line of
// headings; undefined numbers are empty with the reason in the last column, and
// floats read back to the same bits.
func MetricsCSV(experiments []Experiment) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	put := func(row ...string) {
		for i, s := range row {
			// A name must not become a formula in a spreadsheet.
			if _, err := strconv.ParseFloat(s, 64); err != nil && s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
				row[i] = "'" + s
			}
		}

		if err := w.Write(row); err != nil {
			panic("report: write to memory: " + err.Error())
		}
	}

	put("experiment", "data", "split", "held_out", "set", "outcome", "unit", "metric", "mean", "std", "seeds", "undefined")

	for _, e := range experiments {
		for n := range e.Numbers() {
			number := func(x float64) string {
				if !n.Defined() || math.IsNaN(x) {
					return ""
				}
				return strconv.FormatFloat(x, 'g', -1, 64)
			}

			put(e.Name, e.Data, n.Split, n.HeldOut, n.Set, n.Outcome, n.Unit, n.Key, number(n.Mean), number(n.Std),
				strconv.Itoa(n.N), n.Reason())
		}
	}

	w.Flush()

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
