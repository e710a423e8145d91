package experiment

import (
	"context"
	"fmt"

	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

// Calibrated is the calibration of a split on left-out groups.
type Calibrated struct {
	*honest.Model
	Prediction *interval.Prediction // at the held-out rows
	Set        triplets.Set         // the second values of pairs that belong to another group are set apart
}

// Calibrate fits and calibrates the process of a split on groups that are left out in turn. If left is not nil, it
// calibrates the models of the left-out trainings instead, which read returns. set is divided by the split, and groups
// has the values of the learner's condition in its rows.
func (e *Experiment) Calibrate(ctx context.Context, split Split, learner honest.Learner, set triplets.Set,
	groups []float64, left *LeftOut, read func(Subset) (*honest.Model, error),
) (*Calibrated, error) {
	between := honest.BetweenOccasions(set.Only(triplets.Train), e.Across)
	// The second value of a pair across occasions may belong to another group, which teaches nothing while it is left
	// out.
	triplets.Apart(&set, groups)
	calibrate := learner.Process
	if left != nil {
		calibrate = func(ctx context.Context, set triplets.Set, groups []float64) (
			*honest.Model, *interval.Prediction, error,
		) {
			return left.Calibrate(ctx, learner, set, groups, read)
		}
	}

	model, prediction, err := calibrate(ctx, set, groups)
	if err != nil {
		return nil, fmt.Errorf("calibrate on left-out groups: %w", err)
	}

	if model.Calibration != nil {
		model.Calibration.Things = append(model.Calibration.Things, between...)
	}

	model.Split = split.Name
	model.HeldOut = split.Test.String()

	return &Calibrated{Model: model, Prediction: prediction, Set: set}, nil
}

// CalibrateWithout fits and calibrates the process of a split without the rows for which isLeft returns true, and
// returns its record on the test part. It returns nil if isLeft is false for all training rows. groups has the values
// of the learner's condition in the rows of the set. CalibrateWithout changes the parts of the set.
func CalibrateWithout(ctx context.Context, learner honest.Learner, set triplets.Set, groups []float64,
	isLeft func(run, recording string) bool,
) (*interval.Record, error) {
	triplets.Apart(&set, groups)
	removed := 0 // training rows
	for i, run := range set.Run {
		if isLeft(set.Runs[run], set.Recording[i]) {
			if set.Part[i] == triplets.Train {
				removed++
			}

			set.Part[i] = triplets.Neither
		}
	}

	if removed == 0 {
		return nil, nil
	}

	model, _, err := learner.Process(ctx, set, groups)
	if err != nil {
		return nil, err
	}

	return model.Record, nil
}
