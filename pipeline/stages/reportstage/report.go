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
	"doubletake/ingest/simulate"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
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
// 23: why a method has no C_x; 24: one table value for all outputs;
// 25: the scale of new groups; 26: grades by outcome and by condition; 27: forms and the hint at one,
// the worst warnings first; 28: mistakes in the data; 29: budgets of uncertainty, smaller far runs;
// 30: one key for each number of intervals; 31: no excerpt of forces, no experiments side by side.
const version = 31

// weight is the seconds that the report takes on one processor, roughly: by the
// conditions that its figures show for each split.
func (x *experiment) weight() float64 {
	return 0.2 + 7e-4*float64(min(len(x.ing.Known), 1000)*len(x.splits))
}

// ReportTask is the ID of an experiment's report task.
func ReportTask(experiment string) string { return experiment + "/report" }

// Plan adds the task that judges the experiment's models and writes its tables,
// metrics and figures.
func Plan(exp plan.Experiment, ing ingeststage.Result, trip dspstage.Result, trained trainstage.Result) {
	exp.Train.Splits = trained.Splits
	x := &experiment{exp: exp, ing: ing, trip: trip}
	if len(exp.Train.Inputs) > 0 {
		for _, s := range exp.Train.Splits {
			if s.Final() {
				x.final = append(x.final, s)
			} else {
				x.splits = append(x.splits, s)
			}
		}
	}

	x.deps = x.dependencies()
	folder := exp.Published("report", "report")
	t := &engine.Task{
		ID: ReportTask(exp.Name), Stage: "report", Version: version, Local: x.local(), Deps: x.deps, Weight: x.weight(),
		Replaces: ing.Shards != nil, Run: x.run,
	}

	for _, o := range []string{"metrics.json", "metrics.arrow", "tables.md", "tables.tex", PageData} {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(folder, o)})
	}

	t.Publish = append(t.Publish, engine.Link{Output: CardFile, Path: exp.Published("report", CardFile)})
	if compares(exp) {
		t.Publish = append(t.Publish, engine.Link{Output: methodsArrow, Path: filepath.Join(folder, methodsArrow)})
	}

	t.Publish = append(t.Publish, engine.Link{Output: "figures/", Path: filepath.Join(folder, "figures")})
	exp.Add(t)
	x.ing.Known, x.ing.KnownLabels = nil, nil // planning ends
}

// experiment is the report of one experiment: the outputs it is made from.
type experiment struct {
	exp    plan.Experiment
	ing    ingeststage.Result
	trip   dspstage.Result
	splits []config.Split // that were trained and hold something out
	final  []config.Split // of final models: nothing is held out
	deps   []engine.Dep   // all outputs
}

func (x *experiment) dependencies() []engine.Dep {
	deps := append([]engine.Dep{x.trip.Triplets, x.trip.Notes}, x.ing.Results...)
	for _, d := range []*engine.Dep{x.trip.Spectra, x.ing.Index, x.trip.Background} {
		if d != nil {
			deps = append(deps, *d)
		}
	}

	for _, s := range x.splits {
		for k := range x.exp.Train.Seeds {
			for _, o := range []string{"predictions.arrow", "history.arrow", "model.json"} {
				deps = append(deps, engine.Dep{Task: trainstage.TrainID(x.exp, s.Name, k), Output: o})
			}

			if x.exp.Train.EarlyStop.On != "" {
				deps = append(deps, engine.Dep{
					Task: trainstage.StoppingID(x.exp, s.Name, k), Output: trainstage.StoppingArrow,
				})
			}

			deps = append(deps, compareDeps(x.exp, s, k)...)
		}

		deps = append(deps, honestDeps(x.exp, s)...)
	}

	for _, s := range x.final {
		deps = append(deps, honestDeps(x.exp, s)...)
	}

	return deps
}

// local is the part of the task's key that is no setting of the stage.
func (x *experiment) local() []kv.Pair {
	exp := x.exp
	local := []kv.Pair{
		{Key: "pairs", Value: x.ing.PairKind},
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
		var names []string
		for _, s := range x.final {
			names = append(names, s.Name)
		}

		local = append(local, kv.Pair{Key: "final models", Value: strings.Join(names, ",")})
	}

	local = append(local, config.Flatten("ingest.uncertainty", exp.Ingest.Uncertainty)...)
	if c := exp.Ingest.Calibration; c != nil {
		local = append(local, config.Flatten("ingest.calibration.uncertainty", c.Uncertainty)...)
	}

	for i, w := range x.ing.Warnings {
		local = append(local, kv.Pair{Key: "warning " + strconv.Itoa(i+1), Value: w.Text})
	}

	return local
}

func (x *experiment) run(ctx context.Context, j *engine.Job) error {
	exp := x.exp

	tab, err := table.Read(j.Input(x.trip.Triplets.Task, x.trip.Triplets.Output))
	if err != nil {
		return err
	}

	set, err := reportSet(exp, x.ing.Conditions, tab)
	if err != nil {
		return err
	}

	e := x.describe(tab)

	var found findings
	if err := found.read(j, x.ing.Results, x.trip.Notes, x.ing.Warnings); err != nil {
		return err
	}

	found.swaps()
	found.equalRows(set)
	if x.toy() == nil { // its rows are no runs
		if err := found.farRuns(ctx, exp, set); err != nil {
			return err
		}
	}

	e.Warnings, e.Skipped = found.warnings(exp.DSP.EmergenceDB), found.skipped
	c := x.ing.Construction
	det := newDetail(tab, set, c != nil && c.Describe().Ordered, x.toy())
	det.noiseBins = dsp.NoiseBins(exp.DSP.Window)
	for _, s := range x.splits {
		sp, err := reportSplit(ctx, exp, j, tab, set, s, det)
		if err != nil {
			return err
		}

		e.Splits = append(e.Splits, *sp)
	}

	if e.Final, err = x.finalModels(j, e); err != nil {
		return err
	}

	if w := farPairs(x.ing.PairKind, tab, set); w != "" {
		e.Warnings = slices.Insert(e.Warnings, 0, w) // data that may be wrong come first
	}

	warnings, err := splitWarnings(exp, x.ing.Conditions, tab, set, x.splits)
	if err != nil {
		return err
	}

	e.Warnings = append(e.Warnings, warnings...)

	if x.toy() == nil {
		if det.d.Budget, err = x.budget(tab); err != nil {
			e.Warnings = append(e.Warnings, "no uncertainty budget: "+err.Error())
		}
	}

	if err := x.addData(j, det, found); err != nil {
		return err
	}

	det.d.Config, det.d.Digests = facts(x.settings()...), x.digests(j)
	det.d.Experiment = e

	return errors.Join(writeReport(exp, j, e), writeMethods(exp, j, e), x.writeCard(j, e, tab), writeFigures(j, det.d))
}

// addData adds what the page shows of the recordings themselves.
func (x *experiment) addData(j *engine.Job, det *detail, found findings) error {
	if x.trip.Spectra != nil {
		t, err := table.Read(j.Input(x.trip.Spectra.Task, x.trip.Spectra.Output))
		if err != nil {
			return err
		}

		if err := det.spectra(t); err != nil {
			return err
		}
	}

	if x.ing.Index == nil {
		return nil
	}

	recs, err := table.Read(j.Input(x.ing.Index.Task, x.ing.Index.Output))
	if err != nil {
		return err
	}

	det.quality(recs, found.bounds, found.levels)

	if x.trip.Background == nil {
		return nil
	}

	bg, err := dspstage.ReadBackground(j.Input(x.trip.Background.Task, x.trip.Background.Output))
	if err != nil {
		return err
	}

	return det.addBackground(bg, recs)
}

// finalModels describes the models that were trained on everything.
func (x *experiment) finalModels(j *engine.Job, e report.Experiment) (out []string, err error) {
	names := make([]string, len(e.Splits))
	for i, s := range e.Splits {
		names[i] = s.Name
	}

	record := "no split holds anything out, so nothing says how good it is"
	if len(names) > 0 {
		record = "its record is that of the held-out splits: " + strings.Join(names, ", ")
	}

	for _, s := range x.final {
		text := fmt.Sprintf("model %s: trained on all %d triplets, for predict, suggest and export; %s", s.Name, e.Triplets,
			record)
		for _, dep := range honestDeps(x.exp, s) {
			h, err := trainstage.ReadHonest(j.Input(dep.Task, dep.Output))
			if err != nil {
				return nil, err
			}

			if h.Calibration != nil {
				text += ". " + e.BeforeMeasuring(h.Calibration)
			}
		}

		out = append(out, text)
	}

	return out, nil
}

// pairsFrom returns how y1 and y2 come about, for people.
func (x *experiment) pairsFrom() string {
	if x.ing.Construction == nil {
		return "the pairs were read from a table as they are"
	}
	return x.ing.Construction.Describe().Doc
}

// toy is the simulated toy, whose curves are known; nil for other data.
func (x *experiment) toy() *simulate.Toy {
	if x.ing.Pairs == nil {
		return nil
	}
	return x.ing.Pairs.Toy
}

// describe returns the report without results.
func (x *experiment) describe(tab *table.Table) report.Experiment {
	exp := x.exp
	e := report.Experiment{
		Name: exp.Name, Data: exp.Ingest.Data, Pairs: x.ing.PairKind, Construction: exp.DSP.Triplets,
		PairsFrom: x.pairsFrom(), Couples: exp.DSP.Couples,
		Inputs: exp.Train.Inputs, Outcomes: plan.Outcomes(tab), Triplets: tab.Rows(),
		Runs: len(distinct(tab, "run")), Recordings: len(distinct(tab, "recording")),
		ConfigDigest: plan.Digest(x.settings()...), Version: x.exp.Program.Version,
	}

	for _, o := range e.Outcomes {
		e.OutcomeUnits = append(e.OutcomeUnits, tab.Column(o+"_1").Unit)
	}

	return e
}

// settings are the sections of the configuration that the results depend on.
func (x *experiment) settings() [][]kv.Pair {
	exp := x.exp
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
				name = strings.TrimPrefix(dep.Task, x.exp.ID("train")+"/") + " " + name
			}

			out = append(out, report.Fact{Name: name, Value: j.InputDigest(dep.Task, dep.Output)})
		}
	}

	return out
}
