package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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

// The test puts FIFOs, links and folders in the place of the index, the journal, a manifest, a result and the list of
// published files. A run follows no link, waits for no FIFO, and makes the files again. A NUL in the list does no harm.
func TestTampered(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o644))

	fifo := func(path string) error { return syscall.Mkfifo(path, 0o644) }
	link := func(path string) error { return os.Symlink(secret, path) }
	folder := func(path string) error { return os.MkdirAll(filepath.Join(path, "inner"), 0o755) }
	nul := func(path string) error { return os.WriteFile(path, []byte("a\x00b\none.svg\n../../gone"), 0o644) }

	for _, c := range []struct {
		what string
		glob string
		put  func(path string) error
	}{
		{"FIFO", ".cache/index", fifo},
		{"link", ".cache/index", link},
		{"FIFO", ".cache/*/run.jsonl", fifo},
		{"FIFO", ".cache/objects/*/*/manifest.json", fifo},
		{"link", ".cache/objects/*/*/manifest.json", link},
		{"FIFO", ".cache/objects/*/*/figures/one.svg", fifo},
		{"link", ".cache/objects/*/*/figures/one.svg", link},
		{"FIFO", ".cache/published/*", fifo},
		{"link", ".cache/published/*", link},
		{"NUL", ".cache/published/*", nul},
		{"folder", ".cache/index", folder},
		{"folder", ".cache/*/run.jsonl", folder},
		{"folder", ".cache/objects/*/*/manifest.json", folder},
		{"folder", ".cache/objects/*/*/figures/one.svg", folder},
		{"folder", ".cache/published/*", folder},
		{"file", ".cache/objects", nul},
		{"file", ".cache/objects/*", nul},
		{"file", ".cache/objects/*/*", nul},
		{"file", ".cache/published", nul},
		{"file", ".cache/progress", nul},
		{"FIFO", "a/report/figures/one.svg", fifo},
		{"link", "a/report/figures/one.svg", link},
	} {
		dir := t.TempDir()
		run := func() {
			done := make(chan error, 1)
			go func() {
				_, err := Run(context.Background(), figures(dir), Options{Jobs: 1})
				done <- err
			}()

			select {
			case err := <-done:
				assert.NoError(t, err, "%s at %s", c.what, c.glob)

			case <-time.After(30 * time.Second):
				t.Fatalf("%s at %s: the run waits", c.what, c.glob)
			}
		}

		run()

		paths, err := filepath.Glob(filepath.Join(dir, c.glob))
		require.NoError(t, err, c.glob)
		require.NotEmpty(t, paths, c.glob)

		for _, path := range paths {
			require.NoError(t, errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.RemoveAll(path), c.put(path)))
		}

		run()

		_, err = Own(filepath.Join(dir, "a/report/figures/one.svg"))
		assert.NoError(t, err, "%s at %s", c.what, c.glob)

		b, err := os.ReadFile(filepath.Join(dir, "a/report/figures/one.svg"))
		require.NoError(t, err, "%s at %s", c.what, c.glob)
		assert.Equal(t, "1", string(b), "%s at %s", c.what, c.glob)

		b, err = os.ReadFile(secret)
		require.NoError(t, err, "%s at %s", c.what, c.glob)
		assert.Equal(t, "secret", string(b), "%s at %s", c.what, c.glob)
	}
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
