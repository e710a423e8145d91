package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newLogCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "list past runs of a work directory: changes, and their effect on the numbers",
		ArgsUsage: "[FILE]",
		Description: "Every run that makes something leaves a small record below the work directory, which gc keeps. " +
			"--diff compares two of them, by number (-1 is the last) or by the beginning of their ID.\n\n" +
			"Example: pipeline log --diff -2 --diff -1\n\nExit status: 0 success, 1 failed, 2 usage or configuration error.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "diff", Usage: "twice: the two runs to compare"},
			&cli.BoolFlag{Name: "all", Usage: "with --diff: every place and every number"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
		},
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			list, err := pipeline.History(file)
			if err != nil {
				return err
			}
			names := c.StringSlice("diff")
			switch {
			case len(names) == 0 && c.Bool("json"):
				return printJSON(stdout, list)
			case len(names) == 0:
				printLog(stdout, list)
				return nil
			case len(names) != 2:
				return usage("pipeline log compares two runs: --diff A --diff B")
			}
			a, err := pipeline.FindRecord(list, names[0])
			if err != nil {
				return err
			}
			b, err := pipeline.FindRecord(list, names[1])
			if err != nil {
				return err
			}
			d := pipeline.DiffRecords(a, b)
			if c.Bool("json") {
				return printJSON(stdout, d)
			}
			printDiff(stdout, d, c.Bool("all"))
			return nil
		},
	}
}

// printLog prints one line a run: the tasks made, which settings changed since the
// run before, and R² of the held-out sets.
func printLog(w io.Writer, list []pipeline.Record) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no run has made anything here")
		return
	}
	for i := range list {
		r := &list[i]
		fmt.Fprintf(w, "%3d  %s  %d tasks, %.1f s", i+1, r.ID, r.Ran, r.Seconds)
		if i > 0 && len(list[i-1].Settings) > 0 && len(r.Settings) > 0 {
			fmt.Fprint(w, changes(pipeline.DiffRecords(&list[i-1], r).Settings))
		}
		fmt.Fprintln(w)
		if r.Failed != "" {
			line, _, _ := strings.Cut(r.Failed, "\n")
			fmt.Fprintf(w, "     failed: %s\n", line)
		}
		var scores []string
		for _, m := range r.Metrics {
			if m.Set == "test" && m.Metric == "r2" && !math.IsNaN(m.Value.Mean) {
				scores = append(scores, fmt.Sprintf("%s/%s %.3f", m.Experiment, m.Split, m.Value.Mean))
			}
		}
		if len(scores) > 0 {
			fmt.Fprintf(w, "     R² held out: %s\n", strings.Join(scores, ", "))
		}
	}
}

// changes names the settings that changed, each key once.
func changes(list []pipeline.Change) string {
	const most = 3
	var keys []string
	seen := map[string]bool{}
	for _, c := range list {
		text := fmt.Sprintf("%s %s → %s", c.Key, orNone(c.A), orNone(c.B))
		if !seen[text] {
			seen[text] = true
			keys = append(keys, text)
		}
	}
	if len(keys) == 0 {
		return ", same settings"
	}
	if n := len(keys); n > most {
		keys = append(keys[:most], fmt.Sprintf("and %d more", n-most))
	}
	return ", changed: " + strings.Join(keys, "; ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
