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

// A run that lasts writes progress.html while its task is at work, and once more at
// its end; a short run leaves none.
func TestProgressPage(t *testing.T) {
	defer func(d time.Duration) { progressEvery = d }(progressEvery)
	progressEvery = 50 * time.Millisecond
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
		end := time.Now().Add(time.Minute)
		for ; !strings.Contains(page(), "a/slow &amp; long"); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return errors.New("there is no page of this task")
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
