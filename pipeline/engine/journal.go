package engine

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Journal is the file below a work directory in which the driver of a run states what it does, for those who watch.
// Nothing is ever decided by it. The next run replaces it.
var Journal = filepath.Join(".cache", "progress", "run.jsonl")

// journalText bounds the bytes of an error in a journal.
const journalText = 8 << 10

// How often a journal reaches the disk, and how often its time changes where
// nothing happens: a journal older than JournalSilent is of a process that ended
// without a word.
const (
	journalFlush  = 500 * time.Millisecond
	journalBeat   = 5 * time.Second
	JournalSilent = 45 * time.Second
)

// Line is one line of a journal.
type Line struct {
	Time time.Time `json:"t,omitzero"`
	// "run" (the first line), "task" (one per task to be made), then "start", "note", "done"
	// and "failed" of tasks, "end"
	Event string `json:"event"`

	// Of "run".
	ID      string         `json:"id,omitempty"` // random
	Host    string         `json:"host,omitempty"`
	Process int            `json:"process,omitempty"`
	Program string         `json:"program,omitempty"`
	Jobs    int            `json:"jobs,omitempty"` // tasks at a time; 0: that depends on a cluster
	Stages  []StageSummary `json:"stages,omitempty"`
	// Of "task".
	Stage      string  `json:"stage,omitempty"`
	Experiment string  `json:"experiment,omitempty"`
	Split      string  `json:"split,omitempty"`
	Version    int     `json:"version,omitempty"`
	Expect     float64 `json:"expect,omitempty"` // seconds

	// Of tasks.
	Task    string  `json:"task,omitempty"`
	Where   string  `json:"where,omitempty"`   // of "start": a node, "" for the process's host
	Ran     bool    `json:"ran,omitempty"`     // of "done": made, not found
	Seconds float64 `json:"seconds,omitempty"` // of "done"
	Text    string  `json:"text,omitempty"`    // the note, the error, or why the run ended early
	Log     string  `json:"log,omitempty"`     // of "failed": path of a log from the work directory
}

// journalWriter appends to a journal. What goes wrong with it is of no
// consequence for the run, and is not reported.
type journalWriter struct {
	dir, path string
	mu        sync.Mutex
	buf       []byte
	quit      chan struct{}
	done      chan struct{}
}

// newJournal begins a journal.
func newJournal(dir string, head []Line) *journalWriter {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}

	w := &journalWriter{dir: dir, path: filepath.Join(dir, Journal), quit: make(chan struct{}), done: make(chan struct{})}
	os.RemoveAll(filepath.Dir(w.path))

	if os.MkdirAll(filepath.Dir(w.path), 0o755) == nil {
		for _, l := range head {
			w.add(l)
		}

		_ = WriteFile(w.path, w.buf) // as a new file: a reader notices
		w.buf = nil
	}

	go w.loop()

	return w
}

// loop writes lines out and keeps the file's time young.
func (w *journalWriter) loop() {
	defer close(w.done)
	tick := time.NewTicker(journalFlush)
	defer tick.Stop()

	last := time.Now()
	for {
		select {
		case <-w.quit:
			return
		case now := <-tick.C:
			switch {
			case w.flush():
				last = now
			case now.Sub(last) >= journalBeat:
				last = now
				_ = os.Chtimes(w.path, now, now)
			}
		}
	}
}

// flush appends what has gathered. The file is closed each time, because other
// clients of a network file system see it only then.
func (w *journalWriter) flush() (wrote bool) {
	w.mu.Lock()
	b := w.buf
	w.buf = nil
	w.mu.Unlock()

	if len(b) == 0 {
		return false
	}

	if _, err := Own(w.path); err != nil {
		return false
	}

	f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false
	}

	_, err = f.Write(b)

	return errors.Join(err, f.Close()) == nil
}

func (w *journalWriter) add(l Line) {
	if len(l.Text) > journalText {
		l.Text = l.Text[:journalText] + " …"
	}

	b, err := json.Marshal(l)
	if err != nil {
		return
	}

	w.mu.Lock()
	w.buf = append(append(w.buf, b...), '\n')
	w.mu.Unlock()
}

// observe writes what happens to a task.
func (w *journalWriter) observe(e Event) {
	l := Line{
		Time: time.Now().UTC(), Event: e.Kind, Task: e.Task.ID, Where: e.Where, Ran: e.Ran, Seconds: e.Seconds,
		Text: e.Note,
	}

	if e.Err != nil {
		l.Text = e.Err.Error()

		var of interface{ LogPath() string }
		if errors.As(e.Err, &of) {
			if rel, err := filepath.Rel(w.dir, of.LogPath()); err == nil && filepath.IsLocal(rel) {
				l.Log = filepath.ToSlash(rel)
			}
		}
	}

	w.add(l)
}

// close ends the journal.
func (w *journalWriter) close(err error) {
	l := Line{Time: time.Now().UTC(), Event: "end"}
	if err != nil {
		l.Text = err.Error()
	}

	close(w.quit)
	<-w.done
	w.add(l)
	w.flush()
}

// journalHead is the first lines of a journal.
func (r *runner) journalHead(todo []*Task, expect []float64) []Line {
	host, _ := os.Hostname()
	head := []Line{{
		Time: time.Now().UTC(), Event: "run", ID: rand.Text(), Host: host, Process: os.Getpid(), Program: r.o.Program,
	}}

	if _, here := r.ex.(Local); here { // a cluster makes as many tasks at a time as it has room for
		head[0].Jobs = r.ex.Limit()
	}

	for _, st := range r.p.Stages {
		if x := r.stats[st]; x != nil {
			head[0].Stages = append(head[0].Stages, *x)
		}
	}

	for i, t := range todo {
		head = append(head, Line{
			Event: "task", Task: t.ID, Stage: t.Stage, Experiment: t.Experiment, Split: t.Split, Version: t.Version,
			Expect: expect[i],
		})
	}

	return head
}
