package slurm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
)

// entry is one line of the journal; the fields that are set give its kind.
type entry struct {
	Open   string    `json:"open,omitempty"`  // a batch is about to be submitted under this name
	Job    string    `json:"job,omitempty"`   // it was, and this is its number (with Of)
	Of     string    `json:"of,omitempty"`    // the batch that Job or Close belongs to
	Close  bool      `json:"close,omitempty"` // nothing of it is in hand any more
	Died   string    `json:"died,omitempty"`  // key of a task that ended without a result
	Why    string    `json:"why,omitempty"`
	Note   string    `json:"note,omitempty"`   // the note of its failure, where it left one: batch/name
	Memory int       `json:"memory,omitempty"` // how often its memory was raised
	Time   time.Time `json:"time"`
}

// journal keeps a driver's submissions across a kill: one JSON document a line,
// each on the disk before the action it announces.
type journal struct {
	f *os.File
}

// opened is a batch that a journal left open.
type opened struct {
	name, job string
	at        time.Time
}

// memory is the contents of a journal.
type memory struct {
	open     []opened
	attempts map[string]int // by key: how often it died
	raised   map[string]int
	noted    map[string]bool // notes of failures that were counted
}

// readJournal reads a journal; one that is not there is empty, and a last line
// that was cut is left out.
func readJournal(path string) (memory, error) {
	m := memory{attempts: map[string]int{}, raised: map[string]int{}, noted: map[string]bool{}}

	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}

	if err != nil {
		return m, fmt.Errorf("read journal: %w", err)
	}

	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 1<<20)

	for sc.Scan() {
		var e entry
		if json.Unmarshal(sc.Bytes(), &e) != nil {
			continue
		}

		switch {
		case e.Open != "":
			m.open = append(m.open, opened{name: e.Open, at: e.Time})
		case e.Died != "":
			m.attempts[e.Died]++
			m.raised[e.Died] = e.Memory
			m.noted[e.Note] = true

		case e.Of != "":
			for i := range m.open {
				if m.open[i].name == e.Of {
					if e.Close {
						m.open = append(m.open[:i], m.open[i+1:]...)
						break
					}

					m.open[i].job = e.Job
				}
			}
		}
	}

	return m, nil
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}

	return &journal{f}, nil
}

func (j *journal) write(e entry) error {
	e.Time = time.Now().UTC()
	b, err := json.Marshal(e)
	if err == nil {
		// A line that a killed driver cut short must not take in this one.
		_, err = j.f.Write(append(append([]byte("\n"), b...), '\n'))
	}

	if err == nil {
		err = j.f.Sync()
	}

	if err != nil {
		return fmt.Errorf("write journal: %w", err)
	}

	return nil
}

// Batch is the work of one array, plan.json of its folder.
type Batch struct {
	Format   string          `json:"doubletake_batch"` // BatchFormat
	Name     string          `json:"name"`
	Stage    string          `json:"stage"`
	Config   []byte          `json:"config"` // paths are bytes, not always text
	Added    []string        `json:"added,omitempty"`
	Dir      []byte          `json:"dir"`
	Facts    []kv.Pair       `json:"facts"`
	Written  time.Time       `json:"written"`
	Probe    bool            `json:"probe,omitempty"` // only report on the node
	Alive    bool            `json:"alive,omitempty"` // the worker gives signs of life
	Elements [][]engine.Spec `json:"elements"`        // by array index: the tasks to make, in order
}

// BatchFormat is the format of plan.json.
const BatchFormat = "1"

// ReadBatch reads a batch, and reports whether the file is one: with false and
// no error it is something else, a configuration perhaps.
func ReadBatch(path string) (*Batch, bool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("read plan: %w", err)
	}

	if !bytes.HasPrefix(bytes.TrimSpace(b), []byte(`{"doubletake_batch"`)) {
		return nil, false, nil
	}

	var x Batch
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, true, fmt.Errorf("read plan %s: %w", path, err)
	}

	if x.Format != BatchFormat {
		return nil, true, fmt.Errorf("read plan %s: format %q is not %s, this program's", path, x.Format, BatchFormat)
	}

	return &x, true, nil
}

// Write puts the batch into its folder.
func (b *Batch) Write(dir string) error {
	js, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}

	for _, d := range []string{"log", "failed"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return fmt.Errorf("make batch folder: %w", err)
		}
	}

	return engine.WriteFile(filepath.Join(dir, "plan.json"), js)
}
