// Package watch shows the state of a work directory to people: how far a run is, which tasks run on which machines,
// which tasks failed, and the report once it exists. It reads only files in the work directory. So it works with any
// executor, on any machine that sees the directory, and after the run.
//
// A Watcher reads the journal of a work directory and returns its state as a page, which browsers load again and again.
// A Server sends the page. Nothing here writes to the work directory, and no request names a file.
package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"path/filepath"
	"time"

	"doubletake/pipeline/engine"
)

// Watcher looks at a work directory. Only one goroutine at a time may call its methods.
type Watcher struct {
	dir     string
	changed time.Time // when the journal last changed, by the clock of its file system

	// alive is when the last sign of life was seen, by this machine's clock. At the first look it is the time of the last
	// change of the journal.
	alive time.Time
}

// New returns a watcher of a work directory, which need not exist yet.
func New(dir string) *Watcher { return &Watcher{dir: dir} }

// run is a run as its journal shows it.
type run struct {
	head     engine.Line  // the line "run", with which the journal begins; zero without a journal
	end      *engine.Line // the line "end"; nil while the run goes on
	stages   []*stage     // in the order of the data flow
	tasks    []*task      // in the order of the journal
	estimate *engine.Estimate
	silent   bool // the run goes on, but has given no sign of life for long
}

// stage counts the tasks of a stage.
type stage struct {
	Name     string
	Tasks    int // all tasks
	Made     int // tasks whose results this run made
	UpToDate int // tasks whose results were there
	Running  int // tasks at work
	Failed   int // tasks that failed

	seconds float64 // seconds that the tasks of Made took
}

// Done returns the number of tasks that have results.
func (s *stage) Done() int { return s.Made + s.UpToDate }

// Percent returns the share of tasks that have results, in per cent.
func (s *stage) Percent() int { return 100 * s.Done() / max(1, s.Tasks) }

// percent returns the share of the tasks of all stages that have results, in per cent.
func (r *run) percent() int {
	var all stage
	for _, part := range r.stages {
		all.Tasks += part.Tasks
		all.Made += part.Made
		all.UpToDate += part.UpToDate
	}

	return all.Percent()
}

// Waiting returns the number of tasks that have not begun.
func (s *stage) Waiting() int { return max(0, s.Tasks-s.Done()-s.Running-s.Failed) }

// Mean returns the mean time of a task that was made, as a text. It returns "" if none was made.
func (s *stage) Mean() string {
	if s.Made == 0 {
		return ""
	}
	return Seconds(s.seconds / float64(s.Made))
}

// task is a task of the run.
type task struct {
	*engine.Task
	Where string // the machine that makes it
	Note  string // the last note about it
	Text  string // of its failure
	Log   string // path of the log of its failure, relative to the work directory; "" without one

	state   string    // "" if it has not begun; "start", "done", "failed" or "skipped"
	ran     bool      // it was made, rather than up to date
	seconds float64   // that it took
	since   time.Time // when it began or failed
}

// Since returns the time at which the task began or failed, as a text.
func (t *task) Since() string { return t.since.Local().Format(time.DateTime) }

// read returns the run as the journal shows it at the time now. A kill may have cut the journal: lines that cannot be
// read are skipped.
func (w *Watcher) read(now time.Time) *run {
	current := &run{estimate: engine.NewEstimate(0)}

	file, err := engine.OpenOwn(filepath.Join(w.dir, engine.Journal))
	if err != nil {
		return current
	}
	defer file.Close()

	info, err := file.Stat()
	if err != nil {
		return current
	}

	if modified := info.ModTime(); !modified.Equal(w.changed) {
		w.alive = now
		if w.changed.IsZero() && modified.Before(now) { // the first look: the journal may be old
			w.alive = modified
		}

		w.changed = modified
	}

	text, _ := io.ReadAll(io.LimitReader(file, info.Size())) // after an error the lines before it are shown

	known := map[string]*task{}
	for data := range bytes.Lines(text) {
		var line engine.Line
		if json.Unmarshal(data, &line) == nil {
			current.addLine(&line, known)
		}
	}

	current.silent = current.end == nil && now.Sub(w.alive) > engine.JournalSilent
	current.count()

	return current
}

// addLine adds the contents of a line of the journal. known are the tasks so far, by ID.
func (r *run) addLine(l *engine.Line, known map[string]*task) {
	switch l.Event {
	case "run":
		r.head = *l
		r.estimate = engine.NewEstimate(l.Jobs)
		for _, stage := range l.Stages {
			st := r.stage(stage.Stage)
			st.Tasks = stage.Cached
			st.UpToDate = stage.Cached
		}
	case "end":
		r.end = l
	case "task":
		t := &task{Task: &engine.Task{
			ID: l.Task, Stage: l.Stage, Experiment: l.Experiment, Split: l.Split, Version: l.Version, Weight: l.Expect,
		}}
		known[l.Task] = t
		r.tasks = append(r.tasks, t)
		r.estimate.Observe(engine.Event{Kind: "plan", Todo: []*engine.Task{t.Task}, Expect: []float64{l.Expect}}, l.Time)
	default:
		if task := known[l.Task]; task != nil {
			task.addLine(l)

			event := engine.Event{Kind: l.Event, Task: task.Task, Ran: l.Ran, Seconds: l.Seconds}
			for _, id := range l.Skipped {
				if skipped := known[id]; skipped != nil {
					event.Skipped = append(event.Skipped, skipped.Task)
				}
			}

			r.estimate.Observe(event, l.Time)
		}
	}
}

// addLine adds the contents of a line about the task.
func (t *task) addLine(l *engine.Line) {
	switch l.Event {
	case "note":
		t.Note = l.Text
		return
	case "start":
		t.Where = l.Where
		t.since = l.Time
	case "done":
		t.ran = l.Ran
		t.seconds = l.Seconds
	case "failed":
		t.Text = l.Text
		t.Log = l.Log
		t.since = l.Time
	case "skipped":
	default:
		return
	}

	t.state = l.Event
}

// stage returns the stage with a name, which it adds if it is new.
func (r *run) stage(name string) *stage {
	for _, known := range r.stages {
		if known.Name == name {
			return known
		}
	}

	added := &stage{Name: name}
	r.stages = append(r.stages, added)

	return added
}

// count counts the tasks of every stage. It also completes where tasks ran, and ends the tasks that were at work when
// the run ended.
func (r *run) count() {
	for _, task := range r.tasks {
		task.Where = cmp.Or(task.Where, r.head.Host)
		if task.state == "start" && r.end != nil {
			task.state = ""
		}

		st := r.stage(task.Stage)
		st.Tasks++

		switch {
		case task.state == "start":
			st.Running++
		case task.state == "failed":
			st.Failed++
		case task.state == "done" && !task.ran:
			st.UpToDate++
		case task.state == "done":
			st.Made++
			st.seconds += task.seconds
		}
	}
}

// tasksIn returns the tasks that are in a state.
func (r *run) tasksIn(state string) []*task {
	var list []*task
	for _, task := range r.tasks {
		if task.state == state {
			list = append(list, task)
		}
	}

	return list
}
