package stages

import (
	"context"

	"doubletake/dsp/analysis"
	"doubletake/ingest/table"
	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/report/pairs/repeats"
)

// planTableTriplets adds the task that makes triplets.arrow from pairs that were read.
func planTableTriplets(exp plan.Experiment, ing ingestResult) dspResult {
	source := ing.Pairs.Output
	read := plan.Only("dsp", plan.Settings("dsp", exp.DSP), "triplets", "couples")
	kind := kv.Pair{Key: "pairs", Value: ing.PairKind}
	meta := append(exp.Meta(ing.Pairs.Settings, read), kind, kv.Pair{Key: "construction", Value: "table"})
	points := ing.Points

	task := exp.Add(&engine.Task{
		ID: exp.ID("triplets"), Stage: "dsp", Version: dspVersion, Config: plan.Stated(meta), Weight: 0.1,
		Local:   plan.PointSettings(points, exp.Ingest.Tolerances),
		Deps:    []engine.Dep{source},
		Publish: []engine.Link{{Output: tripletsArrow, Path: exp.Published("dsp", tripletsArrow)}},
		Run: func(_ context.Context, job *engine.Job) error {
			tab, err := table.Read(job.Input(source.Task, source.Output))
			if err != nil {
				return err
			}

			if exp.DSP.Couples {
				repeats.Couple(tab)
			}

			tab.Meta = meta
			if err := pairs.AddSetPoints(tab, exp.Ingest.Tolerances, points); err != nil {
				return err
			}

			if err := taskfile.WriteTable(job, tripletsArrow, tab); err != nil {
				return err
			}

			return taskfile.WriteJSON(job, notesJSON, []analysis.FileNotes{})
		},
	})

	return dspResult{
		Triplets: engine.Dep{Task: task.ID, Output: tripletsArrow},
		Notes:    engine.Dep{Task: task.ID, Output: notesJSON},
	}
}
