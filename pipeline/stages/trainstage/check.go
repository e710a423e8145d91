package trainstage

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/dsp"
	"doubletake/ingest/campaign"
	"doubletake/ingest/simulate"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/train/holdout"
)

// CheckSplits checks the splits again with the conditions that the files' headers
// gave.
func CheckSplits(b *plan.Builder) error {
	if len(b.Exp.Train.Inputs) == 0 {
		return nil
	}
	return checkSplits(b)
}

// checkSplits reports hold-out rules and inputs that cannot work, as far as the
// conditions are known before any file is read: unknown names, a side of a
// split that stays empty, an input that does not vary over the training set.
func checkSplits(b *plan.Builder) error {
	tr, key := &b.Exp.Train, b.At+".train"
	for _, in := range tr.Inputs {
		if !slices.Contains(b.Conditions, in) {
			return notACondition(b, key+".inputs", in)
		}
	}
	for _, s := range tr.Splits {
		at := key + ".splits." + s.Name
		for _, c := range s.Test.Conditions() {
			if !slices.Contains(b.Conditions, c) {
				return notACondition(b, at+".test."+c, c)
			}
		}
		if err := checkSplit(b, at, s); err != nil {
			return err
		}
		if toy, ok := b.Campaign.(simulate.Toy); ok {
			if err := checkBatch(b, s, toy.N); err != nil {
				return err
			}
		}
	}
	return nil
}

// notACondition is the error about a name that is no condition.
func notACondition(b *plan.Builder, key, name string) error {
	return b.File.Errorf(key, "%q is not a condition of this experiment, which has %s%s",
		name, strings.Join(b.Conditions, ", "), spelling.DidYouMean(name, b.Conditions))
}

func checkSplit(b *plan.Builder, at string, s config.Split) error {
	if len(b.Known) == 0 {
		return nil
	}
	held, err := s.Test.Held(knownRows(b.Known))
	if err != nil {
		return nil // depends on the files
	}
	train := rowsWith(held, false)
	first, varies := map[string]float64{}, map[string]bool{}
	for _, i := range train {
		c := b.Known[i]
		for _, in := range b.Exp.Train.Inputs {
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
		return b.File.Errorf(at, "%s holds for none of the %d conditions: the test set would be empty%s",
			s.Test, len(b.Known), holdout.Choices(s.Test, knownRows(b.Known)))
	case len(train) == 0:
		return b.File.Errorf(at, "%s holds for all %d conditions: the training set would be empty; hold out less",
			s.Test, len(b.Known))
	}
	for _, in := range b.Exp.Train.Inputs {
		if _, ok := b.Known[0][in]; ok && !varies[in] {
			return constantInput(b, s, in, first[in])
		}
	}
	if n := pairsPerRow(b); n > 0 {
		return checkBatch(b, s, len(train)*n)
	}
	return nil
}

// pairsPerRow returns how many pairs each entry of b.Known gives at most; 0 where
// only the files tell.
func pairsPerRow(b *plan.Builder) int {
	switch c := b.Construction.(type) {
	case dsp.PerRun:
		return c.PairsPerRun(&b.Exp.DSP.Settings)
	case dsp.OfSpectra:
		if c.Describe().Repeats {
			return 0
		}
		for _, conds := range b.PerFile {
			if conds == nil || slices.ContainsFunc(conds.Rows, func(r campaign.ConditionRow) bool { return r.Channel == "" }) {
				return 0
			}
		}
		return 1 // every row is one microphone's
	}
	return 0
}

// checkBatch reports a batch of the configuration that is larger than the
// training set of n triplets, or fewer.
func checkBatch(b *plan.Builder, s config.Split, n int) error {
	key := b.At + ".train.optimizer.batch"
	if batch := b.Exp.Train.Optimizer.Batch; batch > n && b.File.Has(key) {
		return b.File.Errorf(key, "expected up to %d triplets, which the training set of split %q has, found %d", n, s.Name,
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
