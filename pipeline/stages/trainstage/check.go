package trainstage

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// CheckSplits checks the splits of an experiment with the conditions that are known of its
// recordings.
func CheckSplits(exp plan.Experiment, ing ingeststage.Result, splits []config.Split) (err error) {
	defer fault.Catch(&err)
	if exp.Train.Splits = splits; len(exp.Train.Inputs) > 0 {
		(&planner{exp: exp, ing: ing}).checkSplits()
	}

	return nil
}

// Check raises what would stop the trainings on triplets before they begin.
func (r Result) Check(t *table.Table) {
	for _, s := range r.Splits {
		if len(r.exp.Train.Inputs) == 0 {
			continue
		}

		part := func(s config.Split) triplets.Set {
			_, set, err := SplitTable(r.exp, t, s)
			fault.Raise(err)
			r.trainingPart(s, set)

			return set
		}
		lists.Each(r.Inner[s.Name], part)
		set := part(s)

		_, absent := HonestCondition(r.exp.Train.Honest, s, r.exp.Train.Splits)
		err := r.learner(s, "").CheckForm(set)
		r.exp.Refuse(absent == "" && err != nil, "train.form", "%v", err)
	}

	for _, s := range r.subsets {
		e, set := r.ensemble(), fault.Get(Triplets(r.exp, t))
		_, err := e.Untrained(r.rowsOf(s, t, set))
		r.exp.Refuse(err != nil, "train.honest", "without a group, on %s: %v; take base: gp and scale: plain", s.name, err)
	}
}

// checkSplits reports hold-out rules and inputs that cannot work, as far as the
// conditions are known before any file is read: unknown names, a side of a
// split that stays empty, an input that does not vary over the training set.
func (pl *planner) checkSplits() {
	const key = "train"

	tr := &pl.exp.Train
	for _, in := range tr.Inputs {
		if !slices.Contains(pl.ing.Conditions, in) {
			fault.Raise(pl.notACondition(key+".inputs", in))
		}
	}

	if all := pl.ing.Outcomes; all != nil {
		fault.Raise(checkOutcomes(pl.exp, all))
	}

	for _, s := range tr.Splits {
		at := key + ".splits." + s.Name
		for _, c := range s.Test.Conditions() {
			isText, asText := slices.Contains(pl.ing.Labels, c), slices.Contains(s.Test.Labels(), c)
			pl.exp.Refuse(isText && !asText, at+".test."+c, "%s is a column of text: expected names, found numbers; write a "+
				"name of digits in quotes", c)
			if !isText && !slices.Contains(pl.ing.Conditions, c) {
				fault.Raise(pl.notACondition(at+".test."+c, c))
			}

			pl.exp.Refuse(!isText && asText, at+".test."+c,
				"%s is a condition of numbers: expected a number, found names (%s)", c, s.Test)
		}

		condition, _ := HonestCondition(tr.Honest, s, tr.Splits)
		switch isText := slices.Contains(pl.ing.Labels, condition); {
		case tr.Honest.Groups != "" && condition != "" && !isText && !slices.Contains(pl.ing.Conditions, condition):
			fault.Raise(pl.notACondition(key+".honest.groups", condition))
		case isText && tr.Honest.Blocks != 0:
			fault.Raise(pl.noBlocks(key+".honest.blocks", condition))
		}

		pl.checkSplit(s)
		if pl.ing.Pairs != nil && pl.ing.Pairs.Toy != nil {
			fault.Raise(checkBatch(pl.exp, s, pl.ing.Pairs.Toy.N))
		}
	}
}

// notACondition is the error about a name that is no condition.
func (pl *planner) notACondition(key, name string) error {
	if slices.Contains(pl.ing.Texts, name) {
		return pl.exp.Errorf(key, "%q is a column of text, and only numbers can be used here; as groups its names are held "+
			"out with splits: {each: %s}, or left out with honest: {groups: %s}", name, name, name)
	}

	return pl.exp.Errorf(key, "%q is not a condition of this experiment, which has %s%s",
		name, strings.Join(pl.ing.Conditions, ", "),
		spelling.DidYouMean(name, slices.Concat(pl.ing.Conditions, pl.ing.Texts)))
}

// noBlocks is the error about blocks of names.
func (pl *planner) noBlocks(key, label string) error {
	return pl.exp.Errorf(key, "%s is a column of text, whose names have no neighbours to make blocks of; leave blocks out",
		label)
}

func (pl *planner) checkSplit(s config.Split) {
	if len(pl.ing.Known) == 0 {
		return
	}

	s.Test = holdout.AtSetPoints(s.Test, pl.ing.Points.Find)

	held, err := s.Test.Held(pl.ing.Known)
	if err != nil {
		return // depends on the files
	}

	train := rowsWith(held, false)
	pl.checkBlocks(s, train)

	fault.Raise(checkSides(pl.exp, s, len(held)-len(train), "conditions", pl.ing.Known))

	for _, in := range pl.exp.Train.Inputs {
		if v, err := pl.ing.Known.Floats(in); err == nil && same(lists.Rows(v, 1, train)) {
			fault.Raise(constantInput(pl.exp, s, in, v[train[0]]))
		}
	}

	if n := pl.ing.PairsPerRow(); n > 0 {
		fault.Raise(checkBatch(pl.exp, s, len(train)*n))
	}
}

// same reports whether numbers are all one.
func same(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x != v[0] })
}

// checkSides reports a split of which so many rows are held out, if one side of it would be empty. what are the rows.
func checkSides(exp plan.Experiment, s config.Split, held int, what string, rows holdout.Rows) error {
	switch n := rows.Rows(); {
	case s.Final():
	case held == 0:
		return exp.Errorf("train.splits."+s.Name, "%s holds for none of the %d %s: the test set would be empty%s", s.Test, n,
			what, holdout.Choices(s.Test, rows))
	case held == n:
		return exp.Errorf("train.splits."+s.Name, "%s holds for all %d %s: the training set would be empty; hold out less",
			s.Test, n, what)
	}

	return nil
}

// checkBlocks reports blocks of groups that are more than the values in the training set.
func (pl *planner) checkBlocks(s config.Split, train []int) {
	condition, _ := HonestCondition(pl.exp.Train.Honest, s, pl.exp.Train.Splits)
	v, unknown := pl.ing.Known.Floats(condition)
	if unknown != nil {
		return // only the files tell, or the groups are names
	}

	_, values := lists.Index(lists.Rows(v, 1, train))
	blocks, n := pl.exp.Train.Honest.Blocks, len(values)
	pl.exp.Refuse(blocks > n, "train.honest.blocks", "expected up to %d blocks of %s, as many as it has values in the "+
		"training set of split %q, found %d; take fewer blocks, or leave them out", n, condition, s.Name, blocks)
}

// WarnEach warns of splits of each value that are many, or that cut set points. ing has the
// conditions of all recordings.
func WarnEach(exp plan.Experiment, ing ingeststage.Result) (out []ingest.Warning, err error) {
	defer fault.Catch(&err)
	const many = 20

	for _, s := range exp.Train.Splits {
		for _, c := range s.Each {
			if slices.Contains(ing.Labels, c) {
				continue
			}

			v, text := ing.Values(c), ""
			splits := len(v)
			if s.Blocks > 0 {
				splits = s.Blocks
			}

			points, scatters := condition.Discover(v)
			switch _, known := ing.Points[c]; {
			case scatters && !known:
				text = fmt.Sprintf("%s has %d values about %s: splits of each cut set points; name them with ingest: "+
					"{within: {%s: %s}}", c, len(v), points, c, points.Tolerance)
			case splits > many:
				text = fmt.Sprintf("each %s makes %d splits, a training per seed each; hold out blocks of values: {each: %s, "+
					"blocks: 8}", c, splits, c)
			default:
				continue
			}

			out = append(out, ingest.Warning{Path: exp.File.Path, Code: "each", Text: exp.Name + ": " + text})
		}
	}

	return out, nil
}

// checkBatch reports a batch of the configuration that is larger than the
// training set of n triplets, or fewer.
func checkBatch(exp plan.Experiment, s config.Split, n int) error {
	key := "train.optimizer.batch"
	if batch := exp.Train.Optimizer.Batch; batch > n && exp.File.Has(exp.At+"."+key) {
		return exp.Errorf(key, "expected up to %d triplets, which the training set of split %q has, found %d", n, s.Name,
			batch)
	}

	return nil
}
