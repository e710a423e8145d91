package stages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/report"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/score"
)

const (
	methodArrow = "method.arrow"
	timingJSON  = "timing.json"      // how long it took; the same digest always, because it is no result
	flagsJSON   = "diagnostics.json" // identities of the theory that a model violates
)

// timing is how long a method took, in seconds of wall clock.
type timing struct {
	Fit     float64 `json:"fit_s"`
	Predict float64 `json:"predict_s"`
}

func writeTiming(j *engine.Job, fit, predict time.Duration) error {
	j.SetDigest(timingJSON, "not a result")
	return writeJSON(j.Output(timingJSON), timing{fit.Seconds(), predict.Seconds()})
}

func (b *builder) methodID(split, method string, k int) string {
	return b.id("train", split, method, "seed-"+strconv.Itoa(k))
}

// methods adds a task per further method, split and seed: the method is trained
// on what the network was trained on, and asked at every distinct condition.
func (b *builder) methods(cfg []engine.KV, s config.Split) {
	tr := b.e.Train
	// The network's own settings matter to the methods made of networks; how its
	// covariance is sampled, and how its pairs and feedback go, to none.
	cfg = without(slices.Clone(cfg), "train.estimate", "train.loss.pairs", "train.model.feedback", "train.model.feedback_value")
	for _, name := range tr.Compare {
		for k := range tr.Seeds {
			b.methodTask(cfg, s, name, k)
		}
	}
}

func (b *builder) methodTask(cfg []engine.KV, s config.Split, name string, k int) {
	tr := b.e.Train
	seed := seedOf(tr.Seed, "method "+name, strconv.Itoa(k))
	dep := engine.Dep{Task: b.id("triplets"), Output: "triplets.arrow"}
	local := []engine.KV{
		{Key: "train.splits." + s.Name + ".test", Value: s.Test.String()},
		{Key: "method", Value: name},
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}
	if name == "ensemble" {
		local = append(local, engine.KV{Key: "train.members", Value: strconv.Itoa(tr.Members)})
	}
	meta := append(b.meta(cfg, local), table.KV{Key: "split", Value: s.Name}, table.KV{Key: "held_out", Value: s.Test.String()},
		table.KV{Key: "seed", Value: strconv.Itoa(k)}, table.KV{Key: "kernels", Value: b.prog.Kernels})
	t := b.add(&engine.Task{
		ID: b.methodID(s.Name, name, k), Stage: "train", Split: s.Name, Version: methodVersion, Config: cfg, Local: local,
		Deps:    []engine.Dep{dep},
		Weight:  float64(tr.Optimizer.Epochs) * 0.003 * float64(max(len(b.known), 1)) / 100,
		Publish: []engine.Link{{Output: methodArrow, Path: filepath.Join(b.published("splits", s.Name, "seed-"+strconv.Itoa(k)), name+".arrow")}},
	})
	if name == "ensemble" {
		t.Weight *= float64(tr.Members)
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		trip, err := table.Read(j.Input(dep.Task, dep.Output))
		if err != nil {
			return err
		}
		set, err := b.split(trip, s)
		if err != nil {
			return err
		}
		m, err := baseline.New(name, baseline.Settings{Config: b.network(0), Members: tr.Members})
		if err != nil {
			return err
		}
		start := time.Now()
		p, err := m.Fit(ctx, set.train(), seed)
		var constant *train.ConstantInputError
		if errors.As(err, &constant) {
			return b.f.Errorf(b.at+".train.inputs", "%q is constant (%g) in the training set of split %q: nothing can be learned from it; take it out of the inputs or hold out something else", tr.Inputs[constant.Column], constant.Value, s.Name)
		}
		if err != nil {
			return err
		}
		fitted := time.Now()
		r, err := p.Predict(ctx, set.distinct)
		if err != nil {
			return err
		}
		asked := time.Now()
		out := set.methodTable(trip, r)
		out.Meta = meta
		dg, err := out.WriteFile(j.Output(methodArrow))
		if err != nil {
			return err
		}
		j.SetDigest(methodArrow, dg)
		return writeTiming(j, fitted.Sub(start), asked.Sub(fitted))
	}
}

// network are the settings of a network of this experiment.
func (b *builder) network(seed uint64) train.Config {
	tr := b.e.Train
	return train.Config{
		Hidden: tr.Model.Hidden, Dropout: tr.Model.Dropout, Feedback: tr.Model.Feedback, FeedbackValue: tr.Model.FeedbackValue,
		Beta: tr.Loss.Beta, Pairs: tr.Loss.Pairs, LearningRate: tr.Optimizer.LearningRate, WeightDecay: tr.Optimizer.WeightDecay,
		Batch: tr.Optimizer.Batch, Epochs: tr.Optimizer.Epochs, Schedule: tr.Optimizer.Schedule,
		Standardise: tr.Standardise, Seed: seed, Kernels: b.prog.Kernels,
	}
}

// methodTable holds a method's answers, one row per distinct condition in the
// order in which the triplets name them, in the outcomes' own units.
func (s *splitSet) methodTable(trip *table.Table, r *baseline.Prediction) *table.Table {
	t := &table.Table{}
	d := len(s.inputs)
	for i, n := range s.inputs {
		src := trip.Column(n)
		c := table.Column{Name: n, Unit: src.Unit, Description: src.Description, Floats: make([]float64, r.N)}
		for k := range c.Floats {
			c.Floats[k] = s.distinct[k*d+i]
		}
		t.Columns = append(t.Columns, c)
	}
	for j, n := range s.outcomes {
		unit := trip.Column(n + "_1").Unit
		for _, c := range []struct {
			name, unit, doc string
			v               []float64
		}{
			{"mu", unit, "mean", r.Mu},
			{"var", squared(unit), "variance of one measurement, everything included", r.Total},
			{"epistemic", squared(unit), "the part of it that is ignorance of the mean", r.Epistemic},
		} {
			v := make([]float64, r.N)
			for k := range v {
				v[k] = c.v[k*r.Out+j]
			}
			t.Columns = append(t.Columns, table.Column{Name: n + "_" + c.name, Unit: c.unit, Description: c.doc, Floats: v})
		}
	}
	return t
}

// compareDeps lists what the comparison of a split needs of one seed's tasks.
func (b *builder) compareDeps(s config.Split, k int) []engine.Dep {
	tr := b.e.Train
	deps := []engine.Dep{{Task: b.trainID(s.Name, k), Output: flagsJSON}}
	if tr.Calibration > 0 {
		deps = append(deps, engine.Dep{Task: b.trainID(s.Name, k), Output: CalibrationJSON})
	}
	if len(tr.Compare) > 0 {
		deps = append(deps, engine.Dep{Task: b.trainID(s.Name, k), Output: timingJSON})
	}
	for _, name := range tr.Compare {
		for _, o := range []string{methodArrow, timingJSON} {
			deps = append(deps, engine.Dep{Task: b.methodID(s.Name, name, k), Output: o})
		}
	}
	return deps
}

// compared gathers the scores of every method over the seeds of a split.
type compared struct {
	names    []string // in the order of the table
	scores   map[string][]score.Scores
	fit, ask map[string][]float64
	flags    []seedFlags
}

func newCompared() *compared {
	return &compared{scores: map[string][]score.Scores{}, fit: map[string][]float64{}, ask: map[string][]float64{}}
}

func (c *compared) add(name string, s score.Scores) {
	if !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
	c.scores[name] = append(c.scores[name], s)
}

func (c *compared) time(name, path string) error {
	var t timing
	if err := readJSON(path, &t); err != nil {
		return err
	}
	c.fit[name], c.ask[name] = append(c.fit[name], t.Fit), append(c.ask[name], t.Predict)
	return nil
}

// compare adds one seed's scores on the test part: test is that part as the
// pair model sees it and sum its summary, mean and std the scales of the outcomes.
func (b *builder) compare(c *compared, j *engine.Job, trip *table.Table, s config.Split, k int, test score.Set, sum score.Summary, pred *table.Table) error {
	tr := b.e.Train
	id := b.trainID(s.Name, k)
	var f seedFlags
	if err := readJSON(j.Input(id, flagsJSON), &f); err != nil {
		return err
	}
	f.Test = append(f.Test, score.DiagnoseCalibration(sum)...)
	c.flags = append(c.flags, f)
	if len(tr.Compare) == 0 && tr.Calibration == 0 {
		return nil
	}
	c.add("pair, C", score.Judge(test, test.Var, test.Cov))
	if len(tr.Compare) > 0 {
		if err := c.time("pair, C", j.Input(id, timingJSON)); err != nil {
			return err
		}
		raw := make([]float64, len(test.CovRaw))
		for i, v := range test.CovRaw {
			raw[i] = math.Abs(v)
		}
		c.add("pair, |raw|", score.Judge(test, test.Var, raw))
	}
	if tr.Calibration > 0 {
		var r score.Recalibration
		if err := readJSON(j.Input(id, CalibrationJSON), &r); err != nil {
			return err
		}
		for _, kind := range []string{score.Scaled, score.Isotonic} {
			v, cov := r.Apply(kind, test.Var, test.Cov)
			c.add("pair, "+kind, score.Judge(test, v, cov))
		}
		c.add("pair, "+score.Quantile, r.JudgeQuantiles(test, test.Var, test.Cov))
	}
	if len(tr.Compare) == 0 {
		return nil
	}
	set, err := b.split(trip, s)
	if err != nil {
		return err
	}
	mean, err1 := floats(pred.Get("outcome_mean"))
	std, err2 := floats(pred.Get("outcome_std"))
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("read scales of %s: %w", id, err)
	}
	for _, name := range tr.Compare {
		task := b.methodID(s.Name, name, k)
		t, err := table.Read(j.Input(task, methodArrow))
		if err != nil {
			return err
		}
		d := len(set.outcomes)
		n := len(set.distinct) / len(set.inputs)
		if t.Rows() != n {
			return fmt.Errorf("read %s: expected %d conditions, found %d", task, n, t.Rows())
		}
		of := test
		of.Mu = make([]float64, test.N*d)
		total, epistemic := make([]float64, test.N*d), make([]float64, test.N*d)
		for jo, o := range set.outcomes {
			mu, err1 := t.Floats(o + "_mu")
			va, err2 := t.Floats(o + "_var")
			ep, err3 := t.Floats(o + "_epistemic")
			if err := errors.Join(err1, err2, err3); err != nil {
				return fmt.Errorf("read %s: %w", task, err)
			}
			r := 0
			for i, cond := range set.condition {
				if set.test[i] {
					at := r*d + jo
					of.Mu[at], total[at], epistemic[at] = (mu[cond]-mean[jo])/std[jo], va[cond]/(std[jo]*std[jo]), ep[cond]/(std[jo]*std[jo])
					r++
				}
			}
		}
		c.add(name, score.Judge(of, total, epistemic))
		if err := c.time(name, j.Input(task, timingJSON)); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what was gathered into the report's split.
func (c *compared) finish(sp *report.Split) {
	for _, name := range c.names {
		m := report.Compared{Method: name}
		for _, key := range score.Names[score.Scores]() {
			v := score.OverSeeds(c.scores[name], key)
			m.Scores = append(m.Scores, report.Scored{Key: key, Value: report.Value{Mean: v.Mean, Std: v.Std, N: v.N, Undefined: v.Undefined}})
		}
		for i, q := range c.scores[name][0].Quantiles {
			v := make([]float64, len(c.scores[name]))
			for k, s := range c.scores[name] {
				v[k] = math.NaN()
				if i < len(s.Quantiles) {
					v[k] = s.Quantiles[i].Observed
				}
			}
			mean, std := score.MeanStd(v)
			m.Scores = append(m.Scores, report.Scored{Key: "below_" + strconv.FormatFloat(q.Level, 'g', -1, 64), Value: report.Value{Mean: mean, Std: std, N: len(v)}})
		}
		for _, t := range []struct {
			dst *report.Value
			v   []float64
		}{{&m.FitS, c.fit[name]}, {&m.AskS, c.ask[name]}} {
			if len(t.v) > 0 {
				mean, std := score.MeanStd(t.v)
				*t.dst = report.Value{Mean: mean, Std: std, N: len(t.v)}
			}
		}
		sp.Methods = append(sp.Methods, m)
	}
	sp.Flags = mergeFlags(c.flags)
}

const methodsArrow = "methods.arrow"

// compares reports whether the experiment has a comparison to tell.
func (b *builder) compares() bool {
	return len(b.e.Train.Inputs) > 0 && (len(b.e.Train.Compare) > 0 || b.e.Train.Calibration > 0)
}

// writeMethods writes the comparison in long form: one row per number. The
// metrics below_P are quantile calibration: the share of y below the predicted
// quantile of level P.
func (b *builder) writeMethods(j *engine.Job, e report.Experiment) error {
	if !b.compares() {
		return nil
	}
	t := &table.Table{Meta: b.meta()}
	for _, s := range e.Splits {
		for _, m := range s.Methods {
			for _, v := range m.Scores {
				mean, std := v.Mean, v.Std
				if v.Undefined != "" {
					mean, std = math.NaN(), math.NaN()
				}
				cell(t, "experiment", "", "entry of the configuration", e.Name)
				cell(t, "split", "", "train/test rule", s.Name)
				cell(t, "reach", "", "whether the test part is interpolation or extrapolation", s.Reach)
				cell(t, "method", "", "what predicted", m.Method)
				cell(t, "metric", "", "as in metrics.json; test part, standardised units", v.Key)
				cell(t, "mean", "", "mean over seeds", mean)
				cell(t, "std", "", "sample standard deviation over seeds", std)
				cell(t, "seeds", "", "number of seeds", v.N)
				cell(t, "undefined", "", "why there is no number", v.Undefined)
			}
		}
	}
	dg, err := t.WriteFile(j.Output(methodsArrow))
	j.SetDigest(methodsArrow, dg)
	return err
}

// seedFlags are the diagnostics of one model on one split.
type seedFlags struct {
	Train []score.Flag `json:"train"`
	Test  []score.Flag `json:"test"`
}

// diagnose checks the identities of the theory on the distinct conditions of the
// training and of the test part (METHOD §4).
func (s *splitSet) diagnose(est *train.Estimates) seedFlags {
	d := len(s.outcomes)
	part := func(in func(i int) bool) []score.Flag {
		seen := make([]bool, len(s.distinct)/len(s.inputs))
		var a score.Answers
		for i, k := range s.condition {
			if seen[k] || !in(i) {
				continue
			}
			seen[k] = true
			a.Var, a.Cov = append(a.Var, est.Var[k*d:(k+1)*d]...), append(a.Cov, est.Cov[k*d:(k+1)*d]...)
			a.Delta, a.Kappa = append(a.Delta, est.Delta[k*d:(k+1)*d]...), append(a.Kappa, est.Kappa[k*d:(k+1)*d]...)
		}
		return append([]score.Flag{}, score.Diagnose(a)...)
	}
	return seedFlags{
		Train: part(func(i int) bool { return !s.test[i] && !s.aside[i] }),
		Test:  part(func(i int) bool { return s.test[i] }),
	}
}

func (s *splitSet) writeFlags(path string, est *train.Estimates) error {
	b, err := json.MarshalIndent(s.diagnose(est), "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write diagnostics: %w", err)
	}
	return nil
}

// mergeFlags tells every violated identity once a part, in the words of the seed
// that violates it most.
func mergeFlags(seeds []seedFlags) []report.Violation {
	var out []report.Violation
	for _, part := range []struct {
		name string
		of   func(seedFlags) []score.Flag
	}{{"train", func(f seedFlags) []score.Flag { return f.Train }}, {"test", func(f seedFlags) []score.Flag { return f.Test }}} {
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
			f := worst[c]
			out = append(out, report.Violation{
				Code: c, Part: part.name, Text: f.Violated, Do: f.Do,
				Seeds: count[c], Of: len(seeds), Value: f.Value, Limit: f.Limit,
			})
		}
	}
	return out
}

// reach says whether a split asks for interpolation or extrapolation: whether
// the held-out values of each condition of its rule lie between values that
// were trained on.
func (b *builder) reach(t *table.Table, s config.Split) (string, error) {
	set, err := b.split(t, s)
	if err != nil {
		return "", err
	}
	var inside, outside []string
	for _, term := range s.Test {
		v, err := t.Floats(term.Condition)
		if err != nil {
			return "", fmt.Errorf("read triplets: %w", err)
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for i, x := range v {
			if !set.test[i] && !set.aside[i] {
				lo, hi = min(lo, x), max(hi, x)
			}
		}
		beyond := false
		for i, x := range v {
			beyond = beyond || set.test[i] && (x < lo || x > hi)
		}
		if beyond {
			outside = append(outside, term.Condition)
		} else {
			inside = append(inside, term.Condition)
		}
	}
	switch {
	case len(outside) > 0:
		return "extrapolation in " + strings.Join(outside, " and "), nil
	case len(inside) > 0:
		return "interpolation in " + strings.Join(inside, " and "), nil
	}
	return "", nil
}
