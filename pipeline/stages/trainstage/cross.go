package trainstage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// crossVersion is the version of the results of methods calibrated on left-out groups.
// 2: a calibration and its record; 3: the scale of new groups.
const crossVersion = 3

// CrossJSON is the output of such a calibration: the interval.Result of what a method
// claims, scaled as its own left-out groups taught (docs/honest.md).
const CrossJSON = "left-out.json"

// CrossID is the ID of the task that calibrates a method on left-out groups. The name
// of the model of pairs is "pair".
func CrossID(exp plan.Experiment, split, method string, k int) string {
	return exp.ID("train", split, method, "seed-"+strconv.Itoa(k), "left-out")
}

// Crosses reports whether the methods of a split are calibrated on left-out groups,
// and by which condition.
func Crosses(exp plan.Experiment, s config.Split) (condition string, ok bool) {
	h := exp.Train.Honest
	if !h.Methods || exp.DSP.Couples {
		return "", false
	}

	h.Base = "gp" // the methods are calibrated without a base too
	condition, absent := HonestCondition(h, s, nil)

	return condition, absent == ""
}

// crossTask adds the task that trains a method anew without each training group.
func (pl *planner) crossTask(cfg []kv.Pair, s config.Split, name string, k int) {
	condition, ok := Crosses(pl.exp, s)
	if !ok {
		return
	}

	tr := pl.exp.Train
	dep := pl.trip.Triplets
	full, stream := engine.Dep{Task: MethodID(pl.exp, s.Name, name, k), Output: MethodArrow}, "method "+name

	pair := !slices.Contains(tr.Compare, name)
	if pair {
		full, stream = engine.Dep{Task: TrainID(pl.exp, s.Name, k), Output: "predictions.arrow"}, "train"
	}

	seed := plan.SeedOf(tr.Seed, stream, strconv.Itoa(k))
	l := pl.learner(s, condition)
	l.Base = name
	local := []kv.Pair{
		s.Setting(),
		{Key: "method", Value: name},
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
		{Key: "members", Value: strconv.Itoa(tr.Members)},
	}

	groups := l // the method is the base
	groups.Form, groups.Methods = "", false
	local = append(local, pl.honestSettings(groups)...)
	if info, _ := baseline.Describe(name); info.Version > 0 {
		local = append(local, kv.Pair{Key: "version of the method", Value: strconv.Itoa(info.Version)})
	}

	t := pl.exp.Add(&engine.Task{
		ID: CrossID(pl.exp, s.Name, name, k), Stage: "train", Split: s.Name, Version: crossVersion, Config: cfg, Local: local,
		Deps: []engine.Dep{dep, full}, Weight: 4 * pl.weight(),
	})

	t.Run = func(ctx context.Context, j *engine.Job) error {
		set, z, err := readGroups(pl.exp, j, dep, s, &l)
		if err != nil {
			return err
		}

		p, err := testPredictions(j.Input(full.Task, full.Output), set, pair)
		if err != nil {
			return fmt.Errorf("read %s: %w", full.Task, err)
		}

		m, err := baseline.New(name, baseline.Settings{Config: network(pl.exp, 0), Members: tr.Members})
		if err != nil {
			return err
		}

		dir, err := j.Scratch()
		if err != nil {
			return err
		}

		k := 0
		fit := func(data triplets.Set, x []float64) (mu, claim, noise []float64, err error) {
			k++
			p, err := predictOnce(ctx, j, m, data, seed, x, filepath.Join(dir, fmt.Sprintf("left-out-%d.json", k)))
			if err != nil {
				return nil, nil, nil, err
			}

			claim, noise = parts(p)

			return p.Mu, claim, noise, nil
		}

		claim, noise := parts(p)
		c, err := l.Method(ctx, set, z, fit, p.Mu, claim, noise)
		if err != nil {
			return err
		}

		return plan.WriteJSON(j, CrossJSON, c)
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

	fitted, err := m.Fit(ctx, data, seed)
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

// testPredictions are a method's predictions at the rows of the test part.
func testPredictions(path string, s triplets.Set, pair bool) (*baseline.Prediction, error) {
	t, err := table.Read(path)
	if err != nil {
		return nil, err
	}

	var a triplets.Answers // of each row
	if pair {
		a, err = ReadPredictions(t, s)
	} else {
		var p *baseline.Prediction
		if p, err = ReadMethod(t, s); err == nil {
			a = triplets.Answers{Mu: p.Mu, Var: p.Total, Cov: p.Epistemic}.Rows(s.Condition, s.Out)
		}
	}

	if err != nil {
		return nil, err
	}

	a = a.Rows(s.RowsOf(triplets.Test), s.Out)

	return &baseline.Prediction{Mu: a.Mu, Total: a.Var, Epistemic: a.Cov}, nil
}

// parts splits a prediction's total into v̂, a negative one counting as 0, and noise.
func parts(p *baseline.Prediction) (claim, noise []float64) {
	for i, v := range p.Epistemic {
		v = max(v, 0)
		claim, noise = append(claim, v), append(noise, p.Total[i]-v)
	}

	return claim, noise
}
