package engine

// Freer is a value whose memory is returned to a pool when nobody needs it any more.
type Freer interface{ Free() }

// A Handoff passes a value in memory from one task to the task that follows it,
// so that the second task does not compute it again. It saves work
// and must not change results: the second task gets no value if the first ran earlier
// or on another machine. A plan has one Handoff for each pair of tasks.
//
// The engine frees the value when the task that got it has ended, or when it is clear that no
// task will get it.
type Handoff[T Freer] struct{ task string }

// NewHandoff returns a Handoff to the task with an ID.
func NewHandoff[T Freer](task string) *Handoff[T] { return &Handoff[T]{task} }

// Wanted reports whether the other task will be made in this process as soon as the result of the job's task is sealed.
// Otherwise the value need not be computed.
func (h *Handoff[T]) Wanted(job *Job) bool { return job.follows != nil && job.follows(h.task) }

// Put passes a value to the other task. The other task gets it after the result of the job's task is sealed, if
// the raw files and inputs that both tasks read have not changed in between.
func (h *Handoff[T]) Put(job *Job, value T) {
	if old := job.passing[h.task]; old != nil {
		old.Free()
	}
	job.passing[h.task] = value
}

// Get returns the value that was passed to the job's task. ok is false if there is none.
func (h *Handoff[T]) Get(job *Job) (value T, ok bool) {
	value, ok = job.passed.(T)
	return value, ok
}

// passed is a value that a task has passed on and that the next task has not taken yet.
type passed struct {
	value Freer
	made  map[string]string // digests of the inputs from which it was made, as in Job.made
}

// pass keeps the values that a job passes on, after the job's result was sealed.
func (r *runner) pass(job *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for task, value := range job.passing {
		r.free(task)
		r.passed[task] = passed{value, job.made}
	}

	job.passing = nil
}

// take removes and returns the value that was passed to a task. It returns nil if there is none, or if a file or input
// that both tasks read has changed since; it then frees the value. made has the digests of the task's inputs, as in
// Job.made.
func (r *runner) take(task *Task, made map[string]string) Freer {
	r.mu.Lock()
	defer r.mu.Unlock()

	value := r.passed[task.ID]
	for name, digest := range value.made {
		if now, both := made[name]; both && now != digest {
			r.free(task.ID)
			return nil
		}
	}

	delete(r.passed, task.ID)

	return value.value
}

// free frees the value that was passed to a task, if the task has not taken it. The mutex must be held while tasks run.
func (r *runner) free(task string) {
	if value, ok := r.passed[task]; ok {
		value.value.Free()
		delete(r.passed, task)
	}
}
