package reportstage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// PageData is the output of an experiment's report task that holds its report.Detail, for ReadDetail.
const PageData = "page.gob"

func init() { plan.GobTypes(report.Detail{}, report.Sweep{}) }

// ReadDetail reads what an experiment's report task kept for the page.
func ReadDetail(path string) (*report.Detail, error) {
	d := &report.Detail{}
	return d, plan.ReadGob("page data", path, d)
}

func writeReport(exp plan.Experiment, j *engine.Job, e report.Experiment) error {
	js, err := e.MetricsJSON()
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}

	files := map[string][]byte{"metrics.json": js, "tables.md": report.Markdown(e), "tables.tex": report.LaTeX(e)}
	for name, body := range files {
		if err := os.WriteFile(j.Output(name), body, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}

	t := metricsTable(e)
	t.Meta = exp.Meta()

	return plan.WriteTable(j, "metrics.arrow", t)
}

// metricsTable is the long form of metrics.json: one row per number.
func metricsTable(e report.Experiment) *table.Table {
	t := &table.Table{}
	row := func(n report.Number) {
		t.Cell("experiment", "", "entry of the configuration", e.Name)
		t.Cell("split", "", "train/test rule", n.Split)
		t.Cell("set", "", "train or test", n.Set)
		t.Cell("outcome", "", "outcome, or \"all\" for the mean over outcomes", n.Outcome)
		if n.Undefined != "" {
			n.Mean, n.Std = math.NaN(), math.NaN()
		}

		t.Cell("metric", "", "as in metrics.json; standardised units", n.Key)
		t.Cell("mean", "", "mean over seeds", n.Mean)
		t.Cell("std", "", "sample standard deviation over seeds", n.Std)
		t.Cell("seeds", "", "number of seeds", n.N)
		t.Cell("undefined", "", "why there is no number", n.Undefined)
	}

	for n := range e.Numbers() {
		row(n)
	}

	if len(t.Columns) == 0 { // no split: an empty table with the same columns
		row(report.Number{})
		t = t.Select(nil)
	}

	return t
}

// writeFigures draws the experiment's figures as files and keeps what the page
// is made of.
func writeFigures(j *engine.Job, d *report.Detail) error {
	if err := writeFigureFiles(j, report.Figures(d)); err != nil {
		return err
	}
	return plan.WriteGob("page data", j.Output(PageData), d)
}

func writeFigureFiles(j *engine.Job, list []report.FigureFile) error {
	if err := os.MkdirAll(j.Output("figures"), 0o755); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}

	for _, f := range list {
		name := filepath.Join(j.Output("figures"), f.File)
		err := errors.Join(os.WriteFile(name+".svg", f.SVG, 0o644), os.WriteFile(name+".csv", f.CSV, 0o644))
		if err != nil {
			return fmt.Errorf("write figures: %w", err)
		}
	}

	return nil
}

// PageFile is the page of all experiments, in the work directory.
const PageFile = "report.html"

// PlanPage adds the task over all experiments.
func PlanPage(f *config.File, p *engine.Plan) {
	var sweeps, experiments []string // tasks

	var deps []engine.Dep
	for _, e := range f.Experiments {
		if e.Variant == nil {
			id := ReportTask(e.Name)
			experiments = append(experiments, id)
			deps = append(deps, engine.Dep{Task: id, Output: PageData})
			continue
		}

		id := CompareTask(e.Family()) // pipeline report --experiment writes the variant's page
		made := func(t *engine.Task) bool { return t.ID == id }
		if !slices.Contains(sweeps, id) && slices.ContainsFunc(p.Tasks, made) {
			sweeps = append(sweeps, id)
			deps = append(deps, engine.Dep{Task: id, Output: SweepData})
		}
	}

	p.Tasks = append(p.Tasks, &engine.Task{
		ID: "report", Stage: "report", Version: version, Deps: deps, Weight: 0.01,
		Replaces: slices.ContainsFunc(p.Tasks, func(t *engine.Task) bool { return t.Replaces }),
		Publish: []engine.Link{
			{Output: "report.md", Path: "report.md"},
			{Output: PageFile, Path: PageFile},
		},
		Run: func(_ context.Context, j *engine.Job) (err error) {
			defer fault.Catch(&err)
			compared, details := read(j, sweeps, SweepData, ReadSweep), read(j, experiments, PageData, ReadDetail)
			all := lists.Each(details, func(d *report.Detail) report.Experiment { return d.Experiment })
			return errors.Join(
				os.WriteFile(j.Output("report.md"), report.RunMarkdown(all, compared), 0o644),
				os.WriteFile(j.Output(PageFile), report.Page(details, compared...), 0o644))
		},
	})
}

// read reads one output of each task.
func read[T any](j *engine.Job, tasks []string, output string, of func(path string) (T, error)) []T {
	return lists.Each(tasks, func(id string) T { return fault.Get(of(j.Input(id, output))) })
}
