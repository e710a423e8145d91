package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newExecCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "exec", Usage: "make one task; what programs call that drive tasks one by one", ArgsUsage: " ",
		Description: "With --plan CONFIGURATION and --index or --task (see pipeline tasks) the task is made unless it is " +
			"up to date, and its outputs are published. " +
			"Its inputs must exist. Any number of these may run at the same time, on any machine that sees the " +
			"work directory.\n\n" +
			"With --plan plan.json, written by pipeline run --executor slurm, and --index of the job in the array, all tasks " +
			"of that job are made.\n\n" +
			"Example: pipeline exec --plan pipeline.yaml --task drone/recordings\n\n" +
			"Exit status: 0 success, 1 the task failed, 2 usage or configuration error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "plan", Value: "pipeline.yaml", Usage: "a configuration, or a plan.json"},
			&cli.IntFlag{
				Name: "index", Value: -1, DefaultText: "none",
				Usage: "index of the task, or of the job of a plan.json",
			},
			&cli.StringFlag{Name: "task", Usage: "name of the task, instead of its index"},
		},
		Action: func(c *cli.Context) error { return runExec(c, stdout, stderr) },
	}
}

// exitError is an error whose message was printed already.
type exitError struct{ code int }

func (e *exitError) Error() string   { return "" }
func (e *exitError) ExitStatus() int { return e.code }

func runExec(c *cli.Context, stdout, stderr io.Writer) error {
	plan, index, task := c.String("plan"), c.Int("index"), c.String("task")
	switch {
	case c.NArg() > 0:
		return usage("pipeline exec takes no FILE, found %q; name it with --plan", c.Args().Slice())
	case (index < 0) == (task == ""):
		return usage("pipeline exec wants --index or --task, one of them; pipeline tasks lists them")
	}

	if is, err := pipeline.IsBatch(plan); is {
		if err != nil {
			return err
		}

		if task != "" {
			return usage("the jobs of %s have no names; give --index", plan)
		}

		code, err := pipeline.WorkBatch(c.Context, plan, index, stderr)
		if err != nil || code == 0 {
			return err
		}

		return &exitError{code}
	}

	p, err := pipeline.Load(plan)
	if err != nil {
		return err
	}

	if task == "" {
		if index >= len(p.Plan.Tasks) {
			return usage("--index %d is not in the plan, which has %d tasks", index, len(p.Plan.Tasks))
		}
		task = p.Plan.Tasks[index].ID
	}

	made, err := p.Make(c.Context, task, func(task, note string) { fmt.Fprintf(stderr, "%s: %s\n", task, note) })
	if err != nil {
		return err
	}

	state := "made"
	if !made {
		state = "up to date"
	}

	_, err = fmt.Fprintf(stdout, "%s: %s\n", task, state)

	return err
}
