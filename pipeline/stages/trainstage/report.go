package trainstage

import (
	"math"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/train"
	"doubletake/train/triplets"
)

// Bounds of what a training reports while it runs.
const (
	reportLines = 400  // epochs
	reportRows  = 4096 // held-out pairs that the loss is taken of
)

// ReportEvery is the time between two reports at least. A variable for tests.
var ReportEvery = 500 * time.Millisecond

// epochReport is a line of the report of a training.
type epochReport struct {
	Epoch   int      `json:"epoch"`
	Of      int      `json:"of"`
	Loss    float64  `json:"loss"`
	HeldOut *float64 `json:"held_out,omitempty"`
}

// reports returns options with which a training reports its losses to watchers. It
// learns nothing from the held-out rows.
func reports(j *engine.Job, set triplets.Set, epochs int) train.FitOptions {
	rows := set.RowsOf(triplets.Test)
	if set.Part == nil {
		rows = nil
	}
	if n := len(rows); n > reportRows {
		for i := range reportRows {
			rows[i] = rows[i*n/reportRows]
		}
		rows = rows[:reportRows]
	}
	every := (epochs + reportLines - 1) / reportLines
	last := time.Now()
	return train.FitOptions{
		HeldOut: set.Select(rows),
		Watch: func(e train.Epoch, heldOut func() float64) {
			if e.Epoch%every != 0 || time.Since(last) < ReportEvery {
				return
			}
			last = time.Now()
			r := epochReport{Epoch: e.Epoch, Of: epochs, Loss: e.Loss}
			if len(rows) > 0 {
				if v := heldOut(); !math.IsNaN(v) && !math.IsInf(v, 0) {
					r.HeldOut = &v
				}
			}
			j.Report(r)
		},
	}
}
