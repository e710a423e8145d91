package app

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/ingest/units"
	"doubletake/pipeline/runs"
	"doubletake/report"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

func newDiffCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "two workdirs' configurations and numbers side by side", ArgsUsage: "A B",
		Description: "Example: pipeline diff runs runs-peak\n\nExit status: 0 success, 1 failed, 2 usage error.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "every place and every number"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usage("pipeline diff takes two workdirs, found %q", c.Args().Slice())
			}

			d, err := runs.Diff(c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}

			if c.Bool("json") {
				return printJSON(stdout, d)
			}

			printDiff(stdout, d, c.Bool("all"))

			return nil
		},
	}
}

// fewSettings and fewNumbers are the lines of a diff without --all.
const fewSettings, fewNumbers = 6, 10

// printDiff writes the settings that differ, each once with the places that have
// it, and the numbers of held-out sets, those first that changed most for their
// spread over the seeds. With all it writes every place and every number.
func printDiff(w io.Writer, d *runs.Difference, all bool) {
	switch {
	case d.Unknown:
		fmt.Fprintln(w, "the settings of one of the two are not known")
	case len(d.Settings) == 0:
		fmt.Fprintln(w, "no setting differs")
	}

	if all {
		for _, c := range d.Settings {
			fmt.Fprintln(w, strings.Join(groupChanges([]runs.Change{c}), ""))
		}

		l := report.Listing{Heads: []string{"experiment", "split", "set", "number", "A", "B", ""}}
		for _, m := range d.Metrics {
			name := strings.Join(strings.Fields(m.Prediction+" "+m.Metric+" "+m.Outcomes), " ")
			l.Add(m.Experiment, m.Split, m.Set, name, amount(m.A, m.Unit), amount(m.B, m.Unit), m.Verdict)
		}

		fmt.Fprintln(w)
		l.Write(w, width(w))

		return
	}

	settings := groupChanges(d.Settings)
	for _, l := range first(settings, fewSettings, "settings that differ") {
		fmt.Fprintln(w, l)
	}

	var changed []runs.MetricChange

	same := 0
	for _, m := range d.Metrics {
		switch {
		case m.Set != "test":
		case valueText(m.MetricKey, m.A) == valueText(m.MetricKey, m.B):
			same++
		default:
			changed = append(changed, m)
		}
	}

	slices.SortStableFunc(changed, func(a, b runs.MetricChange) int { return cmp.Compare(change(b), change(a)) })

	lines := make([]string, len(changed))
	for i, m := range changed {
		lines[i] = fmt.Sprintf("%-34s %-28s %18s → %s", m.Experiment+", "+m.Split+" held out", nameOf(m.MetricKey),
			valueText(m.MetricKey, m.A), valueText(m.MetricKey, m.B))
		if m.Verdict != "" {
			lines[i] += ": " + m.Verdict
		}
	}

	if len(lines) > 0 {
		fmt.Fprintln(w)
	}

	for _, l := range first(lines, fewNumbers, "numbers that changed less") {
		fmt.Fprintln(w, l)
	}

	if same > 0 {
		fmt.Fprintf(w, "numbers of held-out sets that are the same: %d\n", same)
	}
}

// groupChanges writes each change once, with the places that have it.
func groupChanges(list []runs.Change) []string {
	where := map[string][]string{}

	var order []string
	for _, c := range list {
		text := fmt.Sprintf("%s: %s → %s", c.Key, brief(c.A), brief(c.B))
		if where[text] == nil {
			order = append(order, text)
		}

		where[text] = append(where[text], c.Where)
	}

	out := make([]string, len(order))
	for i, text := range order {
		out[i] = where[text][0]
		if n := len(where[text]); n > 1 {
			out[i] += fmt.Sprintf(" and %d more", n-1)
		}

		if out[i] += ": " + text; where[text][0] == "" {
			out[i] = text
		}
	}

	return out
}

// first returns at most n lines, and one that counts the others.
func first(lines []string, n int, what string) []string {
	if len(lines) <= n+1 {
		return lines
	}

	more := fmt.Sprintf("and %d %s; --all lists them", len(lines)-n, what)

	return append(slices.Clone(lines[:n]), more)
}

// change is the difference of two means over their standard errors or deviations, or,
// where there are none, over the sum of both. A number that one side lacks comes first.
func change(m runs.MetricChange) float64 {
	spread := func(n runs.Number) float64 {
		if !math.IsNaN(n.SE) {
			return n.SE
		}
		return n.Std
	}

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
	spread := n.SE
	if math.IsNaN(spread) {
		spread = n.Std
	}

	s := fmt.Sprintf("%.4g", n.Mean)
	switch {
	case math.IsNaN(n.Mean):
		return "–"

	case spread > 0: // two digits of it
		digits := numbers.Decimals(spread, 2)
		if digits < 0 || digits > 9 {
			s = fmt.Sprintf("%.4g ± %.2g", n.Mean, spread)
			break
		}

		s = fmt.Sprintf("%.*f ± %.*f", digits, n.Mean, digits, spread)
	}

	return strings.TrimSpace(s + " " + units.Difference(unit))
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
