package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
	"doubletake/pipeline/runs"
	"doubletake/report"
	"doubletake/train/score"
)

func runDiff(c *call) error {
	return c.difference(fault.Get(runs.Diff(c.arg(0), c.arg(1))))
}

// difference prints what two runs differ in.
func (c *call) difference(d *runs.Difference) error {
	if c.Bool("json") {
		return printJSON(c.stdout, d)
	}

	return printDiff(c.stdout, d, c.Bool("all"))
}

// fewSettings and fewNumbers are the lines of a diff without --all.
const fewSettings, fewNumbers = 6, 10

// printDiff writes the settings that differ, each once with the places that have
// it, and the numbers of held-out sets, those first that changed most for their
// spread over the seeds. With all it writes every place and every number.
func printDiff(w io.Writer, d *runs.Difference, all bool) error {
	switch {
	case d.Unknown:
		fmt.Fprintln(w, "the settings of one of the two are not known")
	case len(d.Settings) == 0:
		fmt.Fprintln(w, "no setting differs")
	}

	var settings, below []string
	list := d.Metrics
	if all {
		for i := range d.Settings {
			settings = append(settings, groupChanges(d.Settings[i:i+1])...)
		}
	} else {
		settings = groupChanges(d.Settings)
		if n := len(settings) - fewSettings; n > 1 {
			settings = append(settings[:fewSettings], fmt.Sprintf("and %d settings that differ; --all lists them", n))
		}

		list = changed(d.Metrics)
		held := lists.Keep(d.Metrics, func(m runs.MetricChange) bool { return m.Set == "test" })
		if same := len(held) - len(list); same > 0 {
			below = append(below, fmt.Sprintf("numbers of held-out sets that are the same: %d", same))
		}

		if n := len(list) - fewNumbers; n > 1 {
			list = list[:fewNumbers]
			below = slices.Insert(below, 0, fmt.Sprintf("and %d numbers that changed less; --all lists them", n))
		}
	}

	for _, l := range settings {
		fmt.Fprintln(w, l)
	}

	if len(list) > 0 {
		l := report.Listing{Heads: []string{"experiment", "split", "set", "number", "A", "B", ""}}
		for _, m := range list {
			l.Add(m.Experiment, m.Split, m.Set, nameOf(m.MetricKey), valueText(m.MetricKey, m.A),
				valueText(m.MetricKey, m.B), m.Verdict)
		}

		fmt.Fprintln(w)
		if err := l.Write(w, width(w)); err != nil {
			return err
		}
	}

	for _, l := range below {
		fmt.Fprintln(w, l)
	}

	return nil
}

// changed lists the numbers of held-out sets that differ as people read them, those first that changed most.
func changed(list []runs.MetricChange) []runs.MetricChange {
	out := slices.DeleteFunc(slices.Clone(list), func(m runs.MetricChange) bool {
		return m.Set != "test" || valueText(m.MetricKey, m.A) == valueText(m.MetricKey, m.B)
	})
	slices.SortStableFunc(out, func(a, b runs.MetricChange) int { return cmp.Compare(change(b), change(a)) })

	return out
}

// groupChanges writes each change once, with the places that have it.
func groupChanges(list []runs.Change) []string {
	texts := lists.Each(list, func(c runs.Change) string {
		return fmt.Sprintf("%s: %s → %s", c.Key, brief(c.A), brief(c.B))
	})

	return lists.Each(lists.Alike(texts), func(at []int) string {
		where, text := list[at[0]].Where, texts[at[0]]
		if where == "" {
			return text
		}

		if n := len(at); n > 1 {
			where += fmt.Sprintf(" and %d more", n-1)
		}

		return where + ": " + text
	})
}

// change is the difference of two means over their standard errors or deviations, or,
// where there are none, over the sum of both. A number that one side lacks comes first.
func change(m runs.MetricChange) float64 {
	by := math.Abs(m.A.Mean - m.B.Mean)
	switch s := math.Hypot(spread(m.A), spread(m.B)); {
	case math.IsNaN(by):
		return math.Inf(1)
	case math.IsNaN(s): // a width, or one seed
		return by / (math.Abs(m.A.Mean) + math.Abs(m.B.Mean) + 1e-12)
	default:
		return by / (s + 1e-12)
	}
}

// spread is the standard error of a number, or else its standard deviation over seeds.
func spread(n runs.Number) float64 {
	if !math.IsNaN(n.SE) {
		return n.SE
	}
	return n.Std
}

// nameOf returns the name of a number for people.
func nameOf(k runs.MetricKey) string {
	name, ok := map[string]string{
		"rmse": "error", "coverage": "inside the interval", "half_width": "interval ±",
	}[k.Metric]
	if !ok {
		name = score.MetricOf(k.Metric).Symbol
	}

	if k.Outcomes != "" {
		name += " of " + k.Outcomes
	}

	if k.Prediction == "network" {
		name += ", network"
	}

	return name
}

// valueText writes a number for people: a share of values in per cent.
func valueText(k runs.MetricKey, n runs.Number) string {
	if k.Metric == "coverage" && !math.IsNaN(n.Mean) {
		return percent(n)
	}
	return amount(n, k.Unit)
}

// amount writes a number with its standard error, or else its standard deviation over
// seeds, in a unit.
func amount(n runs.Number, unit string) string {
	if math.IsNaN(n.Mean) {
		return "–"
	}

	text := report.Cell(score.Value{Mean: n.Mean, Std: spread(n), N: 2}, 1)

	return strings.TrimSpace(text + " " + units.Difference(unit))
}

// brief shortens a value to fit on a line.
func brief(s string) string {
	const most = 60

	if s == "" {
		return "none"
	}

	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}

	return s
}
