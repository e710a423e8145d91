package experiment

import (
	"doubletake/train"
	"doubletake/train/triplets"
)

// Bounds of the work that the held-out loss takes.
const (
	heldOutRows  = 4096 // largest number of held-out rows whose loss is computed
	heldOutTimes = 100  // largest number of epochs after which it is computed
	leastTimes   = 10   // smallest number of epochs after which it is computed, even if heldOutShare is exceeded
	heldOutShare = 20   // smallest number of rows that the training passes for each held-out row whose loss is computed
)

// Observed returns options with which a training computes the loss of an even selection of the held-out rows after some
// epochs. The training does not learn from them.
func Observed(set triplets.Set, epochs int) train.FitOptions {
	rows := set.RowsOf(triplets.Test)
	if n := len(rows); n > heldOutRows {
		for i := range heldOutRows {
			rows[i] = rows[i*n/heldOutRows]
		}
		rows = rows[:heldOutRows]
	}

	n := len(rows)
	trained := len(set.RowsOf(triplets.Train))
	perTime := (epochs + heldOutTimes - 1) / heldOutTimes
	perShare := (heldOutShare*n + trained - 1) / max(1, trained)
	every := min(max(perTime, perShare), max(1, epochs/leastTimes))

	return train.FitOptions{HeldOut: set.Select(rows), HeldOutEvery: every}
}
