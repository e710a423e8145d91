package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
)

// Exit statuses of a worker, and of the failures that it notes.
const (
	statusTask          = 1   // a task failed
	statusConfiguration = 2   // the configuration or the machine is wrong: another attempt would fail too
	statusInterrupted   = 130 // a signal ended the worker, as in a shell
)

// Load gives a worker its plan, and the facts about the machine where it runs. Work calls it in the working directory
// of the driver, with the configuration and the added arguments of the driver's Options.
type Load func(config string, added []string) (*engine.Worker, []kv.Pair, error)

// Explain returns the exit status that an error means, and its text for the user.
type Explain func(err error) (status int, text string)

// failure is what a worker notes in a file of the folder failed when a task fails.
type failure struct {
	Key  string `json:"key"`  // of the task
	Text string `json:"text"` // the error
	Code int    `json:"code"` // exit status that the failure means: 1 a task's, 2 configuration, 3 data
	Node string `json:"node"`
}

// Work makes the tasks of a batch, one after the other. dir is the folder of the part. If a task fails, Work writes a
// note of the failure to this folder and goes on with the other tasks. It returns the exit status of the worker, which
// is 0 if no task failed.
func Work(
	ctx context.Context, dir string, batch *Batch, load Load, explain Explain, log io.Writer,
) (status int, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return statusTask, fmt.Errorf("find plan: %w", err)
	}

	node := nodeName()
	fmt.Fprintf(log, "%s on %s, %s\n", time.Now().Format(time.DateTime), node, count(len(batch.Tasks), "task"))

	pulse := startPulse(dir, node)
	defer pulse.stop(ctx)

	// Without a worker every task fails with loadErr, so that the driver learns it for each of them.
	worker, loadErr := batch.openWorker(load, node)
	for i, spec := range batch.Tasks {
		if _, err := os.Stat(filepath.Join(dir, planFile)); err != nil {
			return status, nil // the driver has withdrawn the part
		}

		taskErr := loadErr
		if taskErr == nil {
			taskErr = makeTask(ctx, worker, spec, log)
		}

		if ctx.Err() != nil {
			return statusInterrupted, ctx.Err()
		}

		if taskErr == nil {
			continue
		}

		status = statusTask
		failure := failure{Key: spec.Key, Node: node}
		failure.Code, failure.Text = explain(taskErr)
		fmt.Fprintf(log, "%s: failed: %s\n", spec.Task, failure.Text)

		name := fmt.Sprintf("%d-%s-%d.json", i, node, os.Getpid())
		if err := failure.write(filepath.Join(dir, "failed", name)); err != nil {
			return statusTask, err
		}
	}

	return status, nil
}

// openWorker goes to the working directory of the driver and loads the plan there. It returns a *DisagreeError if a
// fact about the driver's machine differs on this node.
func (b *Batch) openWorker(load Load, node string) (*engine.Worker, error) {
	if err := os.Chdir(string(b.Dir)); err != nil {
		return nil, err
	}

	worker, facts, err := load(string(b.Config), b.Added)
	if err != nil {
		return nil, err
	}

	if differences := compareFacts(b.Facts, facts); len(differences) > 0 {
		return nil, &DisagreeError{Node: node, Differences: differences}
	}

	return worker, nil
}

// makeTask makes a task and writes to the log that it was made, or that its result was there.
func makeTask(ctx context.Context, worker *engine.Worker, spec engine.Spec, log io.Writer) error {
	began := time.Now()
	ran, err := worker.Make(ctx, spec)
	if err != nil {
		return err
	}

	if ran {
		fmt.Fprintf(log, "%s: made, %.2f s\n", spec.Task, time.Since(began).Seconds())
	} else {
		fmt.Fprintf(log, "%s: was there\n", spec.Task)
	}

	return nil
}

// write writes the note of a failure.
func (f failure) write(path string) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("note a failure: %w", err)
	}

	if err := engine.WriteFile(path, data); err != nil {
		return fmt.Errorf("note a failure: %w", err)
	}

	return nil
}

// nodeName returns the name of this machine. In a job of Slurm it is the name that Slurm uses in its queue. If the
// system does not know the name, nodeName returns "", because only messages show the name.
func nodeName() string {
	name, _ := os.Hostname()
	return cmp.Or(os.Getenv("SLURMD_NODENAME"), name)
}

// DisagreeError reports how a node differs from the driver's machine.
type DisagreeError struct {
	Node        string
	Differences []string
}

// Error returns the name of the node and the differences.
func (e *DisagreeError) Error() string {
	place := "a node"
	if e.Node != "" {
		place = "node " + e.Node
	}

	return fmt.Sprintf("%s does not agree with the machine of the run: %s", place, strings.Join(e.Differences, ", "))
}

// ExitStatus returns the exit status of an error in the configuration: another attempt would fail in the same way.
func (e *DisagreeError) ExitStatus() int { return statusConfiguration }

// compareFacts returns a text for each fact about the driver's machine that differs on this node.
func compareFacts(driver, node []kv.Pair) []string {
	onNode := map[string]string{}
	for _, fact := range node {
		onNode[fact.Key] = fact.Value
	}

	var differences []string
	for _, fact := range driver {
		if onNode[fact.Key] != fact.Value {
			text := fmt.Sprintf("%s is %q there and %q here", fact.Key, onNode[fact.Key], fact.Value)
			differences = append(differences, text)
		}
	}

	return differences
}

// TaskError is the reason why a task has no result.
type TaskError struct {
	Text     string // the task's error, or how its process ended
	Code     int    // exit status that the failure means
	Node     string // "" if it is not known
	Log      string // path of the log; "" without one
	Tail     string // end of the log, if the task left no error
	Attempts int    // attempts made
}

// Error returns the text with the node, the number of attempts if there were several, and the log.
func (e *TaskError) Error() string {
	var where []string
	if e.Node != "" {
		where = append(where, "on "+e.Node)
	}

	if e.Attempts > 1 {
		where = append(where, fmt.Sprintf("tried %d times", e.Attempts))
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

// ExitStatus returns the program's exit status for this failure.
func (e *TaskError) ExitStatus() int { return e.Code }

// LogPath returns the path of the job's log.
func (e *TaskError) LogPath() string { return e.Log }
