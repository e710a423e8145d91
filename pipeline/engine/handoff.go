package engine

// Freer is a value whose memory is given back.
type Freer interface{ Free() }

// A Handoff passes a value in memory from one task to the task that follows it,
// so that the second does not compute again what the first knows. It saves work
// and must not change results: a task gets nothing where the other ran before,
// or on another machine. Make one for each pair of tasks when planning.
//
// The engine frees the value when the task that got it has ended, and where no
// task gets it.
type Handoff[T Freer] struct{ to string }

// NewHandoff returns a Handoff to the task with that ID.
func NewHandoff[T Freer](to string) *Handoff[T] { return &Handoff[T]{to} }

// Wanted reports whether the other task, which waits for this one alone, will be
// made in this process as soon as this one's result is sealed.
func (h *Handoff[T]) Wanted(j *Job) bool { return j.follows != nil && j.follows(h.to) }

// Put passes v to the other task. It gets v if the result of this one is sealed
// and the raw files and inputs that both read are the same for both.
func (h *Handoff[T]) Put(j *Job, v T) {
	if old := j.passing[h.to]; old != nil {
		old.Free()
	}
	j.passing[h.to] = v
}

// Get returns the value that was passed to this task, ok false without one.
func (h *Handoff[T]) Get(j *Job) (v T, ok bool) {
	v, ok = j.passed.(T)
	return v, ok
}

// passed is a value on its way, and the digests of what its task has read.
type passed struct {
	v    Freer
	made map[string]string
}

// pass keeps what a task passes on, now that its result is sealed.
func (r *runner) pass(j *Job) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for task, v := range j.passing {
		r.free(task)
		r.passed[task] = passed{v, j.made}
	}

	j.passing = nil
}

// take returns the value passed to t, unless one of the files and inputs that both tasks
// read has changed since.
func (r *runner) take(t *Task, made map[string]string) Freer {
	r.mu.Lock()
	defer r.mu.Unlock()

	p := r.passed[t.ID]
	for name, digest := range p.made {
		if now, both := made[name]; both && now != digest {
			r.free(t.ID)
			return nil
		}
	}

	delete(r.passed, t.ID)

	return p.v
}

// free frees a value that was passed to a task and not taken.
func (r *runner) free(task string) {
	if p, ok := r.passed[task]; ok {
		p.v.Free()
		delete(r.passed, task)
	}
}
