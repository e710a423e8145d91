package plan_test

import (
	"fmt"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// A stage adds its tasks to the tasks of the experiment.
func ExampleExperiment_Add() {
	f := &config.File{Experiments: []config.Experiment{{Name: "drone"}}}
	b := plan.NewExperiment(f, 0, plan.Program{}, plan.NewTasks(&engine.Plan{}))
	b.Add(&engine.Task{
		ID:      b.ID("triplets"),
		Stage:   "dsp",
		Publish: []engine.Link{{Output: "triplets.arrow", Path: b.Published("dsp", "triplets.arrow")}},
	})

	for _, t := range b.Tasks.Plan.Tasks {
		fmt.Println(t.Experiment, t.ID, t.Publish[0].Path)
	}
	// Output: drone drone/triplets drone/triplets.arrow
}
