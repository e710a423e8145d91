package stages

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
)

// A new stage is one plan function and one line in the registry: the planner,
// partial runs and the cache know it without more.
func TestNewStage(t *testing.T) {
	defer func(was []stage) { registry = was }(registry)
	ran := 0
	count := func(b *plan.Builder) error {
		from := engine.Dep{Task: b.ID("triplets"), Output: "triplets.arrow"}
		b.Add(&engine.Task{
			ID: b.ID("count"), Stage: "count", Version: 1, Deps: []engine.Dep{from},
			Publish: []engine.Link{{Output: "count.txt", Path: b.Published("count.txt")}},
			Run: func(_ context.Context, j *engine.Job) error {
				ran++
				t, err := table.Read(j.Input(from.Task, from.Output))
				if err != nil {
					return err
				}
				return os.WriteFile(j.Output("count.txt"), []byte(strings.Repeat("x", t.Rows())), 0o644)
			},
		})
		return nil
	}
	at := slices.IndexFunc(registry, func(s stage) bool { return s.name == "train" })
	registry = slices.Insert(slices.Clone(registry), at, stage{"count", count})

	dir := t.TempDir()
	path := filepath.Join(dir, "pipeline.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nexperiments: {toy: {ingest: {simulate: {campaign: toy, triplets: "+
		"17}}}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	run := func(s engine.Selection) {
		t.Helper()
		p, _, err := Plan(f, plan.Program{Version: "test", Kernels: "portable"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Run(context.Background(), p, engine.Options{Selection: s}); err != nil {
			t.Fatal(err)
		}
	}
	run(engine.Selection{To: "count"})
	b, err := os.ReadFile(filepath.Join(dir, "runs", "toy", "count.txt"))
	if err != nil || len(b) != 17 || ran != 1 {
		t.Errorf("%v, %d rows counted in %d runs, expected 17 in one", err, len(b), ran)
	}
	run(engine.Selection{Stages: []string{"count"}})
	if ran != 1 {
		t.Errorf("up to date, yet it ran again")
	}
	run(engine.Selection{Stages: []string{"count"}, Force: true})
	if ran != 2 {
		t.Errorf("forced, yet it did not run")
	}
}
