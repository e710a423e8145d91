package main

import (
	"fmt"
	"io"
	"math"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newDiffCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "two workdirs' configurations and numbers side by side", ArgsUsage: "A B",
		Description: "Example: pipeline diff runs runs-peak\n\nExit status: 0 success, 1 failed, 2 usage error.",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "as one JSON document"}},
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
			printDiff(stdout, d)
			return nil
		},
	}
}

func printDiff(w io.Writer, d *pipeline.Difference) {
	orNone := func(s string) string {
		if s == "" {
			return "none"
		}
		return s
	}
	if len(d.Settings) == 0 {
		fmt.Fprintln(w, "no setting differs")
	}
	for _, c := range d.Settings {
		fmt.Fprintf(w, "%s: %s: %s → %s\n", c.Where, c.Key, orNone(c.A), orNone(c.B))
	}
	number := func(n pipeline.Number) string {
		if math.IsNaN(n.Mean) {
			return "–"
		}
		return fmt.Sprintf("%.4g ± %.2g", n.Mean, n.Std)
	}
	fmt.Fprintf(w, "\n%-14s %-14s %-6s %-12s %22s %22s\n", "experiment", "split", "set", "number", "A", "B")
	for _, m := range d.Metrics {
		fmt.Fprintf(w, "%-14s %-14s %-6s %-12s %22s %22s\n", m.Experiment, m.Split, m.Set, m.Metric, number(m.A), number(m.B))
	}
}
