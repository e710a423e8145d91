package plan_test

import (
	"fmt"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// A stage adds its tasks to the builder of an experiment.
func ExampleBuilder_Add() {
	b := &plan.Builder{Exp: &config.Experiment{Name: "drone"}, Plan: &engine.Plan{}}
	b.Add(&engine.Task{
		ID:      b.ID("triplets"),
		Stage:   "dsp",
		Publish: []engine.Link{{Output: "triplets.arrow", Path: b.Published("triplets.arrow")}},
	})
	for _, t := range b.Plan.Tasks {
		fmt.Println(t.Experiment, t.ID, t.Publish[0].Path)
	}
	// Output: drone drone/triplets drone/triplets.arrow
}
