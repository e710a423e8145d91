package stages

import (
	"fmt"
	"slices"

	"doubletake/ingest/table"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train/experiment"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// Outcomes returns the names of the outcomes that the experiment is trained on: the ones that the configuration names,
// or otherwise the outcomes of the table of triplets that vary. If none varies, it returns all.
func Outcomes(exp plan.Experiment, t *table.Table) ([]string, error) {
	isConstant := func(outcome string) bool { return pairs.Constant(t, outcome) }
	outcomes, err := settingsOf(exp).ChooseOutcomes(pairs.Outcomes(t), isConstant)

	return outcomes, exp.Located("train", err)
}

// Triplets reads the inputs and outcomes that the experiment is trained on from a table of triplets.
func Triplets(exp plan.Experiment, t *table.Table) (triplets.Set, error) {
	outcomes, err := Outcomes(exp, t)
	if err != nil {
		return triplets.Set{}, err
	}

	set, err := pairs.Triplets(t, exp.Train.Inputs, outcomes)
	if err != nil {
		return triplets.Set{}, err
	}

	set.Couples = exp.DSP.Couples
	if across, _ := exp.Across(); across != "" {
		occasions, err := t.Strings(across)
		if err != nil {
			return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
		}

		set.PairAcross(set.Recording, occasions)
	}

	return set, nil
}

// Split returns a set with the part of every row in a split, and with the scale of the split's training part. t is the
// table that the set was read from.
func Split(exp plan.Experiment, set triplets.Set, t *table.Table, split experiment.Split) (triplets.Set, error) {
	points, err := pairs.SetPointsOf(exp.Ingest.Tolerances, t)
	if err != nil {
		return triplets.Set{}, err
	}

	divided, err := settingsOf(exp).Divide(set, pairs.AtSetPoints{Table: t}, points, split)

	return divided, exp.Located("train", err)
}

// SplitTable returns the rows of t that take part in a split, as a table and as a set with its parts. All rows take
// part except in an inner split, which ignores the rows that its outer split holds out.
func SplitTable(exp plan.Experiment, t *table.Table, split experiment.Split) (*table.Table, triplets.Set, error) {
	if split.Ignored != nil {
		points, err := pairs.SetPointsOf(exp.Ingest.Tolerances, t)
		if err != nil {
			return nil, triplets.Set{}, err
		}

		kept, err := experiment.Kept(split, pairs.AtSetPoints{Table: t}, points)
		if err != nil {
			return nil, triplets.Set{}, err
		}

		t = t.Select(kept)
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

// readSplit reads a table of triplets and returns the rows that take part in a split, as a table and as a set with its
// parts.
func readSplit(exp plan.Experiment, job *engine.Job, dep engine.Dep, split experiment.Split) (
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
func readGroups(exp plan.Experiment, job *engine.Job, dep engine.Dep, split experiment.Split, learner *honest.Learner) (
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

	groups, err := experiment.Coordinates(pairs.AtSetPoints{Table: t}, learner.Condition, learner.Names)
	if err != nil {
		return triplets.Set{}, nil, exp.Errorf("train.honest.groups", "%v", err)
	}

	return set, groups, nil
}
