package pairs

import (
	"context"

	"doubletake/ingest/table"
	"doubletake/train/baseline"
	"doubletake/train/experiment"
	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// Trained is a network that was trained on a table of triplets.
type Trained struct {
	*experiment.Network
	Table *table.Table // the rows that take part in the split
	Set   triplets.Set // the set of these rows, with its parts
}

// TrainTable trains a network on the training part of a split with a seed, and computes its answers with the seed that
// samples their covariance.
func (d Divider) TrainTable(ctx context.Context, tab *table.Table, split experiment.Split, seed, estimateSeed uint64) (
	*Trained, error,
) {
	rows, set, err := d.DivideTable(tab, split)
	if err != nil {
		return nil, err
	}

	network, err := d.TrainNetwork(ctx, split, set, seed, estimateSeed)
	if err != nil {
		return nil, err
	}

	return &Trained{Network: network, Table: rows, Set: set}, nil
}

// CompareTable trains a method on the training part of a split with a seed. It returns the set with its parts, and the
// method's answers at every distinct condition. If the learner has a condition, the method chooses its terms by the
// groups of this condition.
func (d Divider) CompareTable(ctx context.Context, tab *table.Table, split experiment.Split, learner honest.Learner,
	name string, seed uint64,
) (triplets.Set, *baseline.Prediction, error) {
	set, err := d.divideFor(tab, split, learner)
	if err != nil {
		return triplets.Set{}, nil, err
	}

	prediction, err := d.TrainMethod(ctx, name, split, set, seed)

	return set, prediction, err
}

// divideFor returns the set of a split. If the learner has a condition, the set has the groups of the condition.
func (d Divider) divideFor(tab *table.Table, split experiment.Split, learner honest.Learner) (triplets.Set, error) {
	if learner.Condition == "" {
		_, set, err := d.DivideTable(tab, split)
		return set, err
	}

	set, groups, err := d.DivideGroups(tab, split, &learner)
	if err != nil {
		return triplets.Set{}, err
	}

	set.Group = learner.Grouping(groups).Group

	return set, nil
}

// CalibrateTable calibrates a split of a table on left-out groups (experiment.Calibrate). learner was made for the
// split.
func (d Divider) CalibrateTable(ctx context.Context, tab *table.Table, split experiment.Split, learner honest.Learner,
	left *experiment.LeftOut, read func(experiment.Subset) (*honest.Model, error),
) (*experiment.Calibrated, error) {
	set, groups, err := d.DivideGroups(tab, split, &learner)
	if err != nil {
		return nil, err
	}

	return d.Calibrate(ctx, split, learner, set, groups, left, read)
}

// CalibrateWithout fits and calibrates the process of a split without the rows of a table for which isLeft returns
// true, and returns its record on the test part. It returns nil if isLeft is false for all training rows, or if the
// split has no calibrated process.
func (d Divider) CalibrateWithout(ctx context.Context, tab *table.Table, split experiment.Split,
	isLeft func(run, recording string) bool,
) (*interval.Record, error) {
	condition, absent := d.HonestCondition(split)
	if absent != "" || d.Honest.Base != "gp" {
		return nil, nil
	}

	learner := d.Learner(split, condition)
	set, groups, err := d.DivideGroups(tab, split, &learner)
	if err != nil {
		return nil, err
	}

	return experiment.CalibrateWithout(ctx, learner, set, groups, isLeft)
}
