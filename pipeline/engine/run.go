package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"doubletake/internal/kv"
)

// Event tells an observer what happens to a task.
type Event struct {
	Kind    string    // "plan", "start", "note", "done", "failed", "skipped": it never began, because a task failed
	Task    *Task     // nil for "plan"
	Todo    []*Task   // of "plan": the tasks to make, unless their results turn out to exist
	Expect  []float64 // of "plan": the seconds that each task of Todo is expected to take
	Ran     bool      // of "done": the result was made; false if it was found in the store
	Seconds float64   // of "done" and "failed": the time that the task took
	Err     error     // of "failed"
	Skipped []*Task   // of "failed": the tasks that are not made because of it; no event follows for them
	Note    string    // of "note"
	Where   string    // of "start": the node that makes the task; "" for this process
}

// Options are the settings of a run.
type Options struct {
	Selection
	Jobs      int         // tasks at a time; at least 1
	Executor  Executor    // where tasks are made; nil: in this process, Jobs at a time
	KeepGoing bool        // after a failure, go on with the tasks that do not depend on it
	Program   string      // version of the program, recorded with each result
	Annotate  []kv.Pair   // further facts recorded with each result (numeric kernels)
	Observe   func(Event) // called by one goroutine at a time; may be nil
}

// runner makes the tasks of one run. choose picks the tasks; makeAll passes them to the executor as they become ready
// (schedule.go); the executor calls back to make each of them (make.go).
type runner struct {
	store    *store
	plan     *Plan
	options  Options
	executor Executor
	worker   bool           // this process is one of several that make tasks at the same time; it does not have the lock
	journal  *journalWriter // of the run; nil if there is nothing to make, or in a worker
	gate     chan struct{}  // bounds the tasks that are looked at together, because each may block a thread
	waiting  []*Task        // tasks that are not made, because they wait for results of other processes

	// Set by choose.
	users map[string][]*Task // for each task the tasks to make that take its outputs
	level map[*Task]float64  // weight of a task and of the heaviest chain of tasks that depend on it

	mu       sync.Mutex         // guards the fields below
	cond     *sync.Cond         // signals changes of busy, stop, ready and making
	statuses map[string]*Status // by task
	untaken  map[*Task]bool     // tasks to make that were not taken in hand
	wait     map[*Task]int      // number of tasks that must be made before
	ready    *queue[*Task]      // tasks that wait for nothing; see queueReady for the order
	near     map[*Task]bool     // ready tasks that read a file another task has just read, or that get a passed value
	passed   map[string]passed  // values on their way, by the task that gets them
	making   map[string]bool    // keys of the results that are being made
	made     map[string]bool    // keys of the results that were made in this run
	busy     int                // tasks in hand
	stop     bool               // no further task begins
	failed   []error            // of tasks, and of saving the index
	stats    map[string]*StageSummary
	res      *Result
}

// Run makes the selected tasks of the plan that are not up to date. It holds the lock of the work directory, which
// must be writable. It does not make a result again that is in the store, unless options.Force is set.
//
// If tasks fail, the error wraps ErrFailed and the errors of the tasks, in the plan's order, and Run returns the result
// too. The result is nil if the run could not begin.
func Run(ctx context.Context, plan *Plan, options Options) (*Result, error) {
	if err := plan.Check(); err != nil {
		return nil, err
	}

	start := time.Now()
	unlock, err := lock(plan.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	store := openStore(plan.Dir)
	store.locked = true
	if options.Verify {
		store.forget()
	}

	r, todo, clearFormer, err := store.begin(plan, options)
	if err != nil {
		return nil, err
	}

	var unable error // of the executor, not of a task
	if len(todo) > 0 {
		if err := store.prepare(); err != nil {
			return nil, err
		}

		unable = r.makeAll(ctx, todo)
	}

	err = store.save(true)
	if err != nil && len(todo) > 0 { // a run that makes nothing needs no index: the next run hashes the files again
		r.failed = append(r.failed, err)
	}

	store.clear()
	r.summarize(start)
	if err := r.outcome(ctx, unable); err != nil || !options.all() {
		return r.res, err
	}

	return r.res, clearFormer()
}

// begin assesses the plan, lists the files that it publishes, and chooses the tasks to make. If an input of these tasks
// turns out to be damaged, begin does so once more. clearFormer removes published files that are not in the plan.
func (s *store) begin(plan *Plan, options Options) (r *runner, todo []*Task, clearFormer func() error, err error) {
	selected := func(task *Task) bool { return plan.Selects(options.Selection, task) }
	for {
		list, statuses, err := s.assessAll(plan, s.readLater(plan, options))
		if err != nil {
			return nil, nil, nil, err
		}

		var foreign []string
		clearFormer, foreign, err = s.declare(plan)
		if err != nil {
			return nil, nil, nil, err
		}

		r = newRunner(s, plan, options, statuses)
		r.res.Foreign = foreign
		todo, err = r.choose(list, selected, nil)
		if err != nil {
			s.clear()
			return nil, nil, nil, err
		}

		if isDamaged := s.doubt(todo, statuses); !isDamaged {
			return r, todo, clearFormer, nil
		}
	}
}

// summarize completes the run's result with the summaries of the stages, and with the time since the start.
func (r *runner) summarize(start time.Time) {
	for _, stage := range r.plan.Stages {
		summary := r.stats[stage]
		if summary == nil {
			continue
		}

		summary.Wall = summary.last.Sub(summary.first).Seconds()
		r.res.Stages = append(r.res.Stages, *summary)
		r.res.Ran += summary.Ran
		r.res.Cached += summary.Cached
	}

	r.res.Wall = time.Since(start).Seconds()
}

// newRunner returns a runner of the plan's tasks, whose statuses are given by task.
func newRunner(s *store, plan *Plan, options Options, statuses map[string]*Status) *runner {
	run := &runner{
		store: s, plan: plan, options: options, statuses: statuses, level: map[*Task]float64{}, near: map[*Task]bool{},
		passed: map[string]passed{}, untaken: map[*Task]bool{}, wait: map[*Task]int{}, users: map[string][]*Task{},
		making: map[string]bool{}, made: map[string]bool{}, stats: map[string]*StageSummary{},
		res:  &Result{store: s, statuses: statuses},
		gate: make(chan struct{}, max(64, options.Jobs)),
	}

	run.cond = sync.NewCond(&run.mu)
	run.executor = options.Executor
	if run.executor == nil {
		run.executor = Local{options.Jobs}
	}

	_, s.holds = run.executor.(Local)

	return run
}

// makeAll makes the tasks that choose returned, and keeps the journal of the run. It returns an error of the executor;
// r.failed has the errors of tasks.
func (r *runner) makeAll(ctx context.Context, todo []*Task) error {
	var expect []float64
	for _, task := range todo {
		expect = append(expect, r.expected(task))
		r.untaken[task] = true
	}

	if !r.worker {
		r.journal = newJournal(r.plan.Dir, r.journalHead(todo, expect))
	}

	r.observe(Event{Kind: "plan", Todo: todo, Expect: expect})

	unable := r.run(ctx, todo)
	if r.journal != nil {
		r.journal.close(errors.Join(ctx.Err(), unable))
	}
	for task := range r.passed { // their tasks were not made, because the run stopped
		r.free(task)
	}

	return unable
}

// outcome returns the error of a run: the error of ctx if it was interrupted, otherwise the failures of its tasks, and
// otherwise unable, the error of the executor.
func (r *runner) outcome(ctx context.Context, unable error) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	if len(r.failed) == 0 {
		return unable
	}

	// The order in which tasks fail is a matter of chance; the plan's order is not.
	slices.SortStableFunc(r.failed, func(a, b error) int { return r.position(a) - r.position(b) })

	return fmt.Errorf("%w: %w", ErrFailed, errors.Join(r.failed...))
}

// position returns the index in the plan of the task that an error is about. Other errors come after all tasks.
func (r *runner) position(err error) int {
	var failure *TaskError
	if errors.As(err, &failure) {
		return slices.Index(r.plan.Tasks, failure.Task)
	}

	return len(r.plan.Tasks)
}

// choose returns the selected tasks that must run, in the plan's order, and publishes the results of the others. list
// has the statuses of all tasks in the plan's order.
//
// The inputs of a selected task must be up to date or selected too. If another process makes one of them (elsewhere has
// its task's ID), choose appends the selected task to r.waiting instead. Otherwise choose returns a *NotReadyError.
func (r *runner) choose(list []*Status, selected func(task *Task) bool, elsewhere map[string]bool) ([]*Task, error) {
	chosen, err := r.chooseReady(list, selected, elsewhere)
	if err != nil {
		return nil, err
	}

	rerun := map[string]bool{} // tasks that are made again, by ID
	var todo []*Task
	for _, st := range chosen {
		task := st.Task
		summary := r.stage(task.Stage)
		summary.Tasks++

		again := st.State != UpToDate || r.options.Force
		for _, dep := range task.Deps {
			again = again || rerun[dep.Task] // the input may turn out unchanged; then the key finds the result
		}

		if !again {
			summary.Cached++
			if err := r.store.publish(task, st.record); err != nil {
				return nil, err
			}

			continue
		}

		if r.options.Force {
			st.Reasons = append(st.Reasons, Reason{Kind: "forced"})
		}

		rerun[task.ID] = true
		todo = append(todo, task)
	}

	r.link(todo, rerun)

	return todo, nil
}

// chooseReady returns the statuses of the selected tasks whose inputs are up to date or chosen too, and sets
// Status.chosen. It adds tasks that wait for other processes to r.waiting. It returns a *NotReadyError if a task lacks
// an input.
func (r *runner) chooseReady(list []*Status, selected func(task *Task) bool, elsewhere map[string]bool,
) (chosen []*Status, err error) {
	var lacks []*Status
	var lackStage string // of the last task that lacks an input
	for _, st := range list {
		task := st.Task
		if !selected(task) {
			continue
		}

		st.chosen = true
		for _, dep := range task.Deps {
			upstream := r.statuses[dep.Task]
			switch {
			case upstream.chosen || upstream.State == UpToDate: // the input is there in time
			case elsewhere[dep.Task]:
				st.chosen = false
			default:
				lackStage = task.Stage
				if !slices.Contains(lacks, upstream) {
					lacks = append(lacks, upstream)
				}
			}
		}

		if st.chosen {
			chosen = append(chosen, st)
		} else {
			r.waiting = append(r.waiting, task)
		}
	}

	if len(lacks) > 0 {
		return nil, &NotReadyError{Stage: lackStage, Needs: lacks[0], Others: len(lacks) - 1}
	}

	return chosen, nil
}

// link sets r.users, r.wait and r.level for the tasks of todo. rerun has the IDs of the tasks in todo.
func (r *runner) link(todo []*Task, rerun map[string]bool) {
	for _, task := range todo {
		for _, dep := range task.Deps {
			if rerun[dep.Task] && !slices.Contains(r.users[dep.Task], task) {
				r.wait[task]++
				r.users[dep.Task] = append(r.users[dep.Task], task)
			}
		}
	}

	for _, task := range slices.Backward(todo) {
		for _, user := range r.users[task.ID] {
			r.level[task] = max(r.level[task], r.level[user])
		}

		r.level[task] += task.Weight
	}
}

// stage returns the summary of a stage, and creates it if it is the first time.
func (r *runner) stage(name string) *StageSummary {
	summary := r.stats[name]
	if summary == nil {
		now := time.Now()
		summary = &StageSummary{Stage: name, first: now, last: now}
		r.stats[name] = summary
	}

	return summary
}

// expected returns how many seconds a task may take: as long as last time, otherwise by its weight.
func (r *runner) expected(task *Task) float64 {
	if rec := r.store.last(task.ID); rec != nil && rec.Seconds > 0 {
		return rec.Seconds
	}

	return expectedNew(task)
}
