package experiment

import (
	"context"

	"doubletake/train/baseline"
	"doubletake/train/triplets"
)

// TrainMethod trains a method on the training part of a split with a seed, and returns its answers at every distinct
// condition of the set.
func (e *Experiment) TrainMethod(ctx context.Context, name string, split Split, set triplets.Set, seed uint64) (
	*baseline.Prediction, error,
) {
	method, err := baseline.New(name, baseline.Settings{Config: e.Network, Members: e.Members})
	if err != nil {
		return nil, err
	}

	data, err := e.TrainingPart(split, set)
	if err != nil {
		return nil, err
	}

	model, err := method.Fit(ctx, data, seed)
	if err != nil {
		return nil, err
	}

	return model.Predict(ctx, set.Distinct)
}
