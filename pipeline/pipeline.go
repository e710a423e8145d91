// Package pipeline is the façade of the program: it loads a configuration, runs
// its tasks and reports their states. It also holds the commands that need no
// task: predict, suggest, inspect, diff. It joins the configuration, the stages
// and the engine; the command line imports this package instead of them.
//
// It prints nothing and knows no terminals. Formulas belong in dsp, train and
// report, the work of a stage in stages.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/runs"
	"doubletake/pipeline/stages"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/reportstage"
	"doubletake/pipeline/watch"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/holdout"
)

// Of a released program; .ci/release sets them.
var release, commit, commitDate string

// built returns the version of the module and what else Go noted when it made the program, by key.
func built() (version string, of map[string]string) {
	of = map[string]string{}

	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", of
	}

	for _, s := range info.Settings {
		of[s.Key] = s.Value
	}

	return info.Main.Version, of
}

// Commit returns the commit that the program was built from and its date, "" where
// neither a release nor the build information states them.
func Commit() (hash, date string) {
	if commit != "" {
		return commit, commitDate
	}

	_, of := built()

	return of["vcs.revision"], of["vcs.time"]
}

// Version returns the program's version: that of a release, or one from the
// build information.
func Version() string {
	v, of := built()
	rev := of["vcs.revision"]
	switch {
	case release != "":
		return release
	case v != "" && v != "(devel)":
		return v
	case rev == "":
		return "devel"
	case of["vcs.modified"] == "true":
		return "devel-" + rev[:min(len(rev), 12)] + "+changed"
	}

	return "devel-" + rev[:min(len(rev), 12)]
}

// Project is a loaded configuration with its plan.
type Project struct {
	File     *config.File
	Plan     *engine.Plan
	Program  plan.Program
	Warnings []ingest.Warning

	planned *stages.Planned
}

// RefusePrograms returns an error if the configuration at path names a program that
// a run would start. It starts none and opens no other file.
func RefusePrograms(path string) error {
	f, err := config.Load(path)
	if err != nil {
		return err
	}

	for _, e := range f.Experiments {
		if r := e.Ingest.Reader; r != nil {
			return f.Errorf("experiments."+e.Name+".ingest.reader", "a run would start %q; --no-programs allows none", r.Program)
		}
	}

	return nil
}

// Load reads a configuration and plans its tasks. extra are further splits to
// train and report, as HeldOut makes them. A fault of the configuration is a
// *config.Error or config.Errors, a fault of the data a *fault.Error.
func Load(path string, extra ...config.Split) (_ *Project, err error) {
	defer fault.Catch(&err)
	f := fault.Get(config.Load(path))
	kernels, err := train.KernelSet(f.Kernels)
	if err != nil {
		return nil, f.Errorf("kernels", "%v", err)
	}

	p := &Project{File: f, Program: plan.Program{Version: Version(), Kernels: kernels}}
	p.planned = fault.Get(stages.Plan(f, p.Program, extra))
	p.Plan, p.Warnings = p.planned.Plan, p.planned.Warnings

	return p, nil
}

// CheckFiles opens the project's files, reads their headers, and samples that may be no numbers as
// far as they are few, and reports what would stop a run later: missing columns, recordings that are
// too short, held-out values that do not occur, inputs that do not vary. What is only doubtful is a
// warning.
func (p *Project) CheckFiles(ctx context.Context) ([]ingest.Warning, error) {
	return p.planned.Check(ctx)
}

// shown lists the experiments that reports show: of the variants of a sweep, which a
// comparison shows together, those that are selected by their own names.
func (p *Project) shown(s Selection) []config.Experiment {
	return slices.DeleteFunc(slices.Clone(p.File.Experiments), func(e config.Experiment) bool {
		return e.Variant != nil && !slices.Contains(s.Experiments, e.Name)
	})
}

// Swept lists the experiments that have a sweep whose variants are trained and compared.
func (p *Project) Swept() []string {
	compared := lists.Keep(p.Plan.Tasks, func(t *engine.Task) bool {
		return t.ID == reportstage.CompareTask(t.Experiment)
	})

	return lists.Each(compared, func(t *engine.Task) string { return t.Experiment })
}

// output returns the path of a task's output that the selection is about, if it is up to date.
func (p *Project) output(r *Result, s Selection, task, name string) (path string, ok bool) {
	if t := r.Task(task); t == nil || !p.Plan.Selects(s, t) {
		return "", false
	}

	return r.Output(task, name)
}

// Sweeps returns the comparisons of variants a run selected that are up to date.
func (p *Project) Sweeps(r *Result, s Selection) ([]report.Sweep, error) {
	var out []report.Sweep
	for _, e := range p.Swept() {
		path, ok := p.output(r, s, reportstage.CompareTask(e), reportstage.SweepData)
		if !ok {
			continue
		}

		x, err := reportstage.ReadSweep(path)
		if err != nil {
			return nil, err
		}

		out = append(out, x)
	}

	return out, nil
}

// Details returns what the page shows of the experiments a run selected whose
// reports are up to date. With an error it returns those that can be read.
func (p *Project) Details(r *Result, s Selection) (out []*report.Detail, err error) {
	for _, e := range p.shown(s) {
		path, ok := p.output(r, s, reportstage.ReportTask(e.Name), reportstage.PageData)
		if !ok {
			continue
		}

		x, failure := reportstage.ReadDetail(path)
		if failure != nil {
			err = errors.Join(err, failure)
			continue
		}

		out = append(out, x)
	}

	return out, err
}

// Reports returns the experiments of Details.
func (p *Project) Reports(r *Result, s Selection) ([]report.Experiment, error) {
	details, err := p.Details(r, s)
	return lists.Each(details, func(d *report.Detail) report.Experiment { return d.Experiment }), err
}

// Reported reports whether a report of experiments that a run selected is up to date.
func (p *Project) Reported(r *Result, s Selection) bool {
	return slices.ContainsFunc(p.Plan.Tasks, func(t *engine.Task) bool {
		if t.Stage != "report" || t.Experiment == "" {
			return false
		}

		_, ok := p.output(r, s, t.ID, reportstage.PageData)

		return ok
	})
}

// Page returns the path of the page of all experiments.
func (p *Project) Page() string { return filepath.Join(p.Plan.Dir, reportstage.PageFile) }

// HeldOut makes splits of what the command line holds out, one per argument:
// blades=3, a list blades=2,3, a range rpm=3000:5000, a name propeller=APC-8x6, or
// blades=each for one split per value. A split is named as its argument, without spaces.
// An argument that is no rule, or cannot name a folder, is a *UsageError.
func HeldOut(arguments []string) ([]config.Split, error) {
	var out []config.Split
	for _, h := range arguments {
		name := holdout.Folder(strings.NewReplacer(" ", "", ":", "..").Replace(h))
		if !utf8.ValidString(h) || strings.TrimSpace(h) == "" {
			return nil, &UsageError{Text: fmt.Sprintf("--held-out %q cannot name a folder", h)}
		}

		condition, each := strings.CutSuffix(name, "=each")
		if each && condition != "" && !strings.ContainsAny(condition, "=;&") {
			out = append(out, config.Split{Name: name, Each: []string{condition}})
			continue
		}

		held, err := holdout.Parse(h)
		if err != nil {
			return nil, &UsageError{Text: fmt.Sprintf("--held-out: %v", err)}
		}

		out = append(out, config.Split{Name: name, Test: held})
	}

	return out, nil
}

// Schema returns the JSON Schema of pipeline.yaml, ready for encoding.
func Schema() map[string]any { return config.Schema() }

// Words writes a duration as a reader needs it: 14 s, 3 min, 2 h 10 min.
func Words(d time.Duration) string { return watch.Words(d) }

// Serve shows the work directory of the configuration at path, or the work directory
// path itself, to browsers until ctx ends. It listens on address, like "127.0.0.1:0"
// for any free port, and calls ready when it does, with the page's address.
func Serve(ctx context.Context, path, address string, ready func(url string, port int)) (err error) {
	defer fault.Catch(&err)
	dir := fault.Get(runs.Workdir(path))
	s := fault.Get(watch.Listen(dir, address))
	ready(s.URL(), s.Port())

	return s.Serve(ctx)
}
