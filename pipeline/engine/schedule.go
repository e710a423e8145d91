package engine

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// queue is a heap, for package container/heap: its first element is less than all others.
type queue[T any] struct {
	list []T
	less func(a, b T) bool
}

func (q *queue[T]) Len() int { return len(q.list) }

func (q *queue[T]) Less(i, j int) bool { return q.less(q.list[i], q.list[j]) }

func (q *queue[T]) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }

func (q *queue[T]) Push(element any) { q.list = append(q.list, element.(T)) }

func (q *queue[T]) Pop() any {
	last := q.list[len(q.list)-1]
	q.list = q.list[:len(q.list)-1]

	return last
}

// run passes the tasks of todo to the executor as they become ready, as many at
// a time as it accepts. It returns an error of the executor; r.failed has the errors of tasks.
func (r *runner) run(ctx context.Context, todo []*Task) error {
	r.queueReady(todo)
	if err := r.executor.Open(ctx, &Session{r.plan.Dir}); err != nil {
		return fmt.Errorf("open executor: %w", err)
	}

	stop := context.AfterFunc(ctx, r.halt)
	defer stop()

	r.runReady(ctx)

	if err := r.executor.Close(); err != nil {
		return fmt.Errorf("close executor: %w", err)
	}

	return nil
}

// queueReady creates the queue of ready tasks, and adds the tasks of todo that wait for no other task. Near tasks go
// first (runner.near). In a campaign that is larger than the memory, a file would otherwise be read from the disk again
// for each of its tasks, and there would be more passed values than tasks in hand. Then the task with the heaviest
// chain of tasks behind it goes first, and then the first in the plan.
func (r *runner) queueReady(todo []*Task) {
	order := map[*Task]int{}
	for i, task := range todo {
		order[task] = i
	}

	r.ready = &queue[*Task]{less: func(a, b *Task) bool {
		if r.near[a] != r.near[b] {
			return r.near[a]
		}

		if r.level[a] != r.level[b] {
			return r.level[a] > r.level[b]
		}

		return order[a] < order[b]
	}}

	for _, task := range todo {
		if r.wait[task] == 0 {
			heap.Push(r.ready, task)
		}
	}
}

// runReady starts ready tasks until none is in hand and none will become ready.
func (r *runner) runReady(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()

	drained := false
	for {
		for task := r.next(); task != nil; task = r.next() {
			go r.runChain(ctx, task)
		}

		if r.busy == 0 && (r.stop || r.ready.Len() == 0) {
			return
		}

		if r.stop && !drained {
			drained = true
			r.mu.Unlock()
			r.executor.Drain()
			r.mu.Lock()
			continue
		}

		r.cond.Wait()
	}
}

// runChain makes a task, which is in hand already, and then further ready tasks one after the other. It does not start
// a goroutine for each, because the stack of a new goroutine would take time to grow.
func (r *runner) runChain(ctx context.Context, task *Task) {
	for task != nil {
		began := time.Now()

		ran, seconds, err := r.do(ctx, task)
		if seconds == 0 {
			seconds = time.Since(began).Seconds()
		}

		r.mu.Lock()
		r.busy--
		r.finish(ctx, task, ran, seconds, err)
		task = r.next()
		r.cond.Broadcast()
		r.mu.Unlock()
	}
}

// next takes the first ready task in hand. It returns nil if there is none, if the executor has as many tasks in hand
// as its limit allows, or if the run stops. The mutex must be held.
func (r *runner) next() *Task {
	limit := r.executor.Limit()
	isFull := limit > 0 && r.busy >= limit
	if r.stop || r.ready.Len() == 0 || isFull {
		return nil
	}

	task := heap.Pop(r.ready).(*Task)
	r.busy++
	delete(r.untaken, task)

	summary := r.stage(task.Stage)
	if !summary.started {
		summary.started = true
		summary.first = time.Now()
	}

	return task
}

// halt keeps further tasks from beginning.
func (r *runner) halt() {
	r.mu.Lock()
	r.stop = true
	r.mu.Unlock()
	r.cond.Broadcast()
}

// finish counts a task that has ended, and queues the tasks that waited for this task alone. If the task failed, it
// queues none. The mutex must be held.
func (r *runner) finish(ctx context.Context, task *Task, ran bool, seconds float64, err error) {
	r.free(task.ID) // a task whose result was found has not taken the value that was passed to it
	summary := r.stage(task.Stage)
	summary.last = time.Now()
	if errors.Is(err, ErrNotStarted) {
		r.observe(Event{Kind: "skipped", Task: task})
		return
	}

	summary.Seconds += seconds
	if err != nil && ctx.Err() != nil { // interrupted
		return
	}

	if err != nil {
		summary.Failed++
		r.failed = append(r.failed, &TaskError{task, err})
		r.observe(Event{Kind: "failed", Task: task, Seconds: seconds, Err: err, Skipped: r.skipped(task)})
		r.stop = r.stop || !r.options.KeepGoing

		return
	}

	if ran {
		summary.Ran++
		if seconds > r.res.SlowestSeconds {
			r.res.Slowest = task.ID
			r.res.SlowestSeconds = seconds
		}
	} else {
		summary.Cached++
	}

	r.observe(Event{Kind: "done", Task: task, Ran: ran, Seconds: seconds})

	for _, user := range r.users[task.ID] {
		if r.wait[user]--; r.wait[user] == 0 {
			_, passed := r.passed[user.ID]
			r.near[user] = passed || user.sharesFile(task)
			heap.Push(r.ready, user)
		}
	}
}

// skipped returns the tasks that are certainly not made because a task failed: the tasks that need its result or, if
// the run ends with the failure, all tasks that were not taken in hand. A task in hand may run on another machine, or
// may have ended there. If it never begins, finish tells the observer. The mutex must be held.
func (r *runner) skipped(failed *Task) []*Task {
	if r.options.KeepGoing {
		return r.dependents(failed)
	}

	var skipped []*Task
	for _, task := range r.plan.Tasks {
		if r.untaken[task] {
			skipped = append(skipped, task)
		}
	}

	clear(r.untaken)

	return skipped
}

// dependents returns the tasks of the run that need the result of a task, directly or not.
func (r *runner) dependents(task *Task) []*Task {
	var found []*Task
	isFound := map[*Task]bool{}
	for todo := []*Task{task}; len(todo) > 0; todo = todo[1:] {
		for _, user := range r.users[todo[0].ID] {
			if !isFound[user] {
				isFound[user] = true
				found = append(found, user)
				todo = append(todo, user)
			}
		}
	}

	return found
}

// sharesFile reports whether both tasks read a raw file.
func (t *Task) sharesFile(other *Task) bool {
	for _, file := range t.Files {
		if slices.Contains(other.Files, file) {
			return true
		}
	}

	return false
}

// observe passes an event to the journal and to the observer of the run. The mutex must be held while tasks run.
func (r *runner) observe(event Event) {
	if r.journal != nil && event.Task != nil {
		r.journal.observe(event)
	}

	if r.options.Observe != nil {
		r.options.Observe(event)
	}
}

// alone waits until no other task makes the result with a key. Until the caller calls release, other callers wait.
// Tasks of several experiments may want the same result. It is made only once in a run, also in a forced run: otherwise
// a task would replace the object while another task reads or publishes it.
func (r *runner) alone(key string) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for r.making[key] {
		r.cond.Wait()
	}

	r.making[key] = true

	return func() {
		r.mu.Lock()
		delete(r.making, key)
		r.mu.Unlock()
		r.cond.Broadcast()
	}
}

// isMade reports whether a task of this run has made the result with a key.
func (r *runner) isMade(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.made[key]
}

// follows reports whether the task with the ID next is made after t, so that t may pass a value to it. This requires:
//   - This process makes the tasks, and the run does not stop.
//   - The next task waits for t alone.
//   - Its result is almost certainly missing in the store: the task was never made, its settings or its version
//     changed, or the run is forced.
func (r *runner) follows(t *Task, next string) bool {
	if _, here := r.executor.(Local); !here {
		return false
	}

	old := r.store.last(next)
	r.mu.Lock()
	defer r.mu.Unlock()

	user := findTask(r.users[t.ID], next)
	if user == nil || r.stop || r.wait[user] != 1 {
		return false
	}

	if r.options.Force || old == nil || old.Version != user.Version {
		return true
	}

	return slices.ContainsFunc(r.statuses[user.ID].Reasons, func(reason Reason) bool { return reason.Kind == "key" })
}

// findTask returns the task with an ID, or nil if there is none.
func findTask(tasks []*Task, id string) *Task {
	for _, task := range tasks {
		if task.ID == id {
			return task
		}
	}

	return nil
}
