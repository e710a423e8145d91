package stages

import (
	"context"
	"fmt"
	"strconv"

	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// leftOutVersion is the version of the results of trainings that leave groups out. Raise it when a training gives
// another result for the same input.
const leftOutVersion = 4

// leftOutModel is the output of a training that leaves a group out: an honest.EnsembleModel.
const leftOutModel = "ensemble.json"

// subsetTask returns the ID of the training on a subset.
func subsetTask(exp plan.Experiment, s experiment.Subset) string {
	return exp.ID("train", "on", s.Name)
}

// rowsOutput returns the name of the output with the rows of a subset.
func rowsOutput(s experiment.Subset) string { return s.Name + ".gob" }

// planLeftOut plans the left-out trainings of all splits and adds their tasks: one that selects the rows, and one for
// each distinct training. It returns the trainings by split.
func (pl *trainPlanner) planLeftOut() (map[string]*experiment.LeftOut, error) {
	bySplit, distinct, err := pl.experiment.LeaveOut()
	if err != nil {
		return nil, pl.exp.Located("train", err)
	}

	pl.subsets = distinct
	if len(distinct) > 0 {
		rows := pl.subsetsTask(distinct)
		for _, s := range distinct {
			pl.leftOutTask(rows, s)
		}
	}

	return bySplit, nil
}

// subsetsTask adds the task that writes the rows of each subset into a file of its own, and returns the ID of the task.
// A training then depends on its rows alone, and does not run again if other rows change.
func (pl *trainPlanner) subsetsTask(subsets []experiment.Subset) (id string) {
	dep := pl.trip.Triplets
	id = pl.exp.ID("train", "rows")
	t := pl.exp.Add(&engine.Task{
		ID: id, Stage: "train", Version: leftOutVersion, Local: pl.experiment.SubsetsRead(subsets),
		Deps: []engine.Dep{dep},
	})
	t.Run = func(_ context.Context, job *engine.Job) error { return pl.writeSubsets(job, dep, subsets) }

	return id
}

// writeSubsets writes the rows of each subset.
func (pl *trainPlanner) writeSubsets(job *engine.Job, dep engine.Dep, subsets []experiment.Subset) error {
	t, err := readTable(job, dep)
	if err != nil {
		return err
	}

	set, err := pl.experiment.Triplets(t, nil)
	if err != nil {
		return pl.exp.Located("train", err)
	}

	for _, s := range subsets {
		rows, err := pl.experiment.RowsOf(s, pairs.AtSetPoints{Table: t}, set)
		if err != nil {
			return pl.exp.Located("train", err)
		}

		if err := taskfile.WriteGob(rowsData, job.Output(rowsOutput(s)), rows); err != nil {
			return err
		}
	}

	return nil
}

// rowsData names the rows of a training in messages.
const rowsData = "rows to train on"

// leftOutTask adds the training of networks on a subset.
func (pl *trainPlanner) leftOutTask(rows string, s experiment.Subset) {
	tr := pl.exp.Train
	ensemble := pl.experiment.Ensemble()
	base := experiment.TrainedAnew(tr.Honest)
	settings := settingsRead(pl.reads.WithoutEstimate(!ensemble.Claims))
	ensemble.Seed = plan.SeedOf(tr.Seed, "left-out groups", base)
	ensemble.Train = func(ctx context.Context, set triplets.Set, seed uint64) (honest.Network, error) {
		return pl.experiment.TrainMember(ctx, set, seed, ensemble.Claims)
	}

	local := []kv.Pair{
		{Key: "base", Value: base},
		{Key: "members", Value: strconv.Itoa(ensemble.Members)},
		{Key: "seed", Value: strconv.FormatUint(ensemble.Seed, 10)},
	}

	dep := engine.Dep{Task: rows, Output: rowsOutput(s)}
	t := pl.exp.Add(&engine.Task{
		ID: subsetTask(pl.exp, s), Stage: "train", Version: leftOutVersion, Config: settings, Local: local,
		Deps: []engine.Dep{dep}, Weight: pl.experiment.Weight() * float64(ensemble.Members),
	})

	t.Run = func(ctx context.Context, job *engine.Job) error {
		var set triplets.Set
		if err := taskfile.ReadGob(rowsData, job.Input(dep.Task, dep.Output), &set); err != nil {
			return err
		}

		model, err := ensemble.Fit(ctx, set)
		if err != nil {
			return fmt.Errorf("train on %s: %w", s.Name, err)
		}

		return taskfile.WriteJSON(job, leftOutModel, model)
	}
}
