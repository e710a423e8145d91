package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// Executor is a place where the tasks of a run are made: this process (Local), or
// worker processes on any machine that sees the work directory. The runner decides
// which tasks are ready and in which order they are passed on; the executor decides when and where they are made.
// A task has succeeded if and only if its object is in the store.
type Executor interface {
	// Open is called once, with the lock of the work directory held, before the
	// first task. The session is valid until Close.
	Open(ctx context.Context, session *Session) error
	// Limit returns the number of tasks that the executor takes in hand at a time. 0 means all that are ready.
	Limit() int
	// Do makes a task. It returns nil when the task's result is sealed, and an error when it is certain that the result
	// will not be sealed. After ctx ends it returns soon. For each task in hand, which means that Do has not returned, one
	// goroutine calls Do. ErrNotStarted means that nobody makes the task, which is not a failure of the task.
	Do(ctx context.Context, work *Work) error
	// Drain is called when a task has failed and the run is to end: tasks that have not
	// begun need not begin, tasks that have begun may finish.
	Drain()
	// Close is called when no task is in hand.
	Close() error
}

// ErrNotStarted is returned by an executor for a task that it never began,
// because the run ends.
var ErrNotStarted = errors.New("not started")

// Session is the run for which an executor works.
type Session struct{ Dir string } // the work directory

// Work is one task that is ready: its inputs exist, and its result is to be made.
type Work struct {
	Task   *Task
	Key    string  // of the result
	Expect float64 // seconds that the task is expected to take

	status   *Status
	statuses map[string]*Status // of the tasks whose outputs it takes, by task
	runner   *runner
	record   *record // set by Make; nil if another process made the result
	started  bool    // the observer was told that the task is being made
}

// Make makes the result in this process. It returns nil also if another process was first.
func (w *Work) Make(ctx context.Context) error {
	w.Started("")

	var err error
	w.record, err = w.runner.make(ctx, w)

	return err
}

// Started tells the run's observer that the task is being made. where is the name of a node,
// or "" for this process. Further calls do nothing.
func (w *Work) Started(where string) {
	w.runner.mu.Lock()
	defer w.runner.mu.Unlock()

	if !w.started {
		w.started = true
		w.runner.observe(Event{Kind: "start", Task: w.Task, Where: where})
	}
}

// Note sends the run's observer a note about the task.
func (w *Work) Note(text string) {
	w.runner.mu.Lock()
	defer w.runner.mu.Unlock()
	w.runner.observe(Event{Kind: "note", Task: w.Task, Note: text})
}

// Sealed reports whether the result is in the store.
func (w *Work) Sealed() bool { return w.runner.store.sealed(w.Key) }

// Clear removes the object of the result if the run is forced to make it again, so that
// a worker's result can have its name. If the task was not up to date, Clear does nothing: another task
// with the same key may just have made the object.
func (w *Work) Clear() error {
	if w.status.State != UpToDate {
		return nil
	}
	return w.runner.discard(w.Key)
}

// Spec describes a task to a worker process, which then needs to read only
// the task's inputs.
type Spec struct {
	Task    string   `json:"task"`
	Key     string   `json:"key"`               // of the result
	Inputs  []input  `json:"inputs,omitempty"`  // outputs of other tasks, in the order of Task.Deps
	Objects []string `json:"objects,omitempty"` // for each of Inputs the key of the object that has it
}

// Spec returns the task's description for a worker process.
func (w *Work) Spec() Spec {
	spec := Spec{Task: w.Task.ID, Key: w.Key, Inputs: w.Task.inputs(w.status.digests)[len(w.Task.Files):]}
	for _, dep := range w.Task.Deps {
		spec.Objects = append(spec.Objects, w.statuses[dep.Task].record.Key)
	}

	return spec
}

// Refresh reads the folder in which the object appears. Network file
// systems remember for a while that a file did not exist; after its folder was read
// they ask again.
func (w *Work) Refresh() { _, _ = os.ReadDir(filepath.Dir(w.runner.store.object(w.Key))) }

// Local makes tasks in this process, Jobs at a time.
type Local struct{ Jobs int }

// Open does nothing.
func (l Local) Open(context.Context, *Session) error { return nil }

// Limit returns Jobs, but at least 1.
func (l Local) Limit() int { return max(l.Jobs, 1) }

// Do makes the task.
func (l Local) Do(ctx context.Context, work *Work) error { return work.Make(ctx) }

// Drain does nothing: nothing waits here.
func (l Local) Drain() {}

// Close does nothing.
func (l Local) Close() error { return nil }
