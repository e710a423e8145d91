package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// A run that lasts writes progress.html while its task is at work, never sooner than
// progressEvery after the last time, and once more at its end; a short run leaves none.
func TestProgressPage(t *testing.T) {
	defer func(d time.Duration) { progressEvery = d }(progressEvery)

	if progressEvery != 10*time.Second {
		t.Errorf("every %s, documented are 10 s", progressEvery)
	}

	progressEvery = 100 * time.Millisecond
	dir := t.TempDir()
	page := func() string {
		b, err := os.ReadFile(filepath.Join(dir, ProgressFile))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}

		return string(b)
	}

	task := &engine.Task{ID: "a/slow & long", Stage: "dsp", Experiment: "a"}
	task.Run = func(context.Context, *engine.Job) error {
		for !strings.Contains(page(), "a/slow &amp; long") {
			time.Sleep(10 * time.Millisecond)
		}

		var last time.Time
		for n := 0; n < 3; time.Sleep(10 * time.Millisecond) {
			fi, err := os.Stat(filepath.Join(dir, ProgressFile))
			if err != nil {
				return err
			}

			if at := fi.ModTime(); !at.Equal(last) {
				// 20 ms for the clock of the file system
				if at.Sub(last) < progressEvery-20*time.Millisecond {
					return errors.New("the page is renewed after " + at.Sub(last).String())
				}
				n, last = n+1, at
			}
		}

		return nil
	}

	p := &Project{File: &config.File{}, Plan: &engine.Plan{Dir: dir, Stages: []string{"dsp"}, Tasks: []*engine.Task{task}}}
	if _, err := p.Run(t.Context(), Options{Jobs: 1}); err != nil {
		t.Fatal(err)
	}

	if got := page(); !strings.Contains(got, ">Done<") || !strings.Contains(got, "At work: 0") {
		t.Errorf("the last page is not of the end: %.3000s", got)
	}

	progressEvery = time.Hour
	dir = t.TempDir()
	task.Run = func(context.Context, *engine.Job) error { return nil }

	p.Plan.Dir = dir
	if _, err := p.Run(t.Context(), Options{Jobs: 1}); err != nil {
		t.Fatal(err)
	}

	if got := page(); got != "" {
		t.Error("a short run leaves a page")
	}
}
