package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"doubletake/pipeline/engine"
)

// task is one task in hand, from Do to its end.
type task struct {
	w         *engine.Work
	done      chan error
	came      time.Time
	notBefore time.Time
	before    time.Time // its progress when it was submitted last
}

// element is one array element as the driver knows it.
type element struct {
	specs    []engine.Spec
	tasks    []*task         // nil where resolved, or never asked for
	state    string          // squeue's last word, "" before the first
	reason   string          // why it waits
	node     string          // where it runs, or ran
	waits    time.Time       // since when it is pending for that reason
	over     time.Time       // since when it is ended, or gone
	sealedAt time.Time       // since when it is in hand though nothing of it is wanted
	closed   bool            // nothing more will come of it
	stopped  bool            // this driver cancelled it
	failed   map[string]bool // keys of tasks that failed in it before this driver looked
}

func (el *element) unresolved() bool {
	return slices.ContainsFunc(el.tasks, func(t *task) bool { return t != nil })
}

// batch is one array of jobs.
type batch struct {
	name, dir string
	stage     string
	job       string // number of the array, "" while not known
	submitted time.Time
	known     bool // squeue has shown it, or sbatch has accepted it
	limit     int  // jobs of it at a time; 0: any
	elements  []*element
	read      map[string]bool // failure notes that were read
	told      map[string]bool // reasons to wait that were told
	tries     int             // of sbatch
	retryAt   time.Time
	ready     bool // to be submitted
	failed    bool // some task of it failed: its logs stay
	memory    int  // how often more memory was asked for
	earlier   bool // of an earlier driver
}

func (b *batch) left() int {
	n := 0
	for _, el := range b.elements {
		if !el.closed {
			n++
		}
	}
	return n
}

// Executor makes tasks on a Slurm cluster. It works for one run.
type Executor struct {
	o    Options
	ctx  context.Context
	s    *engine.Session
	in   chan *task
	todo chan func()
	quit chan struct{}
	gone chan struct{} // the loop has ended

	cancel     chan struct{}
	cancelOnce sync.Once

	// The rest belongs to the loop.
	j         *journal
	cluster   cluster
	batches   []*batch
	pending   []*task
	attached  bool // what an earlier driver left is known
	waitUntil time.Time
	asking    bool // squeue runs
	calling   bool // sbatch, or another command that changes something, runs
	nextAsk   time.Time
	heard     time.Time // when squeue was last asked and answered
	askEvery  time.Duration
	deaf      bool // the controller does not answer, and that was told
	attempts  map[string]int
	raised    map[string]int
	handled   map[string]bool  // keys this run asked for; true once a job has them in hand or had
	refused   map[string]error // by stage: sbatch will not have such jobs
	draining  bool
	fatal     error
	seq       int
	run       string // distinguishes this run's batches
	binary    string // path of the program's copy, from a batch's folder
	probe     *batch
	probed    bool // the probe has answered well, or is not waited for
	probeFrom time.Time
	changed   time.Time // when something happened last
	submitted int
	least     float64 // seconds of work that a worker's start is worth
}

// New returns an executor for one run.
func New(o Options) *Executor {
	o.defaults()
	return &Executor{
		o: o, in: make(chan *task, 1024), todo: make(chan func(), 64), quit: make(chan struct{}), gone: make(chan struct{}), cancel: make(chan struct{}),
		handled: map[string]bool{}, refused: map[string]error{}, askEvery: o.Query, run: strconv.FormatInt(time.Now().UnixNano(), 36),
	}
}

// Cancel makes an interrupted run cancel its jobs instead of leaving them in
// the queue.
func (e *Executor) Cancel() { e.cancelOnce.Do(func() { close(e.cancel) }) }

// Submitted is how many jobs (array elements) were submitted; valid after Close.
func (e *Executor) Submitted() int { return e.submitted }

// Limit keeps the number of goroutines within reason.
func (e *Executor) Limit() int { return 20000 }

func (e *Executor) root(elem ...string) string {
	return e.s.Cache(append([]string{"slurm"}, elem...)...)
}

// Open reads what an earlier driver left, and learns of the cluster.
func (e *Executor) Open(ctx context.Context, s *engine.Session) error {
	e.ctx, e.s = ctx, s
	var err error
	if e.s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return fmt.Errorf("find workdir: %w", err)
	}
	if _, err := call(ctx, "", "squeue", "--version"); err != nil {
		return err
	}
	if err := os.MkdirAll(e.root("batches"), 0o755); err != nil {
		return &engine.WorkdirError{Dir: s.Dir, Err: err}
	}
	m, err := readJournal(e.root("journal"))
	if err != nil {
		return err
	}
	e.attempts, e.raised = m.attempts, m.raised
	if e.j, err = openJournal(e.root("journal")); err != nil {
		return err
	}
	e.attach(m.open)
	if err := e.copyBinary(); err != nil {
		return err
	}
	// A controller that is away must not stop the run; what is not known has defaults.
	c, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	e.cluster = askCluster(c, e.o.Settings)
	if e.o.MaxRunning > 0 {
		e.cluster.slots = min(e.cluster.slots, e.o.MaxRunning)
	}
	go e.loop()
	return nil
}

// attach takes up the batches that a journal left open.
func (e *Executor) attach(open []opened) {
	known := map[string]bool{}
	for _, o := range open {
		dir := e.root("batches", o.name)
		plan, ok, err := ReadBatch(filepath.Join(dir, "plan.json"))
		if err != nil || !ok || plan.Probe {
			// Without its plan no job of it can do anything, now or later.
			_ = e.j.write(entry{Of: o.name, Close: true})
			continue
		}
		known[o.name] = true
		b := &batch{name: o.name, dir: dir, stage: plan.Stage, job: o.job, known: o.job != "", submitted: o.at, earlier: true, read: map[string]bool{}, told: map[string]bool{}}
		for _, specs := range plan.Elements {
			b.elements = append(b.elements, &element{specs: specs, tasks: make([]*task, len(specs))})
		}
		for _, n := range list(filepath.Join(dir, "failed")) {
			b.read[n] = true // what failed before is tried again
			js, err := os.ReadFile(filepath.Join(dir, "failed", n))
			var f Failure
			if err == nil && json.Unmarshal(js, &f) == nil && f.Element >= 0 && f.Element < len(b.elements) {
				el := b.elements[f.Element]
				if el.failed == nil {
					el.failed = map[string]bool{}
				}
				el.failed[f.Key] = true
			}
		}
		if o.job == "" && time.Since(o.at) < time.Minute {
			e.waitUntil = time.Now().Add(3 * time.Second) // its sbatch may just be through
		}
		e.batches = append(e.batches, b)
	}
	for _, n := range list(e.root("batches")) {
		if !known[n] {
			os.RemoveAll(e.root("batches", n))
		}
	}
	e.attached = len(e.batches) == 0
}

func list(dir string) []string {
	entries, _ := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, x := range entries {
		names[i] = x.Name()
	}
	return names
}

// copyBinary puts the program beside the plans, named by its content.
func (e *Executor) copyBinary() error {
	name, err := contentName(e.o.Binary)
	if err != nil {
		return fmt.Errorf("copy program for the nodes: %w", err)
	}
	e.binary = "../../bin/" + name
	to := e.root("bin", name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if e.attached { // nobody runs an older one
		os.RemoveAll(e.root("bin"))
	}
	if err := os.MkdirAll(e.root("bin"), 0o755); err != nil {
		return &engine.WorkdirError{Dir: e.s.Dir, Err: err}
	}
	tmp := to + ".tmp"
	err = func() error {
		from, err := os.Open(e.o.Binary)
		if err != nil {
			return err
		}
		defer from.Close()
		f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close())
	}()
	if err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("copy program for the nodes: %w", err)
	}
	return nil
}

// Do has one task made.
func (e *Executor) Do(ctx context.Context, w *engine.Work) error {
	t := &task{w: w, done: make(chan error, 1), came: time.Now()}
	select {
	case e.in <- t:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Drain cancels what has not begun, unless the run was interrupted: then its
// jobs stay where they are, for the next run to find.
func (e *Executor) Drain() {
	if e.ctx.Err() != nil {
		return
	}
	e.post(func() {
		e.draining = true
		for _, t := range e.pending {
			t.done <- engine.ErrNotStarted
		}
		e.pending = nil
	})
}

func (e *Executor) post(f func()) {
	select {
	case e.todo <- f:
	case <-e.gone:
	}
}

// loop is the one goroutine that decides. Commands run beside it and post what
// they found.
func (e *Executor) loop() {
	defer close(e.gone)
	tick := time.NewTicker(e.o.Tick)
	defer tick.Stop()
	e.changed = time.Now()
	var last time.Time
	for {
		select {
		case t := <-e.in:
			e.handled[t.w.Key] = false
			if e.draining {
				t.done <- engine.ErrNotStarted
				continue
			}
			e.pending = append(e.pending, t)
			continue
		case f := <-e.todo:
			f()
			continue
		case <-e.quit:
			return
		case <-tick.C:
		}
		// The longer nothing happens the more rarely the store is looked at.
		now := time.Now()
		if quiet := now.Sub(e.changed); now.Sub(last) < min(quiet/50, 3*time.Second) {
			continue
		}
		last = now
		e.results(now)
		e.ask(now)
		e.judge(now)
		e.submit(now)
	}
}

func (e *Executor) stir() { e.changed, e.askEvery = time.Now(), e.o.Query }

// resolve ends a task's stay.
func (e *Executor) resolve(t *task, err error) {
	e.stir()
	t.done <- err
}

// results looks into the store for what is finished, and into the batches for
// what failed.
func (e *Executor) results(now time.Time) {
	inHand := 0
	for _, b := range e.batches {
		inHand += b.left()
	}
	for _, b := range e.batches {
		for _, el := range b.elements {
			if el.closed || !el.unresolved() || el.state == "PENDING" && inHand > 500 {
				continue
			}
			for i, t := range el.tasks {
				if t == nil {
					continue
				}
				if !t.w.Sealed() {
					// They are made in this order: one look per job is enough.
					if el.over.IsZero() && !b.earlier {
						break
					}
					continue
				}
				el.tasks[i] = nil
				e.resolve(t, nil)
			}
		}
		e.failures(b)
	}
	if e.probe != nil {
		e.answer(now)
	}
}

// failures reads the notes of tasks that failed.
func (e *Executor) failures(b *batch) {
	dir := filepath.Join(b.dir, "failed")
	for _, n := range list(dir) {
		if b.read[n] || strings.HasPrefix(n, ".") {
			continue
		}
		js, err := os.ReadFile(filepath.Join(dir, n))
		var f Failure
		if err != nil || json.Unmarshal(js, &f) != nil || f.Element < 0 || f.Element >= len(b.elements) {
			continue
		}
		b.read[n] = true
		el := b.elements[f.Element]
		for i, t := range el.tasks {
			if t != nil && t.w.Key == f.Key {
				el.tasks[i] = nil
				err := &TaskError{Task: f.Task, Text: f.Text, Code: f.Code, Node: f.Node, Job: f.Job, Log: e.keepLog(b, f.Element)}
				e.died(t, err, ending{again: f.Code == 1})
			}
		}
	}
}

// TaskError says why a task has no result.
type TaskError struct {
	Task string
	Text string // what the task said, or what Slurm says of its job
	Code int    // exit status that the failure means
	Node string
	Job  string
	Log  string // path of the log
	Tail string // end of the log, where the task could say nothing itself
	Of   int    // attempts made
}

func (e *TaskError) Error() string {
	var b strings.Builder
	b.WriteString(e.Text)
	fmt.Fprintf(&b, " (job %s", e.Job)
	if e.Node != "" {
		fmt.Fprintf(&b, " on %s", e.Node)
	}
	if e.Of > 1 {
		fmt.Fprintf(&b, ", tried %d times", e.Of)
	}
	b.WriteString(")")
	if e.Log != "" {
		fmt.Fprintf(&b, "; log %s", e.Log)
	}
	if e.Tail != "" {
		fmt.Fprintf(&b, " ends with:\n    %s", strings.ReplaceAll(e.Tail, "\n", "\n    "))
	}
	return b.String()
}

// ExitStatus is the program's exit status for this failure.
func (e *TaskError) ExitStatus() int { return e.Code }

func (e *Executor) keepLog(b *batch, el int) string {
	b.failed = true
	return filepath.Join(b.dir, "log", strconv.Itoa(el)+".log")
}

// tail returns the last lines of a log.
func tail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if fi, err := f.Stat(); err == nil && fi.Size() > 8192 {
		_, _ = f.Seek(-8192, io.SeekEnd)
	}
	b, _ := io.ReadAll(f)
	all := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.ToValidUTF8(strings.Join(all[max(0, len(all)-lines):], "\n"), "?")
}

// ending is what kind of end it was: worth another try; perhaps for want of
// memory; cut short from outside, so that another try goes on where it wrote
// its last checkpoint and counts for nothing if there is a new one.
type ending struct{ again, more, cut bool }

// died books the end of a task without a result, and has it made again where
// that is wanted.
func (e *Executor) died(t *task, err *TaskError, end ending) {
	key, again, more := t.w.Key, end.again, end.more
	progress := end.cut && !t.before.IsZero() && t.w.Progress().After(t.before)
	if !progress {
		e.attempts[key]++
		if more && e.o.RetryMem > 1 {
			e.raised[key]++
		}
		if werr := e.j.write(entry{Died: key, Why: err.Text, Memory: e.raised[key]}); werr != nil {
			e.o.Say(werr.Error())
		}
	}
	err.Of = e.attempts[key]
	switch {
	case e.draining && again:
		e.resolve(t, engine.ErrNotStarted)
	case !again || e.attempts[key] > e.o.Retries:
		e.resolve(t, err)
	default:
		how := fmt.Sprintf("attempt %d of %d", e.attempts[key]+1, e.o.Retries+1)
		if progress {
			how = "it goes on where it stopped"
		}
		t.w.Note(fmt.Sprintf("tried again, %s: %s", how, firstLine(err.Text)))
		t.notBefore = time.Now().Add(min(time.Second<<min(e.attempts[key], 5), 30*time.Second) / 2)
		e.pending = append(e.pending, t)
		e.stir()
	}
}

func firstLine(s string) string { l, _, _ := strings.Cut(s, "\n"); return l }

// ask asks squeue, beside the loop.
func (e *Executor) ask(now time.Time) {
	if e.asking || now.Before(e.nextAsk) || now.Before(e.waitUntil) {
		return
	}
	var names []string
	for _, b := range e.batches {
		if !b.ready {
			names = append(names, b.name)
		}
	}
	if e.probe != nil {
		names = append(names, e.probe.name)
	}
	if len(names) == 0 {
		return
	}
	e.asking = true
	go func() {
		rows, err := squeue(context.WithoutCancel(e.ctx), names)
		e.post(func() {
			e.asking = false
			if quiet := time.Since(e.changed); quiet > 10*e.askEvery {
				e.askEvery = min(e.askEvery*3/2, 15*time.Second)
			}
			e.nextAsk = time.Now().Add(e.askEvery)
			if err != nil {
				if !e.deaf {
					e.deaf = true
					e.o.Say(fmt.Sprintf("the Slurm controller does not answer; jobs go on, and so does the run when it does (%s)", firstLine(err.Error())))
				}
				return
			}
			if e.deaf {
				e.deaf = false
				e.o.Say("the Slurm controller answers again")
			}
			e.hear(now, rows)
		})
	}()
}

// hear takes squeue's answer to a question asked at that time.
func (e *Executor) hear(asked time.Time, rows []row) {
	of := map[string]*batch{}
	all := e.batches
	if e.probe != nil {
		all = append(slices.Clone(all), e.probe)
	}
	for _, b := range all {
		of[b.name] = b
	}
	seen := map[*element]bool{}
	whole := map[*batch]string{}
	now := time.Now()
	for _, r := range rows {
		b := of[r.name]
		if b == nil || r.index >= len(b.elements) {
			continue
		}
		b.known, b.job = true, r.job
		if r.index < 0 {
			whole[b] = r.state
			continue
		}
		el := b.elements[r.index]
		seen[el] = true
		if el.state != r.state || el.reason != r.reason {
			el.waits = now
			if ended(r.state) || el.state != r.state {
				e.stir()
			}
		}
		el.state, el.reason = r.state, r.reason
		if r.node != "" {
			el.node = r.node
		}
		switch {
		case ended(r.state) && el.over.IsZero():
			el.over = now
		case !ended(r.state):
			el.over = time.Time{} // requeued
		}
		if r.state == "RUNNING" {
			for _, t := range el.tasks {
				if t != nil {
					t.w.Started()
				}
			}
		}
	}
	for _, b := range all {
		for _, el := range b.elements {
			// Not there though it was accepted before the question: gone.
			if !seen[el] && el.over.IsZero() && b.known && b.submitted.Before(asked.Add(-time.Second)) {
				el.over = now
				// Of elements that are cancelled before they began Slurm keeps no
				// record, or one of the array as a whole. Others it remembers for
				// minutes (MinJobAge).
				if ended(whole[b]) || el.state == "PENDING" && asked.Sub(e.heard) < time.Minute {
					el.state = "CANCELLED"
				}
			}
		}
	}
	e.heard = asked
	if !e.attached {
		e.attached = true
		e.settleAttached()
	}
}

// settleAttached decides about an earlier driver's batches, once Slurm has said
// how they are: what is in hand and wanted is kept for its tasks to come, what
// nobody wants any more is cancelled.
func (e *Executor) settleAttached() {
	kept := 0
	for _, b := range slices.Clone(e.batches) {
		if !b.known { // its sbatch never came through
			e.close(b)
			continue
		}
		var superseded []int
		for i, el := range b.elements {
			if !el.over.IsZero() {
				el.closed = true
				continue
			}
			wanted := slices.ContainsFunc(el.specs, func(s engine.Spec) bool { return e.s.Current[s.Task] == s.Key })
			if !wanted {
				el.stopped = true
				superseded = append(superseded, i)
				for _, s := range el.specs {
					e.handled[s.Key] = true // its leftovers are this run's to clear
				}
				continue
			}
			if el.state == "COMPLETING" { // its process has ended, well or not
				el.failed = map[string]bool{}
				for _, s := range el.specs {
					el.failed[s.Key] = true
				}
				continue
			}
			kept++
		}
		e.scancel(b, superseded)
		if len(superseded) > 0 {
			e.o.Say(fmt.Sprintf("%d jobs of an earlier run are cancelled: what they make is not wanted any more", len(superseded)))
		}
	}
	if kept > 0 {
		e.o.Say(fmt.Sprintf("%d jobs of an earlier run are in hand and are waited for", kept))
	}
}

// scancel cancels elements of a batch, beside the loop.
func (e *Executor) scancel(b *batch, list []int) {
	if len(list) == 0 || b.job == "" {
		return
	}
	for _, i := range list {
		b.elements[i].stopped = true
	}
	var args []string
	for chunk := range slices.Chunk(list, 200) {
		args = append(args, b.job+"_["+indices(chunk)+"]")
	}
	go func() { _, _ = call(context.WithoutCancel(e.ctx), "", "scancel", args...) }()
}

// judge decides about elements that ended, and about those that wait for what
// will not come.
func (e *Executor) judge(now time.Time) {
	for _, b := range slices.Clone(e.batches) {
		if b.ready {
			continue
		}
		var stop []int
		for i, el := range b.elements {
			switch {
			case el.closed:
			case !el.over.IsZero() && !el.unresolved():
				el.closed = true
			case !el.over.IsZero() && (el.stopped || now.Sub(el.over) > e.o.Settle/2):
				for _, t := range el.tasks {
					if t != nil {
						t.w.Refresh()
					}
				}
				if now.Sub(el.over) < e.o.Settle && !el.stopped {
					break
				}
				e.bury(b, i)
				el.closed = true
			case el.over.IsZero() && e.draining && el.state == "PENDING" && !el.stopped:
				stop = append(stop, i)
			case el.over.IsZero() && e.spent(el):
				// Another copy made it all: a job that still waits, or repeats it, is in vain.
				if el.sealedAt.IsZero() {
					el.sealedAt = now
				}
				if !el.stopped && (el.state == "PENDING" || now.Sub(el.sealedAt) > 10*time.Second) {
					stop = append(stop, i)
				}
			}
		}
		e.scancel(b, stop)
		e.reasons(b, now)
		if b.left() == 0 {
			e.close(b)
		}
	}
}

// spent reports whether nothing of the element is still to be made.
func (e *Executor) spent(el *element) bool {
	if el.unresolved() {
		return false
	}
	return !slices.ContainsFunc(el.specs, func(s engine.Spec) bool { return !e.handled[s.Key] && !e.s.Sealed(s.Key) })
}

// bury books the tasks of an element that ended without them.
func (e *Executor) bury(b *batch, i int) {
	el := b.elements[i]
	for k, t := range el.tasks {
		if t == nil {
			continue
		}
		el.tasks[k] = nil
		if t.w.Sealed() {
			e.resolve(t, nil)
			continue
		}
		if el.stopped && e.draining {
			e.resolve(t, engine.ErrNotStarted)
			continue
		}
		job := fmt.Sprintf("%s_%d", b.job, i)
		err := &TaskError{Task: t.w.Task.ID, Code: 1, Node: el.node, Job: job, Log: e.keepLog(b, i)}
		err.Tail = tail(err.Log, 8)
		end := ending{again: true}
		state := el.state
		if !ended(state) { // it is gone from the controller's memory
			state = account(e.ctx, job)
		}
		switch {
		case strings.HasPrefix(state, "CANCELLED"):
			err.Text, end.again = "its job was cancelled by scancel; run again to have it made", false
		case state == "TIMEOUT" || state == "DEADLINE":
			err.Text, end.cut = "its job reached its time limit"+timeHint(e.o.settings(b.stage).Time), true
		case state == "OUT_OF_MEMORY":
			err.Text, end.more = "its job ran out of memory", true
		case state == "NODE_FAIL" || state == "BOOT_FAIL":
			err.Text, end.cut = "its node failed", true
		case state == "PREEMPTED":
			err.Text, end.cut = "its job was preempted", true
		case state == "FAILED" && err.Tail == "": // the worker's first act is a line in its log
			err.Text = "its job could not be started on the node (" + el.reason + ")"
		case state == "FAILED":
			err.Text, end.more = "its worker was killed, or could not go on", true
		case state == "COMPLETED":
			err.Text = "its job ended, and its result is not there; does the node see the same work directory?"
		default:
			err.Text, end.more = "its job is gone without a result, nobody says why (killed: memory, time limit or node)", true
		}
		e.died(t, err, end)
	}
}

func timeHint(t string) string {
	if t == "" {
		return ""
	}
	return " (" + t + ")"
}

// account asks the accounting, where there is one, for a job that the
// controller has forgotten.
func account(ctx context.Context, job string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	out, err := call(ctx, "", "sacct", "--noheader", "--parsable2", "--allocations", "--format=State", "--jobs="+job)
	if err != nil {
		return ""
	}
	f := strings.Fields(out)
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

// reasons tells once of every reason to wait that will not pass by itself.
func (e *Executor) reasons(b *batch, now time.Time) {
	for _, el := range b.elements {
		if el.closed || !el.over.IsZero() || el.state == "RUNNING" || el.state == "" || settles(el.state, el.reason) || b.told[el.reason] || now.Sub(el.waits) < e.o.Grace {
			continue
		}
		for _, t := range el.tasks {
			if t != nil {
				b.told[el.reason] = true
				n := 0
				for _, o := range b.elements {
					if o.reason == el.reason && !o.closed {
						n++
					}
				}
				t.w.Note(fmt.Sprintf("waits in the queue with reason %s (job %s, %d such); it may never start: compare partition, account, qos, time, mem and cpus with what the cluster offers (sinfo, sacctmgr), or cancel with pipeline cancel", el.reason, b.job, n))
				break
			}
		}
	}
}

// close forgets a batch of which nothing is in hand.
func (e *Executor) close(b *batch) {
	if err := e.j.write(entry{Of: b.name, Close: true}); err != nil {
		e.o.Say(err.Error())
	}
	if !b.failed {
		os.RemoveAll(b.dir)
	} else {
		os.Remove(filepath.Join(b.dir, "plan.json")) // a job that comes late finds nothing to do
	}
	e.batches = slices.DeleteFunc(e.batches, func(o *batch) bool { return o == b })
	e.stir()
}

// submit makes batches of what waits, and submits one at a time.
func (e *Executor) submit(now time.Time) {
	if !e.attached || e.calling || e.ctx.Err() != nil {
		return
	}
	e.join()
	for _, b := range e.batches {
		if b.ready {
			if e.draining {
				b.ready = false
				e.fail(b, engine.ErrNotStarted)
				return
			}
			if !now.Before(b.retryAt) {
				e.sbatch(b)
			}
			return
		}
	}
	var due []*task
	for _, t := range e.pending {
		if now.Before(t.notBefore) {
			continue
		}
		due = append(due, t)
	}
	if len(due) == 0 {
		e.throttle()
		return
	}
	refusal := func(t *task) error {
		if e.fatal != nil {
			return e.fatal
		}
		return e.refused[t.w.Task.Stage]
	}
	before := len(e.pending)
	e.pending = slices.DeleteFunc(e.pending, func(t *task) bool {
		err := refusal(t)
		if err != nil {
			e.resolve(t, err)
		}
		return err != nil
	})
	if len(e.pending) < before {
		return
	}
	// What belongs together comes together: wait for it a moment.
	newest, oldest := due[0].came, due[0].came
	for _, t := range due {
		if t.came.After(newest) {
			newest = t.came
		}
		if t.came.Before(oldest) {
			oldest = t.came
		}
	}
	if now.Sub(newest) < 150*time.Millisecond && now.Sub(oldest) < time.Second {
		return
	}
	if !e.probed {
		e.startProbe(now)
		return
	}
	limit := 0
	if e.o.MaxRunning > 0 {
		others := 0
		for _, b := range e.batches {
			others += b.left()
		}
		if limit = e.o.MaxRunning - others; limit <= 0 {
			e.throttle()
			return
		}
	}
	b := e.pack(due, limit)
	if b == nil {
		return
	}
	e.batches = append(e.batches, b)
	e.sbatch(b)
}

// join gives tasks that an earlier driver submitted to the jobs that have them
// in hand.
func (e *Executor) join() {
	type place struct {
		el *element
		i  int
	}
	at := map[string]place{}
	for _, b := range e.batches {
		if !b.earlier {
			continue
		}
		for _, el := range b.elements {
			if el.closed || el.stopped || !el.over.IsZero() {
				continue
			}
			for i, s := range el.specs {
				if el.tasks[i] == nil && !el.failed[s.Key] && !e.handled[s.Key] {
					at[s.Key] = place{el, i}
				}
			}
		}
	}
	if len(at) == 0 {
		return
	}
	e.pending = slices.DeleteFunc(e.pending, func(t *task) bool {
		p, ok := at[t.w.Key]
		if ok {
			t.before = time.Now()
			e.handled[t.w.Key] = true
			p.el.tasks[p.i] = t
		}
		return ok
	})
}

// pack makes a batch of tasks of one stage and one size of memory. Short tasks
// share a job: as many as make a worthwhile time, yet enough jobs that all
// slots have work.
func (e *Executor) pack(due []*task, limit int) *batch {
	stage, mem := due[0].w.Task.Stage, e.raised[due[0].w.Key]
	var tasks []*task
	total := 0.0
	for _, t := range due {
		if t.w.Task.Stage == stage && e.raised[t.w.Key] == mem {
			tasks = append(tasks, t)
			total += t.w.Expect
		}
	}
	sort.SliceStable(tasks, func(i, j int) bool { return tasks[i].w.Task.ID < tasks[j].w.Task.ID })
	aim := max(min(e.o.Pack, total/float64(3*e.cluster.slots)), e.least)
	e.seq++
	name := fmt.Sprintf("dt-%s-%s-%d", plain(stage), e.run, e.seq)
	b := &batch{name: name, dir: e.root("batches", name), stage: stage, limit: limit, memory: mem, read: map[string]bool{}, told: map[string]bool{}, ready: true}
	var el *element
	sum := 0.0
	for _, t := range tasks {
		if el == nil || sum+t.w.Expect > aim || len(el.tasks) >= 2000 {
			if len(b.elements) == e.cluster.maxArray {
				break
			}
			el, sum = &element{}, 0
			b.elements = append(b.elements, el)
		}
		el.specs = append(el.specs, t.w.Spec())
		el.tasks = append(el.tasks, t)
		sum += t.w.Expect
	}
	taken := map[*task]bool{}
	for _, el := range b.elements {
		for _, t := range el.tasks {
			taken[t] = true
			t.before = time.Now()
			if !e.handled[t.w.Key] { // once: a retry, or a task of the same content, must not
				if err := t.w.Clear(); err != nil {
					e.fatal = err
					return nil
				}
			}
			e.handled[t.w.Key] = true
		}
	}
	e.pending = slices.DeleteFunc(e.pending, func(t *task) bool { return taken[t] })
	if err := e.write(b, false); err != nil {
		e.fail(b, err)
		return nil
	}
	return b
}

// plain leaves of a stage's name what any tool takes in a job's name.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

// write puts a batch on the disk and its name into the journal.
func (e *Executor) write(b *batch, probe bool) error {
	x := &Batch{Format: BatchFormat, Name: b.name, Stage: b.stage, Config: []byte(e.o.Config), Dir: []byte(e.o.Dir), Facts: e.o.Facts, Written: time.Now(), Probe: probe}
	for _, el := range b.elements {
		x.Elements = append(x.Elements, el.specs)
	}
	if err := x.write(b.dir); err != nil {
		return err
	}
	return e.j.write(entry{Open: b.name})
}

// fail ends every task of a batch that cannot be submitted.
func (e *Executor) fail(b *batch, err error) {
	for _, el := range b.elements {
		el.closed = true
		for i, t := range el.tasks {
			if t != nil {
				el.tasks[i] = nil
				e.resolve(t, err)
			}
		}
	}
}

// script is what a job runs. Nothing in it comes from outside but the words of
// the setup, quoted; the rest is relative to the batch's folder.
func (e *Executor) script(b *batch, set Settings) (string, error) {
	var s strings.Builder
	s.WriteString("#!/bin/sh\n:\n")
	if len(set.Setup) > 0 {
		s.Reset()
		s.WriteString("#!/bin/bash -l\n:\n") // module and its like are functions of a login shell
	}
	if e.plainOutput(b) {
		s.WriteString("exec >>log/\"$SLURM_ARRAY_TASK_ID\".log 2>&1\n")
	}
	s.WriteString("here=$PWD\n")
	for i, c := range set.Setup {
		words, err := Words(c)
		if err != nil {
			return "", err
		}
		for j, w := range words {
			if j > 0 {
				s.WriteByte(' ')
			}
			s.WriteString(quote(w))
		}
		fmt.Fprintf(&s, " || { echo 'setup command %d failed'; exit 1; }\n", i+1)
	}
	fmt.Fprintf(&s, "cd -- \"$here\" && exec %s exec --plan plan.json --index \"$SLURM_ARRAY_TASK_ID\"\n", e.binary)
	return s.String(), nil
}

// plainOutput reports whether the batch's path holds what Slurm itself would
// read as a pattern in a log's path: then the script opens the log.
func (e *Executor) plainOutput(b *batch) bool { return strings.ContainsAny(b.dir, `\%`) }

// arguments are those of sbatch.
func (e *Executor) arguments(b *batch, set Settings) []string {
	array := fmt.Sprintf("--array=0-%d", len(b.elements)-1)
	if b.limit > 0 && b.limit < len(b.elements) {
		array += "%" + strconv.Itoa(b.limit)
	} else {
		b.limit = 0
	}
	output := "--output=log/%a.log"
	if e.plainOutput(b) {
		output = "--output=/dev/null"
	}
	args := []string{"--parsable", "--job-name=" + b.name, array, "--requeue", "--open-mode=append", "--chdir=" + b.dir, output}
	opt := func(name, v string) {
		if v != "" {
			args = append(args, "--"+name+"="+v)
		}
	}
	opt("partition", set.Partition)
	opt("account", set.Account)
	opt("qos", set.QOS)
	opt("time", set.Time)
	opt("mem", raise(set.Mem, e.o.RetryMem, b.memory))
	if set.CPUs > 0 {
		opt("cpus-per-task", strconv.Itoa(set.CPUs))
	}
	return append(args, set.Extra...)
}

// raise multiplies an amount of memory n times.
func raise(mem string, by float64, n int) string {
	if n == 0 || by <= 1 || mem == "" {
		return mem
	}
	digits := strings.TrimRight(mem, "KMGTkmgt")
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return mem
	}
	unit := strings.ToUpper(mem[len(digits):])
	if unit == "" {
		unit = "M"
	}
	kb := x * map[string]float64{"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}[unit]
	for range n {
		kb *= by
	}
	return strconv.FormatInt(int64(kb), 10) + "K"
}

// sbatch submits a batch, beside the loop.
func (e *Executor) sbatch(b *batch) {
	set := e.o.settings(b.stage)
	script, err := e.script(b, set)
	if err != nil {
		b.ready = false
		e.fail(b, err)
		return
	}
	args := e.arguments(b, set)
	inHand := len(e.batches) > 1
	again := b.tries > 0
	b.tries++
	e.calling = true
	go func() {
		ctx := context.WithoutCancel(e.ctx)
		var out string
		var err error
		if again { // the last try may have come through all the same
			var rows []row
			if rows, err = squeue(ctx, []string{b.name}); err == nil && len(rows) > 0 {
				out = rows[0].job
			}
		}
		if err == nil && out == "" {
			out, err = call(ctx, script, "sbatch", args...)
		}
		e.post(func() {
			e.calling = false
			switch {
			case err == nil:
				b.job, _, _ = strings.Cut(strings.TrimSpace(out), ";")
				b.ready, b.known, b.submitted = false, true, time.Now()
				e.submitted += len(b.elements)
				if b.tries > 2 {
					e.o.Say("jobs are accepted again")
				}
				if err := e.j.write(entry{Of: b.name, Job: b.job}); err != nil {
					e.o.Say(err.Error())
				}
				e.stir()
				e.nextAsk = time.Now().Add(e.o.Query)
			case passing(err, inHand):
				wait := min(time.Second<<min(b.tries-1, 5), 30*time.Second)
				b.retryAt = time.Now().Add(wait)
				if b.tries == 2 {
					e.o.Say(fmt.Sprintf("jobs cannot be submitted now, tried again until they can: %s", firstLine(err.Error())))
				}
			default:
				b.ready = false
				refused := fmt.Errorf("submit to Slurm: %w", err)
				e.refused[b.stage] = refused
				if b == e.probe {
					e.endProbe()
					e.probed = false
				} else {
					e.fail(b, refused)
				}
			}
		})
	}()
}

// throttle gives the oldest batches the slots that others have left.
func (e *Executor) throttle() {
	if e.o.MaxRunning <= 0 {
		return
	}
	free := e.o.MaxRunning
	for _, b := range e.batches {
		n := b.left()
		if b.limit > 0 {
			n = min(n, b.limit)
		}
		free -= n
	}
	if free <= 0 {
		return
	}
	for _, b := range e.batches {
		if b.job == "" || b.limit == 0 || b.left() <= b.limit {
			continue
		}
		n := b.limit + free
		e.calling = true
		go func() {
			_, err := call(context.WithoutCancel(e.ctx), "", "scontrol", "update", "JobId="+b.job, "ArrayTaskThrottle="+strconv.Itoa(n))
			e.post(func() {
				e.calling = false
				if err == nil {
					b.limit = n
				} else {
					b.limit = 0 // this cluster does not let it be changed; it stays as it was submitted
				}
			})
		}()
		return
	}
}
