package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"doubletake/pipeline/runs"
	"doubletake/report"
)

// runDiff prints how the last runs of two work directories differ.
func runDiff(c *call) error {
	difference, err := runs.Diff(c.arg(0), c.arg(1))
	if err != nil {
		return err
	}

	return c.printDifference(difference)
}

// printDifference prints the differences of two runs.
func (c *call) printDifference(difference *runs.Difference) error {
	if c.Bool("json") {
		return printJSON(c.stdout, difference)
	}

	return printDiff(c.stdout, difference, c.Bool("all"))
}

const (
	// fewSettings is the number of settings that a diff lists without --all.
	fewSettings = 6
	// fewNumbers is the number of numbers that a diff lists without --all.
	fewNumbers = 10
)

// printDiff prints the settings that differ, each once with the places that have it. It then prints the numbers of
// held-out sets, sorted by their change relative to its uncertainty, the largest first. If all is true, it prints every
// place and every number.
func printDiff(w io.Writer, difference *runs.Difference, all bool) error {
	switch {
	case difference.Unknown:
		fmt.Fprintln(w, "the settings of one of the two are not known")
	case len(difference.Settings) == 0:
		fmt.Fprintln(w, "no setting differs")
	}

	settings := settingLines(difference.Settings, all)
	metrics, remarks := metricsToList(difference.Metrics, all)

	for _, line := range settings {
		fmt.Fprintln(w, line)
	}

	if len(metrics) > 0 {
		listing := report.Listing{Heads: []string{"experiment", "split", "set", "number", "A", "B", ""}}
		for _, m := range metrics {
			listing.Add(m.Experiment, m.Split, m.Set, nameOf(m.MetricKey), valueText(m.MetricKey, m.A),
				valueText(m.MetricKey, m.B), m.Verdict)
		}

		fmt.Fprintln(w)
		if err := listing.Write(w, width(w)); err != nil {
			return err
		}
	}

	for _, remark := range remarks {
		fmt.Fprintln(w, remark)
	}

	return nil
}

// settingLines describes the settings that differ. If all is true, it returns a line for each place. Otherwise it
// returns a few lines, and places that share a change share a line.
func settingLines(settings []runs.Change, all bool) []string {
	if all {
		var lines []string
		for i := range settings {
			lines = append(lines, groupChanges(settings[i:i+1])...)
		}

		return lines
	}

	lines := groupChanges(settings)
	if more := len(lines) - fewSettings; more > 1 {
		lines = append(lines[:fewSettings], fmt.Sprintf("and %d settings that differ; --all lists them", more))
	}

	return lines
}

// metricsToList returns the numbers that a diff lists, and remarks about those that it leaves out.
func metricsToList(metrics []runs.MetricChange, all bool) (listed []runs.MetricChange, remarks []string) {
	if all {
		return metrics, nil
	}

	heldOut := 0
	for _, m := range metrics {
		if m.Set == "test" {
			heldOut++
		}
	}

	listed = changed(metrics)
	same := heldOut - len(listed)
	if more := len(listed) - fewNumbers; more > 1 {
		listed = listed[:fewNumbers]
		remarks = append(remarks, fmt.Sprintf("and %d numbers that changed less; --all lists them", more))
	}

	if same > 0 {
		remarks = append(remarks, fmt.Sprintf("numbers of held-out sets that are the same: %d", same))
	}

	return listed, remarks
}

// changed returns the numbers of held-out sets whose printed values differ, sorted by change, the largest first.
func changed(metrics []runs.MetricChange) []runs.MetricChange {
	var differing []runs.MetricChange
	for _, m := range metrics {
		if m.Set == "test" && valueText(m.MetricKey, m.A) != valueText(m.MetricKey, m.B) {
			differing = append(differing, m)
		}
	}

	slices.SortStableFunc(differing, func(a, b runs.MetricChange) int { return cmp.Compare(change(b), change(a)) })

	return differing
}

// groupChanges returns a line for each change, with the first place that has it and the number of further places.
func groupChanges(settings []runs.Change) []string {
	var distinct []runs.Change           // without the place
	places := map[runs.Change][]string{} // of each of distinct
	for _, setting := range settings {
		where := setting.Where
		setting.Where = ""
		if places[setting] == nil {
			distinct = append(distinct, setting)
		}

		places[setting] = append(places[setting], where)
	}

	var lines []string
	for _, setting := range distinct {
		line := setting.Key + ": " + briefChange(setting.A, setting.B)
		place := places[setting][0]
		switch more := len(places[setting]) - 1; {
		case place == "":
		case more > 0:
			line = fmt.Sprintf("%s and %d more: %s", place, more, line)
		default:
			line = place + ": " + line
		}

		lines = append(lines, line)
	}

	return lines
}

// change returns by how much a number changed, relative to its uncertainty: |A − B| / √(sA² + sB²) with the spreads sA
// and sB. If a spread is unknown, it returns |A − B| / (|A| + |B|). It returns infinity if one side lacks the number.
func change(m runs.MetricChange) float64 {
	const tiny = 1e-12 // avoids 0/0

	difference := math.Abs(m.A.Mean - m.B.Mean)
	if math.IsNaN(difference) {
		return math.Inf(1)
	}

	deviation := math.Hypot(spread(m.A), spread(m.B))
	if math.IsNaN(deviation) { // the number is a width, or there is one seed only
		return difference / (math.Abs(m.A.Mean) + math.Abs(m.B.Mean) + tiny)
	}

	return difference / (deviation + tiny)
}
