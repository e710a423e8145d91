package stages

// This file helps to test a stage alone. It makes an experiment whose triplets are given as text, adds tasks that stand
// in for tasks of earlier stages, and runs the plan in a folder of the test.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
)

// stageTest is an experiment of a test with the results of earlier stages.
type stageTest struct {
	plan.Experiment
	Ing  ingestResult
	Trip dspResult
}

// newStageTest returns the experiment "x" in a folder of its own. train is its section train as YAML in one line, which
// is line 6 of the file. Its triplets are tab, and its conditions are the columns of numbers in tab that are not
// outcomes. The task x/triplets writes the triplets, and x/ingest the results of stage ingest. If tab is nil, the
// experiment has no triplets and none of these tasks.
func newStageTest(tb testing.TB, train string, tab *table.Table) *stageTest {
	tb.Helper()
	dir := tb.TempDir()
	text := "version: 1\nexperiments:\n  x:\n" +
		"    ingest: {table: {file: pairs.csv, inputs: [x], y1: [y_1], y2: [y_2]}}\n    dsp: {}\n    train: " + train + "\n"
	file, err := config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(text))
	require.NoError(tb, err)

	tasks := plan.NewTasks(&engine.Plan{
		Dir: filepath.Join(dir, "runs"), Stages: []string{"ingest", "dsp", "train", "report"},
	})
	e := &stageTest{Experiment: plan.NewExperiment(file, 0, plan.Program{Version: "test", Kernels: "portable"}, tasks)}
	e.Ing.PairKind = e.Ingest.Table.Pairs
	if tab == nil {
		return e
	}

	for _, column := range tab.Columns {
		if column.Floats != nil && !strings.HasSuffix(column.Name, "_1") && !strings.HasSuffix(column.Name, "_2") {
			e.Ing.Conditions = append(e.Ing.Conditions, column.Name)
		}
	}

	e.Ing.Results = []engine.Dep{e.Output("ingest", "ingest", "recordings.json", jsonContent("{}"))}
	e.Trip.Triplets = e.Output("triplets", "dsp", "triplets.arrow", arrowContent(tab))
	e.Trip.Notes = engine.Dep{Task: e.Trip.Triplets.Task, Output: notesJSON}
	task := tasks.Plan.Tasks[len(tasks.Plan.Tasks)-1]
	write := task.Run
	task.Run = func(ctx context.Context, job *engine.Job) error {
		if err := os.WriteFile(job.Output(notesJSON), []byte("[]"), 0o644); err != nil {
			return err
		}
		return write(ctx, job)
	}

	return e
}

// outputContent writes the output of a stand-in task to path. It returns "" if the digest of the output is the digest
// of the file.
type outputContent func(path string) (digest string, err error)

// arrowContent returns an outputContent that writes a table.
func arrowContent(tab *table.Table) outputContent { return tab.WriteFile }

// jsonContent returns an outputContent that writes text.
func jsonContent(text string) outputContent {
	return func(path string) (string, error) { return "", os.WriteFile(path, []byte(text), 0o644) }
}

// Output adds a task with a name to the experiment, which publishes one output, and returns the output.
func (e *stageTest) Output(name, stage, output string, write outputContent) engine.Dep {
	task := e.Add(&engine.Task{
		ID: e.ID(name), Stage: stage, Publish: []engine.Link{{Output: output, Path: e.Published(stage, output)}},
		Run: func(_ context.Context, job *engine.Job) error {
			digest, err := write(job.Output(output))
			if digest != "" {
				job.SetDigest(output, digest)
			}

			return err
		},
	})

	return engine.Dep{Task: task.ID, Output: output}
}

// Run runs the tasks of the experiment. It returns a function that returns the path of an output, and panics if there
// is no such output. observe may be nil.
func (e *stageTest) Run(ctx context.Context, observe func(engine.Event)) (func(task, output string) string, error) {
	r, err := engine.Run(ctx, e.Tasks.Plan, engine.Options{Jobs: 2, Program: "test", Observe: observe})
	if err != nil {
		return nil, err
	}

	return func(task, output string) string {
		path, ok := r.Output(task, output)
		if !ok {
			panic(fmt.Sprintf("no output %s of %s", output, task))
		}

		return path
	}, nil
}

// Keys returns a text for each task, by ID, that differs if the key of the task differs: its settings, files and
// inputs, without the contents of the inputs.
func (e *stageTest) Keys() map[string]string {
	keys := map[string]string{}
	for _, task := range e.Tasks.Plan.Tasks {
		keys[task.ID] = fmt.Sprint(task.Stage, task.Version, task.Config, task.Local, task.Files, task.Deps)
	}

	return keys
}
