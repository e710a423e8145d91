package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
	"doubletake/report"
)

// formats are what report can write to standard output.
var formats = []string{"html", "md", "tex", "json", "csv"}

// values collects a flag's values as they are, commas included.
type values []string

func (v *values) Set(s string) error { *v = append(*v, s); return nil }
func (v *values) String() string     { return strings.Join(*v, " ") }

func newReportCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "render the report; with --held-out also train missing models", ArgsUsage: "[FILE]",
		Description: "Example: pipeline report pipeline.yaml --held-out blades=3\n\n" +
			"--held-out takes a value (blades=3), a list held out together (blades=2,3), a range (rpm=3000:5000), a name " +
			"(propeller=APC-8x6), or every value in turn (blades=each); " +
			"it may be given several times. Each split is stored under that name. With --executor its trainings are " +
			"jobs of the cluster.\n\n" +
			"--format writes the report to standard output instead of a summary for a terminal: html, the page; md, Markdown; " +
			"tex, LaTeX tables for booktabs; json, the metrics as one document; csv, the metrics one a line. " +
			"The page always lies in the work directory as report.html.\n\n" +
			"--out FILE writes the report to a file instead, in the format of its ending unless --format names one. Then " +
			"nothing is made and the work directory is only read: it may be read-only, and an up-to-date report must be in " +
			"it.\n\n" +
			"Exit status: 0 success, 1 a stage failed, 2 usage or configuration error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "experiment", Usage: "only this experiment (repeatable)"},
			&cli.GenericFlag{
				Name: "held-out", Value: &values{},
				Usage: "hold this out, e.g. blades=3 or blades=each (repeatable)",
			},
			&cli.StringFlag{Name: "format", Usage: "html, md, tex, json or csv on standard output"},
			&cli.StringFlag{
				Name: "out", Usage: "write the report to this file (.html, .md, .tex, .json, .csv) and make nothing",
			},
			jobsFlag(), executorFlag(), progressFlag(), tablesFlag(),
			&cli.BoolFlag{Name: "json", Usage: "the same as --format json"},
		},
		Action: onFile(func(c *cli.Context, file string) error {
			o := runOptions{
				file: file, sel: pipeline.Selection{Experiments: experimentNames(c)}, jobs: c.Int("jobs"),
				json: c.Bool("json"), tables: c.Bool("tables"), progress: c.String("progress"),
			}

			var err error
			if o.executor, err = executor(c); err != nil {
				return err
			}

			held, format := c.Generic("held-out").(*values), c.String("format")

			return runReport(c.Context, o, held, format, c.String("out"), stdout, stderr)
		}),
	}
}

func runReport(
	ctx context.Context, o runOptions, held *values, format, out string, stdout, stderr io.Writer,
) error {
	if format == "" && !o.json && out != "" {
		format = strings.TrimPrefix(filepath.Ext(out), ".")
		if !slices.Contains(formats, format) {
			return usage("--out %s has none of the endings .%s: name the format with --format", out,
				strings.Join(formats, ", ."))
		}
	}

	if format != "" && !slices.Contains(formats, format) {
		return usage("--format %q is unknown, expected one of %s", format, strings.Join(formats, ", "))
	}

	if o.json && format != "" && format != "json" {
		return usage("--json is --format json, found --format %s too", format)
	}

	o.json = o.json || format == "json"
	o.added = *held
	extra, err := pipeline.HeldOut(o.added)
	if err != nil {
		return err
	}

	plain, err := pipeline.Load(o.file)
	if err != nil {
		return err
	}

	p := plain
	if len(extra) == 0 {
		o.sel.Stages = []string{"report"} // renders only; refuses when something is missing
	} else {
		if p, err = pipeline.Load(o.file, extra...); err != nil {
			return err
		}

		if len(o.sel.Experiments) == 0 {
			// Only experiments that have the condition are concerned.
			o.sel.Experiments = concerned(plain, p)
		}
	}

	if out != "" {
		return writeOut(p, o, format, out)
	}

	res, err := perform(ctx, p, o, stderr)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	if len(o.sel.Experiments) > 0 {
		// The page is about all experiments; it is made anew if the others have
		// results.
		_, err := p.Run(ctx, pipeline.Options{
			Selection: pipeline.Selection{Stages: []string{"report"}},
			Jobs:      max(1, o.jobs),
		})

		var lacks *pipeline.NotReadyError
		switch {
		case errors.As(err, &lacks):
			fmt.Fprintf(stderr, "report.html and report.md are as they were: %s lacks results\n", lacks.Needs.Task.ID)
		case err != nil:
			return fmt.Errorf("report: %w", err)
		}
	}

	if format == "" || o.json {
		return show(p, res, o, stdout)
	}

	return write(p, res, o, format, stdout)
}

// writeOut writes the report that is in the work directory to a file.
func writeOut(p *pipeline.Project, o runOptions, format, out string) error {
	res, err := p.Finished(o.sel)

	var notReady *pipeline.NotReadyError
	if errors.As(err, &notReady) {
		return usage("%v\nrun first: the same command without --out", err)
	}

	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	var b bytes.Buffer
	if o.json {
		err = show(p, res, o, &b)
	} else {
		err = write(p, res, o, format, &b)
	}

	if err != nil {
		return err
	}

	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}

	return nil
}

// concerned lists the experiments that have splits in p and not in plain.
func concerned(plain, p *pipeline.Project) []string {
	type split struct{ experiment, name string }
	splits := func(p *pipeline.Project) []split {
		var out []split
		for _, t := range p.Plan.Tasks {
			if t.Split != "" {
				out = append(out, split{t.Experiment, t.Split})
			}
		}

		return out
	}

	before := splits(plain)

	var fresh, all []string
	for _, s := range splits(p) {
		if !slices.Contains(all, s.experiment) {
			all = append(all, s.experiment)
		}

		if !slices.Contains(before, s) && !slices.Contains(fresh, s.experiment) {
			fresh = append(fresh, s.experiment)
		}
	}

	if len(fresh) == 0 { // the configuration holds these splits already
		return all
	}

	return fresh
}

// write writes the chosen experiments in one format.
func write(p *pipeline.Project, res *pipeline.Result, o runOptions, format string, stdout io.Writer) error {
	reports, sweeps, err := results(p, res, o)
	if err != nil {
		return err
	}

	var b []byte
	switch format {
	case "html":
		details, err := p.Details(res, o.sel)
		if err != nil {
			return err
		}

		b = report.Page(details, sweeps...)

	case "md":
		b = report.RunMarkdown(reports, sweeps)

	case "tex":
		for i, e := range reports {
			if i > 0 {
				b = append(b, '\n')
			}
			b = append(b, report.LaTeX(e)...)
		}

	case "csv":
		b = report.MetricsCSV(reports)
	}

	if _, err := stdout.Write(b); err != nil {
		return fmt.Errorf("write report: %w", err)
	}

	return nil
}
