package trainstage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/train"
	"doubletake/train/triplets"
)

// CheckpointEvery is how much of a training is lost at most when the program is
// killed. A variable for tests, which have no five seconds.
var CheckpointEvery = 5 * time.Second

// Saved is called with each file that was saved for an interrupted run to go on from. A
// variable for tests, which interrupt runs there.
var Saved = func(path string) {}

// checkpointFile is the checkpoint in a task's scratch folder.
const checkpointFile = "checkpoint"

// fit trains, going on from the checkpoint that an interrupted run left in the
// task's scratch folder. The result does not depend on that. o may name who watches.
func fit(ctx context.Context, j *engine.Job, data triplets.Set, c train.Config, o train.FitOptions) (*train.Model,
	[]train.Epoch, error,
) {
	if err := keep(j, &o, c.Epochs); err != nil {
		return nil, nil, err
	}

	return train.FitWith(ctx, data, c, o)
}

// keep lets o, a training of so many epochs, go on from and save the checkpoint in the
// task's scratch folder.
func keep(j *engine.Job, o *train.FitOptions, epochs int) error {
	dir, err := j.Scratch()
	if err != nil {
		return err
	}

	path := filepath.Join(dir, checkpointFile)
	resume, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// Only time is lost without it.
		j.Note("checkpoint", fmt.Sprintf("not used: %v", err))
	}

	// Whatever was being written when the program was killed.
	if left, err := filepath.Glob(filepath.Join(dir, ".tmp-*")); err == nil {
		for _, p := range left {
			os.Remove(p)
		}
	}

	plan.NumberGobTypes() // checkpoints are gob too

	o.Resume, o.Every = resume, CheckpointEvery
	o.Save = func(b []byte) error {
		err := engine.WriteFile(path, b)
		Saved(path)
		return err
	}

	o.Resumed = func(r train.Resumption) {
		switch {
		case r.Ignored != nil:
			j.Note("checkpoint", fmt.Sprintf("not used, trained from the start: %v", r.Ignored))
		case r.Steps > 0:
			j.Note("checkpoint", fmt.Sprintf("went on after %d of %d epochs", r.Epochs, epochs))
		}
	}

	return nil
}
