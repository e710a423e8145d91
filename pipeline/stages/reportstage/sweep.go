package reportstage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// sweepVersion is the version of the results of comparisons of variants. 2: scores of the
// rows that are compared alone; 3: no scores.arrow.
const (
	sweepVersion = 3
	// SweepData is the output that holds a report.Sweep.
	SweepData = "compare.gob"
)

// CompareTask is the ID of the task that compares the variants of an experiment.
func CompareTask(experiment string) string { return experiment + "/compare" }

// sweep is the comparison of the variants of one experiment.
type sweep struct {
	of       string
	variants []Variant
	splits   []sweptSplit
}

// Variant is a variant of a sweep with the results of its stages.
type Variant struct {
	plan.Experiment
	Columns  plan.Columns
	Triplets engine.Dep
	Trained  trainstage.Result
}

// sweptSplit is a split with those by which a variant is selected.
type sweptSplit struct {
	config.Split
	inner []config.Split
}

// PlanSweep adds the task that compares the variants of an experiment.
func PlanSweep(variants []Variant) {
	first := variants[0]
	x := &sweep{of: first.Family(), variants: variants}

	if len(first.Train.Inputs) == 0 || len(variants) < 2 {
		return
	}

	for _, s := range first.Trained.Splits {
		if !s.Final() {
			x.splits = append(x.splits, sweptSplit{s, first.Trained.Inner[s.Name]})
		}
	}

	t := &engine.Task{
		ID: CompareTask(x.of), Stage: "report", Experiment: x.of, Version: sweepVersion, Weight: 0.1, Run: x.run,
		Local: append(plan.Stated(first.Meta()), kv.Pair{Key: "select.by", Value: x.by()},
			kv.Pair{Key: "select.on", Value: first.Select.On}),
	}

	for _, v := range variants {
		settings := v.Train
		settings.Splits = v.Trained.Splits
		t.Local = append(t.Local, kv.Pair{Key: "variant " + v.Name, Value: plan.Digest(
			plan.Settings("ingest", v.Ingest), plan.Settings("dsp", v.DSP), plan.Settings("train", settings))})
		if !slices.Contains(t.Deps, v.Triplets) {
			t.Deps = append(t.Deps, v.Triplets)
		}

		for _, s := range x.splits {
			for _, s := range append([]config.Split{s.Split}, s.inner...) {
				for k := range v.Train.Seeds {
					t.Deps = append(t.Deps, engine.Dep{
						Task: trainstage.TrainID(v.Experiment, s.Name, k), Output: "predictions.arrow",
					})
				}
			}
		}
	}

	t.Publish = []engine.Link{{Output: "compare.md", Path: filepath.Join(x.of, "compare", "compare.md")}}
	first.Tasks.Plan.Tasks = append(first.Tasks.Plan.Tasks, t)
}

func (x *sweep) by() string { return cmp.Or(x.variants[0].Select.By, "nll") }

func (x *sweep) run(ctx context.Context, j *engine.Job) (err error) {
	defer fault.Catch(&err)
	first := x.variants[0]
	out := report.Sweep{Name: x.of, Data: first.Ingest.Data, Version: x.variants[0].Program.Version}
	if first.Select.On != "" {
		out.By, out.On = x.by(), first.Select.On
	}

	for _, w := range x.variants {
		v := report.Variant{Name: w.Name}
		for _, s := range w.Variant.Settings {
			v.Settings = append(v.Settings, report.Fact{Name: s.Name, Value: s.Value})
			if !slices.Contains(out.Paths, s.Path) {
				out.Paths = append(out.Paths, s.Path)
			}
		}

		out.Variants = append(out.Variants, v)
	}

	tables := map[string]*table.Table{}
	for _, v := range x.variants {
		if dep := v.Triplets; tables[dep.Task] == nil {
			tables[dep.Task] = fault.Get(table.Read(j.Input(dep.Task, dep.Output)))
		}
	}

	out.Other = len(tables) > 1

	for _, s := range x.splits {
		sp := report.SweptSplit{Name: s.Name, HeldOut: s.Test.String(), Seeds: first.Train.Seeds}
		for _, part := range []struct {
			of []config.Split
			to *report.Comparison
		}{{[]config.Split{s.Split}, &sp.Held}, {s.inner, &sp.Inner}} {
			if len(part.of) == 0 {
				continue
			}

			fault.Raise(ctx.Err())
			list, err := x.judge(j, tables, s.Split, part.of)
			if err != nil {
				return fmt.Errorf("compare variants: %w", err)
			}

			list, p := list.pair()
			*part.to = list.compare(p)
		}

		sp.Groups = len(s.inner)
		out.Splits = append(out.Splits, sp)
	}

	return errors.Join(plan.WriteGob("comparison", j.Output(SweepData), out),
		os.WriteFile(j.Output("compare.md"), report.SweepMarkdown(out, 1), 0o644))
}

// ReadSweep reads the comparison of the variants of an experiment.
func ReadSweep(path string) (s report.Sweep, err error) {
	return s, plan.ReadGob("comparison", path, &s)
}

// judged variants of one split: the held-out rows of each, in order, with every seed's
// answers, in units of the first variant's training part.
type judgedVariants []judgedVariant

type judgedVariant struct {
	unit, run []string // of the rows: run and conditions; run
	seeds     []score.Set
	apart     string // why it is not compared; "" where it is
}

// judge reads the answers of all variants at the test parts of the splits of. Outcomes are
// standardised by the training part of the split outer of the first variant.
func (x *sweep) judge(j *engine.Job, tables map[string]*table.Table, outer config.Split, of []config.Split) (
	out judgedVariants, err error,
) {
	defer fault.Catch(&err)
	var ref triplets.Set
	for i, w := range x.variants {
		trip := tables[w.Triplets.Task]
		_, whole, err := trainstage.SplitTable(w.Experiment, trip, outer)
		fault.Raise(err)

		if i == 0 {
			ref = whole
		}

		v := judgedVariant{seeds: make([]score.Set, w.Train.Seeds)}

		if !slices.Equal(whole.OutcomeNames(), ref.OutcomeNames()) {
			out = append(out, judgedVariant{apart: "its outcomes are others than the first variant's"})
			continue
		}

		for _, s := range of {
			t, set, err := trainstage.SplitTable(w.Experiment, trip, s)
			fault.Raise(err)

			set.Scale = ref.Scale
			rows := set.RowsOf(triplets.Test)
			v.unit = append(v.unit, unitsOf(w.Columns, t, rows)...)
			v.run = append(v.run, lists.Each(rows, func(r int) string { return set.Runs[set.Run[r]] })...)
			for k := range v.seeds {
				id := trainstage.TrainID(w.Experiment, s.Name, k)
				pred := fault.Get(table.Read(j.Input(id, "predictions.arrow")))
				answers := fault.Get(trainstage.ReadPredictions(pred, set))
				v.seeds[k] = joined(v.seeds[k], Judged(set, answers, triplets.Test))
			}
		}

		out = append(out, v)
	}

	return out, nil
}

// joined appends the rows of b to a.
func joined(a, b score.Set) score.Set {
	a.N, a.Out, a.Couples = a.N+b.N, b.Out, b.Couples
	a.Y1, a.Y2, a.Weight = append(a.Y1, b.Y1...), append(a.Y2, b.Y2...), append(a.Weight, b.Weight...)
	a.Mu, a.Var, a.Cov = append(a.Mu, b.Mu...), append(a.Var, b.Var...), append(a.Cov, b.Cov...)
	return a
}

// unitsOf names the rows by their run and the conditions that are known before the
// analysis.
func unitsOf(c plan.Columns, t *table.Table, rows []int) []string {
	run := t.Column("run").Strings

	out := lists.Rows(run, 1, rows)
	for _, name := range c.BeforeAnalysis() {
		v, err := t.Floats(name)
		if err != nil {
			continue
		}

		for k, i := range rows {
			out[k] += "\x00" + strconv.FormatFloat(v[i], 'g', -1, 64)
		}
	}

	return out
}

// paired lists the rows that are compared: for each unit the rows of each variant.
type paired struct {
	of   []int // variants that are compared
	rows [][][]int
	run  []int
	how  string
	runs int
	why  string // why there are no units; "" where there are
}

// pair pairs the rows of the variants one by one where they are the same, else by run
// and conditions, as far as all variants have them. It returns the variants with the
// rows that are paired alone.
func (l judgedVariants) pair() (judgedVariants, paired) {
	var p paired
	for i, v := range l {
		if v.apart == "" {
			p.of = append(p.of, i)
		}
	}

	first := l[p.of[0]]
	same := !slices.ContainsFunc(p.of, func(i int) bool { return !slices.Equal(l[i].unit, first.unit) })

	at := make([]map[string][]int, len(p.of))
	for k, i := range p.of {
		at[k] = map[string][]int{}
		for r, u := range l[i].unit {
			if same {
				u = strconv.Itoa(r)
			}
			at[k][u] = append(at[k][u], r)
		}
	}

	p.rows = make([][][]int, len(p.of))

	number := map[string]int{} // of the runs
	for r, u := range first.unit {
		if same {
			u = strconv.Itoa(r)
		}

		missing := slices.ContainsFunc(at, func(m map[string][]int) bool { return m[u] == nil })
		if missing || at[0][u][0] != r {
			continue
		}

		run := first.run[r]
		if _, ok := number[run]; !ok {
			number[run] = len(number)
		}

		p.run = append(p.run, number[run])
		for k := range p.of {
			p.rows[k] = append(p.rows[k], at[k][u])
		}
	}

	p.runs = len(number)
	p.how = fmt.Sprintf("by run and conditions, %d of the first variant's %d", len(p.run), len(at[0]))
	if same {
		p.how = fmt.Sprintf("row by row, %d rows", len(first.unit))
	}

	if len(p.run) == 0 && !same {
		p.why = "the variants have no run and conditions in common"
	}

	return l.only(p), p
}

// only returns the variants with the rows of p alone, and numbers those anew.
func (l judgedVariants) only(p paired) judgedVariants {
	out := slices.Clone(l)
	for k, i := range p.of {
		var kept []int
		for _, rows := range p.rows[k] {
			for n, r := range rows {
				rows[n], kept = len(kept), append(kept, r)
			}
		}

		out[i].seeds = nil
		for _, s := range l[i].seeds {
			out[i].seeds = append(out[i].seeds, score.Set{Set: s.Select(kept), Answers: s.Answers.Rows(kept, s.Out)})
		}
	}

	return out
}

// values returns a criterion of each variant that is compared, seed and unit.
func (l judgedVariants) values(p paired, c score.Criterion) [][][]float64 {
	out := make([][][]float64, len(p.of))
	for k, i := range p.of {
		for _, s := range l[i].seeds {
			of, v := c.Rows(s), make([]float64, len(p.run))
			for u, rows := range p.rows[k] {
				for _, r := range rows {
					v[u] += of[r] / float64(len(rows))
				}
			}

			out[k] = append(out[k], v)
		}
	}

	return out
}

// compare ranks the variants by every criterion.
func (l judgedVariants) compare(p paired) report.Comparison {
	out := report.Comparison{Pairing: p.how, Runs: p.runs, Unpaired: p.why}
	for i, v := range l {
		if v.apart != "" {
			out.Apart = append(out.Apart, report.Apart{Variant: i, Why: v.apart})
		}
	}

	if p.why != "" {
		return out
	}

	for _, c := range score.Criteria() {
		all := l.values(p, c)
		var defined []int // among p.of

		var values [][][]float64
		for k, v := range all {
			if !slices.ContainsFunc(v, func(seed []float64) bool { return slices.ContainsFunc(seed, math.IsNaN) }) {
				defined, values = append(defined, k), append(values, v)
			}
		}

		ranks := score.Ranking(values, p.run)

		tests := score.Holm(lists.Each(ranks, func(r score.Rank) float64 { return r.P }))
		by := report.ByCriterion{Key: c.Key, Name: c.Name}
		for i, r := range ranks {
			by.Ranks = append(by.Ranks, report.VariantRank{
				Variant: p.of[defined[r.Method]], Value: l.shown(p.of[defined[r.Method]], c, values[r.Method]),
				Score: r.Mean, Above: r.Above, SE: r.SE, Margin: r.Margin, P: r.P, Holm: tests[i], Worse: tests[i] < 0.05,
			})
		}

		out.Criteria = append(out.Criteria, by)
	}

	return out
}

// shown returns the number that people know for a criterion, over the seeds: of the
// compared units, with RMSE for the error; for |ln Σe/Σv̂| the ratio of all rows.
func (l judgedVariants) shown(variant int, c score.Criterion, seeds [][]float64) score.Value {
	var v []float64
	for k, units := range seeds {
		mean, _ := score.ClusteredMean(units, make([]int, len(units)))
		switch c.Key {
		case "rmse":
			mean = math.Sqrt(mean)
		case "ratio":
			mean = score.ErrorRatio(l[variant].seeds[k])
		}

		v = append(v, mean)
	}

	return score.Mean(v)
}
