package app

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
)

// exitError is an error whose message was printed already.
type exitError struct{ code int }

func (e *exitError) Error() string   { return "" }
func (e *exitError) ExitStatus() int { return e.code }

func runExec(c *call) error {
	plan, task, part, stage := c.String("plan"), c.String("task"), c.String("part"), c.String("stage")
	if is, code, err := pipeline.WorkBatch(c.ctx, plan, c.stderr); is {
		if err == nil && code != 0 {
			err = &exitError{code}
		}

		return err
	}

	switch {
	case (task == "") == (part == ""):
		return usage("pipeline exec wants --task or --part, one of them; pipeline tasks lists tasks")
	case (part == "") != (stage == ""):
		return usage("--stage and --part go together: --stage dsp --part 3/64")
	case part == "" && (c.IsSet("experiment") || c.IsSet("split")):
		return usage("--experiment and --split go with --part")
	}

	p := fault.Get(pipeline.Load(plan))
	tasks, siblings, err := p.Pick(task, part, pipeline.Selection{
		Stages: []string{stage}, Experiments: c.experiments(), Splits: c.StringSlice("split"),
	})
	if err != nil {
		return err
	}

	left, err := p.Make(c.ctx, tasks, siblings,
		func(task, note string) { fmt.Fprintf(c.stderr, "%s: %s\n", task, note) },
		func(task string, made bool) {
			state := "made"
			if !made {
				state = "up to date"
			}

			fmt.Fprintf(c.stdout, "%s: %s\n", task, state)
		})
	if err == nil && left > 0 {
		fmt.Fprintf(c.stderr, "tasks left, which need results of other parts of this stage: %d; "+
			"run the same parts again when all have ended\n", left)
	}

	return err
}
