package engine

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Journal is the path, below a work directory, of the file in which the driver of a run notes what it does, for
// programs that show the progress. The engine itself never reads it. The next run replaces it.
var Journal = filepath.Join(".cache", "progress", "run.jsonl")

// journalText bounds the bytes of an error in a journal.
const journalText = 8 << 10

const (
	// journalFlush is the time between two writes of lines.
	journalFlush = 500 * time.Millisecond
	// journalBeat is the time after which the writer changes the time of a journal that has nothing new, as a sign of
	// life.
	journalBeat = 5 * time.Second
	// JournalSilent is the time after which the process of an unchanged journal counts as killed. It is nine beats.
	JournalSilent = 45 * time.Second
)

// Line is one line of a journal.
type Line struct {
	Time time.Time `json:"t,omitzero"`
	// "run" is the first line. A line "task" follows for each task to be made, then lines "start", "note", "done",
	// "failed" and "skipped" for tasks, and "end" is the last line.
	Event string `json:"event"`

	// Of "run".
	ID      string         `json:"id,omitempty"` // random
	Host    string         `json:"host,omitempty"`
	Process int            `json:"process,omitempty"`
	Program string         `json:"program,omitempty"` // version
	Jobs    int            `json:"jobs,omitempty"`    // tasks at a time; 0: a cluster decides
	Stages  []StageSummary `json:"stages,omitempty"`  // with the tasks that are up to date

	// Of "task".
	Stage      string  `json:"stage,omitempty"`
	Experiment string  `json:"experiment,omitempty"`
	Split      string  `json:"split,omitempty"`
	Version    int     `json:"version,omitempty"`
	Expect     float64 `json:"expect,omitempty"` // seconds

	// Of "task" and of the events of tasks.
	Task    string  `json:"task,omitempty"`    // ID
	Where   string  `json:"where,omitempty"`   // of "start": the node; "" for Host
	Ran     bool    `json:"ran,omitempty"`     // of "done": the result was made; false if it was found in the store
	Seconds float64 `json:"seconds,omitempty"` // of "done" and "failed"
	Text    string  `json:"text,omitempty"`    // the note, the error, or of "end" why the run ended early
	Log     string  `json:"log,omitempty"`     // of "failed": path of a log below the work directory

	Skipped []string `json:"skipped,omitempty"` // of "failed": IDs of the tasks that are not made because of it
}

// journalWriter appends lines to a journal. It does not report errors, because a run does not depend on its
// journal.
type journalWriter struct {
	dir  string        // the work directory, absolute
	path string        // path of the journal, absolute
	quit chan struct{} // closed to end loop
	done chan struct{} // closed when loop has ended

	mu  sync.Mutex // guards buf
	buf []byte     // lines that are not written yet
}

// newJournal removes the journal of an earlier run, and begins a new one with the lines of head.
func newJournal(dir string, head []Line) *journalWriter {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}

	w := &journalWriter{dir: dir, path: filepath.Join(dir, Journal), quit: make(chan struct{}), done: make(chan struct{})}
	os.RemoveAll(filepath.Dir(w.path))

	if os.MkdirAll(filepath.Dir(w.path), 0o755) == nil {
		for _, line := range head {
			w.add(line)
		}

		_ = WriteFile(w.path, w.buf) // as a new file, so that a reader of the former journal notices
		w.buf = nil
	}

	go w.loop()

	return w
}

// loop writes lines to the file, and changes its time if there are none, until quit is closed.
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

// flush appends the collected lines to the file, and reports whether it wrote any. It closes the file each time,
// because other clients of a network file system see the lines only then.
func (w *journalWriter) flush() (wrote bool) {
	w.mu.Lock()
	data := w.buf
	w.buf = nil
	w.mu.Unlock()

	if len(data) == 0 {
		return false
	}

	if _, err := Own(w.path); err != nil {
		return false
	}

	file, err := os.OpenFile(w.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false
	}

	_, err = file.Write(data)

	return errors.Join(err, file.Close()) == nil
}

// add adds a line for the next flush. It shortens a long text, and drops a character that the cut divides.
func (w *journalWriter) add(line Line) {
	if len(line.Text) > journalText {
		line.Text = strings.ToValidUTF8(line.Text[:journalText], "") + " …"
	}

	data, err := json.Marshal(line)
	if err != nil {
		return
	}

	w.mu.Lock()
	w.buf = append(w.buf, data...)
	w.buf = append(w.buf, '\n')
	w.mu.Unlock()
}

// observe adds a line about a task.
func (w *journalWriter) observe(event Event) {
	line := Line{
		Time: time.Now().UTC(), Event: event.Kind, Task: event.Task.ID, Where: event.Where, Ran: event.Ran,
		Seconds: event.Seconds,
		Text:    event.Note,
	}

	for _, task := range event.Skipped {
		line.Skipped = append(line.Skipped, task.ID)
	}

	if event.Err != nil {
		line.Text = event.Err.Error()

		var logged interface{ LogPath() string }
		if errors.As(event.Err, &logged) {
			if rel, err := filepath.Rel(w.dir, logged.LogPath()); err == nil && filepath.IsLocal(rel) {
				line.Log = filepath.ToSlash(rel)
			}
		}
	}

	w.add(line)
}

// close writes the last line, with the error that ended the run early or nil, and ends the journal.
func (w *journalWriter) close(err error) {
	line := Line{Time: time.Now().UTC(), Event: "end"}
	if err != nil {
		line.Text = err.Error()
	}

	close(w.quit)
	<-w.done
	w.add(line)
	w.flush()
}

// journalHead returns the first lines of a journal.
func (r *runner) journalHead(todo []*Task, expect []float64) []Line {
	host, _ := os.Hostname()
	head := []Line{{
		Time: time.Now().UTC(), Event: "run", ID: rand.Text(), Host: host, Process: os.Getpid(), Program: r.options.Program,
	}}

	if _, here := r.executor.(Local); here { // otherwise a cluster decides
		head[0].Jobs = r.executor.Limit()
	}

	for _, st := range r.plan.Stages {
		if summary := r.stats[st]; summary != nil {
			head[0].Stages = append(head[0].Stages, *summary)
		}
	}

	for i, task := range todo {
		head = append(head, Line{
			Event: "task", Task: task.ID, Stage: task.Stage, Experiment: task.Experiment, Split: task.Split,
			Version: task.Version,
			Expect:  expect[i],
		})
	}

	return head
}
