package reportstage

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/stages/trainstage"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train/baseline"
	"doubletake/train/honest/interval"
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// compareDeps lists what the comparison of a split needs of one seed's tasks.
func compareDeps(exp plan.Experiment, s config.Split, k int) []engine.Dep {
	tr := exp.Train

	deps := []engine.Dep{{Task: trainstage.TrainID(exp, s.Name, k), Output: trainstage.FlagsJSON}}
	if tr.Calibration.Share > 0 {
		deps = append(deps, engine.Dep{Task: trainstage.TrainID(exp, s.Name, k), Output: trainstage.CalibrationJSON})
	}

	if len(tr.Compare) > 0 {
		deps = append(deps, engine.Dep{Task: trainstage.TrainID(exp, s.Name, k), Output: trainstage.TimingJSON})
	}

	for _, name := range tr.Compare {
		for _, o := range []string{trainstage.MethodArrow, trainstage.TimingJSON} {
			deps = append(deps, engine.Dep{Task: trainstage.MethodID(exp, s.Name, name, k), Output: o})
		}
	}

	if _, ok := trainstage.Crosses(exp, s); ok {
		for _, name := range append([]string{"pair"}, tr.Compare...) {
			deps = append(deps, engine.Dep{Task: trainstage.CrossID(exp, s.Name, name, k), Output: trainstage.CrossJSON})
		}
	}

	return deps
}

// compared gathers the scores of every method over the seeds of a split.
type compared struct {
	methods []*method // in the order of the table
	flags   []trainstage.SeedFlags
	run     []int // of the rows
}

// method is one method's, over the seeds.
type method struct {
	name, claim string // claim describes its v̂
	scores      []score.Scores
	times       []trainstage.Timing
	doubts      []string // of the seeds that have one
	cross       []interval.Result
	crps, nll   [][]float64 // of every row; nil where it is not ranked
}

func (c *compared) method(name, claim string) *method {
	i := slices.IndexFunc(c.methods, func(m *method) bool { return m.name == name })
	if i < 0 {
		i = len(c.methods)
		c.methods = append(c.methods, &method{name: name, claim: claim})
	}

	return c.methods[i]
}

// rank adds one seed's CRPS and NLL of every row.
func (c *compared) rank(m *method, s score.Set, total []float64) {
	m.crps, c.run = append(m.crps, score.CRPSRows(s, total)), s.Run
	m.nll = append(m.nll, score.NLLRows(s, total))
}

// time adds one seed's times.
func (m *method) time(path string) error {
	var t trainstage.Timing
	err := plan.ReadJSON(path, &t)
	m.times = append(m.times, t)
	return err
}

// crossed adds one seed's calibration of a method on its left-out groups.
func (m *method) crossed(path string) error {
	var r interval.Result
	err := plan.ReadJSON(path, &r)
	m.cross = append(m.cross, r)
	return err
}

// afterScaled are the scaled numbers of a method, over the seeds that have it; undefined,
// with the reason, where none has.
func (m *method) afterScaled() (out score.Values) {
	for _, q := range []struct {
		key string
		of  func(r *interval.Record) float64
	}{
		{report.RatioScaled, func(r *interval.Record) float64 { return r.RatioAfter }},
		{report.CoverageScaled, func(r *interval.Record) float64 { return r.After.Coverage }},
	} {
		var v []float64

		reason := ""
		for _, r := range m.cross {
			switch {
			case r.Absent != "":
				reason = r.Absent
			case math.IsNaN(q.of(r.Record)):
				reason = "it is not a finite number"
			default:
				v = append(v, q.of(r.Record))
			}
		}

		switch {
		case len(v) > 0:
			out = append(out, score.Keyed{Key: q.key, Value: score.Mean(v)})
		case reason != "":
			undefined := score.Value{Mean: math.NaN(), Std: math.NaN(), N: len(m.cross), Undefined: reason}
			out = append(out, score.Keyed{Key: q.key, Value: undefined})
		}
	}

	return out
}

// compare adds one seed's scores on the test part of set: test is that part with
// the answers of the pair model.
func compare(
	exp plan.Experiment, c *compared, j *engine.Job, set triplets.Set, s config.Split, k int, test score.Set,
) error {
	tr := exp.Train
	id := trainstage.TrainID(exp, s.Name, k)

	var f trainstage.SeedFlags
	if err := plan.ReadJSON(j.Input(id, trainstage.FlagsJSON), &f); err != nil {
		return err
	}

	c.flags = append(c.flags, f)

	if len(tr.Compare) == 0 && tr.Calibration.Share == 0 {
		return nil
	}

	add := func(name, claim string, s score.Scores) *method {
		m := c.method(name, claim)
		m.scores = append(m.scores, s)
		return m
	}

	pair := add("pair, C", "C", score.Judge(test, test.Var, test.Cov))
	if len(tr.Compare) > 0 {
		c.rank(pair, test, test.Var)

		if err := pair.time(j.Input(id, trainstage.TimingJSON)); err != nil {
			return err
		}

		raw := make([]float64, len(test.CovRaw))
		for i, v := range test.CovRaw {
			raw[i] = math.Abs(v)
		}

		add("pair, |raw|", "|raw|", score.Judge(test, test.Var, raw))
	}

	if tr.Calibration.Share > 0 {
		var r score.Recalibration
		if err := plan.ReadJSON(j.Input(id, trainstage.CalibrationJSON), &r); err != nil {
			return err
		}

		for _, kind := range score.Kinds() {
			if kind == score.Quantile {
				add("pair, "+kind, "C", r.JudgeQuantiles(test, test.Var, test.Cov))
				continue
			}

			v, cov := r.Apply(kind, test.Var, test.Cov)
			add("pair, "+kind, "C, "+kind, score.Judge(test, v, cov))
		}
	}

	_, crosses := trainstage.Crosses(exp, s)
	if crosses {
		if err := pair.crossed(j.Input(trainstage.CrossID(exp, s.Name, "pair", k), trainstage.CrossJSON)); err != nil {
			return err
		}
	}

	at := set.Of(triplets.Test).Condition
	for _, name := range tr.Compare {
		task := trainstage.MethodID(exp, s.Name, name, k)
		t, err := table.Read(j.Input(task, trainstage.MethodArrow))
		if err != nil {
			return err
		}

		p, err := trainstage.ReadMethod(t, set)
		if err != nil {
			return fmt.Errorf("read %s: %w", task, err)
		}

		a := triplets.Answers{Mu: p.Mu, Var: p.Total, Cov: p.Epistemic}.Rows(at, set.Out).Standardised(set.Scale)
		of := test
		of.Mu = a.Mu
		info, _ := baseline.Describe(name)
		m := add(name, info.Claim, score.Judge(of, a.Var, a.Cov))
		if p.Doubt != "" {
			m.doubts = append(m.doubts, p.Doubt)
		}

		c.rank(m, of, a.Var)

		if err := m.time(j.Input(task, trainstage.TimingJSON)); err != nil {
			return err
		}

		if !crosses {
			continue
		}

		if err := m.crossed(j.Input(trainstage.CrossID(exp, s.Name, name, k), trainstage.CrossJSON)); err != nil {
			return err
		}
	}

	return nil
}

// finish writes the scores into the report's split.
func (c *compared) finish(sp *report.Split) {
	var ranked []*method

	var crps [][][]float64
	for _, m := range c.methods {
		var numbers []score.Numbers
		for _, s := range m.scores {
			numbers = append(numbers, s.Numbers)
		}

		r := report.Compared{Method: m.name, Claim: m.claim, Values: score.OverSeeds(numbers)}
		for i, q := range m.scores[0].Quantiles {
			key := "below_" + strconv.FormatFloat(q.Level, 'g', -1, 64)
			r.Values = append(r.Values, meanOver(key, m.scores, func(s score.Scores) float64 {
				if i < len(s.Quantiles) {
					return s.Quantiles[i].Observed
				}
				return math.NaN()
			}))
		}

		r.Values = append(r.Values, m.afterScaled()...)
		if len(m.doubts) > 0 {
			r.Doubt = fmt.Sprintf("%d of %d seeds: %s", len(m.doubts), len(m.scores), m.doubts[0])
		}

		if len(m.times) > 0 {
			r.FitS = meanOver("", m.times, func(t trainstage.Timing) float64 { return t.Fit }).Value
			r.AskS = meanOver("", m.times, func(t trainstage.Timing) float64 { return t.Predict }).Value
		}

		sp.Methods = append(sp.Methods, r)

		if m.crps != nil {
			ranked, crps = append(ranked, m), append(crps, m.crps)
		}
	}

	ranking := score.Ranking(crps, c.run)
	for i, r := range ranking {
		is := "best"
		if i > 0 {
			is = c.standing(ranking[0].Mean, r, ranked[r.Method].nll, ranked[ranking[0].Method].nll)
		}

		sp.Ranking = append(sp.Ranking, report.Ranked{
			Method: ranked[r.Method].name, CRPS: r.Mean, Above: r.Above, SE: r.SE, Is: is,
		})
	}

	sp.Flags = append(mergeFlags(c.flags), calibrationFlags(sp.Test)...)
}

// standing compares a method with the best by CRPS, and where it is as good, by NLL:
// CRPS hardly sees claims that are far too small.
func (c *compared) standing(best float64, r score.Rank, nll, nllOfBest [][]float64) string {
	is := score.Standing("crps", best, r.Above, r.Margin, r.Worse)

	by := score.Ranking([][][]float64{nllOfBest, nll}, c.run)
	if is != "as good" || len(by) < 2 || by[0].Method == 1 {
		return is
	}

	if s := score.Standing("nll", by[0].Mean, by[1].Above, by[1].Margin, by[1].Worse); s != is {
		is += ", by NLL " + s
	}

	return is
}

// meanOver is a number's mean over seeds.
func meanOver[T any](key string, seeds []T, of func(T) float64) score.Keyed {
	v := make([]float64, len(seeds))
	for k, s := range seeds {
		v[k] = of(s)
	}

	return score.Keyed{Key: key, Value: score.Mean(v)}
}

// calibrationFlags checks Σe/ΣC by its mean over the seeds, which the tables show and
// by which the splits are ranked.
func calibrationFlags(test report.SetMetrics) []report.Violation {
	var out []report.Violation
	for _, f := range score.DiagnoseCalibration(test.Values, test.Runs) {
		f.Value, f.Limit = test.Get("sum_e_ratio").Mean, 0
		out = append(out, report.Violation{Flag: f, Part: "test"})
	}

	return out
}

// coverageFlags checks σ by the share of held-out values inside the network's intervals,
// mean over seeds. The outcome with the smallest share counts.
func coverageFlags(network []score.OutcomeTrust) []report.Violation {
	var worst *score.OutcomeTrust

	var flag score.Flag
	for i, t := range network {
		if f := score.DiagnoseCoverage(t.Trust); len(f) > 0 && (worst == nil || t.Inside < worst.Inside) {
			worst, flag = &network[i], f[0]
		}
	}

	if worst == nil {
		return nil
	}

	if len(network) > 1 {
		flag.How += " of " + worst.Outcome
	}

	return []report.Violation{{Flag: flag, Part: "test"}}
}

const methodsArrow = "methods.arrow"

// compares reports whether the experiment has a comparison.
func compares(exp plan.Experiment) bool {
	return len(exp.Train.Inputs) > 0 && (len(exp.Train.Compare) > 0 || exp.Train.Calibration.Share > 0)
}

// writeMethods writes the comparison in long form: one row per number. The
// metrics below_P are quantile calibration: the share of y below the predicted
// quantile of level P.
func writeMethods(exp plan.Experiment, j *engine.Job, e report.Experiment) error {
	if !compares(exp) {
		return nil
	}

	t := &table.Table{Meta: exp.Meta()}
	for _, s := range e.Splits {
		for _, m := range s.Methods {
			for _, v := range m.Values {
				plan.Cell(t, "experiment", "", "entry of the configuration", e.Name)
				plan.Cell(t, "split", "", "train/test rule", s.Name)
				plan.Cell(t, "reach", "", "whether the test part is interpolation or extrapolation", s.Reach)
				plan.Cell(t, "method", "", "what predicted", m.Method)
				valueCells(t, "as in metrics.json; test part, standardised units", v)
			}
		}
	}

	return plan.WriteTable(j, methodsArrow, t)
}

// mergeFlags keeps one entry per identity and part, from the worst seed.
func mergeFlags(seeds []trainstage.SeedFlags) []report.Violation {
	var out []report.Violation
	for _, part := range []struct {
		name string
		of   func(trainstage.SeedFlags) []score.Flag
	}{
		{"train", func(f trainstage.SeedFlags) []score.Flag { return f.Train }},
		{"test", func(f trainstage.SeedFlags) []score.Flag { return f.Test }},
	} {
		var codes []string

		worst, count := map[string]score.Flag{}, map[string]int{}
		for _, s := range seeds {
			for _, f := range part.of(s) {
				if count[f.Code] == 0 {
					codes = append(codes, f.Code)
				}

				if count[f.Code]++; count[f.Code] == 1 || f.Value/f.Limit > worst[f.Code].Value/worst[f.Code].Limit {
					worst[f.Code] = f
				}
			}
		}

		for _, c := range codes {
			out = append(out, report.Violation{Flag: worst[c], Part: part.name, Seeds: count[c], Of: len(seeds)})
		}
	}

	return out
}
