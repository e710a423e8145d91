package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/internal/kv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPublishFolder publishes outputs whose names are only known once the task
// ran: all below the folder appear below the path, nothing else does, and one
// that a reader deleted comes back.
func TestPublishFolder(t *testing.T) {
	dir := t.TempDir()
	p := figures(dir)

	for range 2 {
		_, err := Run(context.Background(), p, Options{Jobs: 1})
		require.NoError(t, err)

		for n, want := range map[string]string{"one.svg": "1", "two.svg": "2"} {
			got, err := os.ReadFile(filepath.Join(dir, "a/report/figures", n))
			require.NoError(t, err, "%s", n)
			assert.Equal(t, want, string(got), "%s", n)
		}

		list, err := os.ReadDir(filepath.Join(dir, "a/report/figures"))
		require.NoError(t, err)
		assert.Len(t, list, 2)

		require.NoError(t, os.Remove(filepath.Join(dir, "a/report/figures/one.svg")))
	}
}

// A file that a new result no longer has disappears from the published folder, also if the result is an earlier one
// from the cache. A file that somebody else put there stays.
func TestPublishTakesAway(t *testing.T) {
	dir := t.TempDir()
	run := func(names ...string) {
		t.Helper()
		p := &Plan{Dir: dir, Stages: []string{"draw"}, Tasks: []*Task{{
			ID: "draw", Stage: "draw", Version: 1, Local: []kv.Pair{{Key: "names", Value: strings.Join(names, ",")}},
			Publish: []Link{{"figures/", "figures"}},
			Run: func(_ context.Context, j *Job) error {
				err := os.MkdirAll(j.Output("figures"), 0o755)
				for _, n := range names {
					err = errors.Join(err, os.WriteFile(j.Output("figures/"+n), []byte(n), 0o644))
				}

				return err
			},
		}}}

		_, err := Run(context.Background(), p, Options{Jobs: 1})
		require.NoError(t, err)
	}

	holds := func(want ...string) {
		t.Helper()
		list, err := os.ReadDir(filepath.Join(dir, "figures"))
		require.NoError(t, err)

		var got []string
		for _, e := range list {
			got = append(got, e.Name())
		}

		assert.Equal(t, want, got)
	}

	run("a", "b", "c")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "figures", "mine"), nil, 0o644))

	holds("a", "b", "c", "mine")
	run("a", "d")
	holds("a", "d", "mine")
	run("a", "b", "c") // from the cache
	holds("a", "b", "c", "mine")
	run()
	holds("mine")
}

// runFigures runs the plan figures in a work directory. The run must succeed, and must not wait for a FIFO.
func runFigures(t *testing.T, dir string) {
	t.Helper()

	done := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), figures(dir), Options{Jobs: 1})
		done <- err
	}()

	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("the run waits")
	}
}

// assertContent asserts that a file has the wanted content.
func assertContent(t *testing.T, want, path string) {
	t.Helper()

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, want, string(content), path)
}

// figures is a plan of one task that publishes two files of a folder.
func figures(dir string) *Plan {
	return &Plan{Dir: dir, Stages: []string{"draw"}, Tasks: []*Task{{
		ID: "draw", Stage: "draw", Version: 1, Publish: []Link{{"figures/", "a/report/figures"}},
		Run: func(_ context.Context, j *Job) error {
			if err := os.MkdirAll(j.Output("figures"), 0o755); err != nil {
				return err
			}

			for n, s := range map[string]string{"figures/one.svg": "1", "figures/two.svg": "2", "aside": "3"} {
				if err := os.WriteFile(j.Output(n), []byte(s), 0o644); err != nil {
					return err
				}
			}

			return nil
		},
	}}}
}

// An experiment is renamed. Expected: the results of the old name stay, since another configuration may have made them;
// each run names their folder, and gc lists it and removes it.
func TestPublishRenamedExperiment(t *testing.T) {
	dir := t.TempDir()
	publishAs := func(experiment string) *Plan {
		return &Plan{Dir: dir, Stages: []string{"make"}, Tasks: []*Task{{
			ID: experiment + "/make", Stage: "make", Version: 1, Publish: []Link{{"x", experiment + "/x"}},
			Run: func(_ context.Context, j *Job) error { return os.WriteFile(j.Output("x"), []byte("1"), 0o600) },
		}}}
	}

	before, err := Run(context.Background(), publishAs("old"), Options{Jobs: 1})
	require.NoError(t, err)
	assert.Empty(t, before.Foreign)

	for range 2 {
		after, err := Run(context.Background(), publishAs("new"), Options{Jobs: 1})
		require.NoError(t, err)
		assert.Equal(t, []string{"old"}, after.Foreign)
	}

	listed, err := Collect(publishAs("new"), false)
	require.NoError(t, err)
	assert.Equal(t, "old/", listed[len(listed)-1].Task)
	assert.FileExists(t, filepath.Join(dir, "old", "x"))

	_, err = Collect(publishAs("new"), true)
	require.NoError(t, err)
	assert.NoDirExists(t, filepath.Join(dir, "old"))
	assert.FileExists(t, filepath.Join(dir, "new", "x"))

	last, err := Run(context.Background(), publishAs("new"), Options{Jobs: 1})
	require.NoError(t, err)
	assert.Empty(t, last.Foreign)
}
