package trainstage

import (
	"fmt"
	"slices"
	"strings"

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

	for _, s := range tr.Splits {
		at := key + ".splits." + s.Name
		for _, c := range s.Test.Conditions() {
			if !slices.Contains(pl.ing.Conditions, c) {
				return pl.notACondition(at+".test."+c, c)
			}
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
	return pl.exp.Errorf(key, "%q is not a condition of this experiment, which has %s%s",
		name, strings.Join(pl.ing.Conditions, ", "), spelling.DidYouMean(name, pl.ing.Conditions))
}

func (pl *planner) checkSplit(at string, s config.Split) error {
	if len(pl.ing.Known) == 0 {
		return nil
	}

	held, err := s.Test.Held(knownRows(pl.ing.Known))
	if err != nil {
		return nil // depends on the files
	}

	train := rowsWith(held, false)

	first, varies := map[string]float64{}, map[string]bool{}
	for _, i := range train {
		c := pl.ing.Known[i]
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
			s.Test, len(pl.ing.Known), holdout.Choices(s.Test, knownRows(pl.ing.Known)))
	case len(train) == 0:
		return pl.exp.Errorf(at, "%s holds for all %d conditions: the training set would be empty; hold out less",
			s.Test, len(pl.ing.Known))
	}

	for _, in := range pl.exp.Train.Inputs {
		if _, ok := pl.ing.Known[0][in]; ok && !varies[in] {
			return constantInput(pl.exp, s, in, first[in])
		}
	}

	if n := pl.ing.PairsPerRow(); n > 0 {
		return checkBatch(pl.exp, s, len(train)*n)
	}

	return nil
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

// knownRows are the conditions that are known before any file is read.
type knownRows []map[string]float64

func (k knownRows) Rows() int { return len(k) }

// Floats returns an error where the condition of some row is not known.
func (k knownRows) Floats(condition string) ([]float64, error) {
	out := make([]float64, len(k))
	for i, c := range k {
		v, ok := c[condition]
		if !ok {
			return nil, fmt.Errorf("%s is not known", condition)
		}

		out[i] = v
	}

	return out, nil
}
