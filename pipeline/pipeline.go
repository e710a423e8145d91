// Package pipeline is the façade of the program: load a file, run it, ask how
// it stands. It joins the configuration, the stages and the engine, and knows
// nothing of terminals: what it has to say it returns. What needs no task
// stands here as well: predict, suggest, inspect, diff. Formulas belong to dsp, train
// and report, what a stage does to stages.
package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages"
	"doubletake/report"
	"doubletake/train"
)

// Version returns the program's version, from the build information.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	var rev, dirty string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+changed"
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "devel"
		if rev != "" {
			v += "-" + rev[:min(len(rev), 12)] + dirty
		}
	}
	return v
}

// Project is a loaded configuration with its plan.
type Project struct {
	File     *config.File
	Plan     *engine.Plan
	Program  stages.Program
	Warnings []ingest.Warning
}

// Load reads a configuration and plans its tasks. extra are further splits to
// train and report (report --held-out).
func Load(path string, extra ...config.Split) (*Project, error) {
	f, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	kernels, err := train.KernelSet(f.Kernels)
	if err != nil {
		return nil, f.Errorf("kernels", "%v", err)
	}
	p := &Project{File: f, Program: stages.Program{Version: Version(), Kernels: kernels}}
	p.Plan, p.Warnings, err = stages.Plan(f, p.Program, extra)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Check reports a selection of stages, experiments or splits that are not there.
func (p *Project) Check(s engine.Selection) error {
	one := func(flag, name string, known []string) error {
		if name == "" || slices.Contains(known, name) {
			return nil
		}
		hint := ""
		if n := config.Nearest(name, known); n != "" {
			hint = fmt.Sprintf("; did you mean %q?", n)
		}
		return &config.Error{File: p.File.Path, Text: fmt.Sprintf("%s %q is unknown, expected one of %s%s", flag, name, strings.Join(known, ", "), hint)}
	}
	var experiments, splits []string
	for _, t := range p.Plan.Tasks {
		if t.Experiment != "" && !slices.Contains(experiments, t.Experiment) {
			experiments = append(experiments, t.Experiment)
		}
		if t.Split != "" && !slices.Contains(splits, t.Split) {
			splits = append(splits, t.Split)
		}
	}
	for _, c := range []struct {
		flag  string
		names []string
		known []string
	}{
		{"--stage", s.Stages, stages.Names()},
		{"--from", []string{s.From}, stages.Names()},
		{"--to", []string{s.To}, stages.Names()},
		{"--experiment", s.Experiments, experiments},
		{"--split", s.Splits, splits},
	} {
		for _, n := range c.names {
			if err := one(c.flag, n, c.known); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run makes what is selected and not up to date.
func (p *Project) Run(ctx context.Context, o engine.Options) (*engine.Result, error) {
	if err := p.Check(o.Selection); err != nil {
		return nil, err
	}
	o.Program = p.Program.Version
	o.Annotate = append(o.Annotate, engine.KV{Key: "kernels", Value: p.Program.Kernels})
	defer stages.Release()
	return engine.Run(ctx, p.Plan, o)
}

// Details returns what the page shows of the experiments a run selected whose
// reports are up to date.
func (p *Project) Details(r *engine.Result, s engine.Selection) ([]*report.Detail, error) {
	var out []*report.Detail
	for _, e := range p.File.Experiments {
		id := stages.ReportTask(e.Name)
		i := slices.IndexFunc(p.Plan.Tasks, func(t *engine.Task) bool { return t.ID == id })
		if i < 0 || !p.Plan.Selects(s, p.Plan.Tasks[i]) {
			continue
		}
		path, ok := r.Output(id, stages.PageData)
		if !ok {
			continue
		}
		d, err := stages.ReadDetail(path)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// Reports returns the experiments a run selected whose reports are up to date.
func (p *Project) Reports(r *engine.Result, s engine.Selection) ([]report.Experiment, error) {
	var out []report.Experiment
	for _, e := range p.File.Experiments {
		id := stages.ReportTask(e.Name)
		i := slices.IndexFunc(p.Plan.Tasks, func(t *engine.Task) bool { return t.ID == id })
		if i < 0 || !p.Plan.Selects(s, p.Plan.Tasks[i]) {
			continue
		}
		path, ok := r.Output(id, stages.ReportData)
		if !ok {
			continue
		}
		x, err := stages.ReadExperiment(path)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// Status says of every task whether it is up to date, and why not.
func (p *Project) Status() ([]*engine.Status, error) { return engine.Assess(p.Plan) }
