package trainstage

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// CheckSplits checks the splits of an experiment with the conditions that are known of its
// recordings.
func CheckSplits(exp plan.Experiment, ing ingeststage.Result, splits []config.Split) error {
	exp.Train.Splits = splits
	if len(exp.Train.Inputs) == 0 {
		return nil
	}

	return (&planner{exp: exp, ing: ing}).checkSplits()
}

// checkSplits reports hold-out rules and inputs that cannot work, as far as the
// conditions are known before any file is read: unknown names, a side of a
// split that stays empty, an input that does not vary over the training set.
func (pl *planner) checkSplits() error {
	const key = "train"

	tr := &pl.exp.Train
	for _, in := range tr.Inputs {
		if !slices.Contains(pl.ing.Conditions, in) {
			return pl.notACondition(key+".inputs", in)
		}
	}

	if all := pl.ing.Outcomes; all != nil {
		if err := checkOutcomes(pl.exp, all); err != nil {
			return err
		}
	}

	for _, s := range tr.Splits {
		at := key + ".splits." + s.Name
		for _, c := range s.Test.Conditions() {
			isText, asText := slices.Contains(pl.ing.Labels, c), slices.Contains(s.Test.Labels(), c)
			switch {
			case isText && !asText:
				return pl.exp.Errorf(at+".test."+c, "%s is a column of text: expected names, found numbers; write a name "+
					"of digits in quotes", c)
			case !isText && !slices.Contains(pl.ing.Conditions, c):
				return pl.notACondition(at+".test."+c, c)
			case !isText && asText:
				return pl.exp.Errorf(at+".test."+c, "%s is a condition of numbers: expected a number, found names (%s)", c,
					s.Test)
			}
		}

		condition, _ := HonestCondition(tr.Honest, s, tr.Splits)
		switch isText := slices.Contains(pl.ing.Labels, condition); {
		case tr.Honest.Groups != "" && condition != "" && !isText && !slices.Contains(pl.ing.Conditions, condition):
			return pl.notACondition(key+".honest.groups", condition)
		case isText && tr.Honest.Blocks != 0:
			return pl.noBlocks(key+".honest.blocks", condition)
		}

		if err := pl.checkSplit(at, s); err != nil {
			return err
		}

		if pl.ing.Pairs != nil && pl.ing.Pairs.Toy != nil {
			if err := checkBatch(pl.exp, s, pl.ing.Pairs.Toy.N); err != nil {
				return err
			}
		}
	}

	return nil
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

func (pl *planner) checkSplit(at string, s config.Split) error {
	if len(pl.ing.Known) == 0 {
		return nil
	}

	s.Test = holdout.AtSetPoints(s.Test, pl.ing.Points.Find)

	held, err := s.Test.Held(pl.ing.Known)
	if err != nil {
		return nil // depends on the files
	}

	train := rowsWith(held, false)
	if err := pl.checkBlocks(s, train); err != nil {
		return err
	}

	first, varies := map[string]float64{}, map[string]bool{}
	for _, i := range train {
		c := pl.ing.Known[i].Numbers
		for _, in := range pl.exp.Train.Inputs {
			if v, ok := first[in]; !ok {
				first[in] = c[in]
			} else if v != c[in] {
				varies[in] = true
			}
		}
	}

	switch {
	case s.Final():
	case len(train) == len(held):
		return pl.exp.Errorf(at, "%s holds for none of the %d conditions: the test set would be empty%s",
			s.Test, len(pl.ing.Known), holdout.Choices(s.Test, pl.ing.Known))
	case len(train) == 0:
		return pl.exp.Errorf(at, "%s holds for all %d conditions: the training set would be empty; hold out less",
			s.Test, len(pl.ing.Known))
	}

	for _, in := range pl.exp.Train.Inputs {
		if _, ok := pl.ing.Known[0].Numbers[in]; ok && !varies[in] {
			return constantInput(pl.exp, s, in, first[in])
		}
	}

	if n := pl.ing.PairsPerRow(); n > 0 {
		return checkBatch(pl.exp, s, len(train)*n)
	}

	return nil
}

// checkBlocks reports blocks of groups that are more than the values in the training set.
func (pl *planner) checkBlocks(s config.Split, train []int) error {
	condition, _ := HonestCondition(pl.exp.Train.Honest, s, pl.exp.Train.Splits)
	blocks, distinct := pl.exp.Train.Honest.Blocks, map[float64]bool{}
	for _, i := range train {
		v, ok := pl.ing.Known[i].Numbers[condition]
		if !ok {
			return nil // only the files tell
		}

		distinct[v] = true
	}

	if condition != "" && blocks > len(distinct) && !slices.Contains(pl.ing.Labels, condition) {
		return pl.exp.Errorf("train.honest.blocks", "expected up to %d blocks of %s, as many as it has values in the "+
			"training set of split %q, found %d; take fewer blocks, or leave them out", len(distinct), condition, s.Name, blocks)
	}

	return nil
}

// WarnEach warns of splits of each value that are many, or that cut set points. ing has the
// conditions of all recordings.
func WarnEach(exp plan.Experiment, ing ingeststage.Result) (out []ingest.Warning, err error) {
	const many = 20

	for _, s := range exp.Train.Splits {
		for _, c := range s.Each {
			if slices.Contains(ing.Labels, c) {
				continue
			}

			v, err := ing.Values(c)
			if err != nil {
				return nil, err
			}

			text := ""
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
