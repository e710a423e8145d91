package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
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
			d, err := pipeline.Diff(c.Args().Get(0), c.Args().Get(1))
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
func printDiff(w io.Writer, d *pipeline.Difference, all bool) {
	if len(d.Settings) == 0 {
		fmt.Fprintln(w, "no setting differs")
	}
	if all {
		for _, c := range d.Settings {
			fmt.Fprintf(w, "%s: %s: %s → %s\n", c.Where, c.Key, orNone(c.A), orNone(c.B))
		}
		fmt.Fprintf(w, "\n%-14s %-14s %-6s %-12s %22s %22s\n", "experiment", "split", "set", "number", "A", "B")
		for _, m := range d.Metrics {
			fmt.Fprintf(w, "%-14s %-14s %-6s %-12s %22s %22s\n", m.Experiment, m.Split, m.Set, m.Metric,
				meanStd(m.A), meanStd(m.B))
		}
		return
	}
	settings := groupChanges(d.Settings)
	for _, l := range first(settings, fewSettings, "settings that differ") {
		fmt.Fprintln(w, l)
	}
	var changed []pipeline.MetricChange
	same := 0
	for _, m := range d.Metrics {
		switch {
		case m.Set != "test":
		case meanStd(m.A) == meanStd(m.B):
			same++
		default:
			changed = append(changed, m)
		}
	}
	slices.SortStableFunc(changed, func(a, b pipeline.MetricChange) int { return cmp.Compare(change(b), change(a)) })
	lines := make([]string, len(changed))
	for i, m := range changed {
		lines[i] = fmt.Sprintf("%-34s %-8s %18s → %s", m.Experiment+", "+m.Split+" held out",
			score.MetricOf(m.Metric).Symbol, meanStd(m.A), meanStd(m.B))
	}
	if len(lines) > 0 {
		fmt.Fprintln(w)
	}
	for _, l := range first(lines, fewNumbers, "numbers that changed less") {
		fmt.Fprintln(w, l)
	}
	if same > 0 {
		fmt.Fprintf(w, "%d numbers of held-out sets are the same\n", same)
	}
}

// groupChanges writes each change once, with the places that have it.
func groupChanges(list []pipeline.Change) []string {
	where := map[string][]string{}
	var order []string
	for _, c := range list {
		text := fmt.Sprintf("%s: %s → %s", c.Key, orNone(c.A), orNone(c.B))
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
		out[i] += ": " + text
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

// change is the difference of two means over their standard deviations. A number
// that one side lacks comes first.
func change(m pipeline.MetricChange) float64 {
	if x := math.Abs(m.A.Mean-m.B.Mean) / (math.Hypot(m.A.Std, m.B.Std) + 1e-12); !math.IsNaN(x) {
		return x
	}
	return math.Inf(1)
}

// meanStd writes a mean with its standard deviation, where there are several
// seeds.
func meanStd(n pipeline.Number) string {
	switch {
	case math.IsNaN(n.Mean):
		return "–"
	case math.IsNaN(n.Std):
		return fmt.Sprintf("%.4g", n.Mean)
	}
	return fmt.Sprintf("%.4g ± %.2g", n.Mean, n.Std)
}
