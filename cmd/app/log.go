package app

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/pipeline/runs"
	"doubletake/train/score"
)

func runLog(c *call) error {
	names, args := c.StringSlice("diff"), slices.Clone(c.args)
	if len(names) == 1 {
		names = append(names, "-1")
		if i := slices.IndexFunc(args, namesRun); i >= 0 {
			names[1] = args[i]
			args = slices.Delete(args, i, i+1)
		}
	}

	file := "pipeline.yaml"
	switch {
	case len(names) == 0 && slices.ContainsFunc(args, namesRun):
		return usage("pipeline log lists all runs; of one, --config %s prints the configuration, --diff %[1]s what changed",
			args[slices.IndexFunc(args, namesRun)])
	case len(args) == 1:
		file = args[0]
	case len(args) > 1:
		return usage("pipeline log takes one FILE, found %q", args)
	case len(names) > 2:
		return usage("pipeline log compares two runs: --diff A B, found %q", names)
	}

	list, damaged, err := runs.History(file)
	fault.Raise(err)
	for _, path := range damaged {
		fmt.Fprintf(c.stderr, "warning: %s is no record of a run; it is left out\n", path)
	}

	if name := c.String("config"); name != "" {
		r, err := runs.Find(list, name)
		if err == nil && r.Config == "" {
			err = fmt.Errorf("the record of run %s has no configuration: an older program wrote it, or it was too long", r.ID)
		}

		if err != nil {
			return err
		}

		_, err = io.WriteString(c.stdout, r.Config)

		return err
	}

	if len(names) == 0 {
		if c.Bool("json") {
			return printJSON(c.stdout, list)
		}

		printLog(c.stdout, list, c.Bool("all"))

		return nil
	}

	var of [2]*runs.Record
	for i, name := range names {
		of[i] = fault.Get(runs.Find(list, name))
	}

	return c.difference(runs.DiffRecords(of[0], of[1]))
}

// namesRun reports whether an argument is a run's number or ID rather than a FILE.
func namesRun(arg string) bool {
	if arg == "" || arg[0] < '0' || arg[0] > '9' {
		return false
	}

	_, err := os.Stat(arg)

	return err != nil
}

// fewRuns is the number of runs that are listed without --all.
const fewRuns = 20

// printLog prints of every run the tasks made and what changed since the run before,
// then a line per split, compared with the last run that had the split.
func printLog(w io.Writer, list []runs.Record, all bool) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no run has made anything here")
		return
	}

	from := 0
	if n := len(list) - fewRuns; n > 1 && !all {
		from = n
		fmt.Fprintf(w, "%d earlier runs; --all lists them\n", n)
	}

	last := map[[2]string]*runs.Record{}

	var settings *runs.Record // the last that has them
	for i := range list {
		r, before := &list[i], settings
		if len(r.Settings) > 0 {
			settings = r
		}

		if i < from {
			for _, s := range r.Splits {
				last[[2]string{s.Experiment, s.Split}] = r
			}
			continue
		}

		fmt.Fprintf(w, "%3d  %s  %d tasks, %.1f s, configuration %.8s", i+1, r.ID, r.Ran, r.Seconds, r.Digest)

		if before != nil && settings == r {
			fmt.Fprint(w, changes(runs.DiffRecords(before, r)))
		}

		fmt.Fprintln(w)

		if r.Failed != "" {
			lines := strings.Split(r.Failed, "\n")
			fmt.Fprintf(w, "     failed: %s\n", lines[0])

			if n := len(lines); n > 1 {
				fmt.Fprintf(w, "     %d lines in all; --json has them\n", n)
			}
		}

		const most = 8

		verdicts := map[*runs.Record]map[runs.MetricKey]string{nil: nil}
		for k, s := range r.Splits {
			id := [2]string{s.Experiment, s.Split}
			if before := last[id]; k < most {
				if _, done := verdicts[before]; !done {
					verdicts[before] = map[runs.MetricKey]string{}
					for _, m := range runs.DiffRecords(before, r).Metrics {
						verdicts[before][m.MetricKey] = m.Verdict
					}
				}

				printSplit(w, r, s, verdicts[before])
			}

			last[id] = r
		}

		if n := len(r.Splits); n > most {
			fmt.Fprintf(w, "     %d splits in all; --json has them\n", n)
		}
	}
}

// printSplit prints the verdict of a split, its errors, how many of the held-out values
// are inside their intervals, and R². Of the outcomes of a unit it prints the worst.
func printSplit(w io.Writer, r *runs.Record, s runs.SplitRecord, verdicts map[runs.MetricKey]string) {
	var parts []string
	if words := score.Grade(s.Verdict).Words(); words != "" {
		parts = append(parts, words)
	}

	calibrated := false
	for _, metric := range []string{"rmse", "coverage", "r2"} {
		for _, m := range r.Metrics {
			if m.Experiment != s.Experiment || m.Split != s.Split || m.Set != "test" || m.Metric != metric ||
				math.IsNaN(m.Value.Mean) || better(m, r.Metrics) {
				continue
			}

			calibrated = calibrated || m.Prediction == "calibrated" // before "network"

			k := m.MetricKey
			if !calibrated {
				k.Prediction = ""
			}

			part := nameOf(k) + " " + valueText(k, m.Value)
			if v := verdicts[m.MetricKey]; v != "" {
				part += " (" + v + ")"
			}

			parts = append(parts, part)
		}
	}

	fmt.Fprintf(w, "     %s: %s\n", brief(s.Experiment+"/"+s.Split), strings.Join(parts, "; "))
}

// better reports whether another outcome of the unit has a larger error, or fewer values inside.
func better(m runs.MetricRecord, list []runs.MetricRecord) bool {
	return slices.ContainsFunc(list, func(o runs.MetricRecord) bool {
		k := o.MetricKey
		k.Outcomes = m.Outcomes
		if m.Metric == "coverage" {
			return k == m.MetricKey && o.Value.Mean < m.Value.Mean
		}

		return k == m.MetricKey && o.Value.Mean > m.Value.Mean
	})
}

// percent writes a share with its standard error.
func percent(n runs.Number) string {
	if n.SE >= 0.005 {
		return fmt.Sprintf("%.0f ± %.0f %%", 100*n.Mean, 100*n.SE)
	}
	return fmt.Sprintf("%.0f %%", 100*n.Mean)
}

// changes names what changed between two runs with settings, each key once.
func changes(d *runs.Difference) string {
	const most = 3
	var keys []string
	for _, c := range d.Settings {
		text := fmt.Sprintf("%s %s → %s", c.Key, brief(c.A), brief(c.B))
		if !slices.Contains(keys, text) {
			keys = append(keys, text)
		}
	}

	switch n := len(keys); {
	case n == 0:
		return ", same settings"
	case n > most:
		keys = append(keys[:most], fmt.Sprintf("and %d more", n-most))
	}

	return ", changed: " + strings.Join(keys, "; ")
}
