package stages

import (
	"context"
	"os"
	"slices"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/report/content"
)

// PageData is the name of the output of an experiment's report task that contains its report.Detail. ReadDetail reads
// it.
const PageData = "page.gob"

// metricsArrow is the name of the output with the numbers of a report as a table.
const metricsArrow = "metrics.arrow"

// ReadDetail reads the data for the page that an experiment's report task wrote.
func ReadDetail(path string) (*report.Detail, error) {
	detail := &report.Detail{}
	return detail, taskfile.ReadGobs("page data", path, detail, func() []any { return splitValues(detail) })
}

// ReadReport reads the report in the data for the page that an experiment's report task wrote.
func ReadReport(path string) (report.Experiment, error) {
	head := report.Detail{}
	err := taskfile.ReadGob("page data", path, &head)

	return head.Experiment, err
}

// writeDetail writes the data for the page into a file that ReadDetail reads: first all but the splits, with their
// number, and then one split after another, so that the bytes of all splits are never in memory together.
func writeDetail(path string, d *report.Detail) error {
	head := *d
	head.Splits = make([]report.SplitDetail, len(d.Splits))

	return taskfile.WriteGob("page data", path, append([]any{&head}, splitValues(d)...)...)
}

// splitValues returns pointers to the splits of d.
func splitValues(d *report.Detail) []any {
	var values []any
	for i := range d.Splits {
		values = append(values, &d.Splits[i])
	}

	return values
}

// writeReport writes the numbers of a report, its tables and figures, and the data for the task that makes the page.
func writeReport(exp plan.Experiment, job *engine.Job, page *report.Detail) error {
	if err := page.Experiment.WriteFiles(job.Output); err != nil {
		return err
	}

	t := content.MetricsTable(page.Experiment)
	t.Meta = exp.Meta()
	if err := taskfile.WriteTable(job, metricsArrow, t); err != nil {
		return err
	}

	if err := report.WriteFigures(job.Output("figures"), report.Figures(page)); err != nil {
		return err
	}

	return writeDetail(job.Output(PageData), page)
}

// PageFile is the name of the page of all experiments in the work directory.
const PageFile = "report.html"

// planPage adds the task that writes the page of all experiments. A variant of a sweep is only on the page in the
// comparison of the variants; doubletake report --experiment writes a page of it.
func planPage(f *config.File, p *engine.Plan) {
	var sweeps, experiments []string // IDs of tasks
	var deps []engine.Dep
	for _, e := range f.Experiments {
		if e.Variant == nil {
			id := ReportTask(e.Name)
			experiments = append(experiments, id)
			deps = append(deps, engine.Dep{Task: id, Output: PageData})
			continue
		}

		id := CompareTask(e.Family())
		isComparison := func(t *engine.Task) bool { return t.ID == id }
		if !slices.Contains(sweeps, id) && slices.ContainsFunc(p.Tasks, isComparison) {
			sweeps = append(sweeps, id)
			deps = append(deps, engine.Dep{Task: id, Output: SweepData})
		}
	}

	p.Tasks = append(p.Tasks, &engine.Task{
		ID: "report", Stage: "report", Version: reportVersion, Deps: deps, Weight: 0.01,
		Replaces: slices.ContainsFunc(p.Tasks, func(t *engine.Task) bool { return t.Replaces }),
		Publish: []engine.Link{
			{Output: "report.md", Path: "report.md"},
			{Output: PageFile, Path: PageFile},
		},
		Run: func(_ context.Context, job *engine.Job) error { return writePage(job, sweeps, experiments) },
	})
}

// writePage writes the page of all experiments, and the same report as text. It reads the results of the given tasks.
func writePage(job *engine.Job, sweeps, experiments []string) error {
	var compared []report.Sweep
	for _, id := range sweeps {
		sweep, err := ReadSweep(job.Input(id, SweepData))
		if err != nil {
			return err
		}

		compared = append(compared, sweep)
	}

	var details []*report.Detail
	var all []report.Experiment
	for _, id := range experiments {
		detail, err := ReadDetail(job.Input(id, PageData))
		if err != nil {
			return err
		}

		details = append(details, detail)
		all = append(all, detail.Experiment)
	}

	if err := os.WriteFile(job.Output("report.md"), report.RunMarkdown(all, compared), 0o644); err != nil {
		return err
	}

	return os.WriteFile(job.Output(PageFile), report.Page(details, compared...), 0o644)
}
