package stages

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report"
	"doubletake/report/pairs"
	"doubletake/report/variants"
)

// This file plans the task that compares the variants of an experiment, and runs it. The task reads the predictions of
// every variant, split and seed. Package report/variants compares them. The task writes the comparison as compare.gob,
// for the program, and as compare.md, for people.

// sweepVersion is the version of the results of comparisons of variants. Raise it when the task gives another result
// for the same input: it then runs again.
const sweepVersion = 4

// SweepData is the name of the output that holds a report.Sweep as gob.
const SweepData = "compare.gob"

// CompareTask returns the ID of the task that compares the variants of an experiment.
func CompareTask(experiment string) string { return experiment + "/compare" }

// sweep is the comparison of the variants of one experiment.
type sweep struct {
	family   string           // name of the experiment
	variants []Variant        // two or more, in the order of the configuration
	splits   []variants.Split // splits that hold something out
}

// Variant is a variant of a sweep with the planned results of its stages.
type Variant struct {
	plan.Experiment
	Columns  pairs.Columns // of the table of triplets
	Triplets engine.Dep    // the table of triplets
	Trained  trainResult
}

// planSweep adds the task that compares the variants of an experiment. It adds nothing if there are fewer than two
// variants, or if they train nothing.
func planSweep(family []Variant) {
	if len(family) < 2 {
		return
	}

	first := family[0]
	if len(first.Train.Inputs) == 0 {
		return
	}

	x := &sweep{family: first.Family(), variants: family}
	splits, _ := first.Trained.experiment.Trained()
	for _, split := range splits {
		x.splits = append(x.splits, variants.Split{Split: split, Inner: first.Trained.Inner[split.Name]})
	}

	t := &engine.Task{
		ID: CompareTask(x.family), Stage: "report", Experiment: x.family, Version: sweepVersion, Weight: 0.1, Run: x.run,
		Local: append(plan.Stated(first.Meta()), kv.Pair{Key: "select.by", Value: x.criterion()},
			kv.Pair{Key: "select.on", Value: first.Select.Condition}),
	}

	for _, v := range family {
		settings := v.Train
		settings.Splits = v.Trained.Splits
		t.Local = append(t.Local, kv.Pair{Key: "variant " + v.Name, Value: plan.Digest(
			plan.Settings("ingest", v.Ingest), plan.Settings("dsp", v.DSP), plan.Settings("train", settings))})
		if !slices.Contains(t.Deps, v.Triplets) {
			t.Deps = append(t.Deps, v.Triplets)
		}

		for _, s := range x.splits {
			t.Deps = append(t.Deps, v.predictionsOf(s.Split)...)
			for _, inner := range s.Inner {
				t.Deps = append(t.Deps, v.predictionsOf(inner)...)
			}
		}
	}

	t.Publish = []engine.Link{{Output: "compare.md", Path: filepath.Join(x.family, "compare", "compare.md")}}
	first.Tasks.Plan.Tasks = append(first.Tasks.Plan.Tasks, t)
}

// predictionsOf returns the predictions of all seeds for a split.
func (v *Variant) predictionsOf(split config.Split) []engine.Dep {
	var deps []engine.Dep
	for seed := range v.Train.Seeds {
		task := TrainID(v.Experiment, split.Name, seed)
		deps = append(deps, engine.Dep{Task: task, Output: "predictions.arrow"})
	}

	return deps
}

// criterion returns the key of the criterion that selects a variant.
func (x *sweep) criterion() string { return cmp.Or(x.variants[0].Select.Score, "nll") }

// run compares the variants and writes the comparison.
func (x *sweep) run(ctx context.Context, job *engine.Job) error {
	trained, err := x.read(job)
	if err != nil {
		return err
	}

	result := x.describe()
	isOther := func(v variants.Trained) bool { return v.Triplets != trained[0].Triplets }
	result.Other = slices.ContainsFunc(trained, isOther)
	result.Splits, err = variants.CompareSplits(ctx, trained, x.splits)
	if err != nil {
		return x.variants[0].Located("train", err)
	}

	if err := taskfile.WriteGob("comparison", job.Output(SweepData), result); err != nil {
		return err
	}

	return os.WriteFile(job.Output("compare.md"), report.SweepMarkdown(result, 1), 0o644)
}

// read reads the triplets of the variants. Variants with the same task of triplets share a table.
func (x *sweep) read(job *engine.Job) (all []variants.Trained, err error) {
	tables := map[string]*table.Table{} // by the task that makes them
	for _, v := range x.variants {
		task := v.Triplets.Task
		if tables[task] == nil {
			tables[task], err = readTable(job, v.Triplets)
			if err != nil {
				return nil, err
			}
		}

		all = append(all, variants.Trained{
			Divider: dividerOf(v.Experiment), Triplets: tables[task], Conditions: v.Columns.BeforeAnalysis(),
			Predictions: func(split string, seed int) (*table.Table, error) {
				return table.Read(job.Input(TrainID(v.Experiment, split, seed), "predictions.arrow"))
			},
		})
	}

	return all, nil
}

// describe returns the comparison with the variants and their settings, and without results.
func (x *sweep) describe() report.Sweep {
	first := x.variants[0]
	result := report.Sweep{Name: x.family, Data: first.Ingest.Data, Version: first.Program.Version}
	if first.Select.Condition != "" {
		result.Criterion = x.criterion()
		result.LeftOut = first.Select.Condition
	}

	for _, v := range x.variants {
		described := report.Variant{Name: v.Name}
		for _, s := range v.Variant.Settings {
			described.Settings = append(described.Settings, report.Fact{Name: s.Name, Value: s.Value})
			if !slices.Contains(result.Paths, s.Path) {
				result.Paths = append(result.Paths, s.Path)
			}
		}

		result.Variants = append(result.Variants, described)
	}

	return result
}

// ReadSweep reads the comparison of the variants of an experiment.
func ReadSweep(path string) (report.Sweep, error) {
	var sweep report.Sweep
	err := taskfile.ReadGob("comparison", path, &sweep)

	return sweep, err
}
