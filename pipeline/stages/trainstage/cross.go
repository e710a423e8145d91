package trainstage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/baseline"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// crossVersion is the version of the results of methods calibrated on left-out groups.
const crossVersion = 1

// CrossJSON is the output of such a calibration, a Crossed.
const CrossJSON = "left-out.json"

// Crossed judges on the test set what a method claims with the covariance C_x that
// its own left-out groups taught (docs/honest.md). Numbers that are undefined are nil.
type Crossed struct {
	Absent    string   `json:"absent,omitempty"` // why there is none
	Condition string   `json:"condition"`        // whose values are the groups
	Variant   string   `json:"variant"`
	K         int      `json:"k"` // groups left out
	Ratio     *float64 `json:"sum_e_ratio"`
	Coverage  *float64 `json:"coverage"` // of μ ± t_K·√(v̂ + C_x + σ²)
}

// CrossID is the ID of the task that calibrates a method on left-out groups. The name
// of the model of pairs is "pair".
func CrossID(b *plan.Builder, split, method string, k int) string {
	return b.ID("train", split, method, "seed-"+strconv.Itoa(k), "left-out")
}

// Crosses reports whether the methods of a split are calibrated on left-out groups,
// and by which condition.
func Crosses(b *plan.Builder, s config.Split) (condition string, ok bool) {
	h := b.Exp.Train.Honest
	if !h.Methods || b.Exp.DSP.Couples {
		return "", false
	}
	h.Base = "gp" // the methods are calibrated without a base too
	condition, absent := HonestCondition(h, s)
	return condition, absent == ""
}

// crossTask adds the task that trains a method anew without each training group.
func crossTask(b *plan.Builder, cfg []kv.Pair, s config.Split, name string, k int) {
	condition, ok := Crosses(b, s)
	if !ok {
		return
	}
	tr := b.Exp.Train
	dep := engine.Dep{Task: b.ID("triplets"), Output: "triplets.arrow"}
	full, stream := engine.Dep{Task: MethodID(b, s.Name, name, k), Output: MethodArrow}, "method "+name
	pair := !slices.Contains(tr.Compare, name)
	if pair {
		full, stream = engine.Dep{Task: TrainID(b, s.Name, k), Output: "predictions.arrow"}, "train"
	}
	seed := plan.SeedOf(tr.Seed, stream, strconv.Itoa(k))
	f := honestFit{settings: tr.Honest, condition: condition, within: s.Test.Within(condition)}
	f.settings.Base = name
	local := []kv.Pair{
		s.Setting(),
		{Key: "method", Value: name},
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
		{Key: "members", Value: strconv.Itoa(tr.Members)},
	}
	local = append(local, plan.Without(plan.Settings("train.honest", tr.Honest), "train.honest.base",
		"train.honest.form", "train.honest.methods")...)
	t := b.Add(&engine.Task{
		ID: CrossID(b, s.Name, name, k), Stage: "train", Split: s.Name, Version: crossVersion, Config: cfg, Local: local,
		Deps: []engine.Dep{dep, full}, Weight: 4 * weight(b),
	})
	t.Run = func(ctx context.Context, j *engine.Job) error {
		set, z, err := readGroups(b, j, dep, s, condition)
		if err != nil {
			return err
		}
		p, err := rowPredictions(j.Input(full.Task, full.Output), set, pair)
		if err != nil {
			return fmt.Errorf("read %s: %w", full.Task, err)
		}
		m, err := baseline.New(name, baseline.Settings{Config: network(b, 0), Members: tr.Members})
		if err != nil {
			return err
		}
		dir, err := j.Scratch()
		if err != nil {
			return err
		}
		k := 0
		c, err := f.cross(ctx, set, z, func(data triplets.Set, x []float64) (*baseline.Prediction, error) {
			k++
			return predictOnce(ctx, j, m, data, seed, x, filepath.Join(dir, fmt.Sprintf("left-out-%d.json", k)))
		}, p)
		if err != nil {
			return err
		}
		return plan.WriteJSON(j.Output(CrossJSON), c)
	}
}

// predictOnce fits a method and predicts at x, or reads what an interrupted run has
// predicted: path is in the task's scratch folder.
func predictOnce(ctx context.Context, j *engine.Job, m baseline.Method, data triplets.Set, seed uint64, x []float64,
	path string,
) (*baseline.Prediction, error) {
	p := &baseline.Prediction{}
	switch err := plan.ReadJSON(path, p); {
	case err == nil:
		j.Note("checkpoint", filepath.Base(path)+" was predicted before")
		return p, nil
	case !errors.Is(err, fs.ErrNotExist):
		j.Note("checkpoint", fmt.Sprintf("not used: %v", err))
	}
	fitted, err := fitMethod(ctx, j, m, data, seed)
	if err != nil {
		return nil, err
	}
	if p, err = fitted.Predict(ctx, x); err != nil {
		return nil, err
	}
	b, err := json.Marshal(p)
	if err == nil {
		err = finish(path, b)
	}
	if err != nil {
		j.Note("checkpoint", fmt.Sprintf("not written: %v", err)) // only time is lost
	}
	return p, nil
}

// rowPredictions are a method's predictions at every row of s.
func rowPredictions(path string, s triplets.Set, pair bool) (*baseline.Prediction, error) {
	t, err := table.Read(path)
	if err != nil {
		return nil, err
	}
	if pair {
		a, err := ReadPredictions(t, s)
		return &baseline.Prediction{N: s.N, Out: s.Out, Mu: a.Mu, Total: a.Var, Epistemic: a.Cov}, err
	}
	p, err := ReadMethod(t, s)
	if err != nil {
		return nil, err
	}
	a := triplets.Answers{Mu: p.Mu, Var: p.Total, Cov: p.Epistemic}.Rows(s.Condition, s.Out)
	return &baseline.Prediction{N: s.N, Out: s.Out, Mu: a.Mu, Total: a.Var, Epistemic: a.Cov}, nil
}

// claims splits a prediction's total into v̂, a negative one counting as 0, and noise.
func claims(p *baseline.Prediction) (claim, noise []float64) {
	for i, v := range p.Epistemic {
		v = max(v, 0)
		claim, noise = append(claim, v), append(noise, p.Total[i]-v)
	}
	return claim, noise
}

// cross fits a method to the training rows without each group in turn, learns C_x from the
// errors there, and judges full, the predictions at all rows of s, with it. Nothing is
// shared between the groups: what a method learns, it learns without the group.
func (f honestFit) cross(ctx context.Context, s triplets.Set, z []float64,
	fit func(data triplets.Set, x []float64) (*baseline.Prediction, error), full *baseline.Prediction,
) (Crossed, error) {
	g := f.grouping(z)
	variant := f.variant()
	if f.settings.Variant == "auto" && f.settings.Base != "gp" && f.settings.Base != "constant" {
		variant = honest.VariantB
	}
	r := Crossed{Condition: f.condition, Variant: string(variant)}
	data := honest.Data{N: s.N, In: s.In, Out: s.Out, X: s.X, Y1: s.Y1, Y2: s.Y2, Run: s.Run}
	other := make([]bool, s.N)
	for i, p := range s.Part {
		other[i] = p != triplets.Train
	}
	p := honest.NewPlan(g, []honest.Split{{Name: "all", Test: other}})
	var left []honest.LeftOut
	for _, h := range p.Splits[0].LeftOut {
		rows := p.Trainings[h.Training].Rows
		q, err := fit(s.Select(rows), s.Select(h.Rows).X)
		if ctx.Err() != nil {
			return r, err
		}
		if err != nil {
			var constant *train.ConstantInputError
			if errors.As(err, &constant) {
				err = fmt.Errorf("%s is constant (%g)", s.Inputs[constant.Column].Name, constant.Value)
			}
			r.Absent = fmt.Sprintf("without %s %s: %v", f.condition, g.Names[h.Group], err)
			return r, nil
		}
		claim, noise := claims(q)
		left = append(left, honest.NewLeftOut(data, g, h.Group, h.Rows, rows, q.Mu, claim, noise))
	}
	r.K = len(left)
	c, err := honest.Calibrate(data, g, p.Trainings[p.Splits[0].Full].Rows, left, honest.Options{
		Base: f.settings.Base, Variant: variant, Level: 0.95, ClaimedNoise: f.settings.Base == "gp",
		InputNames: s.InputNames(), FromGroup: fromGroup(s, g),
	})
	if err != nil { // too few groups, mostly
		r.Absent = err.Error()
		return r, nil
	}
	test, at := s.Of(triplets.Test), s.RowsOf(triplets.Test)
	var coordinate []float64
	if g.Z != nil {
		for _, i := range at {
			coordinate = append(coordinate, g.Z[i])
		}
	}
	a := triplets.Answers{Mu: full.Mu, Var: full.Total, Cov: full.Epistemic}.Rows(at, s.Out)
	claim, noise := claims(&baseline.Prediction{Total: a.Var, Epistemic: a.Cov})
	judged := c.Judge(c.Predict(test.X, coordinate, a.Mu, claim, noise), test.Y1, test.Y2, test.Run)
	defined := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	r.Ratio, r.Coverage = defined(judged.After.Ratio), defined(judged.After.Student.Coverage)
	return r, nil
}
