package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"doubletake/internal/kv"
	"doubletake/internal/testfile"
	"doubletake/pipeline/engine"
	"github.com/stretchr/testify/require"
)

// stub is a project whose tasks do nothing, run by the real engine. A task ends when the test sends to its gate nil, or
// the error with which it fails.
type stub struct {
	t     *testing.T
	dir   string
	plan  *engine.Plan
	gates map[string]chan error // by ID of the task
	over  chan error            // receives the error of the run when the run is over
	stop  context.CancelFunc    // interrupts the run
}

// newStub plans three recordings, two trainings of a split and the report.
func newStub(t *testing.T) *stub {
	t.Helper()
	s := &stub{
		t: t, dir: filepath.Join(t.TempDir(), "runs"), gates: map[string]chan error{},
		over: make(chan error, 1),
	}

	s.plan = &engine.Plan{Dir: s.dir, Stages: []string{"ingest", "train", "report"}}

	none := func(*engine.Job) error { return nil }

	var files []engine.Dep
	for _, n := range []string{"a.wav", "b.wav", "c.wav"} {
		id := "e/ingest/" + n
		s.add(&engine.Task{ID: id, Stage: "ingest", Experiment: "e"}, none)

		if n != "c.wav" { // c may fail without holding up the trainings
			files = append(files, engine.Dep{Task: id, Output: "out"})
		}
	}

	var models []engine.Dep
	for k := range 2 {
		seed := "seed-" + strconv.Itoa(k)
		id := "e/train/low/" + seed
		s.add(&engine.Task{ID: id, Stage: "train", Experiment: "e", Split: "low", Deps: files}, none)

		models = append(models, engine.Dep{Task: id, Output: "out"})
	}

	s.add(&engine.Task{ID: "e/report", Stage: "report", Experiment: "e", Deps: models}, none)

	s.add(&engine.Task{
		ID: "report", Stage: "report", Deps: []engine.Dep{{Task: "e/report", Output: "out"}},
		Publish: []engine.Link{{Output: "report.html", Path: "report.html"}},
	}, func(j *engine.Job) error {
		return os.WriteFile(j.Output("report.html"), []byte("<!DOCTYPE html><title>R</title><p id=r>the report</p>"), 0o644)
	})

	return s
}

// add adds a task that waits at its gate. If it does not fail there, it writes its output and calls end.
func (s *stub) add(t *engine.Task, end func(j *engine.Job) error) {
	gate := make(chan error, 1)
	s.gates[t.ID] = gate
	t.Local = []kv.Pair{{Key: "task", Value: t.ID}} // tasks of one content have one key
	t.Run = func(ctx context.Context, j *engine.Job) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-gate:
			if err == nil {
				err = errors.Join(os.WriteFile(j.Output("out"), []byte(t.ID), 0o644), end(j))
			}
			return err
		}
	}

	s.plan.Tasks = append(s.plan.Tasks, t)
}

// begin runs the tasks, three at a time.
func (s *stub) begin() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.t.Cleanup(func() {
		stop()
		<-s.over
	})

	go func() {
		_, err := engine.Run(ctx, s.plan, engine.Options{
			Jobs: 3, KeepGoing: true, Program: "test <1>",
			Observe: func(engine.Event) {},
		})

		s.over <- err
		close(s.over)
	}()
}

// loggedError is a failure with a log.
type loggedError struct{ text, path string }

func (e *loggedError) Error() string   { return e.text }
func (e *loggedError) LogPath() string { return e.path }

// failing writes a log of 1000 lines and returns an error that names it.
func (s *stub) failing() error {
	s.t.Helper()
	path := filepath.Join(s.dir, ".cache", "command", "parts", "b", "log")
	log := "first line\n" + strings.Repeat("line of the log\n", 1000) + "<script>last()</script> line\n"
	testfile.Write(s.t, path, log)

	return &loggedError{"the microphone fell <i>down</i>", path}
}

// until waits for a condition, for at most a minute.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()

	for end := time.Now().Add(60 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		require.False(t, time.Now().After(end), "after a minute: %s", what)
	}
}

// tree lists everything below a directory: names, sizes, times and contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		fi, err := d.Info()
		if err != nil {
			return err
		}

		fmt.Fprintf(&b, "%s %v %d %v", p, fi.Mode(), fi.Size(), fi.ModTime().UnixNano())

		if fi.Mode().IsRegular() {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}

			fmt.Fprintf(&b, " %x", text)
		}

		b.WriteByte('\n')

		return nil
	})
	require.NoError(t, err)

	return b.String()
}
