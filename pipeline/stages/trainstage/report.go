package trainstage

import (
	"doubletake/train"
	"doubletake/train/triplets"
)

// Bounds of the held-out loss.
const (
	heldOutRows  = 4096 // pairs that it is taken of
	heldOutTimes = 100  // times it is taken, about
	leastTimes   = 10   // times it is taken at least
	heldOutShare = 20   // a training passes so many rows, at least, for each that the loss is taken of, but for leastTimes
)

// observed returns options with which a training takes the loss of the held-out rows,
// or of an even choice of them, now and then. It learns nothing from the held-out rows.
func observed(set triplets.Set, epochs int) train.FitOptions {
	rows := set.RowsOf(triplets.Test)
	if n := len(rows); n > heldOutRows {
		for i := range heldOutRows {
			rows[i] = rows[i*n/heldOutRows]
		}
		rows = rows[:heldOutRows]
	}

	n, trained := len(rows), len(set.RowsOf(triplets.Train))
	every := max((epochs+heldOutTimes-1)/heldOutTimes, (heldOutShare*n+trained-1)/max(1, trained))

	return train.FitOptions{HeldOut: set.Select(rows), HeldOutEvery: min(every, max(1, epochs/leastTimes))}
}
