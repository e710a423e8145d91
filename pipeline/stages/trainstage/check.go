package trainstage

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/spelling"
	"doubletake/ingest/table"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// CheckSplits returns an error if the splits or inputs of an experiment cannot work with the conditions of its
// recordings, as far as ing contains them.
func CheckSplits(exp plan.Experiment, ing ingeststage.Result, splits []config.Split) error {
	exp.Train.Splits = splits
	if len(exp.Train.Inputs) == 0 {
		return nil
	}

	return (&planner{exp: exp, ing: ing}).checkSplits()
}

// Check returns the error with which a training on the triplets in t would stop, before any training begins.
func (r Result) Check(t *table.Table) error {
	if len(r.exp.Train.Inputs) > 0 {
		for _, split := range r.Splits {
			if err := r.checkTraining(t, split); err != nil {
				return err
			}
		}
	}

	for _, s := range r.subsets {
		set, err := Triplets(r.exp, t)
		if err != nil {
			return err
		}

		rows, err := r.rowsOf(s, t, set)
		if err != nil {
			return err
		}

		ensemble := r.ensemble()
		if _, err := ensemble.Untrained(rows); err != nil {
			return r.exp.Errorf("train.honest", "without a group, on %s: %v; take base: gp and scale: plain", s.name, err)
		}
	}

	return nil
}

// checkTraining returns an error if no network can be trained on a split or on one of its inner splits, or if its
// inputs cannot be brought into the form that the configuration names.
func (r Result) checkTraining(t *table.Table, split config.Split) error {
	for _, inner := range r.Inner[split.Name] {
		if _, err := r.checkPart(t, inner); err != nil {
			return err
		}
	}

	set, err := r.checkPart(t, split)
	if err != nil {
		return err
	}

	if _, absent := HonestCondition(r.exp.Train.Honest, split, r.exp.Train.Splits); absent != "" {
		return nil
	}

	if err := r.learner(split, "").CheckForm(set); err != nil {
		return r.exp.Errorf("train.form", "%v", err)
	}

	return nil
}

// checkPart returns the triplets of a split, and an error if no network can be trained on its training part.
func (r Result) checkPart(t *table.Table, split config.Split) (triplets.Set, error) {
	_, set, err := SplitTable(r.exp, t, split)
	if err != nil {
		return triplets.Set{}, err
	}

	_, err = r.trainingPart(split, set)

	return set, err
}

// checkSplits returns an error about splits and inputs that cannot work, as far as the conditions are known before any
// file is read: about unknown names, a part of a split that stays empty, or an input that does not vary over the
// training set.
func (pl *planner) checkSplits() error {
	train := &pl.exp.Train
	for _, input := range train.Inputs {
		if !slices.Contains(pl.ing.Conditions, input) {
			return pl.notACondition("train.inputs", input)
		}
	}

	if all := pl.ing.Outcomes; all != nil {
		if err := checkOutcomes(pl.exp, all); err != nil {
			return err
		}
	}

	for _, split := range train.Splits {
		if err := pl.checkTest(split); err != nil {
			return err
		}

		if err := pl.checkGroups(split); err != nil {
			return err
		}

		if err := pl.checkSplit(split); err != nil {
			return err
		}

		if pl.ing.Pairs == nil || pl.ing.Pairs.Toy == nil {
			continue
		}

		if err := checkBatch(pl.exp, split, pl.ing.Pairs.Toy.N); err != nil {
			return err
		}
	}

	return nil
}

// checkTest returns an error if a split holds out by a condition that the experiment does not have, by names of a
// condition of numbers, or by numbers of a condition of names.
func (pl *planner) checkTest(split config.Split) error {
	for _, name := range split.Test.Conditions() {
		key := "train.splits." + split.Name + ".test." + name
		isText := slices.Contains(pl.ing.Labels, name)
		asText := slices.Contains(split.Test.Labels(), name)
		switch {
		case isText && !asText:
			return pl.exp.Errorf(key, "%s is a column of text: expected names, found numbers; write a name of digits in quotes",
				name)
		case !isText && !slices.Contains(pl.ing.Conditions, name):
			return pl.notACondition(key, name)
		case !isText && asText:
			return pl.exp.Errorf(key, "%s is a condition of numbers: expected a number, found names (%s)", name, split.Test)
		}
	}

	return nil
}

// checkGroups returns an error if the groups of a split are not values of a condition, or if they are blocks of names.
func (pl *planner) checkGroups(split config.Split) error {
	settings := pl.exp.Train.Honest
	condition, _ := HonestCondition(settings, split, pl.exp.Train.Splits)
	isText := slices.Contains(pl.ing.Labels, condition)
	isChosen := settings.Groups != "" && condition != ""
	switch {
	case isChosen && !isText && !slices.Contains(pl.ing.Conditions, condition):
		return pl.notACondition("train.honest.groups", condition)
	case isText && settings.Blocks != 0:
		return pl.noBlocks("train.honest.blocks", condition)
	}

	return nil
}

// notACondition returns the error about a name that is not a condition.
func (pl *planner) notACondition(key, name string) error {
	if slices.Contains(pl.ing.Texts, name) {
		return pl.exp.Errorf(key, "%q is a column of text, and only numbers can be used here; as groups its names are held "+
			"out with splits: {each: %s}, or left out with honest: {groups: %s}", name, name, name)
	}

	return pl.exp.Errorf(key, "%q is not a condition of this experiment, which has %s%s",
		name, strings.Join(pl.ing.Conditions, ", "),
		spelling.DidYouMean(name, slices.Concat(pl.ing.Conditions, pl.ing.Texts)))
}

// noBlocks returns the error about blocks of names.
func (pl *planner) noBlocks(key, label string) error {
	return pl.exp.Errorf(key, "%s is a column of text, whose names have no neighbours to make blocks of; leave blocks out",
		label)
}

// checkSplit returns an error about a split that cannot work with the conditions that are known before any file is
// read.
func (pl *planner) checkSplit(split config.Split) error {
	if len(pl.ing.Known) == 0 {
		return nil
	}

	split.Test = holdout.AtSetPoints(split.Test, pl.ing.Points.Find)

	held, err := split.Test.Held(pl.ing.Known)
	if err != nil {
		return nil // only the files state the condition
	}

	train := rowsWith(held, false)
	if err := pl.checkBlocks(split, train); err != nil {
		return err
	}

	if err := checkSides(pl.exp, split, len(held)-len(train), "conditions", pl.ing.Known); err != nil {
		return err
	}

	for _, input := range pl.exp.Train.Inputs {
		values, unknown := pl.ing.Known.Floats(input)
		if unknown == nil && same(lists.Rows(values, 1, train)) {
			return constantInput(pl.exp, split, input, values[train[0]])
		}
	}

	if n := pl.ing.PairsPerRow(); n > 0 {
		return checkBatch(pl.exp, split, len(train)*n)
	}

	return nil
}

// same reports whether all values are equal.
func same(values []float64) bool {
	return !slices.ContainsFunc(values, func(x float64) bool { return x != values[0] })
}

// checkSides returns an error if a split holds out none or all of the rows. held is the number of held-out rows, and
// what names the rows in messages. A final model holds out none, which is not an error.
func checkSides(exp plan.Experiment, split config.Split, held int, what string, rows holdout.Rows) error {
	n := rows.Rows()
	switch {
	case split.Final(): // holds out nothing
	case held == 0:
		return exp.Errorf("train.splits."+split.Name, "%s holds for none of the %d %s: the test set would be empty%s",
			split.Test, n, what, holdout.Choices(split.Test, rows))
	case held == n:
		return exp.Errorf("train.splits."+split.Name, "%s holds for all %d %s: the training set would be empty; hold out "+
			"less", split.Test, n, what)
	}

	return nil
}

// checkBlocks returns an error if the configuration asks for more blocks of groups than the training set has values.
// train lists the rows of the training set.
func (pl *planner) checkBlocks(split config.Split, train []int) error {
	condition, _ := HonestCondition(pl.exp.Train.Honest, split, pl.exp.Train.Splits)
	column, unknown := pl.ing.Known.Floats(condition)
	if unknown != nil {
		return nil // only the files state the condition, or the groups are names
	}

	_, values := lists.Index(lists.Rows(column, 1, train))
	blocks := pl.exp.Train.Honest.Blocks
	if blocks > len(values) {
		return pl.exp.Errorf("train.honest.blocks", "expected up to %d blocks of %s, as many as it has values in the "+
			"training set of split %q, found %d; take fewer blocks, or leave them out", len(values), condition, split.Name,
			blocks)
	}

	return nil
}

// manySplits is the largest number of splits of one condition without a warning.
const manySplits = 20

// WarnEach warns if a condition whose values are held out in turn has many values, or if its values scatter about set
// points, which are then torn apart. ing must have the conditions of all recordings.
func WarnEach(exp plan.Experiment, ing ingeststage.Result) (warnings []ingest.Warning, err error) {
	for _, split := range exp.Train.Splits {
		if len(split.Each) > 1 {
			continue // combinations of conditions are not judged
		}

		for _, name := range split.Each {
			if slices.Contains(ing.Labels, name) {
				continue
			}

			text, err := warnEach(ing, split, name)
			if err != nil {
				return nil, err
			}

			if text != "" {
				warnings = append(warnings, ingest.Warning{Path: exp.File.Path, Code: "each", Text: exp.Name + ": " + text})
			}
		}
	}

	return warnings, nil
}

// warnEach returns the warning about the splits of each value of a condition, or "" if there is nothing to warn of.
func warnEach(ing ingeststage.Result, split config.Split, name string) (string, error) {
	values, err := ing.Values(name)
	if err != nil {
		return "", err
	}

	splits := len(values)
	if split.Blocks > 0 {
		splits = split.Blocks
	}

	points, scatters := condition.Discover(values)
	_, known := ing.Points[name]
	switch {
	case scatters && !known:
		return fmt.Sprintf("%s has %d values about %s: splits of each cut set points; name them with ingest: "+
			"{within: {%s: %s}}", name, len(values), points, name, points.Tolerance), nil
	case splits > manySplits:
		return fmt.Sprintf("each %s makes %d splits, a training per seed each; hold out blocks of values: {each: %s, "+
			"blocks: 8}", name, splits, name), nil
	}

	return "", nil
}

// checkBatch returns an error if the configuration states a batch that is larger than the training set, which has at
// most n triplets.
func checkBatch(exp plan.Experiment, split config.Split, n int) error {
	const key = "train.optimizer.batch"
	if batch := exp.Train.Optimizer.Batch; batch > n && exp.File.Has(exp.Key+"."+key) {
		return exp.Errorf(key, "expected up to %d triplets, which the training set of split %q has, found %d", n, split.Name,
			batch)
	}

	return nil
}
