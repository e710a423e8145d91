package stages

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/score"
)

// ReportData is the output of an experiment's report task that holds its
// report.Experiment, for ReadExperiment.
const ReportData = "report.gob"

// ReportTask is the ID of an experiment's report task.
func ReportTask(experiment string) string { return experiment + "/report" }

// ReadExperiment reads what an experiment's report task wrote.
func ReadExperiment(path string) (report.Experiment, error) {
	var e report.Experiment
	f, err := os.Open(path)
	if err != nil {
		return e, fmt.Errorf("open report: %w", err)
	}
	defer f.Close()
	if err := gob.NewDecoder(f).Decode(&e); err != nil {
		return e, fmt.Errorf("read report %s: %w", path, err)
	}
	return e, nil
}

// report adds the task that judges the experiment's models and writes its
// tables and metrics.
func (b *builder) report() error {
	tr, planned := b.e.Train, b.warnings
	trip := engine.Dep{Task: b.id("triplets"), Output: "triplets.arrow"}
	notes := engine.Dep{Task: b.id("triplets"), Output: notesJSON}
	deps := append([]engine.Dep{trip, notes}, b.recordings...)
	spectra, recs := b.publisher("spectra.arrow"), b.publisher("recordings.arrow")
	series := b.series()
	for _, d := range []*engine.Dep{spectra, recs, series, b.background} {
		if d != nil {
			deps = append(deps, *d)
		}
	}
	var splits []config.Split
	if len(tr.Inputs) > 0 {
		splits = tr.Splits
	}
	for _, s := range splits {
		for k := range tr.Seeds {
			for _, o := range []string{"predictions.arrow", "history.arrow", "model.json"} {
				deps = append(deps, engine.Dep{Task: b.trainID(s.Name, k), Output: o})
			}
			deps = append(deps, b.compareDeps(s, k)...)
		}
	}
	local := []engine.KV{
		{Key: "pairs", Value: pairs(b.e)},
		{Key: "kind of data", Value: b.e.Ingest.Data},
		{Key: "construction", Value: b.e.DSP.Triplets},
		{Key: "couples", Value: strconv.FormatBool(b.e.DSP.Couples)},
		{Key: "inputs", Value: strings.Join(tr.Inputs, ",")},
		{Key: "seeds", Value: strconv.Itoa(tr.Seeds)},
	}
	for _, s := range splits {
		local = append(local, engine.KV{Key: "train.splits." + s.Name + ".test", Value: s.Test.String()})
	}
	for i, w := range planned {
		local = append(local, engine.KV{Key: "warning " + strconv.Itoa(i+1), Value: w.Text})
	}
	folder := b.published("report")
	t := &engine.Task{
		ID: ReportTask(b.e.Name), Stage: "report", Version: reportVersion, Local: local, Deps: deps, Weight: 0.3,
	}
	for _, o := range []string{"metrics.json", "metrics.arrow", "tables.md", "tables.tex"} {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(folder, o)})
	}
	if b.compares() {
		t.Publish = append(t.Publish, engine.Link{Output: methodsArrow, Path: filepath.Join(folder, methodsArrow)})
	}
	t.Publish = append(t.Publish, engine.Link{Output: "figures/", Path: filepath.Join(folder, "figures")})
	t.Run = func(ctx context.Context, j *engine.Job) error {
		tab, err := table.Read(j.Input(trip.Task, trip.Output))
		if err != nil {
			return err
		}
		e := report.Experiment{
			Name: b.e.Name, Data: b.e.Ingest.Data, Pairs: pairs(b.e), Construction: b.e.DSP.Triplets, Couples: b.e.DSP.Couples,
			Inputs: tr.Inputs, Outcomes: outcomes(tab), Triplets: tab.Rows(),
			Runs: distinctStrings(tab, "run"), Recordings: distinctStrings(tab, "recording"),
			ConfigDigest: digest(settings("ingest", b.e.Ingest), settings("dsp", b.e.DSP), settings("train", tr)), Version: b.prog.Version,
		}
		for _, o := range e.Outcomes {
			e.OutcomeUnits = append(e.OutcomeUnits, tab.Column(o+"_1").Unit)
		}
		counts, err := b.gather(&e, j, notes, planned)
		if err != nil {
			return err
		}
		names := e.Outcomes
		if len(tr.Outcomes) > 0 {
			names = tr.Outcomes
		}
		det, err := newDetail(b, tab, names)
		if err != nil {
			return err
		}
		for _, s := range splits {
			sp := report.Split{Name: s.Name, HeldOut: s.Test.String(), Seeds: tr.Seeds}
			var trainSum, testSum []score.Summary
			var models []*train.Model
			methods := newCompared()
			if sp.Reach, err = b.reach(tab, s); err != nil {
				return err
			}
			ds := det.split(s)
			for k := range tr.Seeds {
				if err := ctx.Err(); err != nil {
					return err
				}
				id := b.trainID(s.Name, k)
				pred, err := table.Read(j.Input(id, "predictions.arrow"))
				if err != nil {
					return err
				}
				a, c, err := b.judge(pred, &sp)
				if err != nil {
					return fmt.Errorf("judge %s: %w", id, err)
				}
				trainSum, testSum = append(trainSum, score.Summarise(a)), append(testSum, score.Summarise(c))
				if err := b.compare(methods, j, tab, s, k, c, testSum[len(testSum)-1], pred); err != nil {
					return err
				}
				hist, err := table.Read(j.Input(id, "history.arrow"))
				if err != nil {
					return err
				}
				if err := det.seed(ds, pred, hist, a, c); err != nil {
					return fmt.Errorf("judge %s: %w", id, err)
				}
				m, err := readModel(j.Input(id, "model.json"))
				if err != nil {
					return err
				}
				models = append(models, m)
			}
			if err := det.curves(ctx, ds, models); err != nil {
				return err
			}
			unit := func(o string) string { return tab.Column(o + "_1").Unit }
			sp.Train, sp.Test = overSeeds(trainSum, names, unit), overSeeds(testSum, names, unit)
			methods.finish(&sp)
			e.Splits = append(e.Splits, sp)
		}
		if w := b.tooFew(tab, len(splits) > 0); w != "" {
			e.Warnings = append(e.Warnings, w)
		}
		for _, s := range splits {
			if w, err := b.unseen(tab, s); err != nil {
				return err
			} else if w != "" {
				e.Warnings = append(e.Warnings, w)
			}
		}
		if spectra != nil {
			sp, err := table.Read(j.Input(spectra.Task, spectra.Output))
			if err != nil {
				return err
			}
			if err := det.spectra(sp); err != nil {
				return err
			}
		}
		if series != nil {
			if err := det.takeSeries(j.Input(series.Task, series.Output)); err != nil {
				return err
			}
		}
		if recs != nil {
			r, err := table.Read(j.Input(recs.Task, recs.Output))
			if err != nil {
				return err
			}
			det.quality(r, counts.bounds, counts.levels)
			if b.background != nil {
				bg, err := readBackground(j.Input(b.background.Task, b.background.Output))
				if err != nil {
					return err
				}
				if err := det.backgroundBehind(bg, r); err != nil {
					return err
				}
			}
		}
		det.provenance(j, deps, settings("ingest", b.e.Ingest), settings("dsp", b.e.DSP), settings("train", tr))
		det.d.Experiment = e
		if t := det.toy(); t != nil {
			det.d.Variant = fmt.Sprintf("γ = %g, %s", t.Gamma, map[bool]string{true: "couples", false: "triplets"}[b.e.DSP.Couples])
		}
		return errors.Join(b.writeReport(j, e), b.writeMethods(j, e), writeFigures(j, det.d))
	}
	b.add(t)
	return nil
}

// publisher finds the experiment's task that publishes an output.
func (b *builder) publisher(output string) *engine.Dep {
	for _, t := range b.plan.Tasks {
		if t.Experiment != b.e.Name {
			continue
		}
		if slices.ContainsFunc(t.Publish, func(l engine.Link) bool { return l.Output == output }) {
			return &engine.Dep{Task: t.ID, Output: output}
		}
	}
	return nil
}

// tooFew says when the whole experiment, train and test together, has too few
// distinct conditions for any R². What counts is what the network sees; without
// a network, what was set (not the speed found in the sound).
func (b *builder) tooFew(t *table.Table, trained bool) string {
	names := b.e.Train.Inputs
	if !trained {
		names = slices.DeleteFunc(slices.Clone(b.conditions), func(c string) bool { return c == "rpm_tracked" })
	}
	w := score.R2Warning(tableConditions(t, names))
	switch {
	case w == "":
		return ""
	case trained:
		return "the whole experiment: " + w + "; take the tables for what the program does, not for what it found"
	}
	return "the whole experiment: " + w + "; no split is trained"
}

// unseen says when a split holds out conditions the network does not see: it
// then cannot know that it is asked something else, and no uncertainty can.
func (b *builder) unseen(t *table.Table, s config.Split) (string, error) {
	var held []string
	for _, term := range s.Test {
		if slices.Contains(b.e.Train.Inputs, term.Condition) {
			return "", nil
		}
		held = append(held, term.Condition)
	}
	set, err := b.split(t, s)
	if err != nil {
		return "", err
	}
	n := len(set.distinct) / len(set.inputs)
	test, train := make([]bool, n), make([]bool, n)
	for i, k := range set.condition {
		test[k], train[k] = test[k] || set.test[i], train[k] || !set.test[i]
	}
	asked, both := 0, 0
	for k := range n {
		if test[k] {
			asked++
			if train[k] {
				both++
			}
		}
	}
	if both == 0 {
		return "", nil // the inputs differ all the same
	}
	return fmt.Sprintf("split %s holds out %s, which is not among the inputs (%s): %d of the %d held-out conditions look to the network exactly like ones it was trained on, so its uncertainty cannot rise there; R² and e show what that costs",
		s.Name, strings.Join(held, " and "), strings.Join(b.e.Train.Inputs, ", "), both, asked), nil
}

func distinctStrings(t *table.Table, name string) int {
	c := t.Column(name)
	if c == nil {
		return 0
	}
	v := slices.Clone(c.Strings)
	slices.Sort(v)
	return len(slices.Compact(v))
}

func tableConditions(t *table.Table, names []string) int {
	seen := map[string]bool{}
	for i := range t.Rows() {
		key := ""
		for _, n := range names {
			if c := t.Column(n); c != nil {
				key += strconv.FormatFloat(c.Floats[i], 'g', -1, 64) + ","
			}
		}
		seen[key] = true
	}
	return len(seen)
}

// gather collects warnings and what was skipped from the experiment's tasks.
// Equal warnings of many files are said once, with their number.
func (b *builder) gather(e *report.Experiment, j *engine.Job, notes engine.Dep, planned []ingest.Warning) (levelCounts, error) {
	var counts levelCounts
	type group struct {
		text  string
		first string
		files map[string]bool
	}
	var order []string
	groups := map[string]*group{}
	add := func(code, path, text string) {
		key := code
		if code == "" {
			key = path + text
		}
		g := groups[key]
		if g == nil {
			g = &group{text: text, first: path, files: map[string]bool{}}
			groups[key] = g
			order = append(order, key)
		}
		g.files[path] = true
	}
	for _, w := range planned {
		add("", w.Path, w.Text)
	}
	for _, d := range b.recordings {
		var res fileResult
		if err := readJSON(j.Input(d.Task, d.Output), &res); err != nil {
			return counts, err
		}
		for _, w := range res.Warnings {
			code := w.Code
			if code == "left-out" {
				code += w.Text // each of them is said
			}
			add(code, w.Path, w.Text)
		}
	}
	var all []fileNotes
	if err := readJSON(j.Input(notes.Task, notes.Output), &all); err != nil {
		return counts, err
	}
	var flags []string
	flagged := map[string]map[string]bool{}
	example := map[string]string{}
	var bounds, levels, dropped, near int
	for _, n := range all {
		if n.Skipped != nil {
			e.Skipped = append(e.Skipped, n.Skipped.Reason)
		}
		for _, w := range n.Warnings {
			add(w.Code+w.Text, w.Path, w.Text)
		}
		for _, r := range n.Notes {
			bounds, levels, dropped, near = bounds+r.Bounds, levels+r.Levels, dropped+r.Dropped, near+r.Near
			for _, f := range r.Flags {
				if flagged[f.Code] == nil {
					flagged[f.Code] = map[string]bool{}
					flags = append(flags, f.Code)
					example[f.Code] = r.Run + ": " + f.Text
				}
				flagged[f.Code][r.Run] = true
			}
		}
	}
	for _, k := range order {
		g := groups[k]
		text := g.first + ": " + g.text
		if n := len(g.files); n > 1 {
			text = fmt.Sprintf("%s (and in %d more files)", text, n-1)
		}
		e.Warnings = append(e.Warnings, text)
	}
	sort.Strings(flags)
	for _, c := range flags {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d of %d runs are flagged %q (none is dropped for it), first %s", len(flagged[c]), e.Runs, c, example[c]))
	}
	if bounds > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d of %d levels stand less than %g dB above the floor: they are upper bounds (columns *_bound_1, *_bound_2)", bounds, levels, b.e.DSP.EmergenceDB))
	}
	if near > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d of %d levels stand less than %d dB above the background in the same bins (columns *_background_1, *_background_2), which is not subtracted", near, levels, nearBackgroundDB))
	}
	if dropped > 0 {
		e.Warnings = append(e.Warnings, fmt.Sprintf("censored: drop left out %d recordings with a harmonic that is not emergent; what remains is biased towards loud conditions", dropped))
	}
	return levelCounts{bounds, levels}, nil
}

// levelCounts says how many of the levels are upper bounds.
type levelCounts struct{ bounds, levels int }

// judge takes one seed's predictions apart into the train and the test part, in
// standardised units, ready to be scored.
func (b *builder) judge(t *table.Table, sp *report.Split) (train, test score.Set, err error) {
	sp.MCSamples, _ = strconv.Atoi(t.Get("samples"))
	sp.Sampler, sp.CovMethod, sp.Kernels = t.Get("sampler"), t.Get("cov_method"), t.Get("kernels")
	names, inputs := strings.Split(t.Get("outcomes"), ","), strings.Split(t.Get("inputs"), ",")
	mean, err1 := floats(t.Get("outcome_mean"))
	std, err2 := floats(t.Get("outcome_std"))
	if err := errors.Join(err1, err2); err != nil || len(mean) != len(names) || len(std) != len(names) {
		return train, test, fmt.Errorf("read predictions: the scales in the metadata are damaged: %w", err)
	}
	part := func(which string) (score.Set, error) {
		set := t.Column("set").Strings
		s := score.Set{Out: len(names), Training: which == "train", Couples: b.e.DSP.Couples}
		var rows []int
		for i, v := range set {
			if v == which {
				rows = append(rows, i)
			}
		}
		s.N = len(rows)
		take := func(dst *[]float64, suffix string, power float64, shift bool) error {
			*dst = make([]float64, s.N*s.Out)
			for k, n := range names {
				v, err := t.Floats(n + suffix)
				if err != nil {
					return err
				}
				scale, m := math.Pow(std[k], power), 0.0
				if shift {
					m = mean[k]
				}
				for i, r := range rows {
					(*dst)[i*s.Out+k] = (v[r] - m) / scale
				}
			}
			return nil
		}
		if err := errors.Join(
			take(&s.Y1, "_1", 1, true), take(&s.Y2, "_2", 1, true), take(&s.Mu, "_mu", 1, true), take(&s.Var, "_var", 2, false),
			take(&s.CovRaw, "_cov_raw", 2, false), take(&s.Cov, "_cov", 2, false), take(&s.Delta, "_delta", 1, false), take(&s.Kappa, "_kappa", 2, false), take(&s.ZigZag, "_zigzag", 1, false),
		); err != nil {
			return s, fmt.Errorf("read predictions: %w", err)
		}
		cond, run := map[string]int{}, map[string]int{}
		number := func(m map[string]int, k string) int {
			if i, ok := m[k]; ok {
				return i
			}
			m[k] = len(m)
			return m[k]
		}
		x := make([][]float64, len(inputs))
		for i, in := range inputs {
			if x[i], err = t.Floats(in); err != nil {
				return s, fmt.Errorf("read predictions: %w", err)
			}
		}
		runs := t.Column("run").Strings
		var key []byte
		for _, r := range rows {
			key = key[:0]
			for i := range x {
				key = strconv.AppendFloat(append(key, ','), x[i][r], 'g', -1, 64)
			}
			s.Condition = append(s.Condition, number(cond, string(key)))
			s.Run = append(s.Run, number(run, runs[r]))
		}
		return s, nil
	}
	train, err1 = part("train")
	test, err2 = part("test")
	return train, test, errors.Join(err1, err2)
}

func floats(list string) ([]float64, error) {
	var out []float64
	for _, s := range strings.Split(list, ",") {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// overSeeds turns the seeds' summaries into the report's numbers.
func overSeeds(seeds []score.Summary, names []string, unit func(string) string) report.SetMetrics {
	m := report.SetMetrics{Rows: seeds[0].Rows, Conditions: seeds[0].Conditions, Runs: seeds[0].Runs, Notes: seeds[0].Warnings}
	value := func(get func(score.Summary) score.Metrics, key string) report.Value {
		list := make([]score.Metrics, len(seeds))
		for i, s := range seeds {
			list[i] = get(s)
		}
		v := score.OverSeeds(list, key)
		return report.Value{Mean: v.Mean, Std: v.Std, N: v.N, Undefined: v.Undefined}
	}
	for _, key := range report.Keys() {
		*m.Field(key) = value(func(s score.Summary) score.Metrics { return s.Metrics }, key)
	}
	for k, name := range names {
		o := report.OutcomeMetrics{Name: name, Unit: unit(name)}
		for _, key := range report.Keys() {
			*o.Field(key) = value(func(s score.Summary) score.Metrics { return s.Outcomes[k] }, key)
		}
		m.Outcomes = append(m.Outcomes, o)
	}
	return m
}

func (b *builder) writeReport(j *engine.Job, e report.Experiment) error {
	js, err := e.MetricsJSON()
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	for name, body := range map[string][]byte{"metrics.json": js, "tables.md": report.Markdown(e), "tables.tex": report.LaTeX(e)} {
		if err := os.WriteFile(j.Output(name), body, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	f, err := os.Create(j.Output(ReportData))
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := errors.Join(gob.NewEncoder(f).Encode(e), f.Close()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	t := metricsTable(e)
	t.Meta = b.meta()
	dg, err := t.WriteFile(j.Output("metrics.arrow"))
	j.SetDigest("metrics.arrow", dg)
	return err
}

// metricsTable is the long form of metrics.json: one row per number.
func metricsTable(e report.Experiment) *table.Table {
	t := &table.Table{}
	row := func(split, set, outcome, key string, v report.Value) {
		cell(t, "experiment", "", "entry of the configuration", e.Name)
		cell(t, "split", "", "train/test rule", split)
		cell(t, "set", "", "train or test", set)
		cell(t, "outcome", "", "outcome, or \"all\" for the mean over outcomes", outcome)
		cell(t, "metric", "", "as in metrics.json; standardised units", key)
		mean, std := v.Mean, v.Std
		if v.Undefined != "" {
			mean, std = math.NaN(), math.NaN()
		}
		cell(t, "mean", "", "mean over seeds", mean)
		cell(t, "std", "", "sample standard deviation over seeds", std)
		cell(t, "seeds", "", "number of seeds", v.N)
		cell(t, "undefined", "", "why there is no number", v.Undefined)
	}
	for _, s := range e.Splits {
		for _, set := range []struct {
			name string
			m    *report.SetMetrics
		}{{"train", &s.Train}, {"test", &s.Test}} {
			for _, key := range report.Keys() {
				row(s.Name, set.name, "all", key, *set.m.Field(key))
			}
			for i := range set.m.Outcomes {
				for _, key := range report.Keys() {
					row(s.Name, set.name, set.m.Outcomes[i].Name, key, *set.m.Outcomes[i].Field(key))
				}
			}
		}
	}
	if len(t.Columns) == 0 { // no split: an empty table with the same columns
		row("", "", "", "", report.Value{})
		for i := range t.Columns {
			c := &t.Columns[i]
			switch {
			case c.Strings != nil:
				c.Strings = []string{}
			case c.Floats != nil:
				c.Floats = []float64{}
			case c.Ints != nil:
				c.Ints = []int64{}
			}
		}
	}
	return t
}

// addPage adds the task over all experiments.
func addPage(f *config.File, p *engine.Plan) {
	var deps []engine.Dep
	for _, e := range f.Experiments {
		deps = append(deps, engine.Dep{Task: ReportTask(e.Name), Output: ReportData}, engine.Dep{Task: ReportTask(e.Name), Output: PageData})
	}
	p.Tasks = append(p.Tasks, &engine.Task{
		ID: "report", Stage: "report", Version: reportVersion, Deps: deps, Weight: 0.01,
		Publish: []engine.Link{{Output: "report.md", Path: "report.md"}, {Output: "report.html", Path: "report.html"}, {Output: "figures/", Path: filepath.Join("report", "figures")}},
		Run: func(_ context.Context, j *engine.Job) error {
			var all []report.Experiment
			var details []*report.Detail
			for _, d := range deps {
				if d.Output == PageData {
					det, err := readDetail(j.Input(d.Task, d.Output))
					if err != nil {
						return err
					}
					details = append(details, det)
					continue
				}
				e, err := ReadExperiment(j.Input(d.Task, d.Output))
				if err != nil {
					return err
				}
				all = append(all, e)
			}
			return errors.Join(
				os.WriteFile(j.Output("report.md"), report.RunMarkdown(all), 0o644),
				os.WriteFile(j.Output("report.html"), report.Page(details), 0o644),
				writeFigureFiles(j, report.JointFigures(details)))
		},
	})
}
