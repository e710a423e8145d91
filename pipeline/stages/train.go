package stages

// Stage train has one task for each training of a network (a split and a seed), and one for each training of a method
// that is compared with it. The tasks write models, histories and predictions. The networks and methods are in package
// train and below.

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train/card"
	"doubletake/train/experiment"
	"doubletake/train/results"
)

// trainVersion is the version of this stage's results. Raise it when the stage gives another result for the same input:
// its tasks then run again.
const trainVersion = 11

// Outputs of the stage's tasks that other stages read.
const (
	MethodArrow  = "method.arrow"     // the answers of a method
	FlagsJSON    = "diagnostics.json" // identities of the theory that a model violates
	HistoryArrow = "history.arrow"    // the losses of a training by epoch
)

// trainResult is the part of stage train that later stages need.
type trainResult struct {
	// Splits are the splits of the configuration and of the command line, with one split for each value in place of a
	// split that holds out the values of a condition in turn.
	Splits []config.Split
	// Inner contains, by the name of a split, the splits of its training part by which a variant is selected. Its lists
	// are nil unless a sweep selects variants.
	Inner map[string][]config.Split
	Fits  []bool // for each split of the command line: whether the experiment has its conditions

	*trainPlanner
}

// trainPlanner adds the tasks of one experiment.
type trainPlanner struct {
	exp    plan.Experiment
	ing    ingestResult
	trip   dspResult
	reads  experiment.SettingsRead // the settings that every training reads
	shared []kv.Pair               // the part of a task's key that all trainings share: the settings in reads

	experiment pairs.Divider       // what is trained
	subsets    []experiment.Subset // sets of rows on which networks are trained without a group
}

// planTrain adds a task for each split and seed, the tasks of the methods that are compared with the networks, and the
// calibrations. It also trains the splits of the command line whose conditions the experiment has.
func planTrain(exp plan.Experiment, ing ingestResult, trip dspResult) (result trainResult, err error) {
	pl := &trainPlanner{exp: exp, ing: ing, trip: trip}
	pl.experiment = pairs.Divider{Experiment: experimentOf(exp, &pl.ing), Tolerances: exp.Ingest.Tolerances}
	fits, err := pl.experiment.Settle(exp.Asked, exp.File.Resolve)
	if err != nil {
		return trainResult{}, exp.Located("train", err)
	}

	pl.exp.Train.Splits = pl.experiment.Splits
	result = trainResult{Splits: pl.experiment.Splits, Inner: map[string][]config.Split{}, Fits: fits, trainPlanner: pl}
	if len(exp.Train.Inputs) == 0 {
		return result, nil
	}

	pl.reads = pl.experiment.SettingsRead()
	pl.shared = settingsRead(pl.reads)
	left, err := pl.planLeftOut()
	if err != nil {
		return trainResult{}, err
	}

	for _, split := range result.Splits {
		inner, err := pl.experiment.Inner(split, exp.Select.Condition)
		if err != nil {
			return trainResult{}, exp.Located("select", err)
		}

		result.Inner[split.Name] = inner
		for _, s := range append(slices.Clone(inner), split) {
			for k := range exp.Train.Seeds {
				pl.trainTask(s, k)
			}
		}

		if !split.Final() { // a final model has no held-out values on which methods could be compared
			pl.methods(split)
		}

		pl.honestTask(split, left[split.Name])
	}

	return result, exp.Located("train", pl.experiment.Check())
}

// TrainID returns the ID of the task that trains the k-th network of a split.
func TrainID(exp plan.Experiment, split string, k int) string {
	return exp.ID("train", split, "seed-"+strconv.Itoa(k))
}

// trainTask adds the task that trains the k-th network of a split.
func (pl *trainPlanner) trainTask(split config.Split, k int) {
	seed := plan.SeedOf(pl.exp.Train.Seed, "train", strconv.Itoa(k))
	dir := pl.exp.Published("train", "splits", split.Name, "seed-"+strconv.Itoa(k))
	local := []kv.Pair{
		split.Setting(),
		{Key: "seed", Value: strconv.FormatUint(seed, 10)},
	}

	if split.Ignored != nil {
		local = append(local, kv.Pair{Key: "train.splits." + split.Name + ".without", Value: split.Ignored.String()})
	}

	// The card has facts that the task does not read from the triplets.
	facts := append(pl.stated(nil), kv.Pair{Key: "pairs", Value: pl.ing.PairKind})
	facts = append(facts, plan.PointSettings(pl.ing.Points, pl.exp.Ingest.Tolerances)...)
	if split.Final() {
		facts = append(facts, kv.Pair{Key: "record of splits", Value: strings.Join(pl.experiment.Record(), ",")})
	}

	t := pl.exp.Add(&engine.Task{
		ID: TrainID(pl.exp, split.Name, k), Stage: "train", Split: split.Name, Version: trainVersion, Config: pl.shared,
		Local: slices.Concat(local, facts), Deps: []engine.Dep{pl.trip.Triplets}, Weight: pl.experiment.Weight(),
	})

	outputs := []string{"model.json", card.File, FlagsJSON, HistoryArrow, "predictions.arrow"}
	if split.Ignored != nil {
		outputs = nil
		t.Split = split.Outer()
	}

	for _, output := range outputs {
		t.Publish = append(t.Publish, engine.Link{Output: output, Path: filepath.Join(dir, output)})
	}

	t.Run = func(ctx context.Context, job *engine.Job) error {
		return pl.train(ctx, job, training{split: split, number: k, seed: seed, local: local})
	}
}

// training describes one training of a split.
type training struct {
	split  config.Split
	number int // of the split's trainings, from 0
	seed   uint64
	local  []kv.Pair // the part of the task's key that other trainings do not have
}

// train trains a network on the training part of a split and writes the outputs of its task.
func (pl *trainPlanner) train(ctx context.Context, job *engine.Job, tr training) error {
	tab, err := readTable(job, pl.trip.Triplets)
	if err != nil {
		return err
	}

	trained, err := pl.experiment.TrainTable(ctx, tab, tr.split, tr.seed, estimateSeed(pl.exp, tr.number))
	if err != nil {
		return pl.exp.Located("train", err)
	}

	set := trained.Set
	if err := results.Diagnose(set, trained.Estimates).Write(job.Output(FlagsJSON)); err != nil {
		return err
	}

	digest := plan.Digest(pl.shared, tr.local)
	description := newCard(pl.exp, pl.ing.PairKind, set, tr, digest, trained.Estimates)
	if err := taskfile.WriteJSON(job, card.File, description); err != nil {
		return err
	}

	if err := taskfile.WriteJSON(job, "model.json", trained.Model); err != nil {
		return err
	}

	meta := provenance(pl.exp, tr.split, tr.number, pl.shared, tr.local)
	losses := results.HistoryTable(trained.History)
	losses.Meta = meta
	predictions := results.PredictionTable(trained.Table, set, trained.Estimates)
	predictions.Meta = slices.Concat(meta, predictions.Meta)

	if err := taskfile.WriteTable(job, HistoryArrow, losses); err != nil {
		return err
	}

	return taskfile.WriteTable(job, "predictions.arrow", predictions)
}

// stated adds to the part of a task's key the facts in the metadata of its tables that the task does not read
// otherwise.
func (pl *trainPlanner) stated(local []kv.Pair) []kv.Pair {
	// The descriptions of columns name the limit of emergence and derived columns.
	if db := pl.exp.DSP.EmergenceDB; db != dsp.DefaultSettings().EmergenceDB {
		local = append(slices.Clone(local), plan.Only("dsp", plan.Settings("dsp", pl.exp.DSP), "emergence_db")...)
	}

	return slices.Concat(local, plan.Stated(pl.exp.Meta()), plan.Settings("ingest", struct {
		Derive []config.NamedString `key:"derive"`
	}{pl.exp.Ingest.Derive}))
}

// provenance returns the metadata of the tables that one training writes.
func provenance(exp plan.Experiment, split config.Split, k int, shared, local []kv.Pair) []kv.Pair {
	return append(exp.Meta(shared, local),
		kv.Pair{Key: "split", Value: split.Name}, kv.Pair{Key: "held_out", Value: split.Test.String()},
		kv.Pair{Key: "seed", Value: strconv.Itoa(k)}, kv.Pair{Key: "kernels", Value: exp.Program.Kernels})
}

// Check returns the error with which a training on the triplets in tab would stop, before any training begins.
func (r trainResult) Check(tab *table.Table) error {
	if len(r.experiment.Inputs) == 0 { // nothing is trained
		return nil
	}

	for _, split := range r.Splits {
		if err := r.experiment.CheckTraining(tab, split, r.Inner[split.Name]); err != nil {
			return r.exp.Located("train", err)
		}
	}

	return r.exp.Located("train", r.experiment.CheckSubsets(tab, r.subsets))
}
