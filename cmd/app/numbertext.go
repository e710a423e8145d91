package app

import (
	"fmt"
	"math"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/units"
	"doubletake/pipeline/runs"
	"doubletake/report"
	"doubletake/train/score"
)

// nameOf returns the name of a number for people.
func nameOf(k runs.MetricKey) string {
	var name string
	switch k.Metric {
	case "rmse":
		name = "error"
	case "coverage":
		name = "inside the interval"
	case "half_width":
		name = "interval ±"
	default:
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

// valueText returns a number as a text for people, with its unit. Shares are in per cent.
func valueText(k runs.MetricKey, n runs.Number) string {
	switch {
	case !ingest.Finite(n.Mean):
		return "–"
	case k.Metric == "coverage":
		return percent(n)
	}

	return amount(n, k.Unit)
}

// amount returns a finite number with its spread and its unit as a text.
func amount(n runs.Number, unit string) string {
	const several = 2 // seeds: report.Cell shows the spread only if there are several
	text := report.Cell(score.Value{Mean: n.Mean, Std: spread(n), N: several}, 1)

	return strings.TrimSpace(text + " " + units.Difference(unit))
}

// spread returns the standard error of a number, or its standard deviation over seeds if it has no standard error.
func spread(n runs.Number) float64 {
	if !math.IsNaN(n.SE) {
		return n.SE
	}
	return n.Std
}

// brief returns a value of a setting on one line, shortened if it is long, and "none" if it is empty.
func brief(value string) string {
	const most = 60

	if value == "" {
		return "none"
	}

	value = strings.Join(strings.Fields(value), " ")
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}

	return value
}

// briefChange writes the change of a setting from the value a to the value b: "a → b", both shortened. If both begin
// alike for longer than brief shows, the texts begin shortly before the first letter that differs.
func briefChange(a, b string) string {
	const before = 20 // letters that are shown before the difference
	const format = "%s → %s"

	if brief(a) != brief(b) {
		return fmt.Sprintf(format, brief(a), brief(b))
	}

	lettersA := []rune(strings.Join(strings.Fields(a), " "))
	lettersB := []rune(strings.Join(strings.Fields(b), " "))
	same := 0
	for same < min(len(lettersA), len(lettersB)) && lettersA[same] == lettersB[same] {
		same++
	}

	begin := max(0, same-before)

	return fmt.Sprintf(format, "…"+brief(string(lettersA[begin:])), "…"+brief(string(lettersB[begin:])))
}

// percent returns a share in per cent, with its standard error unless that rounds to 0 %.
func percent(n runs.Number) string {
	if rounded := math.RoundToEven(100 * n.SE); rounded > 0 { // as %.0f rounds
		return fmt.Sprintf("%.0f ± %.0f %%", 100*n.Mean, rounded)
	}
	return fmt.Sprintf("%.0f %%", 100*n.Mean)
}
