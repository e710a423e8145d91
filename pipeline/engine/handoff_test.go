package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"doubletake/internal/kv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// note is a value that counts how often it is freed.
type note struct {
	text  string
	freed *atomic.Int64
}

func (n note) Free() { n.freed.Add(1) }

// handoffWorld is a work directory and raw files, whose tasks pass notes to each other. For each raw file, the task
// "read" puts a note for the task "count" of the file. The task "join" reads the results of all tasks "count".
type handoffWorld struct {
	dir, raw string
	setting  string // of the tasks "count"
	spoil    func() // called between the two tasks of a file; nil: nothing happens
	fails    bool   // the tasks "read" fail

	mu    sync.Mutex // guards log and put
	log   []string   // what the tasks found
	put   int64      // number of notes that were put
	freed atomic.Int64
}

// newHandoffWorld returns a world of three raw files of 0, 1 and 2 bytes, named "0", "1" and "2".
func newHandoffWorld(t *testing.T) *handoffWorld {
	t.Helper()

	w := &handoffWorld{dir: t.TempDir(), raw: t.TempDir(), setting: "1"}
	for i := range 3 {
		w.writeFile(t, i, strings.Repeat("x", i))
	}

	return w
}

// writeFile writes a raw file.
func (w *handoffWorld) writeFile(t *testing.T, number int, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(w.raw, fmt.Sprint(number)), []byte(text), 0o644))
}

// plan returns the tasks of the first raw files.
func (w *handoffWorld) plan(files int) *Plan {
	p := &Plan{Dir: w.dir, Stages: []string{"read", "count", "join"}}

	join := &Task{ID: "join", Stage: "join", Run: func(_ context.Context, j *Job) error {
		return os.WriteFile(j.Output("out"), nil, 0o644)
	}}

	for i := range files {
		f := File{fmt.Sprint(i), filepath.Join(w.raw, fmt.Sprint(i))}
		toCount := NewHandoff[note]("count/" + f.Path)
		p.Tasks = append(p.Tasks, w.readTask(f, toCount), w.countTask(f, toCount))
		join.Deps = append(join.Deps, Dep{"count/" + f.Path, "out"})
	}

	p.Tasks = append(p.Tasks, join)

	return p
}

// readTask returns the task that reads a file and puts two notes for the task "count", of which the second replaces the
// first. It logs which tasks want a note from it: the task "count", the task "join" and the task itself.
func (w *handoffWorld) readTask(f File, toCount *Handoff[note]) *Task {
	id := "read/" + f.Path
	toJoin := NewHandoff[note]("join")
	toItself := NewHandoff[note](id)

	return &Task{ID: id, Stage: "read", Files: []File{f}, Weight: 1, Run: func(_ context.Context, j *Job) error {
		w.mu.Lock()
		defer w.mu.Unlock()

		w.log = append(w.log, fmt.Sprintf("read %s: wanted by count %v, join %v, itself %v", f.Path, toCount.Wanted(j),
			toJoin.Wanted(j), toItself.Wanted(j)))

		if toCount.Wanted(j) {
			w.put += 2
			toCount.Put(j, note{"replaced", &w.freed})
			toCount.Put(j, note{"left of " + f.Path, &w.freed})
		}

		if w.fails {
			return errors.New("spoilt")
		}

		return os.WriteFile(j.Output("out"), []byte(f.Path), 0o644)
	}}
}

// countTask returns the task that logs the note it finds, and writes the digest of the file.
func (w *handoffWorld) countTask(f File, toCount *Handoff[note]) *Task {
	return &Task{
		ID: "count/" + f.Path, Stage: "count", Files: []File{f}, Deps: []Dep{{"read/" + f.Path, "out"}}, Weight: 1,
		Config: []kv.Pair{{Key: "setting", Value: w.setting}},
		Run: func(_ context.Context, j *Job) error {
			w.mu.Lock()
			defer w.mu.Unlock()

			found, ok := toCount.Get(j)
			w.log = append(w.log, fmt.Sprintf("count %s: found %v %s", f.Path, ok, found.text))

			return os.WriteFile(j.Output("out"), []byte(j.FileDigest(f.Path)), 0o644)
		},
	}
}

// run runs the tasks of the first raw files and returns the log. It checks that every note that was put is freed once.
func (w *handoffWorld) run(t *testing.T, files int, o Options) string {
	t.Helper()

	w.log = nil
	o.Observe = func(e Event) {
		if w.spoil != nil && e.Kind == "done" && e.Task.Stage == "read" {
			w.spoil()
		}
	}

	_, err := Run(t.Context(), w.plan(files), o)
	require.Equal(t, w.fails, err != nil)
	assert.Equal(t, w.put, w.freed.Load(), "values that were freed")

	return strings.Join(append(w.log, ""), "; ")
}

// The lines that the tasks of a file log if a note is passed, and if none is.
func readWanted(i int) string {
	return fmt.Sprintf("read %d: wanted by count true, join false, itself false; ", i)
}

func countFound(i int) string { return fmt.Sprintf("count %d: found true left of %d; ", i, i) }

const (
	readNotWanted = "read 0: wanted by count false, join false, itself false; "
	countNotFound = "count 0: found false ; "
)

// A task gets the value that was passed to it only if it runs in this process right after the other task, must be made,
// and both tasks read the same file. The expected logs follow from the documentation of Handoff.
func TestHandoff(t *testing.T) {
	w := newHandoffWorld(t)
	assert.Equal(t, readWanted(0)+countFound(0)+readWanted(1)+countFound(1)+readWanted(2)+countFound(2),
		w.run(t, 3, Options{Jobs: 1}), "from nothing")

	w.setting = "2"
	assert.Equal(t, countNotFound, w.run(t, 1, Options{Jobs: 1}), "another setting: the first task is up to date")

	forced := Options{Jobs: 1, Selection: Selection{Force: true}}
	assert.Equal(t, readWanted(0)+countFound(0), w.run(t, 1, forced), "forced")

	// Only after the first task has run is it known whether the second must run.
	w.writeFile(t, 0, "other")
	assert.Equal(t, readNotWanted+countNotFound, w.run(t, 1, Options{Jobs: 1}), "another file")

	onlyFirst := Options{Jobs: 1, Selection: Selection{To: "read"}}
	assert.Equal(t, readNotWanted, newHandoffWorld(t).run(t, 1, onlyFirst), "only the first task")

	inOtherProcess := Options{Executor: &elsewhere{}}
	assert.Equal(t, readNotWanted+countNotFound, newHandoffWorld(t).run(t, 1, inOtherProcess), "in another process")
}

// A task does not get a value that was made of another content of the file.
func TestHandoffOfChangedFile(t *testing.T) {
	w := newHandoffWorld(t)
	w.spoil = func() { w.writeFile(t, 0, "changed in between") }
	assert.Equal(t, readWanted(0)+countNotFound, w.run(t, 1, Options{Jobs: 1}))
}

// A value that a failed task passed is freed, and the other task does not run.
func TestHandoffOfFailedTask(t *testing.T) {
	w := newHandoffWorld(t)
	w.fails = true
	assert.Equal(t, readWanted(0), w.run(t, 1, Options{Jobs: 1, KeepGoing: true}))
}
