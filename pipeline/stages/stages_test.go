package stages

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A new stage needs tasks and a name among the stages. The planner, partial runs and the cache then know it: it runs
// with the stages before it, is up to date in the next run, and runs again if it is forced.
func TestNewStage(t *testing.T) {
	ran := 0
	count := func(exp plan.Experiment, from engine.Dep) {
		exp.Add(&engine.Task{
			ID: exp.ID("count"), Stage: "count", Version: 1, Deps: []engine.Dep{from},
			Publish: []engine.Link{{Output: "count.txt", Path: exp.Published("count", "count.txt")}},
			Run: func(_ context.Context, j *engine.Job) error {
				ran++

				t, err := table.Read(j.Input(from.Task, from.Output))
				if err != nil {
					return err
				}

				return os.WriteFile(j.Output("count.txt"), []byte(strings.Repeat("x", t.Rows())), 0o644)
			},
		})
	}

	dir := t.TempDir()
	path := filepath.Join(dir, "pipeline.yaml")
	const text = "version: 1\nexperiments: {toy: {ingest: {simulate: {campaign: toy, triplets: 17}}}}\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))

	f, err := config.Load(path)
	require.NoError(t, err)

	run := func(s engine.Selection) {
		t.Helper()

		p, err := Plan(f, plan.Program{Version: "test", Kernels: "portable"}, nil)
		require.NoError(t, err)

		count(p.experiments[0].Experiment, p.experiments[0].trip.Triplets)

		p.Plan.Stages = slices.Insert(Names(), slices.Index(stageNames, "train"), "count")
		_, err = engine.Run(context.Background(), p.Plan, engine.Options{Selection: s})
		require.NoError(t, err)
	}

	run(engine.Selection{To: "count"})

	b, err := os.ReadFile(filepath.Join(dir, "runs", "toy", "count.txt"))
	require.NoError(t, err)
	require.Len(t, b, 17, "a letter for each of the 17 triplets")
	assert.Equal(t, 1, ran, "first run")

	run(engine.Selection{Stages: []string{"count"}})

	assert.Equal(t, 1, ran, "the stage is up to date")

	run(engine.Selection{Stages: []string{"count"}, Force: true})

	assert.Equal(t, 2, ran, "the stage is forced to run")
}
