package experiment

import (
	"maps"
	"slices"

	"doubletake/train/honest"
)

// HonestCondition returns the condition whose values are the groups that the calibration of a split leaves out. If the
// split has no calibration, it returns "" and the reason. A final model, which holds nothing out, has the groups of the
// first split in all that has some.
func HonestCondition(settings honest.Settings, split Split, all []Split) (condition, absent string) {
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

// HonestCondition returns the condition whose values are the groups of a split of the experiment. If the split has no
// calibrated interval, absent says why, and the condition is "".
func (e *Experiment) HonestCondition(split Split) (condition, absent string) {
	return HonestCondition(e.Honest, split, e.Splits)
}

// combinedCondition returns the condition whose values are the groups of a split that holds out combinations: the
// condition that another split holds out alone, or otherwise the first condition of the combinations.
func combinedCondition(split Split, all []Split) string {
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
func blocksOf(settings honest.Settings, split Split, all []Split, condition string) int {
	if settings.Blocks != 0 || settings.Labels {
		return settings.Blocks
	}

	for _, other := range append([]Split{split}, all...) {
		counts := other.Name == split.Name || split.Final()
		if counts && other.Blocks != 0 && other.Test.Group() == condition {
			return other.Blocks
		}
	}

	return 0
}

// Learner returns a learner that calibrates a split on groups of a condition.
func (e *Experiment) Learner(split Split, condition string) honest.Learner {
	settings := e.Honest
	isNumbered := slices.Contains(e.numbered, condition) &&
		blocksOf(settings, split, e.Splits, condition) == 0
	settings.Labels = settings.Labels || slices.Contains(e.Labels, condition) || isNumbered
	settings.Blocks = blocksOf(settings, split, e.Splits, condition)

	learner := honest.Learner{
		Settings: settings, Condition: condition, Tolerance: split.Test.Within(condition), Law: e.Prior, Rate: honest.IsRate,
		Represent: e.Form, Dimension: honest.DimensionOf, Scatter: e.Scatter,
	}
	for _, name := range e.offsets(condition, settings) {
		learner.Offsets = append(learner.Offsets, honest.Label{Name: name})
	}

	return learner
}

// GroupsOfMethod returns a learner with the groups of a split by which a method chooses its terms. A method has groups
// also if the calibration has no base. Its learner has no condition if the split has no groups.
func (e *Experiment) GroupsOfMethod(split Split) honest.Learner {
	settings := e.Honest
	settings.Base = "gp"
	condition, _ := HonestCondition(settings, split, e.Splits) // without a condition, whatever the reason is

	return e.Learner(split, condition)
}

// NumberThings finds the inputs whose values number things (honest.NumbersThings), as far as the conditions are known
// before a file is read. An input with set points is not among them. There are none if the base is not gp, if
// honest.groups names a condition, or if the experiment has fewer than three inputs.
func (e *Experiment) NumberThings() error {
	settings := e.Honest
	if settings.Base != "gp" || settings.Groups != "" || len(e.Inputs) < 3 {
		return nil
	}

	rows, err := e.Rows()
	if err != nil {
		return err
	}

	columns := map[string][]float64{}
	for _, input := range e.Inputs {
		if values, unknown := rows.Floats(input); unknown == nil {
			columns[input] = values
		}
	}

	for _, name := range e.Inputs {
		others := maps.Clone(columns)
		delete(others, name)
		_, scatters := e.Points[name]
		if !scatters && honest.NumbersThings(columns[name], slices.Collect(maps.Values(others))) {
			e.numbered = append(e.numbered, name)
		}
	}

	return nil
}

// offsets lists the labels whose names have offsets in a process: the label of the groups, and the things and occasions
// that the configuration declares. If there is only one, the runs have offsets too. The label across which repeats are
// paired has none, because the pairs show its offsets. It returns nil if the base of predictions is not a Gaussian
// process.
func (e *Experiment) offsets(condition string, settings honest.Settings) (labels []string) {
	if settings.Base != "gp" {
		return nil
	}

	if settings.Labels {
		labels = []string{condition}
	}

	for _, name := range e.Things {
		if name != condition && slices.Contains(e.Labels, name) {
			labels = append(labels, name)
		}
	}

	if len(labels) == 1 && labels[0] != e.Across {
		labels = append(labels, honest.Runs)
	}

	return slices.DeleteFunc(labels, func(name string) bool { return name == e.Across })
}
