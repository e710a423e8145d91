// Package watch shows the state of a work directory to people: how far a run is, what
// is made where, what failed, and the report when it is there. It reads only what
// the driver of the run and the tasks leave in the work directory, so it works for any executor, on any machine
// that sees the directory, and after the run.
//
// A Watcher reads the journal of a work directory, Page writes its state as one file that browsers
// read anew, and a Server sends that file. Nothing here writes to the work directory,
// and no request names a file.
package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"doubletake/internal/lists"
	"doubletake/pipeline/engine"
)

// Watcher looks at a work directory. Its methods are called by one goroutine at a time.
type Watcher struct {
	dir     string
	changed time.Time // of the journal, by the clock of its file system
	alive   time.Time // when it last changed, by this machine's clock
}

// New returns a watcher of a work directory, which need not exist yet.
func New(dir string) *Watcher { return &Watcher{dir: dir} }

// run is what a journal has of the process that drives a run.
type run struct {
	head   engine.Line  // "run"
	end    *engine.Line // nil while it drives
	stages []*stage     // in order
	tasks  []*task      // as they became known
	left   *engine.Estimate
	silent bool // the process has ended without a word
}

// stage is the count of a stage's tasks.
type stage struct {
	Name                                   string
	Tasks, Made, UpToDate, Running, Failed int
	seconds                                float64 // of tasks that were made
}

// Done counts the tasks that have results.
func (s *stage) Done() int { return s.Made + s.UpToDate }

// Percent is the share of them.
func (s *stage) Percent() int { return 100 * s.Done() / max(1, s.Tasks) }

// Waiting counts the tasks that nobody has begun.
func (s *stage) Waiting() int { return max(0, s.Tasks-s.Done()-s.Running-s.Failed) }

// Mean is the mean time of a task in words, "" without one.
func (s *stage) Mean() string {
	mean := s.seconds / float64(s.Made)
	switch {
	case s.Made == 0:
		return ""
	case mean < 10:
		return fmt.Sprintf("%.2g s", mean)
	}

	return Words(time.Duration(mean * float64(time.Second)))
}

// task is one task of the run.
type task struct {
	*engine.Task
	state                  string // "", "start", "done", "failed"
	ran                    bool
	seconds                float64
	since                  time.Time
	Where, Note, Text, Log string // Text and Log of a failure
}

// Since is when it began or failed.
func (t *task) Since() string { return t.since.Local().Format(time.DateTime) }

// read reads the journal, which may have been cut by a kill.
func (w *Watcher) read(now time.Time) *run {
	r := &run{left: engine.NewEstimate(0)}

	f, err := engine.OpenOwn(filepath.Join(w.dir, engine.Journal))
	if err != nil {
		return r
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return r
	}

	if at := info.ModTime(); !at.Equal(w.changed) {
		if w.alive = now; w.changed.IsZero() && at.Before(now) { // the first look
			w.alive = at
		}

		w.changed = at
	}

	text, _ := io.ReadAll(io.LimitReader(f, info.Size())) // what could be read is shown

	known := map[string]*task{}
	for b := range bytes.Lines(text) {
		var l engine.Line
		if json.Unmarshal(b, &l) == nil {
			r.line(&l, known)
		}
	}

	r.silent = r.end == nil && now.Sub(w.alive) > engine.JournalSilent
	r.count()

	return r
}

// line takes in a line of a journal.
func (r *run) line(l *engine.Line, known map[string]*task) {
	switch l.Event {
	case "run":
		r.head, r.left = *l, engine.NewEstimate(l.Jobs)
		for _, x := range l.Stages {
			st := r.stage(x.Stage)
			st.Tasks, st.UpToDate = x.Cached, x.Cached
		}
	case "end":
		r.end = l
	case "task":
		t := &task{Task: &engine.Task{
			ID: l.Task, Stage: l.Stage, Experiment: l.Experiment, Split: l.Split, Version: l.Version, Weight: l.Expect,
		}}
		known[l.Task], r.tasks = t, append(r.tasks, t)
		r.left.Observe(engine.Event{Kind: "plan", Todo: []*engine.Task{t.Task}, Expect: []float64{l.Expect}}, l.Time)
	default:
		if t := known[l.Task]; t != nil {
			t.line(l)
			r.left.Observe(engine.Event{Kind: l.Event, Task: t.Task, Ran: l.Ran, Seconds: l.Seconds}, l.Time)
		}
	}
}

// line takes in a line about the task.
func (t *task) line(l *engine.Line) {
	switch l.Event {
	case "note":
		t.Note = l.Text
		return
	case "start":
		t.Where, t.since = l.Where, l.Time
	case "done":
		t.ran, t.seconds = l.Ran, l.Seconds
	case "failed":
		t.Text, t.Log, t.since = l.Text, l.Log, l.Time
	default:
		return
	}

	t.state = l.Event
}

// stage returns the stage of a name.
func (r *run) stage(name string) *stage {
	i := slices.IndexFunc(r.stages, func(s *stage) bool { return s.Name == name })
	if i < 0 {
		i, r.stages = len(r.stages), append(r.stages, &stage{Name: name})
	}

	return r.stages[i]
}

// count counts the tasks of every stage. After the end none is at work.
func (r *run) count() {
	for _, t := range r.tasks {
		t.Where = cmp.Or(t.Where, r.head.Host)
		if t.state == "start" && r.end != nil {
			t.state = ""
		}

		st := r.stage(t.Stage)
		st.Tasks++

		switch {
		case t.state == "start":
			st.Running++
		case t.state == "failed":
			st.Failed++
		case t.state == "done" && !t.ran:
			st.UpToDate++
		case t.state == "done":
			st.Made, st.seconds = st.Made+1, st.seconds+t.seconds
		}
	}
}

// in lists the tasks of a state.
func (r *run) in(state string) []*task {
	return lists.Keep(r.tasks, func(t *task) bool { return t.state == state })
}
