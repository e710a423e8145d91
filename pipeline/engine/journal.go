package engine

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// JournalDir is the folder below a work directory in which processes that make
// tasks state what they do, one file a process, for those who watch. Nothing is
// ever decided by it. The driver of a run replaces what was there.
var JournalDir = filepath.Join(".cache", "progress")

// ReportFile is the file of a task's scratch folder that Job.Report appends to.
const ReportFile = "report.jsonl"

// Bounds of what a journal and a report take.
const (
	journalText = 8 << 10  // bytes of an error
	reportSize  = 64 << 10 // bytes of a report
)

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
	Plan    []StageCount   `json:"plan,omitempty"` // of a task made alone: how many the plan has

	// Of "task".
	Stage      string  `json:"stage,omitempty"`
	Experiment string  `json:"experiment,omitempty"`
	Split      string  `json:"split,omitempty"`
	Version    int     `json:"version,omitempty"`
	Expect     float64 `json:"expect,omitempty"` // seconds

	// Of tasks.
	Task    string  `json:"task,omitempty"`
	Key     string  `json:"key,omitempty"`     // of "start": the result's
	Where   string  `json:"where,omitempty"`   // of "start": a node, "" for the process's host
	Ran     bool    `json:"ran,omitempty"`     // of "done": made, not found
	Seconds float64 `json:"seconds,omitempty"` // of "done"
	Text    string  `json:"text,omitempty"`    // the note, the error, or why the run ended early
	Log     string  `json:"log,omitempty"`     // of "failed": path of a log from the work directory
}

// StageCount is how many tasks of a stage there are.
type StageCount struct {
	Stage string `json:"stage"`
	Tasks int    `json:"tasks"`
}

// counts lists the tasks of the plan by stage.
func (p *Plan) counts() []StageCount {
	out := make([]StageCount, len(p.Stages))
	for i, name := range p.Stages {
		out[i].Stage = name
	}

	for _, t := range p.Tasks {
		out[slices.Index(p.Stages, t.Stage)].Tasks++
	}

	return slices.DeleteFunc(out, func(c StageCount) bool { return c.Tasks == 0 })
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

// newJournal begins a journal; alone takes others' away.
func newJournal(dir, name string, alone bool, head []Line) *journalWriter {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}

	w := &journalWriter{
		dir: dir, path: filepath.Join(dir, JournalDir, name), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if alone {
		os.RemoveAll(filepath.Dir(w.path))
	}

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
		Time: time.Now().UTC(), Event: e.Kind, Task: e.Task.ID, Key: e.Key, Where: e.Where, Ran: e.Ran, Seconds: e.Seconds,
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

// Killed describes a run whose journal has no last line, because it was killed.
type Killed struct {
	Run  Line      // the first
	Made int       // tasks
	Last time.Time // of the last line
}

// killed returns the last run if it was killed, else nil. The lock must be held.
func killed(dir string) *Killed {
	f, err := OpenOwn(filepath.Join(dir, JournalDir, "run.jsonl"))
	if err != nil {
		return nil
	}
	defer f.Close()

	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil
	}

	tail := make([]byte, min(size, 8*journalText)) // as long as a line may be
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return nil
	}

	lines := bytes.Split(bytes.TrimSuffix(tail, []byte("\n")), []byte("\n"))

	var l Line
	if json.Unmarshal(lines[len(lines)-1], &l) == nil && l.Event == "end" {
		return nil
	}

	k := &Killed{}

	r := bufio.NewReader(io.NewSectionReader(f, 0, size))
	for {
		b, err := r.ReadBytes('\n')
		if err != nil {
			break
		}

		var l Line
		if json.Unmarshal(b, &l) != nil {
			continue
		}

		switch {
		case l.Event == "run":
			k.Run = l
		case l.Event == "done" && l.Ran:
			k.Made++
		}

		if !l.Time.IsZero() {
			k.Last = l.Time
		}
	}

	if k.Run.Event == "" {
		return nil
	}

	return k
}

// journalHead is the first lines of a journal.
func journalHead(program string, jobs int, stages []StageSummary, todo []*Task, expect []float64) []Line {
	host, _ := os.Hostname()
	head := []Line{{
		Time: time.Now().UTC(), Event: "run", ID: rand.Text(), Host: host, Process: os.Getpid(),
		Program: program, Jobs: jobs, Stages: stages,
	}}

	for i, t := range todo {
		head = append(head, Line{
			Event: "task", Task: t.ID, Stage: t.Stage, Experiment: t.Experiment, Split: t.Split, Version: t.Version,
			Expect: expect[i],
		})
	}

	return head
}

// Report appends a line of JSON to what the task tells watchers while it is made.
// It is no part of the result. What would exceed 64 KiB, and what goes wrong, is
// dropped.
func (j *Job) Report(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}

	dir, err := j.Scratch()
	if err != nil {
		return
	}

	f, err := os.OpenFile(filepath.Join(dir, ReportFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return
	}
	defer f.Close()

	if fi, err := f.Stat(); err == nil && fi.Size()+int64(len(b)) < reportSize {
		_, _ = f.Write(append(b, '\n'))
	}
}
