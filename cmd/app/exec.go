package app

import (
	"fmt"

	"doubletake/pipeline"
)

// exitError ends the program with an exit status, without a message: the message was printed already.
type exitError struct{ status int }

// Error returns "".
func (e *exitError) Error() string { return "" }

// ExitStatus returns the exit status.
func (e *exitError) ExitStatus() int { return e.status }

// runExec makes the tasks of a part that a scheduler has started, or one task, or a part of a stage.
func runExec(c *call) error {
	plan := c.String("plan")
	isBatch, status, err := pipeline.WorkBatch(c.ctx, plan, c.stderr)
	switch {
	case isBatch && err == nil && status != 0:
		return &exitError{status}
	case isBatch:
		return err
	}

	// Any other file is a configuration. If it cannot be read, pipeline.Load returns the error.
	return makeSelected(c, plan)
}

// makeSelected makes the task, or the part of a stage, that the flags name.
func makeSelected(c *call, path string) error {
	task := c.String("task")
	part := c.String("part")
	stage := c.String("stage")
	switch {
	case (task == "") == (part == ""):
		return usage("pipeline exec wants either --task or --part, such as --task drone/triplets or " +
			"--stage dsp --part 3/64; pipeline tasks lists tasks")
	case (part == "") != (stage == ""):
		return usage("--stage and --part go together: --stage dsp --part 3/64")
	case part == "" && (c.IsSet("experiment") || c.IsSet("split")):
		return usage("--experiment and --split go with --part")
	}

	project, err := pipeline.Load(path)
	if err != nil {
		return err
	}

	tasks, siblings, err := project.Pick(task, part, pipeline.Selection{
		Stages: []string{stage}, Experiments: c.experiments(), Splits: c.StringSlice("split"),
	})
	if err != nil {
		return err
	}

	note := func(task, text string) { fmt.Fprintf(c.stderr, "%s: %s\n", task, text) }
	done := func(task string, made bool) {
		state := "made"
		if !made {
			state = "up to date"
		}

		fmt.Fprintf(c.stdout, "%s: %s\n", task, state)
	}

	left, err := project.Make(c.ctx, tasks, siblings, note, done)
	if err == nil && left > 0 {
		fmt.Fprintf(c.stderr, "tasks left, which need results of other parts of this stage: %d; "+
			"run the same parts again when all have ended\n", left)
	}

	return err
}
