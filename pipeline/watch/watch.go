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
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"doubletake/pipeline/engine"
)

// Watcher follows a work directory. Its methods are called by one goroutine at a time.
type Watcher struct {
	dir string

	sources map[string]*source
	tasks   map[string]*task
	order   []*task // as they became known
	stages  []string
	counts  map[string]*stage
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
	w.stages, w.counts, w.left, w.end = nil, map[string]*stage{}, engine.NewEstimate(0), nil
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
	key       string
	where     string
	since     time.Time
	note      string
	text, log string // of a failure
	training  *curve
}

// stage is the count of a stage's tasks.
type stage struct {
	name                         string
	tasks, before                int // all; up to date before the run
	running, made, found, failed int
	seconds                      float64     // of tasks that were made
	recent                       []time.Time // ends of tasks made in the last minute
	first, last                  time.Time   // start, end of a task that was made
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
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
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
			st := w.stage(x.Stage)
			st.before, st.tasks = x.Cached, st.tasks+x.Cached
		}
		return
	case "end":
		s.ended = true
		if s.head.Stages != nil {
			w.end = l
		}
		for _, t := range w.order {
			if t.of == s && t.state == "start" {
				w.stage(t.task.Stage).running--
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
	st := w.stage(t.task.Stage)
	e := engine.Event{Kind: l.Event, Task: t.task, Ran: l.Ran, Seconds: l.Seconds}
	if l.Event != "note" {
		w.left.Observe(e, l.Time)
	}
	was := t.state
	switch l.Event {
	case "start":
		t.state, t.key, t.where, t.since = "start", l.Key, l.Where, l.Time
		if t.where == "" {
			t.where = s.head.Host
		}
		if st.first.IsZero() {
			st.first = l.Time
		}
	case "note":
		t.note = l.Text
		return
	case "done":
		t.state, t.ran = "done", l.Ran
		if l.Ran {
			st.made++
			st.seconds += l.Seconds
			st.last = l.Time
			st.recent = append(st.recent, l.Time)
			cut := slices.IndexFunc(st.recent, func(x time.Time) bool { return l.Time.Sub(x) < time.Minute })
			st.recent = slices.Delete(st.recent, 0, max(cut, 0))
		} else {
			st.found++
		}
	case "failed":
		t.state, t.text, t.log, t.since = "failed", l.Text, l.Log, l.Time
		st.failed++
	}
	if was == "start" {
		st.running--
	}
	if t.state == "start" {
		st.running++
	}
}

// plan takes in a task that is to be made.
func (w *Watcher) plan(s *source, l *engine.Line) {
	st := w.stage(l.Stage)
	t := w.tasks[l.Task]
	if t == nil {
		st.tasks++
		t = &task{}
		w.tasks[l.Task] = t
		w.order = append(w.order, t)
	} else { // made once before, by a process of its own
		switch t.state {
		case "failed":
			st.failed--
		case "done":
			if t.ran {
				st.made--
			} else {
				st.found--
			}
		case "start":
			st.running--
		}
	}
	*t = task{of: s, task: &engine.Task{
		ID: l.Task, Stage: l.Stage, Experiment: l.Experiment, Split: l.Split, Version: l.Version, Weight: l.Expect,
	}}
	if id, ok := trainingOf(l); ok {
		t.training = w.curve(id)
		t.training.task = t
	}
	w.left.Observe(engine.Event{Kind: "plan", Todo: []*engine.Task{t.task}, Expect: []float64{l.Expect}}, l.Time)
}

func (w *Watcher) stage(name string) *stage {
	st := w.counts[name]
	if st == nil {
		st = &stage{name: name}
		w.counts[name] = st
		w.stages = append(w.stages, name)
	}
	return st
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
	for _, st := range w.counts {
		n += st.made + st.found
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
	sort.SliceStable(making, func(i, j int) bool { return making[i].since.Before(making[j].since) })
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
	f, err := os.Open(filepath.Join(w.dir, filepath.FromSlash(log)))
	if err != nil {
		return ""
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
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
