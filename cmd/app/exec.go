package app

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newExecCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "exec", Usage: "make one task, or a part of a stage; what programs call that drive tasks", ArgsUsage: " ",
		Description: "With --plan CONFIGURATION and --index, --task (see pipeline tasks) or --part, these tasks are made " +
			"unless they are up to date, and their outputs are published. Their inputs must exist. Any number of these may " +
			"run at the same time, on any machine that sees the work directory.\n\n" +
			"--stage dsp --part 3/64 is the third of 64 parts of a stage. The parts are of about equal weight, and the same " +
			"plan gives the same parts. A task that joins the results of other parts is made by the part that ends last, " +
			"or, where such tasks take more than a minute, by the same parts called once more.\n\n" +
			"With --plan plan.json, written by pipeline run for a cluster, all tasks of that job are made.\n\n" +
			"Example: pipeline exec --plan pipeline.yaml --stage dsp --part 3/64\n\n" +
			"Exit status: 0 success, 1 a task failed, 2 usage or configuration error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "plan", Value: "pipeline.yaml", Usage: "a configuration, or a plan.json"},
			&cli.StringFlag{Name: "index", Usage: "indices of tasks, as 7 or 5-9,12"},
			&cli.StringFlag{Name: "task", Usage: "name of the task, instead of its index"},
			&cli.StringFlag{Name: "part", Usage: "a part of a stage, as 3/64"},
			&cli.StringFlag{Name: "stage", Usage: "the stage of --part: " + strings.Join(pipeline.Stages(), ", ")},
			&cli.StringSliceFlag{Name: "experiment", Usage: "with --part: only this experiment (repeatable)"},
			&cli.StringSliceFlag{Name: "split", Usage: "with --part: only this split's models (repeatable)"},
		},
		Action: func(c *cli.Context) error { return runExec(c, stdout, stderr) },
	}
}

// exitError is an error whose message was printed already.
type exitError struct{ code int }

func (e *exitError) Error() string   { return "" }
func (e *exitError) ExitStatus() int { return e.code }

func runExec(c *cli.Context, stdout, stderr io.Writer) error {
	plan, index, task := c.String("plan"), c.String("index"), c.String("task")
	part, stage := c.String("part"), c.String("stage")

	if is, err := pipeline.IsBatch(plan); is {
		return workBatch(c.Context, plan, err, stderr)
	}

	given := 0
	for _, v := range []string{index, task, part} {
		if v != "" {
			given++
		}
	}

	switch {
	case c.NArg() > 0:
		return usage("pipeline exec takes no FILE, found %q; name it with --plan", c.Args().Slice())
	case given != 1:
		return usage("pipeline exec wants --index, --task or --part, one of them; pipeline tasks lists tasks")
	case (part == "") != (stage == ""):
		return usage("--stage and --part go together: --stage dsp --part 3/64")
	case part == "" && (c.IsSet("experiment") || c.IsSet("split")):
		return usage("--experiment and --split go with --part")
	}

	p, err := pipeline.Load(plan)
	if err != nil {
		return err
	}

	tasks, siblings, err := p.Pick(task, index, part, pipeline.Selection{
		Stages: []string{stage}, Experiments: experimentNames(c), Splits: c.StringSlice("split"),
	})
	if err != nil {
		return err
	}

	left, err := p.Make(c.Context, tasks, siblings,
		func(task, note string) { fmt.Fprintf(stderr, "%s: %s\n", task, note) },
		func(task string, made bool) {
			state := "made"
			if !made {
				state = "up to date"
			}

			fmt.Fprintf(stdout, "%s: %s\n", task, state)
		})
	if err == nil && left > 0 {
		fmt.Fprintf(stderr, "tasks left, which need results of other parts of this stage: %d; "+
			"run the same parts again when all have ended\n", left)
	}

	return err
}

// workBatch makes the tasks of a plan.json, which err may be a fault of.
func workBatch(ctx context.Context, plan string, err error, stderr io.Writer) error {
	if err != nil {
		return err
	}

	code, err := pipeline.WorkBatch(ctx, plan, stderr)
	if err != nil || code == 0 {
		return err
	}

	return &exitError{code}
}
