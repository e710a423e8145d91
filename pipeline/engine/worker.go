package engine

import (
	"context"

	"doubletake/internal/kv"
)

// Worker makes single tasks of a plan without the lock of the work directory, while other
// processes may make the same tasks. The first process that seals a result wins.
type Worker struct {
	Plan     *Plan
	Program  string
	Annotate []kv.Pair
	Note     func(task, note string) // may be nil
}

// SpecError reports that a worker cannot make a task as its driver planned it.
type SpecError struct{ Task, Text string }

func (e *SpecError) Error() string { return e.Task + ": " + e.Text }

// Make makes one task as a driver planned it. It hashes the task's raw files
// and takes the digests of other inputs from the specification, so that it reads only the files that
// the task reads. If that gives another key than the driver's, this machine sees
// other files than the driver did, and Make returns a *SpecError. ran is false if
// another process has made the result.
func (k *Worker) Make(ctx context.Context, spec Spec) (ran bool, err error) {
	task := findTask(k.Plan.Tasks, spec.Task)
	if task == nil {
		return false, &SpecError{spec.Task, "no such task in the plan; pipeline tasks lists them"}
	}

	if spec.Key == "" {
		return false, &SpecError{task.ID, "the driver's plan has no key for it; start the run again"}
	}

	store := newStore(k.Plan.Dir)
	if store.sealed(spec.Key) {
		return false, nil
	}

	if len(spec.Objects) != len(task.Deps) || len(spec.Inputs) != len(task.Deps) {
		return false, &SpecError{task.ID, "the plan here has other inputs for it than the driver's; was the configuration " +
			"changed since? start the run again"}
	}

	statuses := spec.statuses(task)
	st, err := store.assess(task, statuses, false)
	if err != nil {
		return false, err
	}

	if st.key != spec.Key {
		return false, &SpecError{task.ID, "its key here is not the driver's: the configuration, a raw file or the numeric " +
			"kernels differ between the two, or were changed since; start the run again"}
	}

	runner := newRunner(store, k.Plan, Options{Program: k.Program, Annotate: k.Annotate}, statuses)
	runner.worker = true

	work := &Work{Task: task, Key: st.key, status: st, statuses: statuses, runner: runner}
	if err := work.Make(ctx); err != nil && !work.Sealed() {
		return false, err
	}

	return work.record != nil, nil
}

// statuses returns statuses of the tasks whose outputs a task takes, by task. They have the records of these outputs
// and nothing else.
func (s Spec) statuses(task *Task) map[string]*Status {
	statuses := map[string]*Status{}
	for i, dep := range task.Deps {
		if statuses[dep.Task] == nil {
			statuses[dep.Task] = &Status{record: &record{Key: s.Objects[i]}}
		}

		upstream := statuses[dep.Task].record
		upstream.Outputs = append(upstream.Outputs, output{Name: dep.Output, SHA256: s.Inputs[i].Digest})
	}

	return statuses
}
