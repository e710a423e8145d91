package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm"
)

// execOptions are the flags of exec.
type execOptions struct {
	plan  string
	index int // -1: none
	task  string
}

func newExecCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "exec", Usage: "make one task; what programs call that drive tasks one by one", ArgsUsage: " ",
		Description: "--plan is a configuration, with --index or --task as pipeline tasks lists them: the task is made unless it is up to date, and its outputs are published. " +
			"What it needs must be there. Any number of these may run beside each other, on any machine that sees the work directory.\n\n" +
			"Or --plan is a plan.json that pipeline run --executor slurm wrote, with --index of the job in the array: all tasks of that job are made.\n\n" +
			"Example: pipeline exec --plan pipeline.yaml --task drone/recordings\n\n" +
			"Exit status: 0 success, 1 the task failed, 2 usage or configuration error, 3 input data error, 130 interrupted.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "plan", Value: "pipeline.yaml", Usage: "a configuration, or a plan.json"},
			&cli.IntFlag{Name: "index", Value: -1, DefaultText: "none", Usage: "index of the task, or of the job of a plan.json"},
			&cli.StringFlag{Name: "task", Usage: "name of the task, instead of its index"},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usage("pipeline exec takes no FILE, found %q; name it with --plan", c.Args().Slice())
			}
			return runExec(c.Context, execOptions{c.String("plan"), c.Int("index"), c.String("task")}, stdout, stderr)
		},
	}
}

// exitError is an end that was told already.
type exitError struct{ code int }

func (e *exitError) Error() string   { return "" }
func (e *exitError) ExitStatus() int { return e.code }

func runExec(ctx context.Context, o execOptions, stdout, stderr io.Writer) error {
	if (o.index < 0) == (o.task == "") {
		return usage("pipeline exec wants --index or --task, one of them; pipeline tasks lists them")
	}
	batch, is, err := slurm.ReadBatch(o.plan)
	if is {
		if err != nil {
			return err
		}
		if o.task != "" {
			return usage("the jobs of %s have no names; give --index", o.plan)
		}
		code, err := slurm.Work(ctx, filepath.Dir(o.plan), batch, o.index, loadWorker, explain, stderr)
		if err != nil || code == 0 {
			return err
		}
		return &exitError{code}
	}
	p, err := pipeline.Load(o.plan)
	if err != nil {
		return err
	}
	if o.task == "" {
		if o.index >= len(p.Plan.Tasks) {
			return usage("--index %d is not in the plan, which has %d tasks", o.index, len(p.Plan.Tasks))
		}
		o.task = p.Plan.Tasks[o.index].ID
	}
	w := worker(p)
	w.Note = func(task, note string) { fmt.Fprintf(stderr, "%s: %s\n", task, note) }
	ran, err := w.MakeOne(ctx, o.task)
	var spec *engine.SpecError
	if errors.As(err, &spec) {
		return usage("%v", err)
	}
	if err != nil {
		return err
	}
	state := "made"
	if !ran {
		state = "up to date"
	}
	_, err = fmt.Fprintf(stdout, "%s: %s\n", o.task, state)
	return err
}

func worker(p *pipeline.Project) *engine.Worker {
	return &engine.Worker{Plan: p.Plan, Program: p.Program.Version, Annotate: []engine.KV{{Key: "kernels", Value: p.Program.Kernels}}}
}

// loadWorker loads a project where a job runs, with the splits of report
// --held-out.
func loadWorker(file string, held []string) (*engine.Worker, []engine.KV, error) {
	splits, err := heldOut(held)
	if err != nil {
		return nil, nil, err
	}
	p, err := pipeline.Load(file, splits...)
	if err != nil {
		return nil, nil, err
	}
	facts, err := facts(p)
	return worker(p), facts, err
}
