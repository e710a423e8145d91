package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
	"doubletake/ingest/spelling"
	"doubletake/train"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// ChooseOutcomes returns the outcomes that are trained: the ones that are asked for, or otherwise those of all that
// vary. If none varies, it returns all.
func (e *Experiment) ChooseOutcomes(all []string, isConstant func(outcome string) bool) ([]string, error) {
	if err := e.checkOutcomes(all); err != nil {
		return nil, err
	}

	if len(e.Outcomes) > 0 {
		return e.Outcomes, nil
	}

	vary := slices.DeleteFunc(slices.Clone(all), isConstant)
	if len(vary) > 0 {
		return vary, nil
	}

	return all, nil
}

// checkOutcomes returns an error about an outcome that is asked for and not among all.
func (e *Experiment) checkOutcomes(all []string) error {
	for _, name := range e.Outcomes {
		if !slices.Contains(all, name) {
			return setting.Errorf("outcomes",
				"%q is not an outcome of this experiment, which has %v%s", name, all, spelling.DidYouMean(name, all))
		}
	}

	return nil
}

// Divide returns a set with the part of every row in a split, and with the scale of the split's training part. rows has
// the conditions of the set's rows, and points their set points.
func (e *Experiment) Divide(set triplets.Set, rows holdout.Rows, points condition.Points, split Split) (
	triplets.Set, error,
) {
	held, err := HeldOut(split.Test, rows, points)
	if err != nil {
		return triplets.Set{}, err
	}

	set.Part = slices.Repeat([]triplets.Part{triplets.Train}, set.N)
	test := 0 // rows
	for i, isHeld := range held {
		if isHeld {
			set.Part[i] = triplets.Test
			test++
		}
	}

	if err := checkSides(split, test, "triplets", rows); err != nil {
		return triplets.Set{}, err
	}

	triplets.Apart(&set, set.Part)
	set.Scale = triplets.Identity(set.Out)
	if e.Network.Standardise {
		train := set.Only(triplets.Train)
		set.Scale = train.OutcomeScale()
	}

	return set, nil
}

// HeldOut reports for each row whether a rule holds it out, by its set points.
func HeldOut(rule holdout.Holdout, rows holdout.Rows, points condition.Points) ([]bool, error) {
	held, err := holdout.AtSetPoints(rule, points.Find).Held(rows)
	if err != nil {
		return nil, fmt.Errorf("read triplets: %w", err)
	}

	return held, nil
}

// Kept lists the rows that a split does not ignore.
func Kept(split Split, rows holdout.Rows, points condition.Points) ([]int, error) {
	ignored, err := HeldOut(split.Ignored, rows, points)
	if err != nil {
		return nil, err
	}

	return unmarked(ignored), nil
}

// unmarked lists the rows whose mark is false.
func unmarked(marks []bool) []int {
	var rows []int
	for i, isMarked := range marks {
		if !isMarked {
			rows = append(rows, i)
		}
	}

	return rows
}

// Coordinates returns the value of a condition in each row. If names is not nil, the condition is a label, and
// Coordinates returns the place of each row's name in names, which are in ascending order.
func Coordinates(rows holdout.Rows, condition string, names []string) ([]float64, error) {
	if names == nil {
		return rows.Floats(condition)
	}

	labels, err := rows.Strings(condition)
	if err != nil {
		return nil, err
	}

	places := make([]float64, len(labels))
	for i, name := range labels {
		k, known := slices.BinarySearch(names, name)
		if !known {
			return nil, fmt.Errorf("%s %s of a triplet was not known when the trainings were planned", condition, name)
		}

		places[i] = float64(k)
	}

	return places, nil
}

// TrainingPart returns the training part of a split, or an error if no network can be trained on it.
func (e *Experiment) TrainingPart(split Split, set triplets.Set) (triplets.Set, error) {
	data := set.Only(triplets.Train)
	if err := e.checkBatch(split, data.N); err != nil {
		return triplets.Set{}, err
	}

	err := train.Check(data, e.Network)
	if constant, ok := errors.AsType[*train.ConstantInputError](err); ok {
		return triplets.Set{}, constantInput(split, e.Inputs[constant.Column], constant.Value)
	}

	if err != nil {
		return triplets.Set{}, setting.Errorf("splits."+split.Name, "%v", err)
	}

	return data, nil
}

// Network is a trained network with what is known of it.
type Network struct {
	*train.Model
	History   []train.Epoch    // its losses
	Estimates *train.Estimates // its answers at every distinct condition of the set, also at held-out ones
}

// TrainNetwork trains a network on the training part of a split with a seed, and computes its answers with the seed
// that samples their covariance.
func (e *Experiment) TrainNetwork(ctx context.Context, split Split, set triplets.Set, seed, estimateSeed uint64) (
	*Network, error,
) {
	data, err := e.TrainingPart(split, set)
	if err != nil {
		return nil, err
	}

	settings := e.Network
	settings.Seed = seed
	model, history, err := train.FitWith(ctx, data, settings, WithHeldOutLoss(set, settings.Epochs))
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}

	options := e.Estimate
	options.Seed = estimateSeed
	estimates, err := model.Estimate(ctx, set.Distinct, options)
	if err != nil {
		return nil, fmt.Errorf("estimate covariance: %w", err)
	}

	return &Network{Model: model, History: history, Estimates: estimates}, nil
}

// constantInput returns the error about an input that has one value in the training set of a split.
func constantInput(split Split, input string, value float64) error {
	return setting.Errorf("inputs", "%q is constant (%g) in the training set of split %q: "+
		"nothing can be learned from it; take it out of the inputs or hold out something else", input, value, split.Name)
}
