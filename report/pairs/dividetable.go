package pairs

import (
	"fmt"
	"slices"

	"doubletake/ingest/setting"
	"doubletake/ingest/table"
	"doubletake/train/experiment"
	"doubletake/train/holdout"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// Divider reads tables of triplets as the sets of an experiment, and divides them by its splits. Its methods return a
// *setting.Error about a setting of section train that does not fit the table.
type Divider struct {
	*experiment.Experiment
	Tolerances []setting.NamedString // tolerances of conditions that scatter about set points
}

// Triplets reads the inputs and outcomes that the experiment is trained on. If the experiment names no inputs, the set
// has the given conditions in their place. If it names no outcomes, the set has the outcomes that vary, or all if none
// varies.
func (d Divider) Triplets(tab *table.Table, conditions []string) (triplets.Set, error) {
	outcomes, err := d.outcomes(tab)
	if err != nil {
		return triplets.Set{}, err
	}

	return d.tripletsOf(tab, conditions, outcomes)
}

// outcomes returns the outcomes of a table that are trained.
func (d Divider) outcomes(tab *table.Table) ([]string, error) {
	isConstant := func(outcome string) bool { return Constant(tab, outcome) }

	return d.ChooseOutcomes(Outcomes(tab), isConstant)
}

// tripletsOf reads the inputs of the experiment, or the given conditions if it names none, and the given outcomes.
func (d Divider) tripletsOf(tab *table.Table, conditions, outcomes []string) (triplets.Set, error) {
	inputs := d.Inputs
	if len(inputs) == 0 {
		inputs = conditions
	}

	set, err := Triplets(tab, inputs, outcomes)
	if err != nil {
		return triplets.Set{}, err
	}

	set.Couples = d.Couples
	if d.Across != "" {
		occasions, err := tab.Strings(d.Across)
		if err != nil {
			return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
		}

		set.PairAcross(set.Recording, occasions)
	}

	return set, nil
}

// Divide returns a set with the part of every row in a split, and with the scale of the split's training part. tab is
// the table that the set was read from.
func (d Divider) Divide(set triplets.Set, tab *table.Table, split experiment.Split) (triplets.Set, error) {
	points, err := SetPointsOf(d.Tolerances, tab)
	if err != nil {
		return triplets.Set{}, err
	}

	return d.Experiment.Divide(set, AtSetPoints{tab}, points, split)
}

// DivideTable returns the rows of a table that take part in a split, as a table and as a set with its parts. All rows
// take part except in an inner split, which ignores the rows that its outer split holds out. An inner split has the
// outcomes of its outer split, also those that are constant in its own rows.
func (d Divider) DivideTable(tab *table.Table, split experiment.Split) (*table.Table, triplets.Set, error) {
	outcomes, err := d.outcomes(tab)
	if err != nil {
		return nil, triplets.Set{}, err
	}

	if split.Ignored != nil {
		points, err := SetPointsOf(d.Tolerances, tab)
		if err != nil {
			return nil, triplets.Set{}, err
		}

		kept, err := experiment.Kept(split, AtSetPoints{tab}, points)
		if err != nil {
			return nil, triplets.Set{}, err
		}

		tab = tab.Select(kept)
	}

	all, err := d.tripletsOf(tab, nil, outcomes)
	if err != nil {
		return nil, triplets.Set{}, err
	}

	set, err := d.Divide(all, tab, split)

	return tab, set, err
}

// DivideGroups returns the set of a split, and the value that each row has of the condition by which the learner leaves
// groups out. If the condition is a label, the values are places of its names in learner.Names.
//
// DivideGroups completes the learner. It sets learner.Names to the names in the table if they were not planned, and
// gives each offset the names of the rows.
func (d Divider) DivideGroups(tab *table.Table, split experiment.Split, learner *honest.Learner) (
	triplets.Set, []float64, error,
) {
	tab, set, err := d.DivideTable(tab, split)
	if err != nil {
		return triplets.Set{}, nil, err
	}

	if c := tab.Column(learner.Condition); learner.Names == nil && c != nil && c.Strings != nil {
		learner.Names = holdout.Distinct(c.Strings)
	}

	learner.Offsets = slices.Clone(learner.Offsets)
	for k, label := range learner.Offsets {
		if label.Name == learner.Condition {
			continue // its names are the groups' names
		}

		learner.Offsets[k].Names, err = tab.Strings(label.Name)
		if err != nil {
			return triplets.Set{}, nil, fmt.Errorf("read triplets: %w", err)
		}
	}

	groups, err := experiment.Coordinates(AtSetPoints{tab}, learner.Condition, learner.Names)
	if err != nil {
		return triplets.Set{}, nil, setting.Errorf("honest.groups", "%v", err)
	}

	return set, groups, nil
}

// CheckTraining returns an error if no network can be trained on a split or on one of its inner splits, or if its
// inputs cannot be brought into the form that the experiment names.
func (d Divider) CheckTraining(tab *table.Table, split experiment.Split, inner []experiment.Split) error {
	for _, s := range append(slices.Clone(inner), split) {
		_, set, err := d.DivideTable(tab, s)
		if err != nil {
			return err
		}

		if _, err := d.TrainingPart(s, set); err != nil {
			return err
		}

		if s.Name != split.Name {
			continue
		}

		if err := d.CheckForm(s, set); err != nil {
			return err
		}
	}

	return nil
}

// CheckSubsets returns an error if no network can be trained on one of the subsets.
func (d Divider) CheckSubsets(tab *table.Table, subsets []experiment.Subset) error {
	if len(subsets) == 0 {
		return nil
	}

	set, err := d.Triplets(tab, nil)
	if err != nil {
		return err
	}

	for _, s := range subsets {
		if err := d.CheckSubset(s, AtSetPoints{tab}, set); err != nil {
			return err
		}
	}

	return nil
}
