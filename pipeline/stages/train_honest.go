package stages

import (
	"context"
	"slices"

	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/experiment"
	"doubletake/train/honest"
	"doubletake/train/honest/leftout"
	"doubletake/train/results"
)

// honestVersion is the version of the results of the calibration on left-out groups. Raise it when the calibration
// gives another result for the same input: its tasks then run again.
const honestVersion = 21

// honestArrow is the output of a split's calibration, besides honest.File and leftout.File, with the held-out triplets
// and their intervals.
const honestArrow = "honest.arrow"

// HonestID returns the ID of the task that calibrates a split on left-out groups.
func HonestID(exp plan.Experiment, split string) string { return exp.ID("train", split, "honest") }

// honestTask adds the task that calibrates a split on left-out groups, unless the split has none. left lists the
// trainings without a group whose models are calibrated; it is nil if a process is fitted.
func (pl *trainPlanner) honestTask(split config.Split, left *experiment.LeftOut) {
	condition, absent := pl.experiment.HonestCondition(split)
	if absent != "" {
		return
	}

	learner := pl.experiment.Learner(split, condition)
	dep := pl.trip.Triplets
	cfg := pl.honestSettings(learner)
	points := plan.PointSettings(pl.ing.Points, pl.exp.Ingest.Tolerances)
	local := pl.experiment.CalibrationRead(split, learner, pl.exp.DSP.Triplets, points)
	t := pl.exp.Add(&engine.Task{
		ID: HonestID(pl.exp, split.Name), Stage: "train", Split: split.Name, Version: honestVersion, Config: cfg,
		Local: pl.stated(local),
		Deps:  []engine.Dep{dep}, Weight: pl.experiment.HonestWeight(),
	})

	if left != nil {
		if learner.Scale != "ecov" {
			t.Weight = 1
		}

		t.Deps = append(t.Deps, engine.Dep{Task: subsetTask(pl.exp, left.Full), Output: leftOutModel})
		for _, s := range left.InTurn() {
			t.Deps = append(t.Deps, engine.Dep{Task: subsetTask(pl.exp, s), Output: leftOutModel})
		}
	}

	for _, output := range []string{honest.File, leftout.File, honestArrow} {
		path := pl.exp.Published("train", "splits", split.Name, output)
		t.Publish = append(t.Publish, engine.Link{Output: output, Path: path})
	}

	work := &splitCalibration{trainPlanner: pl, split: split, grouped: learner, left: left, settings: cfg, local: local}
	t.Run = work.run
}

// splitCalibration is the work of the task that calibrates a split on left-out groups.
type splitCalibration struct {
	*trainPlanner
	split    config.Split
	grouped  honest.Learner      // knows the groups
	left     *experiment.LeftOut // trainings that the models come from; nil for a process
	settings []kv.Pair
	local    []kv.Pair
}

// run calibrates the split and writes the outputs of the task.
func (c *splitCalibration) run(ctx context.Context, job *engine.Job) error {
	tab, err := readTable(job, c.trip.Triplets)
	if err != nil {
		return err
	}

	read := func(s experiment.Subset) (*honest.Model, error) {
		model := &honest.Model{Ensemble: &honest.EnsembleModel{}}
		return model, taskfile.ReadJSON(job.Input(subsetTask(c.exp, s), leftOutModel), model.Ensemble)
	}

	calibrated, err := c.experiment.CalibrateTable(ctx, tab, c.split, c.grouped, c.left, read)
	if err != nil {
		return c.exp.Located("train", err)
	}

	calibrated.Data = c.exp.Ingest.Data
	if err := taskfile.WriteJSON(job, honest.File, calibrated.Stored()); err != nil {
		return err
	}

	return c.writeTables(job, calibrated)
}

// writeTables writes the held-out triplets with their intervals, and the left-out groups.
func (c *splitCalibration) writeTables(job *engine.Job, calibrated *experiment.Calibrated) error {
	intervals := results.IntervalTable(calibrated.Set, calibrated.Prediction)
	intervals.Meta = append(c.exp.Meta(c.settings, c.local), kv.Pair{Key: "split", Value: c.split.Name},
		kv.Pair{Key: "held_out", Value: c.split.Test.String()})

	leftOut := leftout.Table(calibrated.Result().LeftOut(), calibrated.Left, calibrated.Set.OutcomeNames())
	leftOut.Meta = append(slices.Clone(intervals.Meta), kv.Pair{Key: "condition", Value: c.grouped.Condition},
		kv.Pair{Key: "base", Value: c.exp.Train.Honest.Base})

	if err := taskfile.WriteTable(job, honestArrow, intervals); err != nil {
		return err
	}

	return taskfile.WriteTable(job, leftout.File, leftOut)
}

// honestSettings returns the settings of a calibration as a part of its task's key. A prior is part of the key by its
// numbers, not by the path of its file.
func (pl *trainPlanner) honestSettings(learner honest.Learner) []kv.Pair {
	settings := learner.Settings
	settings.Prior = learner.ScalePrior().Name
	cfg := plan.Settings("train.honest", settings)
	if settings.Scale != "ecov" { // the other scales give the same result
		cfg = slices.DeleteFunc(cfg, func(p kv.Pair) bool { return p.Key == "train.honest.scale" })
	}

	return append(cfg, kv.Pair{Key: "digest of the prior", Value: learner.ScalePrior().Digest()})
}
