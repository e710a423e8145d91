package dspstage

import (
	"context"
	"errors"

	"doubletake/ingest/fault"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// planPairs adds the task that makes triplets.arrow of pairs that were read.
func planPairs(exp plan.Experiment, ing ingeststage.Result) Result {
	in := ing.Pairs
	cfg := plan.Only("dsp", plan.Settings("dsp", exp.DSP), "triplets", "couples")
	kind := kv.Pair{Key: "pairs", Value: ing.PairKind}
	meta := append(exp.Meta(in.Settings, cfg), kind, kv.Pair{Key: "construction", Value: "table"})

	t := exp.Add(&engine.Task{
		ID: exp.ID("triplets"), Stage: "dsp", Version: version, Config: plan.Stated(meta), Weight: 0.1,
		Local:   ing.Points.Settings(exp.Ingest.Within),
		Deps:    []engine.Dep{in.Output},
		Publish: []engine.Link{{Output: tripletsArrow, Path: exp.Published("dsp", tripletsArrow)}},
		Run: func(_ context.Context, j *engine.Job) (err error) {
			defer fault.Catch(&err)
			t := fault.Get(table.Read(j.Input(in.Output.Task, in.Output.Output)))
			if exp.DSP.Couples {
				couple(t)
			}

			t.Meta = meta
			ing.Points.AddSetPoints(exp.Ingest.Within, t)

			return errors.Join(plan.WriteTable(j, tripletsArrow, t), plan.WriteJSON(j, NotesJSON, []FileNotes{}))
		},
	})

	return Result{
		Triplets: engine.Dep{Task: t.ID, Output: tripletsArrow},
		Notes:    engine.Dep{Task: t.ID, Output: NotesJSON},
	}
}
