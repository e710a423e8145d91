package experiment

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// Check returns an error about splits and inputs that cannot work: about unknown names, a part of a split that stays
// empty, or an input that does not vary over the training set. It is called with the conditions that are known before
// any file is read, and again with the conditions that the files state. It returns nil if there are no inputs.
func (e *Experiment) Check() error {
	if len(e.Inputs) == 0 {
		return nil
	}

	for _, input := range e.Inputs {
		if !slices.Contains(e.Conditions, input) {
			return e.notACondition("inputs", input)
		}
	}

	if all := e.Measured; all != nil {
		if err := e.checkOutcomes(all); err != nil {
			return err
		}
	}

	for _, split := range e.Splits {
		if err := e.checkTest(split); err != nil {
			return err
		}

		if err := e.checkGroups(split); err != nil {
			return err
		}

		if err := e.checkSplit(split); err != nil {
			return err
		}

		if e.AllPairs == 0 {
			continue
		}

		if err := e.checkBatch(split, e.AllPairs); err != nil {
			return err
		}
	}

	return nil
}

// CheckForm returns an error if the inputs of a set cannot be brought into the form that the settings name.
func (e *Experiment) CheckForm(split Split, set triplets.Set) error {
	if _, absent := e.HonestCondition(split); absent != "" {
		return nil
	}

	learner := e.Learner(split, "")
	if err := learner.CheckForm(set); err != nil {
		return setting.Errorf("form", "%v", err)
	}

	return nil
}

// CheckSubset returns an error if no network can be trained on a subset of a set. rows has the conditions of the set's
// rows.
func (e *Experiment) CheckSubset(s Subset, rows holdout.Rows, set triplets.Set) error {
	kept, err := e.RowsOf(s, rows, set)
	if err != nil {
		return err
	}

	ensemble := e.Ensemble()
	if _, err := ensemble.Untrained(kept); err != nil {
		return setting.Errorf("honest", "without a group, on %s: %v; take base: gp and scale: plain", s.Name, err)
	}

	return nil
}

// checkTest returns an error if a split holds out by a condition that the experiment does not have, by names of a
// condition of numbers, or by numbers of a condition of names.
func (e *Experiment) checkTest(split Split) error {
	for _, name := range split.Test.Conditions() {
		key := "splits." + split.Name + ".test." + name
		isText := slices.Contains(e.Labels, name)
		asText := slices.Contains(split.Test.Labels(), name)
		switch {
		case isText && !asText:
			return setting.Errorf(key, "%s is a column of text: expected names, found numbers; write a name of digits in quotes",
				name)
		case !isText && !slices.Contains(e.Conditions, name):
			return e.notACondition(key, name)
		case !isText && asText:
			return setting.Errorf(key, "%s is a condition of numbers: expected a number, found names (%s)", name, split.Test)
		}
	}

	return nil
}

// checkGroups returns an error if the groups of a split are not values of a condition, or if they are blocks of names.
func (e *Experiment) checkGroups(split Split) error {
	settings := e.Honest
	condition, _ := e.HonestCondition(split)
	isText := slices.Contains(e.Labels, condition)
	isChosen := settings.Groups != "" && condition != ""
	switch {
	case isChosen && !isText && !slices.Contains(e.Conditions, condition):
		return e.notACondition("honest.groups", condition)
	case isText && settings.Blocks != 0:
		return noBlocks("honest.blocks", condition)
	}

	return nil
}

// notACondition returns the error about a name that is not a condition.
func (e *Experiment) notACondition(key, name string) error {
	if slices.Contains(e.Texts, name) {
		return setting.Errorf(key, "%q is a column of text, and only numbers can be used here; as groups its names are held "+
			"out with splits: {each: %[2]s}, or left out with honest: {groups: %[2]s}", name, spelling.YAML(name))
	}

	return setting.Errorf(key, "%q is not a condition of this experiment, which has %s%s",
		name, strings.Join(e.Conditions, ", "),
		spelling.DidYouMean(name, slices.Concat(e.Conditions, e.Texts)))
}

// noBlocks returns the error about blocks of names.
func noBlocks(key, label string) error {
	return setting.Errorf(key,
		"%s is a column of text, whose names have no neighbours to make blocks of; leave blocks out",
		label)
}

// checkSplit returns an error about a split that cannot work with the known conditions: those that are known before any
// file is read, and in a later call those that the files state too. It returns nil if no conditions are known.
func (e *Experiment) checkSplit(split Split) error {
	if len(e.Known) == 0 {
		return nil
	}

	split.Test = holdout.AtSetPoints(split.Test, e.Points.Find)

	held, err := split.Test.Held(e.Known)
	if err != nil {
		return nil // only the files state the condition
	}

	train := unmarked(held)
	if err := e.checkBlocks(split, train); err != nil {
		return err
	}

	if err := checkSides(split, len(held)-len(train), "conditions", e.Known); err != nil {
		return err
	}

	for _, input := range e.Inputs {
		values, unknown := e.Known.Floats(input)
		if unknown == nil && same(lists.Pick(values, train)) {
			return constantInput(split, input, values[train[0]])
		}
	}

	if e.MostPairs > 0 {
		return e.checkBatch(split, len(train)*e.MostPairs)
	}

	return nil
}

// same reports whether all values are equal.
func same(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}

// checkSides returns an error if a split holds out none or all of the rows. held is the number of held-out rows, and
// what names the rows in messages. A final model holds out none, which is not an error.
func checkSides(split Split, held int, what string, rows holdout.Rows) error {
	n := rows.Rows()
	switch {
	case split.Final(): // holds out nothing
	case held == 0:
		return setting.Errorf("splits."+split.Name, "%s selects none of the %d %s, which leaves nothing to test on%s",
			split.Test, n, what, holdout.Choices(split.Test, rows))
	case held == n:
		return setting.Errorf("splits."+split.Name, "%s selects all %d %s, which leaves nothing to train on; hold out "+
			"fewer", split.Test, n, what)
	}

	return nil
}

// checkBlocks returns an error if the settings ask for more blocks of groups than the training set has values.
// train lists the rows of the training set.
func (e *Experiment) checkBlocks(split Split, train []int) error {
	condition, _ := e.HonestCondition(split)
	column, unknown := e.Known.Floats(condition)
	if unknown != nil {
		return nil // only the files state the condition, or the groups are names
	}

	values := map[float64]bool{} // of the training set
	for _, i := range train {
		values[column[i]] = true
	}

	blocks := e.Honest.Blocks
	if blocks > len(values) {
		return setting.Errorf("honest.blocks", "expected up to %d blocks of %s, as many as it has values in the "+
			"training set of split %q, found %d; take fewer blocks, or leave them out", len(values), condition, split.Name,
			blocks)
	}

	return nil
}

// manySplits is the largest number of splits of one condition without a warning.
const manySplits = 20

// WarnEach returns a warning if a condition whose values are held out in turn has many values, or if its values scatter
// about set points, which are then torn apart. The conditions of all recordings must be known. splits are the splits as
// they were asked for, before Expand.
func (e *Experiment) WarnEach(splits []Split) (warnings []string, err error) {
	for _, split := range splits {
		if len(split.Each) > 1 {
			continue // combinations of conditions are not judged
		}

		for _, name := range split.Each {
			if slices.Contains(e.Labels, name) {
				continue
			}

			text, err := e.warnEach(split, name)
			if err != nil {
				return nil, err
			}

			if text != "" {
				warnings = append(warnings, text)
			}
		}
	}

	return warnings, nil
}

// warnEach returns the warning about the splits of each value of a condition, or "" if there is nothing to warn of.
func (e *Experiment) warnEach(split Split, name string) (string, error) {
	values, err := e.Values(name)
	if err != nil {
		return "", err
	}

	splits := len(values)
	if split.Blocks > 0 {
		splits = split.Blocks
	}

	points, scatters := condition.Discover(values)
	_, known := e.Points[name]
	switch {
	case scatters && !known:
		return fmt.Sprintf("%s has %d values about %s: splits of each cut set points; name them with ingest: "+
			"{within: {%s: %s}}", name, len(values), points, spelling.YAML(name), points.Tolerance), nil
	case splits > manySplits:
		return fmt.Sprintf("each %s makes %d splits, a training per seed each; hold out blocks of values: {each: %s, "+
			"blocks: 8}", name, splits, spelling.YAML(name)), nil
	}

	return "", nil
}

// checkBatch returns an error if a batch was asked for that is larger than the training set, which has at
// most n triplets.
func (e *Experiment) checkBatch(split Split, n int) error {
	if batch := e.Network.Optimizer.Batch; batch > n && e.BatchStated {
		return setting.Errorf("optimizer.batch",
			"expected up to %d triplets, which the training set of split %q has, found %d", n, split.Name, batch)
	}

	return nil
}
