package stages

import (
	"fmt"

	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/content"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// This file reads what the tasks of stage train wrote about the splits of an experiment.

// honestDeps lists the result of the task that calibrates a split on left-out groups. It returns nil if the split is
// not calibrated.
func honestDeps(exp plan.Experiment, split config.Split) []engine.Dep {
	if _, absent := experiment.HonestCondition(exp.Train.Honest, split, exp.Train.Splits); absent != "" {
		return nil
	}
	return []engine.Dep{{Task: HonestID(exp, split.Name), Output: honest.File}}
}

// compareDeps lists the outputs of one seed's tasks that the comparison of methods on a split reads.
func compareDeps(exp plan.Experiment, split config.Split, seed int) []engine.Dep {
	tr := exp.Train

	deps := []engine.Dep{{Task: TrainID(exp, split.Name, seed), Output: FlagsJSON}}
	for _, name := range tr.Compare {
		task := MethodID(exp, split.Name, name, seed)
		deps = append(deps, engine.Dep{Task: task, Output: MethodArrow})
	}

	return deps
}

// splitSets returns the set of the report, divided by each split that holds something out.
func (x *reportStage) splitSets(set triplets.Set, tab *table.Table) ([]content.Split, error) {
	divider := dividerOf(x.exp)
	var splits []content.Split
	for _, split := range x.splits {
		divided, err := divider.Divide(set, tab, split)
		if err != nil {
			return nil, x.exp.Located("train", err)
		}

		splits = append(splits, content.Split{Name: split.Name, Test: split.Test, Set: divided})
	}

	return splits, nil
}

// trainedOn returns what was trained on a split.
func (x *reportStage) trainedOn(job *engine.Job, split config.Split, divided content.Split) (content.Trained, error) {
	trained := content.Trained{Split: divided, Seeds: x.exp.Train.Seeds}
	trained.Read = func(seed int) (content.Seed, error) { return readSeed(x.exp, job, split, seed) }
	if x.exp.Train.Honest.Base == "none" {
		return trained, nil
	}

	if _, absent := experiment.HonestCondition(x.exp.Train.Honest, split, x.exp.Train.Splits); absent != "" {
		trained.Honest = &interval.Result{Absent: absent}
		return trained, nil
	}

	result, err := readIntervals(job, engine.Dep{Task: HonestID(x.exp, split.Name), Output: honest.File})
	if err != nil {
		return content.Trained{}, err
	}

	trained.Honest = result

	return trained, nil
}

// readIntervals reads the calibrated intervals of a split.
func readIntervals(job *engine.Job, dep engine.Dep) (*interval.Result, error) {
	path := job.Input(dep.Task, dep.Output)
	result, err := honest.ReadResult(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}

	return result, nil
}

// readSeed reads the results of one training of a split.
func readSeed(exp plan.Experiment, job *engine.Job, split config.Split, seed int) (content.Seed, error) {
	id := TrainID(exp, split.Name, seed)

	var result content.Seed
	var err error
	result.Predictions, err = table.Read(job.Input(id, "predictions.arrow"))
	if err != nil {
		return content.Seed{}, err
	}

	result.History, err = table.Read(job.Input(id, HistoryArrow))
	if err != nil {
		return content.Seed{}, fmt.Errorf("read losses: %w", err)
	}

	if err := taskfile.ReadJSON(job.Input(id, FlagsJSON), &result.Flags); err != nil {
		return content.Seed{}, err
	}

	for _, name := range exp.Train.Compare {
		answers, err := table.Read(job.Input(MethodID(exp, split.Name, name, seed), MethodArrow))
		if err != nil {
			return content.Seed{}, err
		}

		result.Methods = append(result.Methods, content.Method{Name: name, Answers: answers})
	}

	return result, nil
}

// reportSet returns the set that the report shows: the inputs and outcomes of the
// training, or all conditions and outcomes if nothing is trained.
func reportSet(exp plan.Experiment, conditions []string, t *table.Table) (triplets.Set, error) {
	set, err := dividerOf(exp).Triplets(t, conditions)

	return set, exp.Located("train", err)
}

// reference reads the table of predictions that the experiment names (setting report.compare), whose rows are matched
// to the rows of a set. It returns nil if the experiment names none.
func reference(exp plan.Experiment, tab *table.Table, set triplets.Set) (*content.Reference, []string, error) {
	file := exp.Report.Compare
	if file == "" || set.Out == 0 {
		return nil, nil, nil
	}

	all := &pairs.Pairs{Table: tab, Source: pairs.Source{Name: exp.Name}}

	return content.ReadReference(exp.File.Resolve(file), file, all, set)
}

// checkReference returns an error if the report could not compare the table of predictions with the triplets in tab.
func checkReference(exp plan.Experiment, conditions []string, tab *table.Table) error {
	set, err := reportSet(exp, conditions, tab)
	if err != nil {
		return err
	}

	_, _, err = reference(exp, tab, set)

	return err
}
