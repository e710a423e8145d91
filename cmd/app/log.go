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
)

// runLog lists the runs of a work directory. With --config it prints the configuration of a run, and with --diff how
// two runs differ.
func runLog(c *call) error {
	if c.IsSet("config") && c.IsSet("diff") {
		return usage("pipeline log: --config and --diff exclude each other")
	}

	file, compared, err := logArguments(c.args, c.StringSlice("diff"))
	if err != nil {
		return err
	}

	records, damaged, err := runs.History(file)
	if err != nil {
		return err
	}

	for _, path := range damaged {
		fmt.Fprintf(c.stderr, "warning: %s is not a record of a run; it is left out\n", path)
	}

	if name := c.String("config"); name != "" {
		return printConfiguration(c.stdout, records, name)
	}

	if compared != nil {
		return c.printRunDifference(records, compared)
	}

	if c.Bool("json") {
		return printJSON(c.stdout, records)
	}

	printLog(c.stdout, records, c.Bool("all"))

	return nil
}

// twoRuns are the numbers or IDs of two runs to compare.
type twoRuns struct{ a, b string }

// lastRun is the number of the last run.
const lastRun = "-1"

// logArguments returns the FILE and the pair of runs to compare. The pair is nil without --diff. compared has the
// values of --diff: one or two runs. The second run may also be an argument. If there is none, it is the last run.
func logArguments(args, compared []string) (file string, pair *twoRuns, err error) {
	args = slices.Clone(args)
	named := slices.IndexFunc(args, namesRun)
	if len(compared) == 0 && named >= 0 {
		return "", nil, usage("pipeline log lists all runs; of one, --config %s prints the configuration, "+
			"--diff %[1]s what changed", args[named])
	}

	switch len(compared) {
	case 0:
	case 1:
		pair = &twoRuns{a: compared[0], b: lastRun}
		if named >= 0 {
			pair.b = args[named]
			args = slices.Delete(args, named, named+1)
		}
	case 2:
		pair = &twoRuns{a: compared[0], b: compared[1]}
	}

	switch {
	case len(args) > 1:
		return "", nil, usage("pipeline log takes one FILE, found %q", args)
	case len(compared) > 2:
		return "", nil, usage("pipeline log compares two runs: --diff A B, found %q", compared)
	case len(args) == 1:
		return args[0], pair, nil
	}

	return "pipeline.yaml", pair, nil
}

// printRunDifference prints how two runs differ.
func (c *call) printRunDifference(records []runs.Record, compared *twoRuns) error {
	a, err := runs.Find(records, compared.a)
	if err != nil {
		return err
	}

	b, err := runs.Find(records, compared.b)
	if err != nil {
		return err
	}

	return c.printDifference(runs.DiffRecords(a, b))
}

// namesRun reports whether an argument is the number or ID of a run: it begins with a digit, and no file has this name.
func namesRun(arg string) bool {
	if arg == "" || arg[0] < '0' || arg[0] > '9' {
		return false
	}

	_, err := os.Stat(arg)

	return err != nil
}

// printConfiguration prints the configuration of the run with the given number or ID.
func printConfiguration(w io.Writer, records []runs.Record, name string) error {
	record, err := runs.Find(records, name)
	if err != nil {
		return err
	}

	if record.Config == "" {
		return fmt.Errorf("the record of run %s has no configuration: an older program wrote it, or it was too long",
			record.ID)
	}

	_, err = io.WriteString(w, record.Config)

	return err
}

const (
	// fewRuns is the number of runs that are listed without --all.
	fewRuns = 20
	// fewSplits is the number of splits that are listed for a run.
	fewSplits = 8
	// fewChanges is the number of settings that are listed for a run.
	fewChanges = 3
)

// earlierRuns are the runs with which the log compares a run.
type earlierRuns struct {
	settings *runs.Record               // the last run whose settings are known; nil: none was
	splits   map[splitName]*runs.Record // for each split the last run that had it; nil: no run had any
}

// splitName identifies a split.
type splitName struct{ experiment, split string }

// add adds a run, which is later than all before it.
func (e *earlierRuns) add(record *runs.Record) {
	if len(record.Settings) > 0 {
		e.settings = record
	}

	for _, split := range record.Splits {
		e.splits[splitName{split.Experiment, split.Split}] = record
	}
}

// printLog prints the runs, or without all the last of them.
func printLog(w io.Writer, records []runs.Record, all bool) {
	if len(records) == 0 {
		fmt.Fprintln(w, "no run has made anything here")
		return
	}

	hidden := 0
	if more := len(records) - fewRuns; more > 1 && !all {
		hidden = more
		fmt.Fprintf(w, "%d earlier runs; --all lists them\n", more)
	}

	earlier := earlierRuns{splits: map[splitName]*runs.Record{}}
	for i := range records {
		record := &records[i]
		if i >= hidden {
			fmt.Fprintf(w, "%3d  ", i+1)
			printRun(w, record, earlier)
		}

		earlier.add(record)
	}
}

// printRun prints the tasks of a run, what changed since earlier runs, its failure, and a line for each split, compared
// with the last run that had the split.
func printRun(w io.Writer, record *runs.Record, earlier earlierRuns) {
	fmt.Fprintf(w, "%s  %s, %.1f s, configuration %.8s", record.ID, fault.Plural(int64(record.Ran), "task"),
		record.Seconds, record.Digest)

	if earlier.settings != nil && len(record.Settings) > 0 {
		fmt.Fprint(w, changes(runs.DiffRecords(earlier.settings, record)))
	}

	fmt.Fprintln(w)

	if record.Failed != "" {
		lines := strings.Split(record.Failed, "\n")
		fmt.Fprintf(w, "     failed: %s\n", lines[0])

		if len(lines) > 1 {
			fmt.Fprintf(w, "     %d lines in all; --json has them\n", len(lines))
		}
	}

	verdicts := map[*runs.Record]map[runs.MetricKey]string{} // by the earlier run
	for _, split := range record.Splits[:min(fewSplits, len(record.Splits))] {
		last := earlier.splits[splitName{split.Experiment, split.Split}]
		if _, done := verdicts[last]; !done {
			verdicts[last] = verdictsSince(last, record)
		}

		printSplit(w, record, split, verdicts[last])
	}

	if len(record.Splits) > fewSplits {
		fmt.Fprintf(w, "     %d splits in all; --json has them\n", len(record.Splits))
	}
}

// verdictsSince returns the verdict on each number of a run compared with an earlier run, last. It returns nil if last
// is nil.
func verdictsSince(last, record *runs.Record) map[runs.MetricKey]string {
	if last == nil {
		return nil
	}

	verdicts := map[runs.MetricKey]string{}
	for _, m := range runs.DiffRecords(last, record).Metrics {
		verdicts[m.MetricKey] = m.Verdict
	}

	return verdicts
}

// printSplit prints the verdict of a split, its errors, how many of the held-out values are inside their intervals,
// and R². It prints only the worst outcome of each unit.
func printSplit(w io.Writer, record *runs.Record, split runs.SplitRecord, verdicts map[runs.MetricKey]string) {
	var parts []string
	if split.Verdict != "" {
		parts = append(parts, split.Verdict)
	}

	isCalibrated := false
	for _, metric := range splitMetrics(record, split) {
		isCalibrated = isCalibrated || metric.Prediction == "calibrated"

		// Calibrated numbers come before the network's. If there are none, the name of the network is left out.
		key := metric.MetricKey
		if !isCalibrated {
			key.Prediction = ""
		}

		part := nameOf(key) + " " + valueText(key, metric.Value)
		if verdict := verdicts[metric.MetricKey]; verdict != "" {
			part += " (" + verdict + ")"
		}

		parts = append(parts, part)
	}

	fmt.Fprintf(w, "     %s: %s\n", brief(split.Experiment+"/"+split.Split), strings.Join(parts, "; "))
}

// splitMetrics returns the numbers of a split's held-out set that the log prints, by kind.
func splitMetrics(record *runs.Record, split runs.SplitRecord) []runs.MetricRecord {
	var metrics []runs.MetricRecord
	for _, kind := range []string{"rmse", "coverage", "r2"} {
		for _, m := range record.Metrics {
			isOfSplit := m.Experiment == split.Experiment && m.Split == split.Split && m.Set == "test"
			if !isOfSplit || m.Metric != kind || math.IsNaN(m.Value.Mean) {
				continue
			}

			if !hasWorse(record.Metrics, m) {
				metrics = append(metrics, m)
			}
		}
	}

	return metrics
}

// hasWorse reports whether another outcome of the same split and unit is worse than m: its error is larger, or, if m is
// the coverage of intervals, fewer of its values are inside. R² is of all outcomes together.
func hasWorse(metrics []runs.MetricRecord, m runs.MetricRecord) bool {
	return slices.ContainsFunc(metrics, func(other runs.MetricRecord) bool {
		key := other.MetricKey
		key.Outcomes = m.Outcomes
		if m.Metric == "coverage" {
			return key == m.MetricKey && other.Value.Mean < m.Value.Mean
		}

		return key == m.MetricKey && other.Value.Mean > m.Value.Mean
	})
}

// changes returns the settings that differ between two runs as a text, each change once.
func changes(difference *runs.Difference) string {
	var texts []string
	for _, setting := range difference.Settings {
		text := setting.Key + " " + briefChange(setting.A, setting.B)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}

	if len(texts) == 0 {
		return ", same settings"
	}

	if more := len(texts) - fewChanges; more > 0 {
		texts = append(texts[:fewChanges], fmt.Sprintf("and %d more", more))
	}

	return ", changed: " + strings.Join(texts, "; ")
}
