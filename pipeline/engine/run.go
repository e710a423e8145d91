package engine

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
)

// Event reports to an observer what happens to a task.
type Event struct {
	Kind    string    // "plan", "start", "note", "done", "failed"
	Task    *Task     // nil for "plan"
	Todo    []*Task   // of "plan": the tasks to make, unless their results turn out to exist
	Expect  []float64 // of "plan": the seconds each of Todo may take
	Ran     bool      // of "done": the result was made, not found
	Seconds float64
	Err     error
	Note    string // of "note"
	Where   string // of "start": the node that makes it, "" in this process
}

// Options are the settings of a run.
type Options struct {
	Selection
	Jobs      int         // tasks at a time; at least 1
	Executor  Executor    // where tasks are made; nil: in this process, Jobs at a time
	KeepGoing bool        // after a failure, go on with what does not depend on it
	Program   string      // version of the program, recorded with each result
	Annotate  []kv.Pair   // further facts recorded with each result (numeric kernels)
	Observe   func(Event) // called by one goroutine at a time; may be nil
}

// StageSummary is what became of one stage's tasks.
type StageSummary struct {
	Stage   string  `json:"stage"`
	Tasks   int     `json:"tasks"`
	Ran     int     `json:"ran"`
	Cached  int     `json:"up_to_date"`
	Failed  int     `json:"failed"`
	Seconds float64 `json:"task_seconds"` // summed over tasks
	Wall    float64 `json:"wall_seconds"` // from the first start to the last end of the stage

	first, last time.Time // of which Wall is the difference
}

// Result is the summary of a run.
type Result struct {
	Stages         []StageSummary `json:"stages"`
	Ran            int            `json:"ran"`
	Cached         int            `json:"up_to_date"`
	Wall           float64        `json:"wall_seconds"`
	Slowest        string         `json:"slowest_task,omitempty"`
	SlowestSeconds float64        `json:"slowest_seconds,omitempty"`

	s  *store
	of map[string]*Status // by task
}

// Output returns the path of a task's output, if the task is up to date now.
func (r *Result) Output(task, name string) (path string, ok bool) {
	st := r.of[task]
	if st == nil || st.rec == nil {
		return "", false
	}

	return filepath.Join(r.s.object(st.rec.Key), name), true
}

// Task returns the task of that ID, nil without.
func (r *Result) Task(id string) *Task {
	if st := r.of[id]; st != nil {
		return st.Task
	}

	return nil
}

// Digest returns the digest of a task's output, if the task is up to date now.
func (r *Result) Digest(task, name string) (digest string, ok bool) {
	st := r.of[task]
	if st == nil || st.rec == nil {
		return "", false
	}

	o, ok := st.rec.output(name)
	return o.digest(), ok
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
	Stage  string  // the stage asked for
	Needs  *Status // the first thing it lacks
	Others int     // how many more
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

type runner struct {
	s     *store
	p     *Plan
	o     Options
	mu    sync.Mutex
	cond  *sync.Cond
	of    map[string]*Status
	level map[*Task]float64
	// ready tasks that read a file which was just read, or to which something was passed
	near   map[*Task]bool
	passed map[string]passed // by the task that gets it
	wait   map[*Task]int
	users  map[string][]*Task
	// ready tasks; the one with the most work behind it goes first, but before it those that read the file just read:
	// in a campaign larger than the memory every file would otherwise be fetched from the disk once more
	ready   *queue[*Task]
	making  map[string]bool // keys of the results that are being made
	busy    int
	ex      Executor
	gate    chan struct{} // tasks looked at by this process at a time: each may block a thread
	failed  []error
	stop    bool
	stats   map[string]*StageSummary
	res     *Result
	journal *journalWriter // the driver's; nil where nothing is to be made
	left    []*Task        // that wait for other processes
	worker  bool           // one of several processes, without the lock
}

// Run makes the selected tasks of the plan that are not up to date. It holds
// the work directory's lock. Results that are already there are not made again
// (unless forced), whatever order they come about in.
func Run(ctx context.Context, p *Plan, o Options) (*Result, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}

	start := time.Now()

	unlock, err := lock(p.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()

	s := openStore(p.Dir)
	s.locked = true
	if o.Verify {
		s.forget()
	}

	var r *runner
	var todo []*Task
	var clear func() error
	for first := true; first || s.doubt(todo, r.of); first = false {
		list, of, err := s.assessAll(p, s.readLater(p, o))
		if err != nil {
			return nil, err
		}

		if clear, err = s.declare(p); err != nil {
			return nil, err
		}

		r = newRunner(s, p, o, of)
		if todo, err = r.choose(list, func(t *Task) bool { return p.Selects(o.Selection, t) }, nil); err != nil {
			s.clear()
			return nil, err
		}
	}

	var unable error // of the executor, not of a task
	if len(todo) > 0 {
		if err := s.prepare(); err != nil {
			return nil, err
		}

		unable = r.makeAll(ctx, todo)
	}

	if err := s.save(true); err != nil && len(todo) > 0 {
		r.failed = append(r.failed, err)
	}

	s.clear()

	for _, st := range p.Stages {
		if x := r.stats[st]; x != nil {
			x.Wall = x.last.Sub(x.first).Seconds()
			r.res.Stages = append(r.res.Stages, *x)
			r.res.Ran += x.Ran
			r.res.Cached += x.Cached
		}
	}

	r.res.Wall = time.Since(start).Seconds()
	if err := r.outcome(ctx, unable); err != nil || !o.all() {
		return r.res, err
	}

	return r.res, clear()
}

func newRunner(s *store, p *Plan, o Options, of map[string]*Status) *runner {
	r := &runner{
		s: s, p: p, o: o, of: of, level: map[*Task]float64{}, near: map[*Task]bool{}, passed: map[string]passed{},
		wait: map[*Task]int{}, users: map[string][]*Task{}, making: map[string]bool{},
		stats: map[string]*StageSummary{}, res: &Result{s: s, of: of},
		gate: make(chan struct{}, max(64, o.Jobs)),
	}

	r.cond = sync.NewCond(&r.mu)
	if r.ex = o.Executor; r.ex == nil {
		r.ex = Local{o.Jobs}
	}

	_, s.holds = r.ex.(Local)

	return r
}

// makeAll makes tasks.
func (r *runner) makeAll(ctx context.Context, todo []*Task) error {
	expect := lists.Each(todo, r.expected)
	if !r.worker {
		r.journal = newJournal(r.p.Dir, r.journalHead(todo, expect))
	}

	r.observe(Event{Kind: "plan", Todo: todo, Expect: expect})

	unable := r.run(ctx, todo)
	if r.journal != nil {
		r.journal.close(errors.Join(ctx.Err(), unable))
	}
	for task := range r.passed { // of a run that stopped
		r.free(task)
	}

	return unable
}

// outcome is the error of a run.
func (r *runner) outcome(ctx context.Context, unable error) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	if len(r.failed) == 0 {
		return unable
	}

	// In the plan's order, whichever came first.
	at := func(err error) int {
		var te *TaskError
		if errors.As(err, &te) {
			return slices.Index(r.p.Tasks, te.Task)
		}

		return len(r.p.Tasks)
	}

	slices.SortStableFunc(r.failed, func(a, b error) int { return at(a) - at(b) })

	return fmt.Errorf("%w: %w", ErrFailed, errors.Join(r.failed...))
}

// choose picks the selected tasks that must run and publishes the others'
// results. A selected task that takes something not up to date from a task
// outside the selection is refused, unless another process makes that: then it is left.
func (r *runner) choose(list []*Status, selected func(t *Task) bool, elsewhere map[string]bool) ([]*Task, error) {
	rerun := map[string]bool{}
	var todo []*Task
	var lacks []*Status

	var lackStage string
	for _, st := range list {
		t := st.Task
		if !selected(t) {
			continue
		}

		st.chosen = true
		for _, d := range t.Deps {
			up := r.of[d.Task]
			switch {
			case up.chosen || up.State == UpToDate:
			case elsewhere[d.Task]:
				st.chosen = false
			default:
				if !slices.Contains(lacks, up) {
					lacks = append(lacks, up)
				}
				lackStage = t.Stage
			}
		}

		if !st.chosen {
			r.left = append(r.left, t)
			continue
		}

		sum := r.stage(t.Stage)
		sum.Tasks++

		again := st.State != UpToDate || r.o.Force
		for _, d := range t.Deps {
			again = again || rerun[d.Task] // may turn out unchanged; then the key finds the result
		}

		if !again {
			sum.Cached++

			if err := r.s.publish(t, st.rec); err != nil {
				return nil, err
			}

			continue
		}

		if r.o.Force {
			st.Reasons = append(st.Reasons, Reason{Kind: "forced"})
		}

		rerun[t.ID] = true
		todo = append(todo, t)
	}

	if len(lacks) > 0 {
		return nil, &NotReadyError{Stage: lackStage, Needs: lacks[0], Others: len(lacks) - 1}
	}

	for _, t := range todo {
		for _, d := range t.Deps {
			if rerun[d.Task] {
				if !slices.Contains(r.users[d.Task], t) {
					r.wait[t]++
					r.users[d.Task] = append(r.users[d.Task], t)
				}
			}
		}
	}

	for _, t := range slices.Backward(todo) {
		for _, u := range r.users[t.ID] {
			r.level[t] = max(r.level[t], r.level[u])
		}
		r.level[t] += t.Weight
	}

	return todo, nil
}

func (r *runner) stage(name string) *StageSummary {
	x := r.stats[name]
	if x == nil {
		now := time.Now()
		x = &StageSummary{Stage: name, first: now, last: now}
		r.stats[name] = x
	}

	return x
}

// queue is a heap.
type queue[T any] struct {
	list []T
	less func(a, b T) bool
}

func (q *queue[T]) Len() int           { return len(q.list) }
func (q *queue[T]) Less(i, j int) bool { return q.less(q.list[i], q.list[j]) }
func (q *queue[T]) Swap(i, j int)      { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *queue[T]) Push(x any)         { q.list = append(q.list, x.(T)) }

func (q *queue[T]) Pop() any {
	x := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]

	return x
}

// run passes the tasks of todo to the executor as they become ready, as many at
// a time as it accepts.
func (r *runner) run(ctx context.Context, todo []*Task) error {
	order := map[*Task]int{}
	r.ready = &queue[*Task]{less: func(a, b *Task) bool {
		if r.near[a] != r.near[b] {
			return r.near[a]
		}

		if r.level[a] != r.level[b] {
			return r.level[a] > r.level[b]
		}

		return order[a] < order[b]
	}}

	for i, t := range todo {
		order[t] = i
	}

	for _, t := range todo {
		if r.wait[t] == 0 {
			heap.Push(r.ready, t)
		}
	}

	if err := r.ex.Open(ctx, &Session{r.p.Dir}); err != nil {
		return fmt.Errorf("open executor: %w", err)
	}

	wake := context.AfterFunc(ctx, func() { r.mu.Lock(); r.stop = true; r.mu.Unlock(); r.cond.Broadcast() })
	defer wake()
	started := map[string]bool{}
	drained := false
	limit := r.ex.Limit()

	next := func() *Task { // to begin; the mutex is held
		if r.stop || r.ready.Len() == 0 || limit > 0 && r.busy >= limit {
			return nil
		}

		t := heap.Pop(r.ready).(*Task)
		r.busy++

		if !started[t.Stage] {
			started[t.Stage] = true
			r.stage(t.Stage).first = time.Now()
		}

		return t
	}

	r.mu.Lock()

	for {
		for t := next(); t != nil; t = next() {
			go func() {
				for t := t; t != nil; { // one after the other: a stack takes time to grow
					began := time.Now()

					ran, secs, err := r.do(ctx, t)
					if secs == 0 {
						secs = time.Since(began).Seconds()
					}

					r.mu.Lock()
					r.busy--
					r.finish(ctx, t, ran, secs, err)
					t = next()
					r.cond.Broadcast()
					r.mu.Unlock()
				}
			}()
		}

		if r.busy == 0 && (r.stop || r.ready.Len() == 0) {
			break
		}

		if r.stop && !drained {
			drained = true
			r.mu.Unlock()
			r.ex.Drain()
			r.mu.Lock()
			continue
		}

		r.cond.Wait()
	}

	r.mu.Unlock()

	if err := r.ex.Close(); err != nil {
		return fmt.Errorf("close executor: %w", err)
	}

	return nil
}

// expected is how many seconds a task may take: as long as last time, else by its weight.
func (r *runner) expected(t *Task) float64 {
	if rec := r.s.last(t.ID); rec != nil && rec.Seconds > 0 {
		return rec.Seconds
	}

	return load(t)
}

// finish books the end of a task; the mutex is held.
func (r *runner) finish(ctx context.Context, t *Task, ran bool, secs float64, err error) {
	r.free(t.ID) // if its result was there after all
	sum := r.stage(t.Stage)
	sum.last = time.Now()
	if errors.Is(err, ErrNotStarted) {
		return
	}

	sum.Seconds += secs
	if err != nil {
		if ctx.Err() == nil {
			sum.Failed++
			r.failed = append(r.failed, &TaskError{t, err})
			r.observe(Event{Kind: "failed", Task: t, Seconds: secs, Err: err})
			r.stop = r.stop || !r.o.KeepGoing
		}

		return // what depends on it is never ready
	}

	if ran {
		sum.Ran++
		if secs > r.res.SlowestSeconds {
			r.res.Slowest, r.res.SlowestSeconds = t.ID, secs
		}
	} else {
		sum.Cached++
	}

	r.observe(Event{Kind: "done", Task: t, Ran: ran, Seconds: secs})

	for _, u := range r.users[t.ID] {
		if r.wait[u]--; r.wait[u] == 0 {
			_, passed := r.passed[u.ID]
			r.near[u] = passed || slices.ContainsFunc(u.Files, func(f File) bool { return slices.Contains(t.Files, f) })
			heap.Push(r.ready, u)
		}
	}
}

func (r *runner) observe(e Event) {
	if r.journal != nil && e.Task != nil {
		r.journal.observe(e)
	}

	if r.o.Observe != nil {
		r.o.Observe(e)
	}
}

// alone waits until no other task makes the result of that key: tasks of several
// experiments may want the same one, which is made once. It reports whether it waited.
func (r *runner) alone(key string) (waited bool, release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for r.making[key] {
		waited = true
		r.cond.Wait()
	}

	r.making[key] = true

	return waited, func() {
		r.mu.Lock()
		delete(r.making, key)
		r.mu.Unlock()
		r.cond.Broadcast()
	}
}

// do has one task's result made, unless it turns out to be there: what came
// before may have given the same as last time. secs is how long the making
// took where another process knows it, else 0.
func (r *runner) do(ctx context.Context, t *Task) (ran bool, secs float64, err error) {
	former := r.s.last(t.ID)
	r.mu.Lock()

	of := make(map[string]*Status, len(t.Deps))
	for _, d := range t.Deps {
		of[d.Task] = r.of[d.Task]
	}

	r.mu.Unlock()
	r.gate <- struct{}{}
	st, err := r.s.assess(t, of, false)
	<-r.gate
	if err != nil {
		return false, 0, err
	}

	defer func() {
		for i := range st.held {
			st.held[i].release()
		}
		st.held = nil
	}()

	if st.rec == nil {
		waited, release := r.alone(st.key)
		defer release()

		if waited && !r.o.Force {
			r.gate <- struct{}{}

			if st.rec, _ = r.s.lookup(st); st.rec != nil {
				st.State = UpToDate
			}

			<-r.gate
		}

		if err := r.setAside(st); err != nil {
			return false, 0, err
		}
	}

	if st.rec == nil || r.o.Force {
		w := &Work{Task: t, Key: st.key, Expect: r.expected(t), st: st, of: of, r: r}
		if r.worker {
			if err := w.Clear(); err != nil && !r.s.discarded(st.key) {
				return false, 0, err
			}
		}

		// Another process may have been first.
		if err := r.ex.Do(ctx, w); err != nil && !(r.worker && w.Sealed()) {
			return true, 0, err
		}

		r.gate <- struct{}{}
		defer func() { <-r.gate }()

		if st.rec = w.rec; st.rec == nil { // made by another process
			w.Started("")

			if st.rec, err = r.s.adopt(st, true); err != nil {
				return true, 0, err
			}

			secs = st.rec.Seconds
		}

		st.State, ran = UpToDate, true
	}

	r.mu.Lock()
	r.of[t.ID] = st
	r.mu.Unlock()

	if err := r.s.publish(t, st.rec); err != nil {
		return ran, secs, err
	}

	if t.Replaces && former != nil && former.Key != st.key && !r.worker {
		if err := r.replace(former.Key); err != nil {
			return ran, secs, err
		}
	}

	return ran, secs, r.s.save(false)
}

// setAside moves the damaged object of a task that is to be made away, and notes it.
func (r *runner) setAside(st *Status) error {
	for _, x := range st.Reasons {
		if x.Kind != "damaged" || st.rec != nil || r.s.discarded(st.key) {
			continue
		}

		if err := r.s.setAside(r.s.object(st.key)); err != nil {
			return err
		}

		r.mu.Lock()
		r.observe(Event{Kind: "note", Task: st.Task, Note: "damaged result " + x.Name +
			"; it is in " + r.s.cache("damaged") + " now and is made again"})
		r.mu.Unlock()
	}

	return nil
}

// replace removes the result that a task had before its present one, which becomes durable
// first, unless it is another task's too.
func (r *runner) replace(key string) error {
	if err := r.s.settle(); err != nil {
		return err
	}

	r.s.mu.Lock()
	for _, x := range r.s.ix.Tasks {
		if x.Key == key {
			r.s.mu.Unlock()
			return nil
		}
	}

	r.s.mu.Unlock()

	return r.discard(key)
}
