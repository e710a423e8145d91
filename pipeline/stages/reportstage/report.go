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
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
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
// 30: one key for each number of intervals; 31: no excerpt of forces, no experiments side by side;
// 32: no maps, drift, left-out groups, nor levels' shares as figures; 33: nor claims of all splits;
// 34: no CARD.md, no recalibration; 35: no methods.arrow, no band levels by the networks;
// 36: no times of methods, which differ from run to run; 37: effects of mistakes, calibrated figures first.
// 38: far runs among many rows, and not beside one another, parts of the variance as a figure;
// 39: no budgets, digests of tables, profiles and losses of networks, overall levels, tones of the background.
const version = 40

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
	x := &experiment{exp: exp, ing: ing, trip: trip, trained: trained}
	if len(exp.Train.Inputs) > 0 {
		x.final, x.splits = lists.Split(exp.Train.Splits, config.Split.Final)
	}

	x.deps = x.dependencies()
	folder := exp.Published("report", "report")
	t := &engine.Task{
		ID: ReportTask(exp.Name), Stage: "report", Version: version, Local: x.local(), Deps: x.deps, Weight: x.weight(),
		Config:   slices.Concat(x.settings()...),
		Replaces: ing.Shards != nil, Run: x.run,
	}

	if file := exp.Report.Compare; file != "" {
		exp.Named(file).Needs(t)
	}

	for _, o := range []string{"metrics.json", "metrics.arrow", "tables.md", "tables.tex", PageData, "figures/"} {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(folder, o)})
	}

	exp.Add(t)
	x.ing.Known = nil // planning ends
}

// experiment is the report of one experiment: the outputs it is made from.
type experiment struct {
	exp    plan.Experiment
	ing    ingeststage.Result
	trip   dspstage.Result
	splits []config.Split // that were trained and hold something out
	final  []config.Split // of final models: nothing is held out
	deps   []engine.Dep   // all outputs

	trained trainstage.Result
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
			deps = append(deps, engine.Dep{Task: trainstage.TrainID(x.exp, s.Name, k), Output: "predictions.arrow"})
			deps = append(deps, compareDeps(x.exp, s, k)...)
		}

		deps = append(deps, honestDeps(x.exp, s)...)
	}

	for _, s := range x.final {
		deps = append(deps, honestDeps(x.exp, s)...)
	}

	return deps
}

// local is the part of the task's key that is no setting of the stages.
func (x *experiment) local() []kv.Pair {
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

func (x *experiment) run(ctx context.Context, j *engine.Job) (err error) {
	defer fault.Catch(&err)
	exp, tab := x.exp, readTable(j, x.trip.Triplets)
	set := fault.Get(reportSet(exp, x.ing.Conditions, tab))
	e := x.describe(tab)

	var found findings
	found.read(j, x.ing.Results, x.trip.Notes, x.ing.Warnings)
	found.swaps()
	found.equalRows(set)
	found.gains(set)
	if !x.toy() { // its rows are no runs
		found.farRuns(ctx, exp, set)
	}

	e.Skipped = found.skipped
	det := newDetail(tab, set)
	det.noiseBins = dsp.NoiseBins(exp.DSP.Window)
	ref, notes := x.reference(tab, set)
	e.Splits = lists.Each(x.splits, func(s config.Split) report.Split {
		return *reportSplit(ctx, exp, j, tab, set, s, det, ref)
	})

	e.Final = x.finalModels(j, e)
	across, _ := exp.Across()
	e.Between = lists.Each(honest.Across(set, across), func(t interval.Thing) string {
		return fmt.Sprint("All repeats: ", t)
	})
	far := farPairs(x.ing.PairKind, tab, set)
	list := found.ranked()
	e.Warnings, e.Widening = x.mistakes(ctx, j, e, set, list, far)
	e.Suspects = suspects(list)
	e.Warnings = append(e.Warnings, found.counts(exp.DSP.EmergenceDB)...)
	for _, o := range plan.Outcomes(tab) {
		if trainstage.Constant(tab, o) && len(exp.Train.Outcomes) == 0 {
			e.Warnings = append(e.Warnings, fmt.Sprintf("%s is %g in all %d pairs: nothing is trained on it", o,
				tab.Column(o + "_1").Floats[0], tab.Rows()))
		}
	}

	warnings := fault.Get(splitWarnings(exp, x.ing.Conditions, tab, set, x.splits))
	e.Warnings = slices.Concat(e.Warnings, warnings, notes)
	x.addData(j, det, found)

	about := [][]kv.Pair{config.Flatten("about", exp.About)}
	det.d.Config = facts(append(about, x.settings()...)...)
	det.d.Experiment = e

	return errors.Join(writeReport(exp, j, e), writeFigures(j, det.d))
}

// readTable reads a table that another task wrote.
func readTable(j *engine.Job, d engine.Dep) *table.Table {
	return fault.Get(table.Read(j.Input(d.Task, d.Output)))
}

// addData adds what the page shows of the recordings themselves.
func (x *experiment) addData(j *engine.Job, det *detail, found findings) {
	if x.trip.Spectra != nil {
		fault.Raise(det.spectra(readTable(j, *x.trip.Spectra)))
	}

	if x.ing.Index == nil {
		return
	}

	recs := readTable(j, *x.ing.Index)
	det.quality(recs, found)
	if d := x.trip.Background; d != nil {
		bg := fault.Get(dspstage.ReadBackground(j.Input(d.Task, d.Output)))
		fault.Raise(det.addBackground(bg, recs))
	}
}

// finalModels describes the models that were trained on everything.
func (x *experiment) finalModels(j *engine.Job, e report.Experiment) (out []string) {
	names := lists.Each(e.Splits, func(s report.Split) string { return s.Name })
	record := "no split holds anything out, so nothing says how good it is"
	if len(names) > 0 {
		record = "its record is that of the held-out splits: " + strings.Join(names, ", ")
	}

	for _, s := range x.final {
		text := fmt.Sprintf("model %s: trained on all %d triplets, for predict, suggest and export; %s", s.Name, e.Triplets,
			record)
		for _, dep := range honestDeps(x.exp, s) {
			h := fault.Get(trainstage.ReadHonest(j.Input(dep.Task, dep.Output)))
			if h.Calibration != nil {
				text += ". " + e.BeforeMeasuring(h.Calibration)
			}
		}

		out = append(out, text)
	}

	return out
}

// pairsFrom returns how y1 and y2 come about, for people.
func (x *experiment) pairsFrom() string {
	if x.ing.Construction == nil {
		return "the pairs were read from a table as they are"
	}
	return x.ing.Construction.Describe().Doc
}

// toy reports whether the pairs are of the simulated toy.
func (x *experiment) toy() bool { return x.ing.Pairs != nil && x.ing.Pairs.Toy != nil }

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

	e.OutcomeUnits = lists.Each(e.Outcomes, func(o string) string { return tab.Column(o + "_1").Unit })
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
func facts(sections ...[]kv.Pair) []report.Fact {
	return lists.Each(slices.Concat(sections...), func(p kv.Pair) report.Fact {
		return report.Fact{Name: p.Key, Value: p.Value}
	})
}
