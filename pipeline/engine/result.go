package engine

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// StageSummary counts the tasks of a stage by how they ended.
type StageSummary struct {
	Stage   string  `json:"stage"`
	Tasks   int     `json:"tasks"`
	Ran     int     `json:"ran"`
	Cached  int     `json:"up_to_date"`
	Failed  int     `json:"failed"`
	Seconds float64 `json:"task_seconds"` // summed over tasks
	Wall    float64 `json:"wall_seconds"` // from the first start to the last end of the stage

	started     bool      // a task of the stage has begun
	first, last time.Time // the first start and the last end
}

// Result is the summary of a run.
type Result struct {
	Stages         []StageSummary `json:"stages"`
	Ran            int            `json:"ran"`
	Cached         int            `json:"up_to_date"`
	Wall           float64        `json:"wall_seconds"`
	Slowest        string         `json:"slowest_task,omitempty"`
	SlowestSeconds float64        `json:"slowest_seconds,omitempty"`

	// Foreign are the folders with published files of experiments that the plan does not have: these experiments were
	// renamed or removed, or belong to another configuration.
	Foreign []string `json:"foreign,omitempty"`

	store    *store
	statuses map[string]*Status // by task
}

// Output returns the path of a task's output. ok is false if the task is not up to date.
func (r *Result) Output(task, name string) (path string, ok bool) {
	st := r.statuses[task]
	if st == nil || st.record == nil {
		return "", false
	}

	return filepath.Join(r.store.object(st.record.Key), name), true
}

// Task returns the task with an ID, or nil if there is none.
func (r *Result) Task(id string) *Task {
	if st := r.statuses[id]; st != nil {
		return st.Task
	}

	return nil
}

// Digest returns the digest of a task's output. ok is false if the task is not up to date, or does not have the output.
func (r *Result) Digest(task, name string) (digest string, ok bool) {
	st := r.statuses[task]
	if st == nil || st.record == nil {
		return "", false
	}

	output, ok := st.record.output(name)
	return output.digest(), ok
}

// TaskError is the failure of a task.
type TaskError struct {
	Task *Task
	Err  error
}

func (e *TaskError) Error() string { return fmt.Sprintf("%s: %v", e.Task.ID, e.Err) }

func (e *TaskError) Unwrap() error { return e.Err }

// NotReadyError reports that a partial run lacks the result of an earlier stage.
type NotReadyError struct {
	Stage  string  // the selected stage
	Needs  *Status // the first task whose result the stage lacks
	Others int     // number of further tasks whose results the stage lacks
}

func (e *NotReadyError) Error() string {
	more := ""
	if e.Others > 0 {
		more = fmt.Sprintf(" (and %d more)", e.Others)
	}

	return fmt.Sprintf("stage %s needs %s%s, which is %s: %s", e.Stage, e.Needs.Task.ID, more, e.Needs.State,
		e.Needs.Because())
}

// ErrFailed is wrapped by the error of a run in which tasks failed.
var ErrFailed = errors.New("a task failed")
