package stages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/table"
	"doubletake/train"
)

// train adds a task per split and seed.
func (b *builder) train() error {
	tr := &b.e.Train
	if len(tr.Inputs) == 0 {
		return nil
	}
	var err error
	if tr.Splits, err = b.expand(tr.Splits, false); err != nil {
		return err
	}
	b.extraFits = make([]bool, len(b.extra))
	for i, x := range b.extra {
		asked, err := b.expand([]config.Split{x}, true)
		if err != nil {
			return err
		}
		for _, s := range asked {
			if slices.ContainsFunc(s.Test, func(t config.Term) bool { return !slices.Contains(b.conditions, t.Condition) }) {
				continue
			}
			b.extraFits[i] = true
			if !slices.ContainsFunc(tr.Splits, func(o config.Split) bool { return o.Name == s.Name }) {
				tr.Splits = append(slices.Clone(tr.Splits), s)
			}
		}
	}
	cfg := without(settings("train", *tr), "train.splits", "train.seeds", "train.seed", "train.compare", "train.members")
	if tr.Calibration == 0 {
		cfg = without(cfg, "train.calibration")
	}
	cfg = append(cfg, engine.KV{Key: "kernels", Value: b.prog.Kernels}, engine.KV{Key: "dsp.couples", Value: strconv.FormatBool(b.e.DSP.Couples)})
	for _, s := range tr.Splits {
		for k := range tr.Seeds {
			b.trainTask(cfg, s, k)
		}
		b.methods(cfg, s)
	}
	return b.checkSplits()
}

func (b *builder) trainID(split string, k int) string {
	return b.id("train", split, "seed-"+strconv.Itoa(k))
}

func (b *builder) trainTask(cfg []engine.KV, s config.Split, k int) {
	tr := b.e.Train
	seed := seedOf(tr.Seed, "train", strconv.Itoa(k))
	dep := engine.Dep{Task: b.id("triplets"), Output: "triplets.arrow"}
	dir := b.published("splits", s.Name, "seed-"+strconv.Itoa(k))
	local := []engine.KV{
		{Key: "train.splits." + s.Name + ".test", Value: s.Test.String()},
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}
	if tr.Calibration > 0 {
		// What is learned; this spares others a version of their training.
		local = append(local, engine.KV{Key: "calibration", Value: "scaled, isotonic, quantile"})
	}
	meta := append(b.meta(cfg, local), table.KV{Key: "split", Value: s.Name}, table.KV{Key: "held_out", Value: s.Test.String()},
		table.KV{Key: "seed", Value: strconv.Itoa(k)}, table.KV{Key: "kernels", Value: b.prog.Kernels})
	t := b.add(&engine.Task{
		ID: b.trainID(s.Name, k), Stage: "train", Split: s.Name, Version: trainVersion, Config: cfg,
		// The card says of the data what the triplets' values do not.
		Local: append(slices.Clone(local), engine.KV{Key: "kind of data", Value: b.e.Ingest.Data}, engine.KV{Key: "pairs", Value: pairs(b.e)}),
		Deps:  []engine.Dep{dep},
		// Epochs × batches is all that is known before the table is there.
		Weight: float64(tr.Optimizer.Epochs) * 0.003 * float64(max(len(b.known), 1)) / 100,
	})
	outputs := []string{"model.json", cardJSON, flagsJSON, "history.arrow", "predictions.arrow"}
	if tr.Calibration > 0 {
		outputs = append(outputs, CalibrationJSON)
	}
	for _, o := range outputs {
		t.Publish = append(t.Publish, engine.Link{Output: o, Path: filepath.Join(dir, o)})
	}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		Release() // most files are done
		trip, err := table.Read(j.Input(dep.Task, dep.Output))
		if err != nil {
			return err
		}
		set, err := b.split(trip, s)
		if err != nil {
			return err
		}
		start := time.Now()
		model, history, err := fit(ctx, j, set.train(), b.network(seed))
		var constant *train.ConstantInputError
		if errors.As(err, &constant) {
			return b.f.Errorf(b.at+".train.inputs", "%q is constant (%g) in the training set of split %q: the network cannot learn from it; take it out of the inputs or hold out something else", tr.Inputs[constant.Column], constant.Value, s.Name)
		}
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
		fitted := time.Now()
		est, err := model.Estimate(ctx, set.distinct, train.EstimateOptions{Samples: tr.Estimate.Samples, Sampler: tr.Estimate.Sampler, Seed: b.estimateSeed(k)})
		if err != nil {
			return fmt.Errorf("estimate covariance: %w", err)
		}
		if err := errors.Join(writeTiming(j, fitted.Sub(start), time.Since(fitted)), set.writeFlags(j.Output(flagsJSON), est)); err != nil {
			return err
		}
		if err := writeJSON(j.Output(cardJSON), b.card(trip, set, s, k, digest(cfg, local), est)); err != nil {
			return err
		}
		if tr.Calibration > 0 {
			if err := b.recalibrate(j.Output(CalibrationJSON), trip, set, model, est); err != nil {
				return err
			}
		}
		js, err := json.Marshal(model)
		if err == nil {
			err = os.WriteFile(j.Output("model.json"), append(js, '\n'), 0o644)
		}
		if err != nil {
			return fmt.Errorf("write model: %w", err)
		}
		h := &table.Table{Meta: meta}
		for _, e := range history {
			cell(h, "epoch", "", "passes over the training triplets", e.Epoch)
			cell(h, "loss", "", "mean training loss of the epoch, with dropout", e.Loss)
			cell(h, "learning_rate", "", "step size of the epoch's last step", e.LearningRate)
		}
		hd, err := h.WriteFile(j.Output("history.arrow"))
		if err != nil {
			return err
		}
		p := set.predictions(trip, model, est)
		p.Meta = append(slices.Clone(meta), p.Meta...)
		pd, err := p.WriteFile(j.Output("predictions.arrow"))
		j.SetDigest("history.arrow", hd)
		j.SetDigest("predictions.arrow", pd)
		return err
	}
}

// splitSet is a triplet table cut into train and test for one split.
type splitSet struct {
	inputs, outcomes []string
	n                int
	x, y1, y2        []float64 // all rows
	test             []bool
	aside            []bool    // set aside to recalibrate: neither train nor test
	distinct         []float64 // the distinct inputs, in order of first appearance
	condition        []int     // per row, its distinct input
}

func (b *builder) split(t *table.Table, s config.Split) (*splitSet, error) {
	tr := b.e.Train
	set := &splitSet{inputs: tr.Inputs, outcomes: tr.Outcomes, n: t.Rows()}
	all := outcomes(t)
	if len(set.outcomes) == 0 {
		set.outcomes = all
	}
	for _, o := range set.outcomes {
		if !slices.Contains(all, o) {
			hint := ""
			if n := config.Nearest(o, all); n != "" {
				hint = fmt.Sprintf("; did you mean %q?", n)
			}
			return nil, b.f.Errorf(b.at+".train.outcomes", "%q is not an outcome of this experiment, which has %v%s", o, all, hint)
		}
	}
	columns := func(names []string, suffix string) ([]float64, error) {
		out := make([]float64, set.n*len(names))
		for k, name := range names {
			v, err := t.Floats(name + suffix)
			if err != nil {
				return nil, err
			}
			for i := range set.n {
				out[i*len(names)+k] = v[i]
			}
		}
		return out, nil
	}
	var err1, err2, err3 error
	set.x, err1 = columns(set.inputs, "")
	set.y1, err2 = columns(set.outcomes, "_1")
	set.y2, err3 = columns(set.outcomes, "_2")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("read triplets: %w", err)
	}
	set.test = make([]bool, set.n)
	for i := range set.test {
		set.test[i] = true
	}
	for _, term := range s.Test {
		v, err := t.Floats(term.Condition)
		if err != nil {
			return nil, fmt.Errorf("read triplets: %w", err)
		}
		for i := range v {
			set.test[i] = set.test[i] && term.Holds(v[i])
		}
	}
	held := 0
	for _, test := range set.test {
		if test {
			held++
		}
	}
	at := b.at + ".train.splits." + s.Name
	switch held {
	case 0:
		return nil, b.f.Errorf(at, "%s holds for none of the %d triplets: the test set would be empty%s", s.Test, set.n, valuesOf(s.Test, func(c string) []float64 { v, _ := t.Floats(c); return v }))
	case set.n:
		return nil, b.f.Errorf(at, "%s holds for all %d triplets: the training set would be empty; hold out less", s.Test, set.n)
	}
	if err := b.setAside(t, set, at); err != nil {
		return nil, err
	}
	index := map[string]int{}
	set.condition = make([]int, set.n)
	d := len(set.inputs)
	for i := range set.n {
		row := set.x[i*d : (i+1)*d]
		key := fmt.Sprint(row)
		k, ok := index[key]
		if !ok {
			k = len(index)
			index[key] = k
			set.distinct = append(set.distinct, row...)
		}
		set.condition[i] = k
	}
	return set, nil
}

// train returns the training rows.
func (s *splitSet) train() train.Triplets {
	t := train.Triplets{In: len(s.inputs), Out: len(s.outcomes)}
	for i := range s.n {
		if !s.test[i] && !s.aside[i] {
			t.N++
			t.X = append(t.X, s.x[i*t.In:(i+1)*t.In]...)
			t.Y1 = append(t.Y1, s.y1[i*t.Out:(i+1)*t.Out]...)
			t.Y2 = append(t.Y2, s.y2[i*t.Out:(i+1)*t.Out]...)
		}
	}
	return t
}

// predictions returns the triplets with what the model says of them, in the
// outcomes' own units. The scales used are in the metadata, so that numbers in
// standardised units can be had back.
func (s *splitSet) predictions(t *table.Table, m *train.Model, est *train.Estimates) *table.Table {
	out := &table.Table{Columns: slices.Clone(t.Columns)}
	set := make([]string, s.n)
	for i := range set {
		switch {
		case s.test[i]:
			set[i] = "test"
		case s.aside[i]:
			set[i] = "calibration"
		default:
			set[i] = "train"
		}
	}
	out.Columns = append(out.Columns, table.Column{Name: "set", Description: "train or test: whether the model was trained on the row; calibration: set aside to recalibrate", Strings: set})
	mean, std := m.OutputScale()
	d := len(s.outcomes)
	for k, name := range s.outcomes {
		unit := t.Column(name + "_1").Unit
		square := squared(unit)
		for _, c := range []struct {
			name, unit, doc string
			v               []float64
			scale, shift    float64
		}{
			{"mu", unit, "mean, first answer", est.Mu, std[k], mean[k]},
			{"var", square, "variance of the first answer: all uncertainty about the outcome", est.Var, std[k] * std[k], 0},
			{"cov_raw", square, "the paper's covariance of two answers, C + μδ, taken in standardised units", est.CovRaw, std[k] * std[k], 0},
			{"cov", square, "C, the centred covariance of two answers", est.Cov, std[k] * std[k], 0},
			{"delta", unit, "δ, the shift of the mean when an answer is fed back", est.Delta, std[k], 0},
			{"kappa", square, "κ, what mean and variance of the second answer exceed the first answer's variance by", est.Kappa, std[k] * std[k], 0},
			{"zigzag", unit, "|m(μ) − μ|, ZigZag's uncertainty", est.ZigZag, std[k], 0},
		} {
			v := make([]float64, s.n)
			for i := range v {
				v[i] = c.v[s.condition[i]*d+k]*c.scale + c.shift
			}
			out.Columns = append(out.Columns, table.Column{Name: name + "_" + c.name, Unit: c.unit, Description: c.doc, Floats: v})
		}
	}
	g := func(v []float64) string {
		s := make([]string, len(v))
		for i, x := range v {
			s[i] = strconv.FormatFloat(x, 'g', -1, 64)
		}
		return strings.Join(s, ",")
	}
	out.Meta = []table.KV{
		{Key: "inputs", Value: strings.Join(s.inputs, ",")},
		{Key: "outcomes", Value: strings.Join(s.outcomes, ",")},
		{Key: "outcome_mean", Value: g(mean)},
		{Key: "outcome_std", Value: g(std)},
		{Key: "samples", Value: strconv.Itoa(est.Samples)},
		{Key: "sampler", Value: est.Sampler},
		{Key: "cov_method", Value: est.Method},
	}
	return out
}

// squared names the unit of a variance.
func squared(unit string) string {
	switch {
	case unit == "":
		return ""
	case strings.ContainsAny(unit, " /·"):
		return "(" + unit + ")²"
	}
	return unit + "²"
}
