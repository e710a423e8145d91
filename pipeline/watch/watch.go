// Package watch shows the state of a work directory to people: how far a run is, what
// is made where, what failed, how the losses fall, and the verdicts and the report
// when they are there. It reads only what processes leave in the work directory, so it
// works for any executor, on any machine that sees the directory, and after the run.
//
// A Watcher follows a work directory, Page writes its state as one file, and a Server
// shows it live. Nothing here writes to the work directory, and no request names a
// file.
package watch

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doubletake/pipeline/engine"
)

// Watcher follows a work directory. Its methods are called by one goroutine at a time.
type Watcher struct {
	dir string

	sources map[string]*source
	tasks   map[string]*task
	order   []*task        // as they became known
	stages  []string       // in order
	before  map[string]int // tasks of a stage that were up to date before the run
	left    *engine.Estimate
	end     *engine.Line // of the driver

	curves   map[curveID]*curve
	drawn    map[split]drawn // figures, until a curve of theirs changes
	scanned  time.Time       // when published results were looked for
	finished int             // tasks of train and report that had ended then
	verdicts map[string]*verdicts
	report   time.Time // of the page, zero without one
}

// New returns a watcher of a work directory, which need not exist yet.
func New(dir string) *Watcher {
	w := &Watcher{dir: dir, curves: map[curveID]*curve{}, drawn: map[split]drawn{}, verdicts: map[string]*verdicts{}}
	w.reset()
	return w
}

func (w *Watcher) reset() {
	w.sources, w.tasks, w.order = map[string]*source{}, map[string]*task{}, nil
	w.stages, w.before, w.left, w.end = nil, map[string]int{}, engine.NewEstimate(0), nil
	for _, c := range w.curves {
		c.task = nil
	}
}

// source is a journal: one process.
type source struct {
	info   os.FileInfo
	offset int64
	rest   []byte      // a line that is not whole yet
	head   engine.Line // "run"
	ended  bool
	alive  time.Time // when the file's time was last seen to be young, by this machine's clock
}

// silent reports whether the process has ended without a word.
func (s *source) silent(now time.Time) bool {
	return !s.ended && now.Sub(s.alive) > engine.JournalSilent
}

// task is one task of the run.
type task struct {
	of        *source
	task      *engine.Task
	state     string // "", "start", "done", "failed"
	ran       bool
	began     time.Time
	ended     time.Time
	seconds   float64
	key       string
	where     string
	since     time.Time
	note      string
	text, log string // of a failure
	training  *curve
}

// stage is the count of a stage's tasks.
type stage struct {
	tasks, running, made, found, failed int
	recent                              int       // made in the last minute
	seconds                             float64   // of tasks that were made
	first, last                         time.Time // start, end of tasks that were made
}

// counts counts the tasks of every stage.
func (w *Watcher) counts(now time.Time) map[string]*stage {
	out := map[string]*stage{}
	for _, name := range w.stages {
		out[name] = &stage{tasks: w.before[name], found: w.before[name]}
	}

	for _, t := range w.order {
		st := out[t.task.Stage]
		st.tasks++

		if !t.began.IsZero() && (st.first.IsZero() || t.began.Before(st.first)) {
			st.first = t.began
		}

		switch {
		case t.state == "start":
			st.running++
		case t.state == "failed":
			st.failed++
		case t.state == "done" && !t.ran:
			st.found++
		case t.state == "done":
			st.made++

			st.seconds += t.seconds
			if t.ended.After(st.last) {
				st.last = t.ended
			}

			if now.Sub(t.ended) < time.Minute {
				st.recent++
			}
		}
	}

	return out
}

// Refresh reads what is new.
func (w *Watcher) Refresh(now time.Time) {
	names, _ := filepath.Glob(filepath.Join(w.dir, engine.JournalDir, "*.jsonl"))
	for again := true; again; {
		again = false
		for _, path := range names {
			if w.follow(path, now) {
				w.reset()
				again = true
				break
			}
		}
	}

	w.refreshCurves(now)
	w.refreshResults()
}

// follow reads the new lines of a journal. It reports whether the file is another one
// than before, so that all must be read again.
func (w *Watcher) follow(path string, now time.Time) (replaced bool) {
	f, err := engine.OpenOwn(path)
	if err != nil {
		return false
	}
	defer f.Close()

	info, err := f.Stat()
	if err != nil {
		return false
	}

	s := w.sources[path]
	switch {
	case s == nil:
		s = &source{alive: info.ModTime()}
		if s.alive.After(now) { // by another clock
			s.alive = now
		}

		w.sources[path] = s

	case !os.SameFile(info, s.info) || info.Size() < s.offset:
		return true
	case info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.offset:
		return false
	default:
		s.alive = now // it changed since the last look
	}

	s.info = info
	if _, err := f.Seek(s.offset, io.SeekStart); err != nil {
		return false
	}

	r := bufio.NewReaderSize(io.LimitReader(f, info.Size()-s.offset), 64<<10)
	for {
		b, err := r.ReadBytes('\n')
		s.offset += int64(len(b))
		if err != nil {
			s.rest = append(s.rest, b...)
			return false
		}

		if len(s.rest) > 0 {
			b = append(s.rest, b...)
			s.rest = nil
		}

		var l engine.Line
		if json.Unmarshal(bytes.TrimSpace(b), &l) == nil { // else cut by a kill
			w.line(s, &l)
		}
	}
}

// line takes in a line of a journal.
func (w *Watcher) line(s *source, l *engine.Line) {
	switch l.Event {
	case "run":
		s.head = *l

		if l.Stages != nil {
			w.left = engine.NewEstimate(l.Jobs)
		}

		for _, x := range l.Stages {
			w.stage(x.Stage)
			w.before[x.Stage] = x.Cached
		}

		return

	case "end":
		s.ended = true
		if s.head.Stages != nil {
			w.end = l
		}

		for _, t := range w.order {
			if t.of == s && t.state == "start" {
				t.state = ""
			}
		}

		return

	case "task":
		w.plan(s, l)
		return
	}

	t := w.tasks[l.Task]
	if t == nil {
		return
	}

	if l.Event == "note" {
		t.note = l.Text
		return
	}

	w.left.Observe(engine.Event{Kind: l.Event, Task: t.task, Ran: l.Ran, Seconds: l.Seconds}, l.Time)

	switch l.Event {
	case "start":
		t.key, t.where, t.since, t.began = l.Key, cmp.Or(l.Where, s.head.Host), l.Time, l.Time
	case "done":
		t.ran, t.seconds, t.ended = l.Ran, l.Seconds, l.Time
	case "failed":
		t.text, t.log, t.since = l.Text, l.Log, l.Time
	default:
		return
	}

	t.state = l.Event
}

// plan takes in a task that is to be made.
func (w *Watcher) plan(s *source, l *engine.Line) {
	w.stage(l.Stage)

	t := w.tasks[l.Task]
	if t == nil {
		t = &task{}
		w.tasks[l.Task] = t
		w.order = append(w.order, t)
	} // else made once before, by a process of its own

	*t = task{of: s, task: &engine.Task{
		ID: l.Task, Stage: l.Stage, Experiment: l.Experiment, Split: l.Split, Version: l.Version, Weight: l.Expect,
	}}
	if id, ok := trainingOf(l); ok {
		t.training = w.curve(id)
		t.training.task = t
	}

	w.left.Observe(engine.Event{Kind: "plan", Todo: []*engine.Task{t.task}, Expect: []float64{l.Expect}}, l.Time)
}

// stage notes that there is a stage of this name.
func (w *Watcher) stage(name string) {
	if !slices.Contains(w.stages, name) {
		w.stages = append(w.stages, name)
	}
}

// driver is the journal of the process that drives the run; nil without one.
func (w *Watcher) driver() *source {
	for _, s := range w.sources {
		if s.head.Stages != nil {
			return s
		}
	}

	return nil
}

// planned returns how many tasks the newest plan has, by stage and in all, where
// tasks are made alone; nothing where a driver states what it has to make.
func (w *Watcher) planned() (plan []engine.StageCount, tasks int) {
	if w.driver() != nil {
		return nil, 0
	}

	var newest time.Time
	for _, s := range w.sources {
		if s.head.Plan != nil && !s.head.Time.Before(newest) {
			newest, plan = s.head.Time, s.head.Plan
		}
	}

	for _, c := range plan {
		tasks += c.Tasks
	}

	return plan, tasks
}

// ended counts the tasks that have their result.
func (w *Watcher) ended() (n int) {
	for _, t := range w.order {
		if t.state == "done" {
			n++
		}
	}

	return n
}

// making lists the tasks being made, the longest at work first, and failures those
// that failed, in the order of the plan.
func (w *Watcher) making() (making, failures []*task) {
	for _, t := range w.order {
		switch t.state {
		case "start":
			making = append(making, t)
		case "failed":
			failures = append(failures, t)
		}
	}

	slices.SortStableFunc(making, func(a, b *task) int { return a.since.Compare(b.since) })

	return making, failures
}

// How much is shown of a failed task's log at most: bytes and lines.
const (
	logTail  = 4 << 10
	logLines = 20
)

// tail returns the end of a log below the work directory.
func (w *Watcher) tail(log string) string {
	if log == "" || !filepath.IsLocal(filepath.FromSlash(log)) {
		return ""
	}

	f, err := engine.OpenOwn(filepath.Join(w.dir, filepath.FromSlash(log)))
	if err != nil {
		return ""
	}
	defer f.Close()

	fi, err := f.Stat()
	if err != nil {
		return ""
	}

	b, err := io.ReadAll(io.LimitReader(io.NewSectionReader(f, max(0, fi.Size()-logTail), logTail), logTail))
	if err != nil {
		return ""
	}

	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(b), "�"), "\n"), "\n")
	if fi.Size() > logTail && len(lines) > 1 {
		lines = lines[1:] // the first is cut
	}

	return strings.Join(lines[max(0, len(lines)-logLines):], "\n")
}
