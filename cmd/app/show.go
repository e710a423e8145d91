package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/pipeline"
	"doubletake/report"
	"doubletake/train/numbers"
)

// results returns the reports of the selected experiments and sweeps.
func results(project *pipeline.Project, result *pipeline.Result, options runOptions,
) ([]report.Experiment, []report.Sweep, error) {
	reports, err := project.Reports(result, options.sel)
	if err != nil {
		return nil, nil, err
	}

	sweeps, err := project.Sweeps(result, options.sel)
	if err != nil {
		return nil, nil, err
	}

	return reports, sweeps, nil
}

// printPage prints the path of the page, and a link to it, which most terminals open.
func printPage(project *pipeline.Project, stdout io.Writer) error {
	page, err := filepath.Abs(project.Page())
	if err != nil {
		return fmt.Errorf("find page: %w", err)
	}

	link := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(page), "/")}
	_, err = fmt.Fprintf(stdout, "%s (all tables: pipeline report --tables)\n%s\n", shortPath(page), &link)

	return err
}

// shortPath returns a path, relative to the working directory if it is below that directory.
func shortPath(path string) string {
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}

	return path
}

// show prints the selected experiments and sweeps: as JSON, with all tables, or as a summary with the path of the page.
func show(project *pipeline.Project, result *pipeline.Result, options runOptions, stdout io.Writer) error {
	reports, sweeps, err := results(project, result, options)
	if err != nil {
		return err
	}

	if options.json {
		return showJSON(result, reports, sweeps, stdout)
	}

	if err := writeSweeps(sweeps, stdout); err != nil || len(reports) == 0 {
		return err
	}

	if options.tables {
		return report.RunTerminal(stdout, reports, width(stdout), colour(stdout))
	}

	slices.Reverse(reports) // the first of the file is the last that a terminal shows
	if err := report.Summary(stdout, reports, width(stdout), colour(stdout)); err != nil {
		return err
	}

	if _, err := io.WriteString(stdout, "\n"); err != nil {
		return err
	}

	return printPage(project, stdout)
}

// showJSON prints a run with its experiments and sweeps as one JSON document.
func showJSON(result *pipeline.Result, reports []report.Experiment, sweeps []report.Sweep, stdout io.Writer) error {
	documents := make([]json.RawMessage, len(reports))
	for i, experiment := range reports {
		document, err := experiment.MetricsJSON()
		if err != nil {
			return err
		}

		documents[i] = document
	}

	all := map[string]any{"run": result, "experiments": documents}
	if len(sweeps) > 0 {
		all["sweeps"] = numbers.Objects(sweeps, report.Sweep.Document)
	}

	return printJSON(stdout, all)
}

// writeSweeps prints sweeps, with an empty line between two of them.
func writeSweeps(sweeps []report.Sweep, stdout io.Writer) error {
	for i, sweep := range sweeps {
		if i > 0 {
			if _, err := io.WriteString(stdout, "\n"); err != nil {
				return err
			}
		}

		if err := report.SweepTerminal(stdout, sweep, width(stdout), colour(stdout)); err != nil {
			return err
		}
	}

	return nil
}
