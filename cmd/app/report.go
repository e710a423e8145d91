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

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline"
	"doubletake/report"
)

// formats are what report can write.
var formats = []string{"html", "md", "tex", "json", "csv"}

func runReport(c *call) error {
	format, out := c.String("format"), c.String("out")
	o := fault.Get(parseRun(c))
	if format == "" && !o.json && out != "" {
		format = strings.TrimPrefix(filepath.Ext(out), ".")
		if !slices.Contains(formats, format) {
			return usage("--out %s has none of the endings .%s: name the format with --format", out,
				strings.Join(formats, ", ."))
		}
	}

	if o.json && format != "" && format != "json" {
		return usage("--json is --format json, found --format %s too", format)
	}

	o.json = o.json || format == "json"
	o.added = *c.Generic("held-out").(*values)
	extra := fault.Get(pipeline.HeldOut(o.added))
	plain := fault.Get(pipeline.Load(o.file))
	p := plain
	if len(extra) == 0 {
		o.sel.Stages = []string{"report"} // renders only; refuses when something is missing
	} else {
		p = fault.Get(pipeline.Load(o.file, extra...))
		if len(o.sel.Experiments) == 0 {
			// Only experiments that have the condition are concerned.
			o.sel.Experiments = concerned(plain, p)
		}
	}

	if out != "" {
		return writeOut(p, o, format, out)
	}

	res, err := perform(c, p, o)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	if len(o.sel.Experiments) > 0 {
		// The page is about all experiments; it is made anew if the others have
		// results.
		_, err := p.Run(c.ctx, pipeline.Options{
			Selection: pipeline.Selection{Stages: []string{"report"}},
			Jobs:      max(1, o.jobs),
		})

		var lacks *pipeline.NotReadyError
		switch {
		case errors.As(err, &lacks):
			fmt.Fprintf(c.stderr, "report.html and report.md are as they were: %s lacks results\n", lacks.Needs.Task.ID)
		case err != nil:
			return fmt.Errorf("report: %w", err)
		}
	}

	return write(p, res, o, format, c.stdout)
}

// writeOut writes the report that is in the work directory to a file.
func writeOut(p *pipeline.Project, o runOptions, format, out string) error {
	res, err := p.Finished(o.sel)
	if _, lacks := errors.AsType[*pipeline.NotReadyError](err); lacks {
		return usage("%v\nrun first: the same command without --out", err)
	}

	if err != nil {
		return fmt.Errorf("report: %w", err)
	}

	var b bytes.Buffer
	fault.Raise(write(p, res, o, format, &b))
	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}

	return nil
}

// concerned lists the experiments that have splits in p and not in plain.
func concerned(plain, p *pipeline.Project) []string {
	type split struct{ experiment, name string }
	before := map[split]bool{}
	for _, t := range plain.Plan.Tasks {
		before[split{t.Experiment, t.Split}] = true
	}

	var fresh, all []string
	for _, t := range p.Plan.Tasks {
		if t.Split != "" && !slices.Contains(all, t.Experiment) {
			all = append(all, t.Experiment)
		}

		if t.Split != "" && !before[split{t.Experiment, t.Split}] && !slices.Contains(fresh, t.Experiment) {
			fresh = append(fresh, t.Experiment)
		}
	}

	if len(fresh) == 0 { // the configuration holds these splits already
		return all
	}

	return fresh
}

// write writes the chosen experiments in one format; without one as a run prints them.
func write(p *pipeline.Project, res *pipeline.Result, o runOptions, format string, stdout io.Writer) error {
	if format == "" || o.json {
		return show(p, res, o, stdout)
	}

	reports, sweeps := results(p, res, o)
	var b []byte
	switch format {
	case "html":
		b = report.Page(fault.Get(p.Details(res, o.sel)), sweeps...)

	case "md":
		b = report.RunMarkdown(reports, sweeps)

	case "tex":
		b = bytes.Join(lists.Each(reports, report.LaTeX), []byte("\n"))

	case "csv":
		b = report.MetricsCSV(reports)
	}

	return emit(stdout, "write report", b)
}
