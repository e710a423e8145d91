package dspstage

import (
	"context"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// takePairs adds the task that makes triplets.arrow of pairs that were read.
func takePairs(b *plan.Builder) error {
	cfg, read := b.Pairs, b.Recordings[0].Task
	dcfg := plan.Settings("dsp", struct {
		Triplets string `key:"triplets"`
		Couples  bool   `key:"couples"`
	}{b.Exp.DSP.Triplets, b.Exp.DSP.Couples})
	meta := append(b.Meta(cfg, dcfg), kv.Pair{Key: "pairs", Value: b.PairKind()},
		kv.Pair{Key: "construction", Value: "table"})
	b.Add(&engine.Task{
		ID: b.ID("triplets"), Stage: "dsp", Version: version, Config: dcfg, Weight: 0.1,
		Local:   []kv.Pair{{Key: "pairs", Value: b.PairKind()}},
		Deps:    []engine.Dep{{Task: read, Output: "pairs.arrow"}},
		Publish: []engine.Link{{Output: "triplets.arrow", Path: b.Published("triplets.arrow")}},
		Run: func(_ context.Context, j *engine.Job) error {
			t, err := table.Read(j.Input(read, "pairs.arrow"))
			if err != nil {
				return err
			}
			if b.Exp.DSP.Couples {
				couple(t)
			}
			t.Meta = meta
			dg, err := t.WriteFile(j.Output("triplets.arrow"))
			if err != nil {
				return err
			}
			j.SetDigest("triplets.arrow", dg)
			return plan.WriteJSON(j.Output(NotesJSON), []FileNotes{})
		},
	})
	return nil
}
