// Package stagetest helps to test a stage alone: an experiment whose
// triplets are given as text, tasks that stand in for those of earlier stages, and
// a run of the plan in a folder of the test. It is imported by tests alone.
package stagetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"doubletake/internal/must"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/dspstage"
	"doubletake/pipeline/stages/ingeststage"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// Table reads a table from text: a line of names, then a line for each row, cells
// between blanks. "rpm[1/min]" is the column rpm with its unit; the columns run
// and recording hold text, columns that end in _bound_1 and _bound_2 hold true and
// false, all others numbers. It panics on text that is none of these.
func Table(text string) *table.Table {
	lines := strings.Split(strings.TrimSpace(text), "\n")

	t := &table.Table{}
	for _, name := range strings.Fields(lines[0]) {
		name, unit, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		t.Columns = append(t.Columns, table.Column{Name: name, Unit: unit, Description: "the " + name})
	}

	for _, l := range lines[1:] {
		for k, cell := range strings.Fields(l) {
			c := &t.Columns[k]
			switch {
			case c.Name == "run" || c.Name == "recording":
				c.Strings = append(c.Strings, cell)
			case strings.HasSuffix(c.Name, "_bound_1") || strings.HasSuffix(c.Name, "_bound_2"):
				c.Bools = append(c.Bools, cell == "true")
			default:
				v, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					panic("stagetest: " + err.Error())
				}

				c.Floats = append(c.Floats, v)
			}
		}
	}

	return t
}

// Wave simulates pairs of one outcome y in N along one input x from 0 to 5, of 40 runs
// with three pairs each: 50 + 10·sin x with noise of deviation 1.
func Wave() *table.Table {
	rng := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	text.WriteString("run recording x y_1[N] y_2[N]\n")

	for r := range 40 {
		for k := range 3 {
			x := float64(r%20)/4 + float64(k)/8
			y := 50 + 10*math.Sin(x)
			fmt.Fprintf(&text, "r%02d r%02d#%d %g %.6f %.6f\n", r, r, k, x, y+rng.NormFloat64(), y+rng.NormFloat64())
		}
	}

	return Table(text.String())
}

// Experiment is an experiment of a test with what the stages before left.
type Experiment struct {
	plan.Experiment
	Ing  ingeststage.Result
	Trip dspstage.Result
}

// New returns the experiment "x" in a folder of its own. Its
// triplets are tab, without which it has none; its conditions are the columns that
// are no outcome. train is the section of that name, as YAML in one line, which is
// line 6 of the file. The triplets come from the task x/triplets, the results of
// reading from x/ingest.
func New(tb testing.TB, train string, tab *table.Table) *Experiment {
	tb.Helper()
	dir := tb.TempDir()
	text := "version: 1\nexperiments:\n  x:\n" +
		"    ingest: {table: {file: pairs.csv, inputs: [x], y1: [y_1], y2: [y_2]}}\n    dsp: {}\n    train: " + train + "\n"
	f, err := config.Parse(filepath.Join(dir, "pipeline.yaml"), []byte(text))
	must.Do(tb, err)

	tasks := plan.NewTasks(&engine.Plan{
		Dir: filepath.Join(dir, "runs"), Stages: []string{"ingest", "dsp", "train", "report"},
	})
	e := &Experiment{Experiment: plan.NewExperiment(f, 0, plan.Program{Version: "test", Kernels: "portable"}, tasks)}
	e.Ing.PairKind = e.Ingest.Table.Pairs
	if tab == nil {
		return e
	}

	for _, c := range tab.Columns {
		if c.Floats != nil && !strings.HasSuffix(c.Name, "_1") && !strings.HasSuffix(c.Name, "_2") {
			e.Ing.Conditions = append(e.Ing.Conditions, c.Name)
		}
	}

	e.Ing.Results = []engine.Dep{e.Output("ingest", "ingest", "recordings.json", JSON("{}"))}
	e.Trip.Triplets = e.Output("triplets", "dsp", "triplets.arrow", Arrow(tab))
	e.Trip.Notes = engine.Dep{Task: e.Trip.Triplets.Task, Output: dspstage.NotesJSON}
	t := tasks.Plan.Tasks[len(tasks.Plan.Tasks)-1]
	write := t.Run
	t.Run = func(ctx context.Context, j *engine.Job) error {
		if err := os.WriteFile(j.Output(dspstage.NotesJSON), []byte("[]"), 0o644); err != nil {
			return err
		}
		return write(ctx, j)
	}

	return e
}

// Content writes the output of a stand-in; digest is "" where it is that of the
// file.
type Content func(path string) (digest string, err error)

// Arrow writes a table.
func Arrow(t *table.Table) Content { return t.WriteFile }

// JSON writes text.
func JSON(text string) Content {
	return func(path string) (string, error) { return "", os.WriteFile(path, []byte(text), 0o644) }
}

// Output adds a task of that name to the experiment, which publishes one output.
func (e *Experiment) Output(name, stage, output string, write Content) engine.Dep {
	t := e.Add(&engine.Task{
		ID: e.ID(name), Stage: stage, Publish: []engine.Link{{Output: output, Path: e.Published(stage, output)}},
		Run: func(_ context.Context, j *engine.Job) error {
			digest, err := write(j.Output(output))
			if digest != "" {
				j.SetDigest(output, digest)
			}

			return err
		},
	})

	return engine.Dep{Task: t.ID, Output: output}
}

// Run makes the tasks of the experiment and returns a function that gives the path of an
// output. observe may be nil.
func (e *Experiment) Run(ctx context.Context, observe func(engine.Event)) (func(task, output string) string, error) {
	r, err := engine.Run(ctx, e.Tasks.Plan, engine.Options{Jobs: 2, Program: "test", Observe: observe})
	if err != nil {
		return nil, err
	}

	return func(task, output string) string {
		path, ok := r.Output(task, output)
		if !ok {
			panic(fmt.Sprintf("stagetest: no output %s of %s", output, task))
		}

		return path
	}, nil
}

// Read reads a table, or ends the test.
func Read(tb testing.TB, path string) *table.Table {
	tb.Helper()

	t, err := table.Read(path)
	must.Do(tb, err)

	return t
}

// Floats returns a column of numbers, or ends the test.
func Floats(tb testing.TB, t *table.Table, name string) []float64 {
	tb.Helper()

	v, err := t.Floats(name)
	must.Do(tb, err)

	return v
}

// Keys returns the key of each task as text: all that its result
// depends on but for the inputs from other tasks.
func (e *Experiment) Keys() map[string]string {
	out := map[string]string{}
	for _, t := range e.Tasks.Plan.Tasks {
		out[t.ID] = fmt.Sprint(t.Stage, t.Version, t.Config, t.Local, t.Files, t.Deps)
	}

	return out
}
