package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"doubletake/pipeline/kv"
)

// TestPublishFolder publishes outputs whose names are only known once the task
// ran: all below the folder appear below the path, nothing else does, and one
// that a reader deleted comes back.
func TestPublishFolder(t *testing.T) {
	dir := t.TempDir()
	p := &Plan{Dir: dir, Stages: []string{"draw"}, Tasks: []*Task{{
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

	for range 2 {
		if _, err := Run(context.Background(), p, Options{Jobs: 1}); err != nil {
			t.Fatal(err)
		}

		for n, want := range map[string]string{"one.svg": "1", "two.svg": "2"} {
			got, err := os.ReadFile(filepath.Join(dir, "a/report/figures", n))
			if err != nil || string(got) != want {
				t.Errorf("%s: %q, %v; want %q", n, got, err, want)
			}
		}

		list, err := os.ReadDir(filepath.Join(dir, "a/report/figures"))
		if err != nil || len(list) != 2 {
			t.Errorf("published %v, %v; want the two figures", list, err)
		}

		if err := os.Remove(filepath.Join(dir, "a/report/figures/one.svg")); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPublishTakesAway: what a folder no longer holds disappears from it with
// the next result, or when an earlier one comes back from the cache; a file that
// somebody else put there stays.
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

		if _, err := Run(context.Background(), p, Options{Jobs: 1}); err != nil {
			t.Fatal(err)
		}
	}

	holds := func(want ...string) {
		t.Helper()
		list, err := os.ReadDir(filepath.Join(dir, "figures"))

		var got []string
		for _, e := range list {
			got = append(got, e.Name())
		}

		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}

	run("a", "b", "c")

	if err := os.WriteFile(filepath.Join(dir, "figures", "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	holds("a", "b", "c", "mine")
	run("a", "d")
	holds("a", "d", "mine")
	run("a", "b", "c") // from the cache
	holds("a", "b", "c", "mine")
	run()
	holds("mine")
}
