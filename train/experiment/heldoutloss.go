package experiment

import (
	"doubletake/train"
	"doubletake/train/triplets"
)

// A training shows in its history how the loss of held-out rows falls. Computing this loss must cost little compared
// with the training.
const (
	maxHeldOutRows  = 4096 // largest number of held-out rows whose loss is computed
	maxHeldOutTimes = 100  // largest number of computations of this loss in a training
	minHeldOutTimes = 10   // smallest number of computations, even if they cost more than rowsPerHeldOut allows
	rowsPerHeldOut  = 20   // smallest number of trained rows for each held-out row whose loss is computed
)

// WithHeldOutLoss returns options with which a training of the given number of epochs computes the loss of held-out
// rows after some of the epochs. The training does not learn from these rows. If the set holds out many rows, they are
// an even selection; if it holds out none, no loss is computed.
func WithHeldOutLoss(set triplets.Set, epochs int) train.FitOptions {
	rows := set.RowsOf(triplets.Test)
	if n := len(rows); n > maxHeldOutRows {
		for i := range maxHeldOutRows {
			rows[i] = rows[i*n/maxHeldOutRows]
		}
		rows = rows[:maxHeldOutRows]
	}

	// Both intervals are numbers of epochs, rounded up.
	trained := max(1, len(set.RowsOf(triplets.Train)))
	intervalByTimes := (epochs + maxHeldOutTimes - 1) / maxHeldOutTimes
	intervalByCost := (rowsPerHeldOut*len(rows) + trained - 1) / trained
	longest := max(1, epochs/minHeldOutTimes)

	return train.FitOptions{
		HeldOut: set.Select(rows), HeldOutEvery: min(max(intervalByTimes, intervalByCost), longest),
	}
}
