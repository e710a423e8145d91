package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// do makes a task with the executor, and publishes its result. It does not make the result if it turns out to be in the
// store, because a task that had to run before may have given the same outputs as last time. ran reports whether the
// executor started the task. seconds is the time that another process took to make it, and 0 if this process made it.
func (r *runner) do(ctx context.Context, task *Task) (ran bool, seconds float64, err error) {
	former := r.store.last(task.ID)
	st, statuses, err := r.reassess(task)
	if err != nil {
		return false, 0, err
	}

	defer st.releaseFiles()

	if st.record == nil || r.options.Force {
		release := r.alone(st.key)
		defer release()

		ran, seconds, err = r.makeOnce(ctx, st, statuses)
		if err != nil {
			return ran, 0, err
		}
	}

	return ran, seconds, r.deliver(st, former)
}

// makeOnce makes the result of a task with the executor, or takes the result that another task with the same key got in
// this run. The caller must hold the key with alone. The results are those of do.
func (r *runner) makeOnce(ctx context.Context, st *Status, statuses map[string]*Status,
) (ran bool, seconds float64, err error) {
	if r.isMade(st.key) {
		r.lookAgain(st)
		if st.record != nil {
			return false, 0, nil
		}
	}

	if err := r.setAside(st); err != nil {
		return false, 0, err
	}

	work := &Work{Task: st.Task, Key: st.key, Expect: r.expected(st.Task), status: st, statuses: statuses, runner: r}
	ran, err = r.execute(ctx, work)
	if err != nil {
		return ran, 0, err
	}

	seconds, err = r.takeResult(work)
	if err != nil {
		return ran, 0, err
	}

	r.mu.Lock()
	r.made[st.key] = true
	r.mu.Unlock()

	return ran, seconds, nil
}

// deliver publishes the result of a task that is up to date now, and writes the index if that is due. former is the
// record of the task's result before this run, or nil: if the task replaces it, deliver removes it.
func (r *runner) deliver(st *Status, former *record) error {
	r.gate <- struct{}{}
	defer func() { <-r.gate }()

	r.mu.Lock()
	r.statuses[st.Task.ID] = st
	r.mu.Unlock()

	if err := r.store.publish(st.Task, st.record); err != nil {
		return err
	}

	hasFormer := former != nil && former.Key != st.key
	if st.Task.Replaces && hasFormer && !r.worker {
		if err := r.replace(former.Key); err != nil {
			return err
		}
	}

	return r.store.save(false)
}

// releaseFiles returns the memory of the raw files whose contents were kept for the task.
func (st *Status) releaseFiles() {
	for i := range st.held {
		st.held[i].release()
	}

	st.held = nil
}

// reassess determines the status of a task whose dependencies are up to date now. It also returns their statuses, by
// task.
func (r *runner) reassess(task *Task) (st *Status, statuses map[string]*Status, err error) {
	statuses = make(map[string]*Status, len(task.Deps))
	r.mu.Lock()
	for _, dep := range task.Deps {
		statuses[dep.Task] = r.statuses[dep.Task]
	}
	r.mu.Unlock()

	r.gate <- struct{}{}
	defer func() { <-r.gate }()

	st, err = r.store.assess(task, statuses, false)

	return st, statuses, err
}

// lookAgain looks up the result once more, after another task with the same key got it in this run.
func (r *runner) lookAgain(st *Status) {
	r.gate <- struct{}{}
	defer func() { <-r.gate }()

	st.record, _ = r.store.lookup(st) // a damaged result is made again
	if st.record != nil {
		st.State = UpToDate
	}
}

// execute passes the work to the executor. started reports whether it did: a worker does not if it cannot clear the
// former object. It returns no error if another process has made the result meanwhile.
func (r *runner) execute(ctx context.Context, work *Work) (started bool, err error) {
	if !r.worker {
		return true, r.executor.Do(ctx, work)
	}

	if err := work.Clear(); err != nil && !r.store.absent(work.Key) { // without the object, another process cleared it
		return false, err
	}

	if err := r.executor.Do(ctx, work); err != nil && !work.Sealed() {
		return true, err
	}

	return true, nil
}

// takeResult takes the record of the work's result into the task's status. If another process made the result,
// takeResult reads it from the store and returns how many seconds that process took.
func (r *runner) takeResult(work *Work) (seconds float64, err error) {
	r.gate <- struct{}{}
	defer func() { <-r.gate }()

	st := work.status
	record := work.record
	if record == nil {
		work.Started("")
		record, err = r.store.adopt(st, true) // durable: a worker seals a result only then
		if err != nil {
			return 0, err
		}

		seconds = record.Seconds
	}

	st.State = UpToDate
	st.record = record

	return seconds, nil
}

// setAside moves the object of a task to .cache/damaged if it is damaged, and tells the observer.
func (r *runner) setAside(st *Status) error {
	for _, reason := range st.Reasons {
		if reason.Kind != "damaged" || st.record != nil || r.store.absent(st.key) {
			continue
		}

		if err := r.store.setAside(r.store.object(st.key)); err != nil {
			return err
		}

		r.mu.Lock()
		r.observe(Event{Kind: "note", Task: st.Task, Note: "damaged result " + reason.Name +
			"; it is in " + r.store.cache("damaged") + " now and is made again"})
		r.mu.Unlock()
	}

	return nil
}

// replace removes the former result of a task, whose key is given, unless it is the result of another task too. It
// makes the present result durable first.
func (r *runner) replace(key string) error {
	if err := r.store.settle(); err != nil {
		return err
	}

	if r.store.isResult(key) {
		return nil
	}

	return r.discard(key)
}

// isResult reports whether the object with a key is the last result of a task.
func (s *store) isResult(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, record := range s.index.Tasks {
		if record.Key == key {
			return true
		}
	}

	return false
}

// discard removes the object with a key, if there is one.
func (r *runner) discard(key string) error {
	if r.store.absent(key) {
		return nil
	}

	if err := r.removeObject(key); err != nil {
		return fmt.Errorf("clear old result: %w", err)
	}

	return nil
}

// removeObject gives an object another name, makes the loss of its old name durable, and deletes it.
func (r *runner) removeObject(key string) error {
	dir, err := r.folder(key, false)
	if err != nil {
		return err
	}

	object := r.store.object(key)
	if err := rename(object, filepath.Join(dir, "old")); err != nil {
		os.RemoveAll(dir) // the new folder is empty
		return err
	}

	if err := disk.dir(filepath.Dir(object)); err != nil {
		return err
	}

	return os.RemoveAll(dir)
}

// make runs a task in this process and seals its result. It returns nil and no error if another process was first.
func (r *runner) make(ctx context.Context, work *Work) (*record, error) {
	task := work.Task
	dir, err := r.folder(work.status.key, task.Packed)
	if err != nil {
		return nil, err
	}

	isSealed := false
	defer func() {
		if !isSealed {
			os.RemoveAll(dir)
		}
	}()

	inputs := task.inputs(work.status.digests)
	job := r.newJob(work, inputs, dir)
	defer job.free()

	began := time.Now()
	if err := task.run(ctx, job); err != nil {
		return nil, err
	}

	if err := ctx.Err(); err != nil {
		return nil, err
	}

	if err := work.status.checkFiles(); err != nil {
		return nil, err
	}

	rec, err := r.store.seal(task, work.status.key, dir, manifest{
		Task: task.ID, Stage: task.Stage, Version: task.Version, Program: r.options.Program, Host: r.host(),
		Start: began.UTC().Format(time.RFC3339), Seconds: time.Since(began).Seconds(),
		Config: task.settings(), Inputs: inputs, Annotate: r.options.Annotate,
	}, job, r.worker)
	if err != nil || rec == nil {
		return nil, err
	}

	isSealed = true
	r.pass(job)

	return rec, nil
}

// newJob returns the job of a task, which writes its outputs to dir unless it is packed. The job takes the value that
// was passed to the task.
func (r *runner) newJob(work *Work, inputs []input, dir string) *Job {
	task := work.Task
	job := &Job{
		digests: map[string]string{}, inputs: map[Dep]string{}, held: work.status.held, fault: r.store.cache("fault.txt"),
		made: map[string]string{}, passing: map[string]Freer{},
		follows: func(other string) bool { return r.follows(task, other) },
	}

	if !task.Packed {
		job.Dir = dir
	}

	for _, input := range inputs {
		job.made[input.Name] = input.Digest
	}

	for _, dep := range task.Deps {
		job.inputs[dep] = filepath.Join(r.store.object(work.statuses[dep.Task].record.Key), dep.Output)
	}

	job.passed = r.take(task, job.made)

	return job
}

// free frees the memory of a job that has ended: its outputs, the value that was passed to it, and values that it would
// have passed on if its result had been sealed.
func (j *Job) free() {
	for _, p := range j.packed {
		outputBuffers.Put(p.Buffer)
	}

	if j.passed != nil {
		j.passed.Free()
	}

	for _, value := range j.passing {
		value.Free()
	}
}

// checkFiles returns a *FileError if one of the task's raw files has changed since it was hashed.
func (st *Status) checkFiles() error {
	for i, file := range st.Task.Files {
		known := hashed{sum: st.digests[i], stamp: st.stamps[i]}
		if !known.unchanged(file) {
			return &FileError{file.Path, errors.New("it changed while it was read; run again when it is complete")}
		}
	}

	return nil
}

// host returns the name of this machine for manifests. In a job of Slurm it is the name that Slurm uses for the node.
func (r *runner) host() string {
	if name := os.Getenv("SLURMD_NODENAME"); name != "" && r.worker {
		return name
	}

	name, _ := os.Hostname() // "" if the system does not know it

	return name
}

// folder returns the path of a fresh folder for a task's outputs, which it creates unless they are
// packed into one file at that path. Workers use a folder that a driver does not clear when it starts.
func (r *runner) folder(key string, packed bool) (string, error) {
	dir := r.store.cache("tmp", aside())

	if r.worker {
		dir = r.store.cache("work", key+"-"+aside())
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return "", &WorkdirError{r.store.dir, err}
		}
	}

	if packed {
		return dir, nil
	}

	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", &WorkdirError{r.store.dir, err}
	}

	return dir, nil
}
