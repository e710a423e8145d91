package trainstage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// StoppingArrow is the history of a training without an inner group, which decides
// how many epochs other trainings have.
const StoppingArrow = "early_stopping.arrow"

// ValidationLoss is its column with the loss on that group.
const ValidationLoss = "validation_loss"

// stoppingVersion is the version of the results of these trainings.
const stoppingVersion = 1

// StoppingID is the ID of the task that decides for the k-th network of a split, and
// for the methods with networks that it is compared with.
func StoppingID(exp plan.Experiment, split string, k int) string {
	return exp.ID("train", split, "early-stopping", "seed-"+strconv.Itoa(k))
}

// stopDeps is what a training needs of that task.
func stopDeps(exp plan.Experiment, s config.Split, k int) []engine.Dep {
	if exp.Train.EarlyStop.On == "" {
		return nil
	}
	return []engine.Dep{{Task: StoppingID(exp, s.Name, k), Output: StoppingArrow}}
}

// stopTask adds the task, where early stopping is on. It trains as the k-th network of
// the split is trained, on the training part without one inner group. The held-out
// part has no part in it.
func (pl *planner) stopTask(s config.Split, k int) {
	tr := pl.exp.Train
	if tr.EarlyStop.On == "" {
		return
	}

	r := pl.all
	r.Estimate = nil
	cfg := r.settings()
	seed := plan.SeedOf(tr.Seed, "train", strconv.Itoa(k))
	dep := pl.trip.Triplets
	local := []kv.Pair{
		s.Setting(),
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
		{Key: "inner group", Value: strconv.Itoa(k)},
	}

	t := pl.exp.Add(&engine.Task{
		ID: StoppingID(pl.exp, s.Name, k), Stage: "train", Split: s.Name, Version: stoppingVersion, Config: cfg, Local: local,
		Deps: []engine.Dep{dep}, Weight: pl.weight(),
	})

	dir := pl.exp.Published("train", "splits", s.Name, "seed-"+strconv.Itoa(k))
	t.Publish = []engine.Link{{Output: StoppingArrow, Path: filepath.Join(dir, StoppingArrow)}}
	t.Run = func(ctx context.Context, j *engine.Job) error {
		_, set, err := readSplit(pl.exp, j, dep, s)
		if err != nil {
			return err
		}

		history, group, err := validate(ctx, pl.exp, j, set.Of(triplets.Train), network(pl.exp, seed), k, false)
		if err != nil {
			return err
		}

		h := stoppingTable(history)
		h.Meta = append(provenance(pl.exp, s, k, cfg, local), kv.Pair{Key: "inner_group", Value: group})

		return plan.WriteTable(j, StoppingArrow, h)
	}
}

func stoppingTable(history []train.Epoch) *table.Table {
	t := &table.Table{}
	for _, e := range history {
		plan.Cell(t, "epoch", "", "passes over the training triplets without the inner group", e.Epoch)
		plan.Cell(t, "loss", "", "mean training loss of the epoch, with dropout", e.Loss)
		plan.Cell(t, ValidationLoss, "", "mean loss of the inner group after the epoch, without dropout", judgedLoss(e))
	}

	return t
}

// stopped returns the settings with the number of epochs after which the training ends.
func stopped(exp plan.Experiment, j *engine.Job, s config.Split, k int, c train.Config) (train.Config, error) {
	if exp.Train.EarlyStop.On == "" {
		return c, nil
	}

	t, err := table.Read(j.Input(StoppingID(exp, s.Name, k), StoppingArrow))
	if err != nil {
		return c, err
	}

	losses, err := t.Floats(ValidationLoss)
	if err != nil {
		return c, fmt.Errorf("read %s: %w", StoppingArrow, err)
	}

	c.Stop = lowest(losses)

	return c, nil
}

// lowest is the number, from 1, of the first of the lowest values.
func lowest(values []float64) int {
	at, low := 0, math.Inf(1)
	for i, v := range values {
		if v < low {
			at, low = i+1, v
		}
	}

	return at
}

// stoppedWithin decides for an ensemble that is trained on a subset, by an inner group
// of that.
func stoppedWithin(ctx context.Context, exp plan.Experiment, j *engine.Job, d triplets.Set,
	e honest.Ensemble,
) (train.Config, error) {
	c := network(exp, e.Seed)
	if exp.Train.EarlyStop.On == "" {
		return c, nil
	}

	dir, err := j.Scratch()
	if err != nil {
		return c, err
	}

	path := filepath.Join(dir, "epochs") // of an interrupted run
	if text, err := os.ReadFile(path); err == nil {
		if n, err := strconv.Atoi(string(text)); err == nil && n > 0 && n <= c.Epochs {
			c.Stop = n
			return c, nil
		}
	}

	standardised := c
	standardised.Standardise = true // as the ensemble does with its rows
	history, _, err := validate(ctx, exp, j, setOf(d), standardised, 0, !e.Claims)
	if err != nil {
		return c, err
	}

	c.Stop = train.Best(history)
	if err := finish(path, []byte(strconv.Itoa(c.Stop))); err != nil {
		j.Note("checkpoint", fmt.Sprintf("not written: %v", err)) // only time is lost
	}

	return c, nil
}

// validate trains without the k-th inner group, in an order that the experiment's seed
// decides, until the loss on that group has not fallen for so many epochs as the
// configuration says. Inputs that do not vary without the group are left out.
func validate(ctx context.Context, exp plan.Experiment, j *engine.Job, data triplets.Set, c train.Config, k int,
	single bool,
) (history []train.Epoch, group string, err error) {
	e, at := exp.Train.EarlyStop, "train.early_stopping"
	z, input := make([]float64, data.N), slices.Index(exp.Train.Inputs, e.On)
	for i := range z {
		z[i] = data.AtSetPoints()[i*data.In+input]
	}

	g := honest.Learner{Condition: e.On}.Grouping(z)
	name := func(group int) string { return e.On + " = " + g.Names[group] }
	if len(g.Names) < 2 {
		return nil, "", exp.Errorf(at+".on", "expected a condition of 2 values and more in every training set, found %s: "+
			"there is no group to leave out", name(0))
	}

	rng := rand.New(rand.NewPCG(plan.SeedOf(exp.Train.Seed, "early stopping", e.On), 0))
	inner := rng.Perm(len(g.Names))[k%len(g.Names)]

	var rest, held []int
	for i, of := range g.Of {
		if of == inner {
			held = append(held, i)
		} else {
			rest = append(rest, i)
		}
	}

	columns := honest.VaryingInputs(data.X, data.In, rest)
	if len(columns) == 0 {
		return nil, "", exp.Errorf(at+".on", "no input varies in the training set without %s: use another condition",
			name(inner))
	}

	_, history, err = fit(ctx, j, onlyInputs(data.Select(rest), columns), c, train.FitOptions{
		HeldOut: onlyInputs(data.Select(held), columns), HeldOutEvery: 1, Patience: e.Patience, Single: single,
	})
	if err != nil {
		return nil, "", fmt.Errorf("train without %s for early stopping: %w", name(inner), err)
	}

	if train.Best(history) == 0 {
		return nil, "", exp.Errorf(at, "the loss on %s was no number after any epoch: lower the learning rate, or leave "+
			"early stopping out", name(inner))
	}

	return history, name(inner), nil
}

// onlyInputs returns the set with the given columns of x.
func onlyInputs(s triplets.Set, columns []int) triplets.Set {
	x := make([]float64, 0, s.N*len(columns))
	for i := range s.N {
		for _, j := range columns {
			x = append(x, s.X[i*s.In+j])
		}
	}

	s.X, s.In, s.SetPoints = x, len(columns), nil

	return s
}
