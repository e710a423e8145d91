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

	"doubletake/dsp"
	"doubletake/dsp/analysis"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/report/content"
	"doubletake/report/findings"
	"doubletake/report/pairs"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// reportVersion is the version of the results of stage report. Raise it when the stage gives another result for the
// same input: its tasks then run again.
const reportVersion = 69

// weight estimates the seconds that the report takes on one processor, from the number of conditions that its figures
// show for each split, and from the search for far runs.
func (x *reportStage) weight() float64 {
	conditions, _ := x.ing.Size()
	return 0.2 + 7e-4*min(conditions, 1000)*float64(len(x.splits)) + x.trained.FarSeconds()
}

// ReportTask returns the ID of an experiment's report task.
func ReportTask(experiment string) string { return experiment + "/report" }

// planReport adds the task that judges the experiment's models and writes its tables,
// metrics and figures.
func planReport(exp plan.Experiment, ing ingestResult, trip dspResult, trained trainResult) error {
	exp.Train.Splits = trained.Splits
	x := &reportStage{exp: exp, ing: ing, trip: trip, trained: trained}
	for _, split := range exp.Train.Splits {
		switch {
		case len(exp.Train.Inputs) == 0: // nothing is trained
		case split.Final():
			x.final = append(x.final, split)
		default:
			x.splits = append(x.splits, split)
		}
	}

	x.deps = x.dependencies()
	folder := exp.Published("report", "report")
	t := &engine.Task{
		ID: ReportTask(exp.Name), Stage: "report", Version: reportVersion, Local: x.local(), Deps: x.deps, Weight: x.weight(),
		Config:   slices.Concat(x.settings()...),
		Replaces: ing.Shards != nil, Run: x.run,
	}

	if name := exp.Report.Compare; name != "" {
		file, err := exp.Named(name)
		if err != nil {
			return err
		}

		file.Needs(t)
	}

	for _, output := range []string{report.MetricsFile, "metrics.arrow", "tables.md", "tables.tex", PageData, "figures/"} {
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
	deps    []engine.Dep   // all outputs that the report reads
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

	set, err := reportSet(x.exp, x.ing.Conditions, tab)
	if err != nil {
		return err
	}

	found, err := x.collect(ctx, job, tab, set)
	if err != nil {
		return err
	}

	data := content.NewData(tab, set, dsp.NoiseBins(x.exp.DSP.Window))
	e := x.describe(tab)
	e.Skipped = found.Skipped
	ref, notes, err := reference(x.exp, tab, set)
	if err != nil {
		return err
	}

	splits, err := x.splitSets(set, tab)
	if err != nil {
		return err
	}

	for i, split := range splits {
		trained, err := x.trainedOn(job, x.splits[i], split)
		if err != nil {
			return err
		}

		judged, err := data.AddSplit(ctx, trained, ref)
		if err != nil {
			return err
		}

		e.Splits = append(e.Splits, *judged)
	}

	e.Final, err = x.finalModels(job, e)
	if err != nil {
		return err
	}

	across, _ := x.exp.Across()
	for _, thing := range honest.BetweenOccasions(set, across) {
		e.Between = append(e.Between, fmt.Sprint("All repeats: ", thing))
	}

	if err := x.warn(ctx, job, &e, tab, set, splits, &found); err != nil {
		return err
	}

	e.Warnings = append(e.Warnings, notes...)
	if err := x.addData(job, data, found); err != nil {
		return err
	}

	about := [][]kv.Pair{config.Flatten("about", x.exp.About)}
	page := data.Detail()
	page.Config = facts(append(about, x.settings()...)...)
	page.Experiment = e

	if err := writeReport(x.exp, job, page.Experiment); err != nil {
		return err
	}

	return writeFigures(job, page)
}

// subtractsBackground reports whether the background is subtracted from levels.
func (x *reportStage) subtractsBackground() bool {
	background := x.exp.Ingest.Background
	return background != nil && background.Subtract
}

// collect collects the findings of the experiment's tasks, and finds mistakes in the triplets.
func (x *reportStage) collect(ctx context.Context, job *engine.Job, tab *table.Table, set triplets.Set) (
	findings.Findings, error,
) {
	found := findings.Findings{SplitName: func(name string) []string { return pairs.SplitName(tab, name) }}
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
		addNotes(&found, notes)
	}

	if x.ing.Index != nil && x.ing.Recordings != nil {
		recs, err := readTable(job, *x.ing.Index)
		if err != nil {
			return found, err
		}

		found.AddCutShort(recs)
	}

	found.AddMistakes(set)
	if x.isToy() { // the rows of the toy are not runs
		return found, nil
	}

	return found, found.AddFarRuns(ctx, x.exp.Train.Honest, set)
}

// addNotes adds the notes of the analysis of one file to the findings.
func addNotes(found *findings.Findings, notes analysis.FileNotes) {
	if notes.Skipped != nil {
		found.Skipped = append(found.Skipped, notes.Skipped.Reason)
	}

	found.AddAnalysis(notes.Warnings)
	for _, note := range notes.Notes {
		found.AddRun(findings.RunNote(note))
	}
}

// warn adds the warnings and the suspects of the report, the worst first.
func (x *reportStage) warn(ctx context.Context, job *engine.Job, e *report.Experiment, tab *table.Table,
	set triplets.Set, splits []content.Split, found *findings.Findings,
) error {
	effects := findings.Effects{Splits: e.Splits, Runs: e.Runs, Set: set}
	effects.Recalibrate = func(ctx context.Context, split int, isLeft func(run, recording string) bool) (
		*interval.Record, error,
	) {
		return x.trained.CalibrateWithout(ctx, job, x.splits[split], isLeft)
	}

	words, err := found.Words(ctx, effects, found.FarPairs(x.ing.PairKind, tab, set))
	if err != nil {
		return err
	}

	e.Warnings = words.Warnings
	e.Widening = words.Widening
	e.Suspects = words.Suspects
	e.Warnings = append(e.Warnings, found.Counts(x.exp.DSP.EmergenceDB, x.subtractsBackground())...)
	more, err := content.Warnings(x.ing.Conditions, x.exp.Train.Outcomes, tab, set, splits)
	if err != nil {
		return err
	}

	e.Warnings = append(e.Warnings, more...)

	return nil
}

// readTable reads a table that another task wrote.
func readTable(job *engine.Job, dep engine.Dep) (*table.Table, error) {
	return table.Read(job.Input(dep.Task, dep.Output))
}

// addData adds the spectra, the quality and the background of the recordings to the data of the page.
func (x *reportStage) addData(job *engine.Job, data *content.Data, found findings.Findings) error {
	if x.trip.Spectra != nil {
		spectra, err := readTable(job, *x.trip.Spectra)
		if err != nil {
			return err
		}

		if err := data.AddSpectra(spectra); err != nil {
			return err
		}
	}

	if x.ing.Index == nil {
		return nil
	}

	recs, err := readTable(job, *x.ing.Index)
	if err != nil {
		return err
	}

	data.AddQuality(recs, found)
	if x.trip.Background == nil {
		return nil
	}

	background, err := readBackground(job.Input(x.trip.Background.Task, x.trip.Background.Output))
	if err != nil {
		return err
	}

	return data.AddBackground(background.Recordings, recs)
}

// finalModels describes the models that were trained on all rows, in one text for each.
func (x *reportStage) finalModels(job *engine.Job, e report.Experiment) (texts []string, err error) {
	for _, split := range x.final {
		var calibration *interval.Calibration
		for _, dep := range honestDeps(x.exp, split) {
			result, err := readIntervals(job, dep)
			if err != nil {
				return nil, err
			}

			calibration = result.Calibration
		}

		texts = append(texts, content.FinalModel(split.Name, e, calibration))
	}

	return texts, nil
}

// pairsFrom describes in words how y1 and y2 come about.
func (x *reportStage) pairsFrom() string {
	if x.ing.Construction == nil {
		return "The pairs were read from a table as they are"
	}
	return x.ing.Construction.Describe().Doc
}

// isToy reports whether the simulated toy made the pairs.
func (x *reportStage) isToy() bool { return x.ing.Pairs != nil && x.ing.Pairs.Toy != nil }

// describe returns the report with the description of its data and settings, and without results.
func (x *reportStage) describe(tab *table.Table) report.Experiment {
	exp := x.exp
	e := report.Experiment{
		Name: exp.Name, Data: exp.Ingest.Data, Pairs: x.ing.PairKind, Construction: exp.DSP.Triplets,
		PairsFrom: x.pairsFrom(), Couples: exp.DSP.Couples,
		Inputs: exp.Train.Inputs, Outcomes: pairs.Outcomes(tab), Triplets: tab.Rows(),
		Runs: len(content.Distinct(tab, "run")), Recordings: len(content.Distinct(tab, "recording")),
		ConfigDigest: plan.Digest(x.settings()...), Version: x.exp.Program.Version,
	}

	for _, outcome := range e.Outcomes {
		e.OutcomeUnits = append(e.OutcomeUnits, tab.Column(outcome+"_1").Unit)
	}

	return e
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
