package experiment

import (
	"context"

	"doubletake/train/honest"
	"doubletake/train/honest/interval"
	"doubletake/train/triplets"
)

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
