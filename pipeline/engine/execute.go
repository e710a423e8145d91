package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
)

// Executor is where the tasks of a run are made: in this process (Local), or by
// worker processes somewhere that sees the work directory. The runner decides
// which tasks are ready and in which order; the executor decides when and where.
// It never decides whether a task succeeded: the object in the store does.
type Executor interface {
	// Open is called once, with the lock of the work directory held, before the
	// first task. The session is valid until Close.
	Open(ctx context.Context, s *Session) error
	// Limit is how many tasks it takes in hand at a time; 0: as many as are ready.
	Limit() int
	// Do returns when the task's result is sealed (nil), when it is sure that it
	// will not be (an error), or soon after ctx ends. It is called by one
	// goroutine per task in hand. ErrNotStarted means that nothing was done, which
	// is no failure of the task.
	Do(ctx context.Context, w *Work) error
	// Drain is called when a task has failed and the run is to end: what has not
	// begun need not begin, what has may finish.
	Drain()
	// Close is called when no task is in hand.
	Close() error
}

// ErrNotStarted is returned by an executor for a task that it never began,
// because the run ends.
var ErrNotStarted = errors.New("not started")

// Session is the run an executor works for.
type Session struct{ Dir string } // the work directory

// Work is one task that is ready: its inputs exist, its result does not.
type Work struct {
	Task   *Task
	Key    string  // of the result that is wanted
	Expect float64 // seconds it is expected to take

	st      *Status
	of      map[string]*Status
	r       *runner
	rec     *record
	started bool
}

// Make makes the result in this process.
func (w *Work) Make(ctx context.Context) error {
	w.Started("")

	var err error
	w.rec, err = w.r.make(ctx, w)

	return err
}

// Started notifies the run's observer that the task is being made, where: on a node,
// or "" in this process. Only the first call counts.
func (w *Work) Started(where string) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()

	if !w.started {
		w.started = true
		w.r.observe(Event{Kind: "start", Task: w.Task, Where: where})
	}
}

// Note sends the run's observer a note about the task.
func (w *Work) Note(text string) {
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	w.r.observe(Event{Kind: "note", Task: w.Task, Note: text})
}

// Sealed reports whether the result is in the store.
func (w *Work) Sealed() bool { return w.r.s.sealed(w.Key) }

// Clear moves away an object of that key that is to be made again by force, so that
// a worker's result can take its place. Other objects are left
// alone: another task of the same content may just have made them.
func (w *Work) Clear() error {
	if w.st.State != UpToDate {
		return nil
	}
	return w.r.discard(w.Key)
}

// discard removes the object of a key, if there is one.
func (r *runner) discard(key string) error {
	if r.s.discarded(key) {
		return nil
	}

	dir, err := r.folder(key, false)
	if err == nil {
		at := r.s.object(key)
		err = errors.Join(rename(at, filepath.Join(dir, "old")), disk.dir(filepath.Dir(at)), os.RemoveAll(dir))
	}

	if err != nil {
		return fmt.Errorf("clear old result: %w", err)
	}

	return nil
}

// Spec describes a task to a worker process: enough to make it while reading only
// the task's inputs.
type Spec struct {
	Task    string   `json:"task"`
	Key     string   `json:"key"`
	Inputs  []input  `json:"inputs,omitempty"`  // outputs of other tasks, as the driver found them
	Objects []string `json:"objects,omitempty"` // keys of the objects these are in
}

// Spec returns the task's description for a worker process.
func (w *Work) Spec() Spec {
	return Spec{
		Task: w.Task.ID, Key: w.Key, Inputs: w.Task.inputs(w.st.digests)[len(w.Task.Files):],
		Objects: lists.Each(w.Task.Deps, func(d Dep) string { return w.of[d.Task].rec.Key }),
	}
}

// sealed reports whether there is an object of that key: a file, or a folder with a manifest.
func (s *store) sealed(key string) bool {
	dir := s.object(key)
	fi, err := os.Lstat(dir)
	if err == nil && fi.IsDir() {
		_, err = os.Stat(filepath.Join(dir, "manifest.json"))
	}

	return err == nil
}

// Refresh reads the folder in which the object of a key appears. Network file
// systems remember for a while that a name was not there; reading its folder
// makes them ask again.
func (w *Work) Refresh() { _, _ = os.ReadDir(filepath.Dir(w.r.s.object(w.Key))) }

// Local makes tasks in this process, Jobs at a time.
type Local struct{ Jobs int }

// Open does nothing.
func (l Local) Open(context.Context, *Session) error { return nil }

// Limit is Jobs, at least 1.
func (l Local) Limit() int { return max(l.Jobs, 1) }

// Do makes the task.
func (l Local) Do(ctx context.Context, w *Work) error { return w.Make(ctx) }

// Drain does nothing: nothing waits here.
func (l Local) Drain() {}

// Close does nothing.
func (l Local) Close() error { return nil }

// adopt reads what a worker process sealed, durable for certain or not. It was written a
// moment ago by this same program; sizes are checked.
func (s *store) adopt(st *Status, durable bool) (*record, error) {
	dir := s.object(st.key)
	r, err := s.read(st)
	if err == nil {
		err = r.stampAll(dir)
	}

	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}

	for i, o := range r.Outputs {
		if !r.Packed && r.Stamps[i].Size != o.Size {
			return nil, fmt.Errorf("read result: %s has %d bytes, expected %d", o.Name, r.Stamps[i].Size, o.Size)
		}
	}

	s.remember(st.Task, r, durable)

	return r, nil
}

// make runs a task and seals its result.
func (r *runner) make(ctx context.Context, w *Work) (*record, error) {
	t, st := w.Task, w.st
	dir, err := r.folder(st.key, t.Packed)
	if err != nil {
		return nil, err
	}

	var rec *record
	defer func() {
		if rec == nil {
			os.RemoveAll(dir)
		}
	}()

	j := &Job{
		digests: map[string]string{}, inputs: map[Dep]string{}, held: st.held, fault: r.s.cache("fault.txt"),
		made: map[string]string{}, passing: map[string]Freer{},
		follows: func(task string) bool { return r.follows(t, task) },
	}

	if !t.Packed {
		j.Dir = dir
	}

	defer func() {
		for _, p := range j.packed {
			outputBuffers.Put(p.Buffer)
		}
	}()

	inputs := t.inputs(st.digests)
	for _, in := range inputs {
		j.made[in.Name] = in.Digest
	}

	j.passed = r.take(t, j.made)
	defer func() {
		if j.passed != nil {
			j.passed.Free()
		}

		for _, v := range j.passing { // to a task that does not get it
			v.Free()
		}
	}()

	for _, d := range t.Deps {
		j.inputs[d] = filepath.Join(r.s.object(w.of[d.Task].rec.Key), d.Output)
	}

	began := time.Now()

	if err := t.run(ctx, j); err != nil {
		return nil, err
	}

	if err := ctx.Err(); err != nil {
		return nil, err
	}

	for i, f := range t.Files {
		x := hashed{sum: st.digests[i], stamp: st.stamps[i]}
		if !x.unchanged(f) {
			return nil, &FileError{f.Path, errors.New("it changed while it was read; run again when it is complete")}
		}
	}

	host, _ := os.Hostname()
	if n := os.Getenv("SLURMD_NODENAME"); n != "" && r.worker {
		host = n
	}

	rec, err = r.s.seal(t, st.key, dir, manifest{
		Task: t.ID, Stage: t.Stage, Version: t.Version, Program: r.o.Program, Host: host,
		Start: began.UTC().Format(time.RFC3339), Seconds: time.Since(began).Seconds(),
		Config: t.settings(), Inputs: inputs, Annotate: r.o.Annotate,
	}, j, r.worker)
	if err == nil {
		r.pass(j)
	}

	return rec, err
}

// follows reports whether the task of that name is made next after t, here. It
// must wait for nothing else, and it must be as good as certain that it runs:
// it was never made, or from other settings or by another version. Such tasks
// go before others, so that no more is passed on at a time than tasks are made.
func (r *runner) follows(t *Task, task string) bool {
	if _, here := r.ex.(Local); !here {
		return false
	}

	old := r.s.last(task)
	r.mu.Lock()
	defer r.mu.Unlock()

	i := slices.IndexFunc(r.users[t.ID], func(u *Task) bool { return u.ID == task })
	if i < 0 || r.stop {
		return false
	}

	u := r.users[t.ID][i]
	st := r.of[u.ID]

	return r.wait[u] == 1 && (r.o.Force || old == nil || old.Version != u.Version ||
		slices.ContainsFunc(st.Reasons, func(r Reason) bool { return r.Kind == "key" }))
}

// folder makes a fresh folder for a task's outputs, or only says where they go if they
// will be one file. Workers use a folder that the driver does not clean at startup.
func (r *runner) folder(key string, packed bool) (string, error) {
	dir := r.s.cache("tmp", aside())

	var err error
	if r.worker {
		dir = r.s.cache("work", key+"-"+aside())
		err = os.MkdirAll(filepath.Dir(dir), 0o755)
	}

	if err == nil && !packed {
		err = os.Mkdir(dir, 0o755)
	}

	if err != nil {
		return "", &WorkdirError{r.s.dir, err}
	}

	return dir, nil
}

// Worker makes single tasks of a plan, without the lock of the work directory,
// at the same time as others. The first to seal a result wins.
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
// and takes the rest from the specification, so that it reads nothing that the
// task does not; if that gives another key than the driver's, this machine sees
// other files than the driver did, and the task is refused. ran is false when
// the result was there already.
func (k *Worker) Make(ctx context.Context, spec Spec) (ran bool, err error) {
	i := slices.IndexFunc(k.Plan.Tasks, func(t *Task) bool { return t.ID == spec.Task })
	if i < 0 {
		return false, &SpecError{spec.Task, "no such task in the plan; pipeline tasks lists them"}
	}

	t, s, of := k.Plan.Tasks[i], newStore(k.Plan.Dir), map[string]*Status{}
	if s.sealed(spec.Key) {
		return false, nil
	}

	if len(spec.Objects) != len(t.Deps) || len(spec.Inputs) != len(t.Deps) {
		return false, &SpecError{t.ID, "the plan here has other inputs for it than the driver's; was the configuration " +
			"changed since? start the run again"}
	}

	for i, d := range t.Deps {
		if of[d.Task] == nil {
			of[d.Task] = &Status{rec: &record{Key: spec.Objects[i]}}
		}

		up := of[d.Task].rec
		up.Outputs = append(up.Outputs, output{Name: d.Output, SHA256: spec.Inputs[i].Digest})
	}

	st, err := s.assess(t, of, false)
	if err != nil {
		return false, err
	}

	if st.key != spec.Key {
		return false, &SpecError{t.ID, "its key here is not the driver's: the configuration, a raw file or the numeric " +
			"kernels differ between the two, or were changed since; start the run again"}
	}

	r := newRunner(s, k.Plan, Options{Program: k.Program, Annotate: k.Annotate}, of)
	r.worker = true

	w := &Work{Task: t, Key: st.key, st: st, of: of, r: r}
	if err = w.Make(ctx); err != nil && w.Sealed() {
		err = nil // another copy was first
	}

	return w.rec != nil, err
}

// learn takes up what workers left.
func (s *store) learn() {
	list, _ := os.ReadDir(s.cache("learned"))
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}

		path := s.cache("learned", e.Name())

		var one index
		if one.load(path) != nil {
			continue
		}

		maps.Copy(s.ix.Configs, one.Configs)
		maps.Copy(s.ix.Tasks, one.Tasks)
		maps.Copy(s.ix.Files, one.Files)
		s.learned, s.dirty = append(s.learned, path), true
	}
}
