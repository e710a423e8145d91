package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/pipeline"
	"doubletake/report"
)

// formats are the formats of reports.
var formats = []string{"html", "md", "tex", "json", "csv"}

// runReport prints or writes the report of finished results. With --held-out it first makes the results of further
// splits.
func runReport(c *call) error {
	options, err := parseRun(c)
	if err != nil {
		return err
	}

	path := c.String("out")
	format, err := reportFormat(c, path)
	if err != nil {
		return err
	}

	options.json = options.json || format == "json"
	options.added = *c.Generic("held-out").(*values)
	project, err := loadHeldOut(&options)
	if err != nil {
		return err
	}

	if path != "" {
		return writeFinished(project, options, format, path)
	}

	result, err := perform(c, project, options)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	// The run made the page of the selected experiments only.
	if len(options.sel.Experiments) > 0 {
		if err := renderAll(c, project, options.jobs); err != nil {
			return err
		}
	}

	return write(project, result, options, format, c.stdout)
}

// reportFormat returns the format that --format names. Without --format it is the ending of --out. It returns "" if the
// command is to print a summary.
func reportFormat(c *call, path string) (string, error) {
	format := c.String("format")
	json := c.Bool("json")
	if format == "" && !json && path != "" {
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
		if !slices.Contains(formats, format) {
			return "", usage("--out %s has none of the endings .%s: name the format with --format", path,
				strings.Join(formats, ", ."))
		}
	}

	if json && format != "" && format != "json" {
		return "", usage("--json is --format json, found --format %s too", format)
	}

	return format, nil
}

// loadHeldOut loads the configuration with the splits of --held-out, and selects the experiments that these splits
// concern, unless options select experiments. Without --held-out it selects only the stage report, which makes the page
// and refuses if results are missing.
func loadHeldOut(options *runOptions) (*pipeline.Project, error) {
	extra, err := pipeline.HeldOut(options.added)
	if err != nil {
		return nil, err
	}

	plain, err := pipeline.Load(options.file)
	if err != nil {
		return nil, err
	}

	if len(extra) == 0 {
		options.sel.Stages = []string{"report"}
		return plain, nil
	}

	project, err := pipeline.Load(options.file, extra...)
	if err != nil {
		return nil, err
	}

	if len(options.sel.Experiments) == 0 {
		options.sel.Experiments = concerned(plain, project)
	}

	return project, nil
}

// renderAll makes the page of all experiments, unless one of them lacks results.
func renderAll(c *call, project *pipeline.Project, jobs int) error {
	_, err := project.Run(c.ctx, pipeline.Options{
		Selection: pipeline.Selection{Stages: []string{"report"}},
		Jobs:      max(1, jobs),
	})

	if lacks, ok := errors.AsType[*pipeline.NotReadyError](err); ok {
		fmt.Fprintf(c.stderr, "report.html and report.md are as they were: %s lacks results\n", lacks.Needs.Task.ID)
		return nil
	}

	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	return nil
}

// writeFinished writes the report that is in the work directory to a file.
func writeFinished(project *pipeline.Project, options runOptions, format, path string) error {
	result, err := project.Finished(options.sel)
	if _, lacks := errors.AsType[*pipeline.NotReadyError](err); lacks {
		return usage("%v\nrun first: the same command without --out", err)
	}

	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	var b bytes.Buffer
	if err := write(project, result, options, format, &b); err != nil {
		return err
	}

	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}

	return nil
}

// concerned compares the same configuration with the splits of --held-out (project) and without them (plain), and
// returns the experiments that have further splits in project. If there are none, the configuration already has these
// splits, and concerned returns all experiments with splits.
func concerned(plain, project *pipeline.Project) []string {
	known := map[splitName]bool{}
	for _, task := range plain.Plan.Tasks {
		known[splitName{task.Experiment, task.Split}] = true
	}

	var fresh, all []string
	for _, task := range project.Plan.Tasks {
		if task.Split == "" {
			continue
		}

		if !slices.Contains(all, task.Experiment) {
			all = append(all, task.Experiment)
		}

		if !known[splitName{task.Experiment, task.Split}] && !slices.Contains(fresh, task.Experiment) {
			fresh = append(fresh, task.Experiment)
		}
	}

	if len(fresh) == 0 {
		return all
	}

	return fresh
}

// write writes the report of the selected experiments in a format. If format is "", it writes what a run prints.
func write(project *pipeline.Project, result *pipeline.Result, options runOptions, format string,
	stdout io.Writer,
) error {
	if format == "" || options.json {
		return show(project, result, options, stdout)
	}

	reports, sweeps, err := results(project, result, options)
	if err != nil {
		return err
	}

	switch format {
	case "html":
		details, err := project.Details(result, options.sel)
		if err != nil {
			return err
		}

		return emit(stdout, "write report", report.Page(details, sweeps...))

	case "md":
		return emit(stdout, "write report", report.RunMarkdown(reports, sweeps))

	case "tex":
		var tables [][]byte
		for _, experiment := range reports {
			tables = append(tables, report.LaTeX(experiment))
		}

		return emit(stdout, "write report", bytes.Join(tables, []byte("\n")))

	case "csv":
		document, err := report.MetricsCSV(reports)
		if err != nil {
			return err
		}

		return emit(stdout, "write report", document)
	}

	return usage("--format of pipeline report wants %s, found %q", strings.Join(formats, ", "), format)
}
