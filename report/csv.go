package report

import (
	"bytes"
	"encoding/csv"
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
		for _, s := range e.Splits {
			for _, set := range []struct {
				name string
				m    *SetMetrics
			}{{"train", &s.Train}, {"test", &s.Test}} {
				row := func(outcome, unit, key string, v score.Value) {
					number := func(x float64) string {
						if !v.Defined() || x != x {
							return ""
						}
						return strconv.FormatFloat(x, 'g', -1, 64)
					}
					put(e.Name, e.Data, s.Name, s.HeldOut, set.name, outcome, unit, key, number(v.Mean), number(v.Std),
						strconv.Itoa(v.N), v.Reason())
				}
				for _, metric := range score.MetricsOf(score.Parts) {
					row("all", "", metric.Key, set.m.Get(metric.Key))
				}
				for _, o := range set.m.Outcomes {
					for _, metric := range score.MetricsOf(score.Parts) {
						row(o.Name, o.Unit, metric.Key, o.Get(metric.Key))
					}
				}
			}
		}
	}
	w.Flush()
	return b.Bytes()
}
