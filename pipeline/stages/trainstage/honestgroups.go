package trainstage

import (
	"maps"
	"slices"

	"doubletake/pipeline/config"
	"doubletake/train/honest"
)

// HonestCondition returns the condition whose values are the groups that the calibration of a split leaves out. If the
// split has no calibration, it returns "" and the reason. A final model, which holds nothing out, has the groups of the
// first split in all that has some.
func HonestCondition(settings honest.Settings, split config.Split, all []config.Split) (condition, absent string) {
	switch {
	case settings.Base == "none":
		return "", "train.honest.base is none"
	case settings.Groups != "":
		return settings.Groups, ""
	case split.Test.Group() != "":
		return split.Test.Group(), ""
	case split.Final():
		for _, other := range all {
			if other.Test.Group() != "" {
				return other.Test.Group(), ""
			}
		}

		for _, other := range all {
			if !other.Final() && settings.Base == "gp" {
				return combinedCondition(other, nil), "" // nil: no split holds out a condition alone
			}
		}

		return "", "nothing is held out, and no other split has groups"
	case settings.Base == "gp" && len(split.Test.Conditions()) > 0:
		return combinedCondition(split, all), ""
	}

	return "", "the split holds out several conditions at once; name the one whose values are the groups with " +
		"train.honest.groups"
}

// combinedCondition returns the condition whose values are the groups of a split that holds out combinations: the
// condition that another split holds out alone, or otherwise the first condition of the combinations.
func combinedCondition(split config.Split, all []config.Split) string {
	held := split.Test.Conditions()
	for _, other := range all {
		if slices.Contains(held, other.Test.Group()) {
			return other.Test.Group()
		}
	}

	return held[0]
}

// blocksOf returns the number of blocks of neighbouring values that are the groups of a condition: the number in the
// settings or, if they give none, in the split. It returns 0 if each value is a group.
func blocksOf(settings honest.Settings, split config.Split, all []config.Split, condition string) int {
	if settings.Blocks != 0 || settings.Labels {
		return settings.Blocks
	}

	for _, other := range append([]config.Split{split}, all...) {
		counts := other.Name == split.Name || split.Final()
		if counts && other.Blocks != 0 && other.Test.Group() == condition {
			return other.Blocks
		}
	}

	return 0
}

// learner returns a learner that calibrates a split on groups of a condition.
func (pl *planner) learner(split config.Split, condition string) honest.Learner {
	settings := pl.exp.Train.Honest
	isNumbered := slices.Contains(pl.numbered, condition) &&
		blocksOf(settings, split, pl.exp.Train.Splits, condition) == 0
	settings.Labels = settings.Labels || slices.Contains(pl.ing.Labels, condition) || isNumbered
	settings.Blocks = blocksOf(settings, split, pl.exp.Train.Splits, condition)

	learner := honest.Learner{
		Settings: settings, Condition: condition, Tolerance: split.Test.Within(condition), Law: pl.prior, Rate: honest.IsRate,
		Represent: pl.exp.Train.Form, Dimension: honest.DimensionOf, Scatter: scatter(pl.exp),
	}
	for _, name := range pl.offsets(condition, settings) {
		learner.Offsets = append(learner.Offsets, honest.Label{Name: name})
	}

	return learner
}

// numberedThings lists the inputs whose values number things (honest.NumbersThings), as far as the conditions are known
// before a file is read. An input with set points is not among them. It returns nil if the base is not gp, if
// honest.groups names a condition, or if the experiment has fewer than three inputs.
func (pl *planner) numberedThings() (names []string, err error) {
	settings := pl.exp.Train.Honest
	if settings.Base != "gp" || settings.Groups != "" || len(pl.exp.Train.Inputs) < 3 {
		return nil, nil
	}

	rows, err := pl.ing.Rows()
	if err != nil {
		return nil, err
	}

	columns := map[string][]float64{}
	for _, input := range pl.exp.Train.Inputs {
		if values, unknown := rows.Floats(input); unknown == nil {
			columns[input] = values
		}
	}

	for _, name := range pl.exp.Train.Inputs {
		others := maps.Clone(columns)
		delete(others, name)
		_, scatters := pl.ing.Points[name]
		if !scatters && honest.NumbersThings(columns[name], slices.Collect(maps.Values(others))) {
			names = append(names, name)
		}
	}

	return names, nil
}

// offsets lists the labels whose names have offsets in a process: the label of the groups, and the things and occasions
// that the configuration declares. If there is only one, the runs have offsets too. The label across which repeats are
// paired has none, because the pairs show its offsets.
func (pl *planner) offsets(condition string, settings honest.Settings) (labels []string) {
	if settings.Base != "gp" {
		return nil
	}

	if settings.Labels {
		labels = []string{condition}
	}

	for _, name := range slices.Concat(pl.exp.Ingest.Things, pl.exp.Ingest.Occasions) {
		if name != condition && slices.Contains(pl.ing.Labels, name) {
			labels = append(labels, name)
		}
	}

	across, _ := pl.exp.Across()
	if len(labels) == 1 && labels[0] != across {
		labels = append(labels, honest.Runs)
	}

	return slices.DeleteFunc(labels, func(name string) bool { return name == across })
}
