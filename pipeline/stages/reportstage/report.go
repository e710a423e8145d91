// Package reportstage plans stage report: per experiment a task that judges its
// models and writes metrics, tables and figures, and one task that writes the
// page of all experiments. The scores are in package train/score, the form of
// tables, figures and page in package report.
package reportstage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// version is the version of this stage's results. Raise it when the stage gives
// another result for the same input: its tasks then run again.
// 5: directivities of every place; 6: kappa, quantiles recalibrated; 7: numbers
// are kept together; 8: narrower figures, quotes in Markdown; 9: Σe/ΣC among the
// identities; 10: the background in the spectrum's figure; 11: figures name
// simulated outcomes; 12: plain numbers in the flag of Σe/ΣC;
// 13: metrics are kept by key, the origin of y1 and y2; 14: plain words;
// 15: pairs of repeats that differ far more than the others; 16: data card; 17: the
// flag of Σe/ΣC by its mean over seeds; no deviation where there is none;
// 18: band levels over frequency, levels in words; 19: a short page, the table of errors
// and claims; 20: how C was integrated, in words; 21: claimed and measured error side by
// side, directivities over the angle, residuals; 22: claims of left-out groups, in words;
// 23: why a method has no C_x; 24: one table value for all outputs.
const version = 24

// weight is the seconds that the report takes on one processor, roughly: by the
// conditions that its figures show for each split.
func (x *experiment) weight() float64 {
	return 0.2 + 7e-4*float64(min(len(x.b.Known), 1000)*len(x.splits))
}

// ReportTask is the ID of an experiment's report task.
func ReportTask(experiment string) string { return experiment + "/report" }

// pairsFrom returns how y1 and y2 come about, for people.
func pairsFrom(b *plan.Builder) string {
	if b.Construction == nil {
		return "the pairs were read from a table as they are"
	}
	return b.Construction.Describe().Doc
}

// Plan adds the task that judges the experiment's models and writes its tables,
// metrics and figures.
func Plan(b *plan.Builder) error {
	x := &experiment{
		b: b, planned: b.Warnings,
		trip:       engine.Dep{Task: b.ID("triplets"), Output: "triplets.arrow"},
		notes:      engine.Dep{Task: b.ID("triplets"), Output: dspstage.NotesJSON},
		spectra:    publisher(b, "spectra.arrow"),
		recordings: publisher(b, "recordings.arrow"),
		series:     series(b),
	}
	if len(b.Exp.Train.Inputs) > 0 {
		for _, s := range b.Exp.Train.Splits {
			if s.Final() {
				x.final = append(x.final, s.Name)
			} else {
				x.splits = append(x.splits, s)
			}
		}
	}
	x.deps = x.dependencies()
	folder := b.Published("report")
	t := &engine.Task{
		ID: ReportTask(b.Exp.Name), Stage: "report", Version: version, Local: x.local(), Deps: x.deps, Weight: x.weight(),
		Run: x.run,
	}
	for _, o := range []string{"metrics.json", "metrics.arrow", "tables.md", "tables.tex", PageData} {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(folder, o)})
	}
	t.Publish = append(t.Publish, engine.Link{Output: CardFile, Path: b.Published(CardFile)})
	if compares(b) {
		t.Publish = append(t.Publish, engine.Link{Output: methodsArrow, Path: filepath.Join(folder, methodsArrow)})
	}
	t.Publish = append(t.Publish, engine.Link{Output: "figures/", Path: filepath.Join(folder, "figures")})
	b.Add(t)
	return nil
}

// experiment is the report of one experiment: the outputs it is made from.
type experiment struct {
	b           *plan.Builder
	planned     []ingest.Warning // found while planning
	splits      []config.Split   // that were trained and hold something out
	final       []string         // splits of final models: nothing is held out
	trip, notes engine.Dep
	deps        []engine.Dep // all of them

	spectra, recordings, series *engine.Dep // nil where there are none
}

func (x *experiment) dependencies() []engine.Dep {
	deps := append([]engine.Dep{x.trip, x.notes}, x.b.Recordings...)
	for _, d := range []*engine.Dep{x.spectra, x.recordings, x.series, x.b.Background} {
		if d != nil {
			deps = append(deps, *d)
		}
	}
	for _, s := range x.splits {
		for k := range x.b.Exp.Train.Seeds {
			for _, o := range []string{"predictions.arrow", "history.arrow", "model.json"} {
				deps = append(deps, engine.Dep{Task: trainstage.TrainID(x.b, s.Name, k), Output: o})
			}
			if x.b.Exp.Train.EarlyStop.On != "" {
				deps = append(deps, engine.Dep{
					Task: trainstage.StoppingID(x.b, s.Name, k), Output: trainstage.StoppingArrow,
				})
			}
			deps = append(deps, compareDeps(x.b, s, k)...)
		}
		deps = append(deps, honestDeps(x.b, s)...)
	}
	return deps
}

// local is the part of the task's key that is no setting of the stage.
func (x *experiment) local() []kv.Pair {
	exp := x.b.Exp
	local := []kv.Pair{
		{Key: "pairs", Value: x.b.PairKind()},
		{Key: "kind of data", Value: exp.Ingest.Data},
		{Key: "construction", Value: exp.DSP.Triplets},
		{Key: "couples", Value: strconv.FormatBool(exp.DSP.Couples)},
		{Key: "inputs", Value: strings.Join(exp.Train.Inputs, ",")},
		{Key: "seeds", Value: strconv.Itoa(exp.Train.Seeds)},
	}
	for _, s := range x.splits {
		local = append(local, s.Setting())
	}
	for _, d := range exp.Train.Events {
		local = append(local, kv.Pair{Key: "train.events." + d.Name, Value: d.Value})
	}
	local = append(local, config.Flatten("about", exp.About)...)
	if len(x.final) > 0 {
		local = append(local, kv.Pair{Key: "final models", Value: strings.Join(x.final, ",")})
	}
	for i, w := range x.planned {
		local = append(local, kv.Pair{Key: "warning " + strconv.Itoa(i+1), Value: w.Text})
	}
	return local
}

func (x *experiment) run(ctx context.Context, j *engine.Job) error {
	b := x.b
	tab, err := table.Read(j.Input(x.trip.Task, x.trip.Output))
	if err != nil {
		return err
	}
	set, err := reportSet(b, tab)
	if err != nil {
		return err
	}
	e := x.describe(tab)
	var found findings
	if err := found.read(j, b, x.notes, x.planned); err != nil {
		return err
	}
	e.Warnings, e.Skipped = found.warnings(e.Runs, b.Exp.DSP.EmergenceDB), found.skipped
	det := newDetail(tab, set, b.Construction != nil && b.Construction.Describe().Ordered, toyOf(b))
	det.noiseBins = dsp.NoiseBins(b.Exp.DSP.Window)
	for _, s := range x.splits {
		sp, err := reportSplit(ctx, b, j, tab, set, s, det)
		if err != nil {
			return err
		}
		e.Splits = append(e.Splits, *sp)
	}
	e.Final = x.finalModels(e)
	if w := farPairs(b, tab, set); w != "" {
		e.Warnings = append(e.Warnings, w)
	}
	warnings, err := splitWarnings(b, tab, set, x.splits)
	if err != nil {
		return err
	}
	e.Warnings = append(e.Warnings, warnings...)
	if err := x.addData(j, det, found); err != nil {
		return err
	}
	det.d.Config, det.d.Digests = facts(x.settings()...), x.digests(j)
	det.d.Experiment = e
	return errors.Join(writeReport(b, j, e), writeMethods(b, j, e), x.writeCard(j, e, tab), writeFigures(j, det.d))
}

// addData adds what the page shows of the recordings themselves.
func (x *experiment) addData(j *engine.Job, det *detail, found findings) error {
	if x.spectra != nil {
		t, err := table.Read(j.Input(x.spectra.Task, x.spectra.Output))
		if err != nil {
			return err
		}
		if err := det.spectra(t); err != nil {
			return err
		}
	}
	if x.series != nil {
		if err := det.addSeries(j.Input(x.series.Task, x.series.Output)); err != nil {
			return err
		}
	}
	if x.recordings == nil {
		return nil
	}
	recs, err := table.Read(j.Input(x.recordings.Task, x.recordings.Output))
	if err != nil {
		return err
	}
	det.quality(recs, found.bounds, found.levels)
	if x.b.Background == nil {
		return nil
	}
	bg, err := dspstage.ReadBackground(j.Input(x.b.Background.Task, x.b.Background.Output))
	if err != nil {
		return err
	}
	return det.addBackground(bg, recs)
}

// finalModels describes the models that were trained on everything.
func (x *experiment) finalModels(e report.Experiment) (out []string) {
	names := make([]string, len(e.Splits))
	for i, s := range e.Splits {
		names[i] = s.Name
	}
	record := "no split holds anything out, so nothing says how good it is"
	if len(names) > 0 {
		record = "its record is that of the held-out splits: " + strings.Join(names, ", ")
	}
	for _, name := range x.final {
		out = append(out, fmt.Sprintf("model %s: trained on all %d triplets, for predict, suggest and export; %s", name,
			e.Triplets, record))
	}
	return out
}

// describe returns the report without results.
func (x *experiment) describe(tab *table.Table) report.Experiment {
	exp := x.b.Exp
	e := report.Experiment{
		Name: exp.Name, Data: exp.Ingest.Data, Pairs: x.b.PairKind(), Construction: exp.DSP.Triplets,
		PairsFrom: pairsFrom(x.b), Couples: exp.DSP.Couples,
		Inputs: exp.Train.Inputs, Outcomes: plan.Outcomes(tab), Triplets: tab.Rows(),
		Runs: len(distinct(tab, "run")), Recordings: len(distinct(tab, "recording")),
		ConfigDigest: plan.Digest(x.settings()...), Version: x.b.Program.Version,
	}
	for _, o := range e.Outcomes {
		e.OutcomeUnits = append(e.OutcomeUnits, tab.Column(o+"_1").Unit)
	}
	return e
}

// settings are the sections of the configuration that the results depend on.
func (x *experiment) settings() [][]kv.Pair {
	exp := x.b.Exp
	return [][]kv.Pair{
		plan.Settings("ingest", exp.Ingest), plan.Settings("dsp", exp.DSP),
		plan.Settings("train", exp.Train),
	}
}

// facts lists settings for the page.
func facts(sections ...[]kv.Pair) (out []report.Fact) {
	for _, s := range sections {
		for _, kv := range s {
			out = append(out, report.Fact{Name: kv.Key, Value: kv.Value})
		}
	}
	return out
}

// digests lists the digests of the tables the report is made from.
func (x *experiment) digests(j *engine.Job) (out []report.Fact) {
	for _, dep := range x.deps {
		switch dep.Output {
		case "triplets.arrow", "spectra.arrow", "recordings.arrow", "predictions.arrow":
			name := dep.Output
			if dep.Output == "predictions.arrow" {
				name = strings.TrimPrefix(dep.Task, x.b.ID("train")+"/") + " " + name
			}
			out = append(out, report.Fact{Name: name, Value: j.InputDigest(dep.Task, dep.Output)})
		}
	}
	return out
}

// publisher finds the experiment's task that publishes an output.
func publisher(b *plan.Builder, output string) *engine.Dep {
	for _, t := range b.Plan.Tasks {
		if !b.Owns(t) {
			continue
		}
		if slices.ContainsFunc(t.Publish, func(l engine.Link) bool { return l.Output == output }) {
			return &engine.Dep{Task: t.ID, Output: output}
		}
	}
	return nil
}
