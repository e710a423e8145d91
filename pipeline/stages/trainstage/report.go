package trainstage

import (
	"time"

	"doubletake/pipeline/engine"
	"doubletake/train"
	"doubletake/train/triplets"
)

// Bounds of the held-out loss and of what a training reports while it runs.
const (
	heldOutRows  = 4096 // pairs that the held-out loss is taken of
	heldOutLines = 100  // times it is taken, about
	leastLines   = 10   // times it is taken at least
	heldOutShare = 20   // a training passes so many rows, at least, for each that the loss is taken of, but for leastLines
	reportLines  = 400  // epochs reported where nothing is held out
)

// ReportEvery is the time between two reports at least. A variable for tests.
var ReportEvery = 500 * time.Millisecond

// epochReport is a line of the report of a training.
type epochReport struct {
	Epoch   int      `json:"epoch"`
	Of      int      `json:"of"`
	Loss    float64  `json:"loss"`
	HeldOut *float64 `json:"held_out,omitempty"`
	Data    string   `json:"data"` // simulated, measured, …
}

// observed returns options with which a training takes the loss of the held-out rows,
// or of an even choice of them, now and then, and reports its losses to watchers. It
// learns nothing from the held-out rows.
func observed(j *engine.Job, set triplets.Set, epochs int, data string) train.FitOptions {
	var rows []int
	if set.Part != nil {
		rows = set.RowsOf(triplets.Test)
	}

	if n := len(rows); n > heldOutRows {
		for i := range heldOutRows {
			rows[i] = rows[i*n/heldOutRows]
		}
		rows = rows[:heldOutRows]
	}

	every := (epochs + reportLines - 1) / reportLines
	if n := len(rows); n > 0 {
		trained := len(set.RowsOf(triplets.Train))
		every = max((epochs+heldOutLines-1)/heldOutLines, (heldOutShare*n+trained-1)/max(1, trained))
		every = min(every, max(1, epochs/leastLines))
	}

	last := time.Now()

	return train.FitOptions{
		HeldOut: set.Select(rows), HeldOutEvery: every,
		Hook: func(e train.Epoch) {
			if e.Epoch%every != 0 || time.Since(last) < ReportEvery {
				return
			}

			last = time.Now()

			r := epochReport{Epoch: e.Epoch, Of: epochs, Loss: e.Loss, Data: data}
			if e.Judged {
				r.HeldOut = &e.HeldOut
			}

			j.Report(r)
		},
	}
}
