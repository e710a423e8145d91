package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
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
