package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/kv"
)

// Batch is the work of one part, plan.json of its folder.
type Batch struct {
	Format string        `json:"doubletake_batch"` // batchFormat
	Config []byte        `json:"config"`           // paths are bytes, not always text
	Added  []string      `json:"added,omitempty"`
	Dir    []byte        `json:"dir"`
	Facts  []kv.Pair     `json:"facts"`
	Tasks  []engine.Spec `json:"tasks"` // in the order in which they are made
}

const batchFormat = "2"

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

	if x.Format != batchFormat {
		return nil, true, fmt.Errorf("read plan %s: format %q is not %s, this program's", path, x.Format, batchFormat)
	}

	return &x, true, nil
}

// Load gives a worker its plan and the facts as they are where it runs, from
// Options.Config and Options.Added. It is called in the driver's working
// directory.
type Load func(config string, added []string) (*engine.Worker, []kv.Pair, error)

// failure is what a worker leaves when a task fails: failed/*.json.
type failure struct {
	Key  string `json:"key"`
	Text string `json:"text"`
	Code int    `json:"code"` // exit status that the failure means: 1 a task's, 2 configuration, 3 data
	Node string `json:"node"`
}

// Work makes the tasks of a batch, one after the other; dir is the batch's folder. A task that fails is
// noted there, and the others are made all the same; explain gives an error its exit status and its words.
// The result is the exit status: 0 when every task's result is there.
func Work(ctx context.Context, dir string, b *Batch, load Load, explain func(error) (int, string), log io.Writer) (int,
	error,
) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 1, fmt.Errorf("find plan: %w", err)
	}

	node := nodeName()
	fmt.Fprintf(log, "%s on %s, %d tasks\n", time.Now().Format(time.DateTime), node, len(b.Tasks))

	defer live(ctx, dir, node)()

	var k *engine.Worker
	var facts []kv.Pair
	if err = os.Chdir(string(b.Dir)); err == nil {
		k, facts, err = load(string(b.Config), b.Added)
	}

	if err == nil {
		err = disagree(b.Facts, facts, node)
	}

	status := 0
	for i, s := range b.Tasks {
		if _, e := os.Stat(filepath.Join(dir, "plan.json")); e != nil {
			return status, nil // withdrawn
		}

		began, ran, taskErr := time.Now(), false, err
		if taskErr == nil {
			ran, taskErr = k.Make(ctx, s)
		}

		switch {
		case ctx.Err() != nil:
			return 130, ctx.Err()
		case taskErr == nil && ran:
			fmt.Fprintf(log, "%s: made, %.2f s\n", s.Task, time.Since(began).Seconds())
			continue
		case taskErr == nil:
			fmt.Fprintf(log, "%s: was there\n", s.Task)
			continue
		}

		f := failure{Key: s.Key, Node: node}
		f.Code, f.Text = explain(taskErr)
		status = 1
		fmt.Fprintf(log, "%s: failed: %s\n", s.Task, f.Text)

		js, e := json.Marshal(f)
		if e == nil {
			e = engine.WriteFile(filepath.Join(dir, "failed", fmt.Sprintf("%d-%s-%d.json", i, node, os.Getpid())), js)
		}

		if e != nil {
			return 1, fmt.Errorf("note a failure: %w", e)
		}
	}

	return status, nil
}

// nodeName is the name of this machine; Slurm may have its own for it.
func nodeName() string {
	n, _ := os.Hostname()
	return cmp.Or(os.Getenv("SLURMD_NODENAME"), n)
}

// life is the sign of a worker process: alive.json, rewritten while it lives.
type life struct {
	Node    string `json:"node"`
	PID     int    `json:"pid"`
	Beat    int    `json:"beat"`
	Ended   bool   `json:"ended,omitempty"`
	Stopped bool   `json:"stopped,omitempty"` // by a signal
}

// beat is the time between signs of life.
const beat = 2 * time.Second

// live gives signs of life until the function it returns is called.
func live(ctx context.Context, dir, node string) (end func()) {
	l := life{Node: node, PID: os.Getpid()}
	sign := func() {
		if js, err := json.Marshal(l); err == nil {
			_ = engine.WriteFile(filepath.Join(dir, "alive.json"), js)
		}
	}

	sign()

	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		t := time.NewTicker(beat)
		defer t.Stop()

		for {
			select {
			case <-t.C:
				l.Beat++
				sign()
			case <-quit:
				return
			}
		}
	}()

	return func() {
		close(quit)
		<-gone
		l.Ended, l.Stopped = true, ctx.Err() != nil
		sign()
	}
}

// readLife reads the sign of life in a part's folder, false where there was none.
func readLife(dir string) (l life, ok bool) {
	js, err := os.ReadFile(filepath.Join(dir, "alive.json"))
	return l, err == nil && json.Unmarshal(js, &l) == nil
}

// DisagreeError reports how a node differs from the driver's machine.
type DisagreeError struct {
	Node        string
	Differences []string
}

func (e *DisagreeError) Error() string {
	return fmt.Sprintf("node %s does not agree with the machine of the run: %s", e.Node, strings.Join(e.Differences, ", "))
}

// ExitStatus is that of a configuration error: another try would meet it again.
func (e *DisagreeError) ExitStatus() int { return 2 }

func disagree(here, there []kv.Pair, node string) error {
	found := map[string]string{}
	for _, f := range there {
		found[f.Key] = f.Value
	}

	e := &DisagreeError{Node: node}
	for _, f := range here {
		if found[f.Key] != f.Value {
			e.Differences = append(e.Differences, fmt.Sprintf("%s is %q there and %q here", f.Key, found[f.Key], f.Value))
		}
	}

	if len(e.Differences) == 0 {
		return nil
	}

	return e
}

// TaskError is the reason why a task has no result.
type TaskError struct {
	Text string // the task's error, or how its process ended
	Code int    // exit status that the failure means
	Node string
	Log  string // path of the log
	Tail string // end of the log, if the task left no error
	Of   int    // attempts made
}

func (e *TaskError) Error() string {
	var where []string
	if e.Node != "" {
		where = append(where, "on "+e.Node)
	}

	if e.Of > 1 {
		where = append(where, fmt.Sprintf("tried %d times", e.Of))
	}

	text := e.Text
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}

	if e.Log != "" {
		text += "; log " + e.Log
	}

	if e.Tail != "" {
		text += " ends with:\n    " + strings.ReplaceAll(e.Tail, "\n", "\n    ")
	}

	return text
}

// ExitStatus is the program's exit status for this failure.
func (e *TaskError) ExitStatus() int { return e.Code }

// LogPath is the path of the job's log.
func (e *TaskError) LogPath() string { return e.Log }
