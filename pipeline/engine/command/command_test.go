package command_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/command"
)

// plan has two tasks.
func plan(dir string) *engine.Plan {
	p := &engine.Plan{Dir: filepath.Join(dir, "work"), Stages: []string{"make"}}
	for _, id := range []string{"a", "b"} {
		p.Tasks = append(p.Tasks, &engine.Task{ID: id, Stage: "make", Version: 1, Weight: 1})
	}

	return p
}

// A command that cannot submit is tried three times; its words are the error, once a task, and no task
// was attempted.
func TestLaunch(t *testing.T) {
	dir := t.TempDir()
	tried := filepath.Join(dir, "tried")

	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	refuse := filepath.Join(dir, "refuse")
	script := "#!/bin/sh\necho x >>" + tried + "\necho no such queue >&2\nexit 3\n"
	if err := os.WriteFile(refuse, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}

	x := command.New(command.Options{
		Command: []string{refuse, "-q", "long"}, Parts: 1, Binary: binary, Notify: func(string) {},
	})

	var notes []string

	observe := func(e engine.Event) {
		if e.Kind == "note" {
			notes = append(notes, e.Note)
		}
	}
	_, err = engine.Run(t.Context(), plan(dir), engine.Options{Executor: x, KeepGoing: true, Observe: observe})

	words := fmt.Sprintf("submit by %q: exit status 3: no such queue", refuse+" -q long")
	if err == nil || strings.Count(err.Error(), words) != 2 || len(notes) > 0 {
		t.Errorf("%v, %q", err, notes)
	}

	if b, _ := os.ReadFile(tried); len(b) != 3*2 {
		t.Errorf("the command was called %d times, expected 3", len(b)/2)
	}
}

// A status command that hangs, whose child holds its output open, does not stop the run.
func TestStatusHangs(t *testing.T) {
	t.Parallel()

	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var told string
	x := command.New(command.Options{
		Command: []string{"true"}, Status: []string{"sh", "-c", "echo queue closed; sleep 60 & wait"}, Parts: 1,
		Binary: binary, Grace: time.Millisecond, Notify: func(text string) { told += text; cancel() },
	})

	began := time.Now()
	_, err = engine.Run(ctx, plan(t.TempDir()), engine.Options{Executor: x})
	if took := time.Since(began); err == nil || !strings.Contains(told, "queue closed") || took > 30*time.Second {
		t.Errorf("after %s: %v, %q", took, err, told)
	}
}

// An executor makes the tasks of one run. A command that is not there is an error before anything
// is submitted.
func ExampleNew() {
	x := command.New(command.Options{Command: []string{"no-such-qsub"}, Parts: 16})
	err := x.Open(context.Background(), &engine.Session{Dir: "runs"})
	fmt.Println(strings.Split(err.Error(), ": ")[0])
	// Output: no-such-qsub, which submits jobs, is not here
}
