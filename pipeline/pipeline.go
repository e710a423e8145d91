// Package pipeline is the façade of the program: it loads a configuration, runs its tasks, and returns their states and
// reports. It joins the configuration, the stages and the engine, so that the command line need not import them.
//
// It prints nothing and knows no terminals. Formulas belong in dsp, train and report, and the work of a stage in
// stages.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/holdout"
)

// The linker sets these in a released program, as .ci/release asks it to. Otherwise they are "".
var (
	release    string // the version
	commit     string // hash of the commit
	commitDate string
)

// buildInfo returns the version of the module, and the settings that Go noted when it built the program, by key.
func buildInfo() (version string, settings map[string]string) {
	settings = map[string]string{}

	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", settings
	}

	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}

	return info.Main.Version, settings
}

// Commit returns the commit from which the program was built, and its date. Both are "" if they are not known.
func Commit() (hash, date string) {
	if commit != "" {
		return commit, commitDate
	}

	_, settings := buildInfo()

	return settings["vcs.revision"], settings["vcs.time"]
}

// Version returns the program's version: the version of the release or of the module. Otherwise it is "devel" with the
// commit, if that is known.
func Version() string {
	module, settings := buildInfo()
	revision := settings["vcs.revision"]
	const shortRevision = 12 // digits
	short := revision[:min(len(revision), shortRevision)]

	switch {
	case release != "":
		return release
	case module != "" && module != "(devel)":
		return module
	case revision == "":
		return "devel"
	case settings["vcs.modified"] == "true":
		return "devel-" + short + "+changed"
	}

	return "devel-" + short
}

// Project is a loaded configuration with its plan.
type Project struct {
	File     *config.File
	Plan     *engine.Plan
	Program  plan.Program
	Warnings []ingest.Warning

	planned *stages.Planned
}

// RefusePrograms returns an error if the configuration at path names a program that a run would start. It opens only
// the configuration, and starts nothing.
func RefusePrograms(path string) error {
	file, err := config.Load(path)
	if err != nil {
		return err
	}

	for _, e := range file.Experiments {
		if r := e.Ingest.Reader; r != nil {
			return file.Errorf("experiments."+e.Name+".ingest.reader", "a run would start %q; --no-programs allows none",
				r.Program)
		}
	}

	return nil
}

// Load reads a configuration and plans its tasks. extra are further splits to train and report, as HeldOut returns
// them. Load returns a *config.Error or config.Errors for a fault of the configuration, and a *fault.Error for a fault
// of the data.
func Load(path string, extra ...config.Split) (*Project, error) {
	file, err := config.Load(path)
	if err != nil {
		return nil, err
	}

	kernels, err := train.KernelSet(file.Kernels)
	if err != nil {
		return nil, file.Errorf("kernels", "%v", err)
	}

	project := &Project{File: file, Program: plan.Program{Version: Version(), Kernels: kernels}}
	project.planned, err = stages.Plan(file, project.Program, extra)
	if err != nil {
		return nil, err
	}

	project.Plan = project.planned.Plan
	project.Warnings = project.planned.Warnings

	if err := project.checkNames(); err != nil {
		return nil, err
	}

	return project, nil
}

// checkNames returns an error if the folder of an experiment would take the place of a file that the plan publishes in
// the work directory itself: a report on all experiments.
func (p *Project) checkNames() error {
	var reports []string
	for _, task := range p.Plan.Tasks {
		for _, link := range task.Publish {
			if filepath.Base(link.Path) == link.Path {
				reports = append(reports, link.Path)
			}
		}
	}

	for _, e := range p.File.Experiments {
		for _, name := range reports {
			if strings.EqualFold(e.Family(), name) { // on Windows and macOS letter case makes no difference
				return p.File.Errorf("experiments."+e.Name, "expected another name: in the work directory %s is a report on "+
					"all experiments", name)
			}
		}
	}

	return nil
}

// CheckFiles returns the error with which a run would stop later: missing columns, recordings that are too short,
// held-out values that do not occur, inputs that do not vary. Doubtful things are warnings. It reads the headers of the
// project's files, and samples of files that may contain something other than numbers, up to a bound.
func (p *Project) CheckFiles(ctx context.Context) ([]ingest.Warning, error) {
	return p.planned.Check(ctx)
}

// shown returns the experiments that reports show. A variant of a sweep is among them only if it is selected by its own
// name: a comparison shows all variants together.
func (p *Project) shown(s Selection) []config.Experiment {
	var shown []config.Experiment
	for _, e := range p.File.Experiments {
		if e.Variant == nil || slices.Contains(s.Experiments, e.Name) {
			shown = append(shown, e)
		}
	}

	return shown
}

// Swept returns the names of the experiments with a sweep whose variants are trained and compared.
func (p *Project) Swept() []string {
	var swept []string
	for _, t := range p.Plan.Tasks {
		if t.ID == stages.CompareTask(t.Experiment) {
			swept = append(swept, t.Experiment)
		}
	}

	return swept
}

// output returns the path of an output of a task. ok is false if the task is not selected, or not up to date.
func (p *Project) output(r *Result, s Selection, task, name string) (path string, ok bool) {
	t := r.Task(task)
	if t == nil || !p.Plan.Selects(s, t) {
		return "", false
	}

	return r.Output(task, name)
}

// Sweeps returns the comparisons of variants that are selected and up to date.
func (p *Project) Sweeps(r *Result, s Selection) ([]report.Sweep, error) {
	var sweeps []report.Sweep
	for _, experiment := range p.Swept() {
		path, ok := p.output(r, s, stages.CompareTask(experiment), stages.SweepData)
		if !ok {
			continue
		}

		sweep, err := stages.ReadSweep(path)
		if err != nil {
			return nil, err
		}

		sweeps = append(sweeps, sweep)
	}

	return sweeps, nil
}

// Details returns the contents of the page about the selected experiments whose reports are up to date. If some cannot
// be read, it returns the others and an error.
func (p *Project) Details(r *Result, s Selection) ([]*report.Detail, error) {
	return fromPages(p, r, s, stages.ReadDetail)
}

// Reports returns the reports of the selected experiments that are up to date. If some cannot be read, it returns the
// others and an error.
func (p *Project) Reports(r *Result, s Selection) ([]report.Experiment, error) {
	return fromPages(p, r, s, stages.ReadReport)
}

// fromPages returns what read returns for the data of the page of each selected experiment whose report is up to date.
// If some cannot be read, it returns the others and an error.
func fromPages[T any](p *Project, r *Result, s Selection, read func(path string) (T, error)) (list []T, errs error) {
	for _, experiment := range p.shown(s) {
		path, ok := p.output(r, s, stages.ReportTask(experiment.Name), stages.PageData)
		if !ok {
			continue
		}

		v, err := read(path)
		if err != nil {
			errs = errors.Join(errs, err)
			continue
		}

		list = append(list, v)
	}

	return list, errs
}

// Reported reports whether the report of a selected experiment is up to date.
func (p *Project) Reported(r *Result, s Selection) bool {
	for _, t := range p.Plan.Tasks {
		if t.Stage != "report" || t.Experiment == "" {
			continue
		}

		if _, ok := p.output(r, s, t.ID, stages.PageData); ok {
			return true
		}
	}

	return false
}

// Page returns the path of the page of all experiments.
func (p *Project) Page() string { return filepath.Join(p.Plan.Dir, stages.PageFile) }

// HeldOut returns a split for each argument of --held-out: a value blades=3, a list blades=2,3, a range rpm=3000:5000,
// a name propeller=APC-8x6, or blades=each, which stands for one split per value. The name of a split is its argument
// without spaces. HeldOut returns a *UsageError for an argument that is not a rule or cannot name a folder.
func HeldOut(arguments []string) ([]config.Split, error) {
	var splits []config.Split
	for _, argument := range arguments {
		name := holdout.Folder(strings.NewReplacer(" ", "", ":", "..").Replace(argument))
		if !utf8.ValidString(argument) || strings.TrimSpace(argument) == "" {
			return nil, &UsageError{Text: fmt.Sprintf("--held-out %q cannot name a folder", argument)}
		}

		condition, each := strings.CutSuffix(name, "=each")
		if each && condition != "" && !strings.ContainsAny(condition, "=;&") {
			splits = append(splits, config.Split{Name: name, Each: []string{condition}})
			continue
		}

		held, err := holdout.Parse(argument)
		if err != nil {
			return nil, &UsageError{Text: fmt.Sprintf("--held-out: %v", err)}
		}

		splits = append(splits, config.Split{Name: name, Test: held})
	}

	return splits, nil
}

// Schema returns the JSON Schema of pipeline.yaml, ready for encoding.
func Schema() map[string]any { return config.Schema() }

// WriteFile writes a small file, so that after a power cut the file is either complete or as it was before.
func WriteFile(path string, data []byte) error { return engine.WriteFile(path, data) }
