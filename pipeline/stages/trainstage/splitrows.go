package trainstage

import (
	"errors"
	"fmt"
	"slices"

	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// readSplit reads a table of triplets and returns the rows that take part in a split, as a table and as a set with its
// parts.
func readSplit(exp plan.Experiment, job *engine.Job, dep engine.Dep, split config.Split) (
	*table.Table, triplets.Set, error,
) {
	t, err := table.Read(job.Input(dep.Task, dep.Output))
	if err != nil {
		return nil, triplets.Set{}, err
	}

	return SplitTable(exp, t, split)
}

// readGroups reads the triplets of a split, and the value of each row's condition by which groups are left out. The
// values of a label are the places of its names in learner.Names.
//
// readGroups completes the learner: it sets Names to the names in the table if they were not planned, and the names of
// each offset by row.
func readGroups(exp plan.Experiment, job *engine.Job, dep engine.Dep, split config.Split, learner *honest.Learner) (
	triplets.Set, []float64, error,
) {
	t, set, err := readSplit(exp, job, dep, split)
	if err != nil {
		return triplets.Set{}, nil, err
	}

	if c := t.Column(learner.Condition); learner.Names == nil && c != nil && c.Strings != nil {
		learner.Names = holdout.Distinct(c.Strings)
	}

	learner.Offsets = slices.Clone(learner.Offsets)
	for k, label := range learner.Offsets {
		if label.Name == learner.Condition {
			continue // its names are the groups' names
		}

		learner.Offsets[k].Names, err = t.Strings(label.Name)
		if err != nil {
			return triplets.Set{}, nil, fmt.Errorf("read triplets: %w", err)
		}
	}

	groups, err := coordinates(t, learner.Condition, learner.Names)
	if err != nil {
		return triplets.Set{}, nil, exp.Errorf("train.honest.groups", "%v", err)
	}

	return set, groups, nil
}

// coordinates returns the value of a condition in each row, at its set point. If names is not nil, the condition is a
// label, and coordinates returns the place of each row's name in names.
func coordinates(t *table.Table, condition string, names []string) ([]float64, error) {
	if names == nil {
		return pairs.AtSetPoints{Table: t}.Floats(condition)
	}

	labels, err := t.Strings(condition)
	if err != nil {
		return nil, err
	}

	places := make([]float64, len(labels))
	for i, name := range labels {
		k, known := slices.BinarySearch(names, name)
		if !known {
			return nil, fmt.Errorf("%s %s of a triplet was not known when the trainings were planned", condition, name)
		}

		places[i] = float64(k)
	}

	return places, nil
}

// SplitTable returns the rows of t that take part in a split, as a table and as a set with its parts. All rows take
// part except in an inner split, which ignores the rows that its outer split holds out.
func SplitTable(exp plan.Experiment, t *table.Table, split config.Split) (*table.Table, triplets.Set, error) {
	if split.Ignored != nil {
		held, err := heldOut(exp, split.Ignored, t)
		if err != nil {
			return nil, triplets.Set{}, err
		}

		t = t.Select(rowsWith(held, false))
	}

	all, err := Triplets(exp, t)
	if err != nil {
		return nil, triplets.Set{}, err
	}

	set, err := Split(exp, all, t, split)
	if err != nil {
		return nil, triplets.Set{}, err
	}

	return t, set, nil
}

// trainingPart returns the training part of a split, or an error if no network can be trained on it.
func (pl *planner) trainingPart(split config.Split, set triplets.Set) (triplets.Set, error) {
	data := set.Of(triplets.Train)
	if err := checkBatch(pl.exp, split, data.N); err != nil {
		return triplets.Set{}, err
	}

	err := train.Check(data, network(pl.exp, 0))
	if constant, ok := errors.AsType[*train.ConstantInputError](err); ok {
		return triplets.Set{}, constantInput(pl.exp, split, pl.exp.Train.Inputs[constant.Column], constant.Value)
	}

	if err != nil {
		return triplets.Set{}, pl.exp.Errorf("train.splits."+split.Name, "%v", err)
	}

	return data, nil
}

// constantInput returns the error about an input that has one value in the training set of a split.
func constantInput(exp plan.Experiment, split config.Split, input string, value float64) error {
	return exp.Errorf("train.inputs", "%q is constant (%g) in the training set of split %q: "+
		"nothing can be learned from it; take it out of the inputs or hold out something else", input, value, split.Name)
}

// rowsWith lists the rows that are held out if isHeld is true, and otherwise the rows that are not.
func rowsWith(held []bool, isHeld bool) []int {
	var rows []int
	for i, h := range held {
		if h == isHeld {
			rows = append(rows, i)
		}
	}

	return rows
}
