package stages

import (
	"context"

	"doubletake/dsp/background"
	"doubletake/ingest/fault"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/taskfile"
	"doubletake/pipeline/stages/plan"
)

// Background contains the sound that the microphones hear without the source under test.
type Background = background.Background

// backgroundData is the output of the task that measures the recordings of the background: a Background.
const backgroundData = "background.gob"

// planBackground adds the task that measures the recordings of the background. It returns nil if there are none.
func planBackground(exp plan.Experiment, rec *Recordings) *engine.Dep {
	if len(rec.Backgrounds) == 0 {
		return nil
	}

	task := &engine.Task{
		ID: exp.ID("dsp", "background"), Stage: "dsp", Version: dspVersion, Weight: 0.05,
		Config: rec.Settings,
	}

	for _, file := range rec.Backgrounds {
		file.Needs(task)
	}

	if rec.Calibrator != nil {
		task.Deps = append(task.Deps, *rec.Calibrator)
	}

	task.Run = func(ctx context.Context, job *engine.Job) error {
		chain, err := rec.taskChain(job)
		if err != nil {
			return err
		}

		reading := background.Reading{Options: rec.Reading.Options, Grouping: rec.Reading.Grouping, Chain: chain}

		var bg Background
		for _, file := range rec.Backgrounds {
			if err := bg.Add(ctx, reading, file.Name, file.Path(job)); err != nil {
				return fault.Named(err, file.Name)
			}
		}

		return taskfile.WriteGob("background", job.Output(backgroundData), &bg)
	}

	exp.Add(task)

	return &engine.Dep{Task: task.ID, Output: backgroundData}
}

// readBackground reads the output of the task that measures the background.
func readBackground(path string) (*Background, error) {
	bg := &Background{}
	return bg, taskfile.ReadGob("background", path, bg)
}
