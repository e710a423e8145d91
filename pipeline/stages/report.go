package stages

// Stage report has one task for each experiment, which judges its models and writes metrics, tables and figures. One
// more task writes the page of all experiments. The scores are in package train/score; the form of tables, figures and
// page is in package report.

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/dsp/analysis"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/report/findings"
)

// reportVersion is the version of the results of stage report. Raise it when the stage gives another result for the
// same input: its tasks then run again.
const reportVersion = 70

// weight estimates the seconds that the report takes on one processor, from the number of conditions that its figures
// show for each split, and from the search for far runs.
func (x *reportStage) weight() float64 {
	conditions, _ := x.ing.Size()
	return 0.2 + 7e-4*min(conditions, 1000)*float64(len(x.splits)) + x.trained.experiment.FarSeconds()
}

// ReportTask returns the ID of an experiment's report task.
func ReportTask(experiment string) string { return experiment + "/report" }

// planReport adds the task that judges the experiment's models and writes its tables,
// metrics and figures.
func planReport(exp plan.Experiment, ing ingestResult, trip dspResult, trained trainResult) error {
	exp.Train.Splits = trained.Splits
	x := &reportStage{exp: exp, ing: ing, trip: trip, trained: trained}
	x.splits, x.final = trained.experiment.Trained()
	folder := exp.Published("report", "report")
	t := &engine.Task{
		ID: ReportTask(exp.Name), Stage: "report", Version: reportVersion, Local: x.local(), Weight: x.weight(),
		Config: slices.Concat(x.settings()...), Deps: x.dependencies(), Replaces: ing.Shards != nil, Run: x.run,
	}

	if name := exp.Report.Compare; name != "" {
		file, err := exp.Named(name)
		if err != nil {
			return err
		}

		file.Needs(t)
	}

	outputs := []string{
		report.MetricsFile, metricsArrow, report.TablesMarkdown, report.TablesLaTeX, PageData, "figures/",
	}
	for _, output := range outputs {
		t.Publish = append(t.Publish, engine.Link{Output: output, Path: filepath.Join(folder, output)})
	}

	exp.Add(t)
	x.ing.Known = nil // only the planning needs it; the task would keep it in memory

	return nil
}

// reportStage makes the report of one experiment from the results of the stages before.
type reportStage struct {
	exp     plan.Experiment
	ing     ingestResult
	trip    dspResult
	trained trainResult
	splits  []config.Split // trained splits that hold something out
	final   []config.Split // trained splits that hold nothing out: final models
}

// dependencies lists the outputs of other tasks that the report reads.
func (x *reportStage) dependencies() []engine.Dep {
	deps := append([]engine.Dep{x.trip.Triplets, x.trip.Notes}, x.ing.Results...)
	for _, d := range []*engine.Dep{x.trip.Spectra, x.ing.Index, x.trip.Background} {
		if d != nil {
			deps = append(deps, *d)
		}
	}

	for _, split := range x.splits {
		for seed := range x.exp.Train.Seeds {
			id := TrainID(x.exp, split.Name, seed)
			deps = append(deps, engine.Dep{Task: id, Output: "predictions.arrow"},
				engine.Dep{Task: id, Output: HistoryArrow})
			deps = append(deps, compareDeps(x.exp, split, seed)...)
		}

		deps = append(deps, honestDeps(x.exp, split)...)
	}

	for _, split := range x.final {
		deps = append(deps, honestDeps(x.exp, split)...)
	}

	return deps
}

// local returns the part of the task's key that is not a setting of any stage.
func (x *reportStage) local() []kv.Pair {
	local := append(plan.Stated(x.exp.Meta()), kv.Pair{Key: "pairs", Value: x.ing.PairKind})
	local = append(local, config.Flatten("about", x.exp.About)...)
	if across, _ := x.exp.Across(); across != "" {
		local = append(local, kv.Pair{Key: "variance between occasions", Value: "of all repeats"})
	}

	for i, w := range x.ing.Warnings {
		text := fmt.Sprint(w.Path, " ", w.Code, " ", w.Text)
		local = append(local, kv.Pair{Key: "warning " + strconv.Itoa(i+1), Value: text})
	}

	return local
}

// run judges the models and writes the report.
func (x *reportStage) run(ctx context.Context, job *engine.Job) error {
	tab, err := readTable(job, x.trip.Triplets)
	if err != nil {
		return err
	}

	found, err := x.findings(job)
	if err != nil {
		return err
	}

	results := x.results(job, tab)
	results.Found = found
	page, err := results.Report(ctx)
	if err != nil {
		return x.exp.Located("train", err)
	}

	about := [][]kv.Pair{config.Flatten("about", x.exp.About)}
	page.Config = facts(append(about, x.settings()...)...)

	return writeReport(x.exp, job, page)
}

// findings collects what the tasks found in the files of the experiment.
func (x *reportStage) findings(job *engine.Job) (findings.Findings, error) {
	var found findings.Findings
	found.AddPlanned(x.ing.Warnings)
	for _, dep := range x.ing.Results {
		add := func(result *FileResult) { found.AddFile(result.Warnings) }
		if err := taskfile.EachJSON(job.Input(dep.Task, dep.Output), add); err != nil {
			return found, err
		}
	}

	var all []analysis.FileNotes
	if err := taskfile.ReadJSON(job.Input(x.trip.Notes.Task, x.trip.Notes.Output), &all); err != nil {
		return found, err
	}

	for _, notes := range all {
		found.AddNotes(notes)
	}

	return found, nil
}

// readTable reads a table that another task wrote.
func readTable(job *engine.Job, dep engine.Dep) (*table.Table, error) {
	return table.Read(job.Input(dep.Task, dep.Output))
}

// settings returns the sections of the configuration that the results depend on.
func (x *reportStage) settings() [][]kv.Pair {
	exp := x.exp
	return [][]kv.Pair{
		plan.Settings("ingest", exp.Ingest), plan.Settings("dsp", exp.DSP),
		plan.Settings("train", exp.Train),
	}
}

// facts returns settings as facts for the page.
func facts(sections ...[]kv.Pair) (list []report.Fact) {
	for _, p := range slices.Concat(sections...) {
		list = append(list, report.Fact{Name: p.Key, Value: p.Value})
	}

	return list
}
