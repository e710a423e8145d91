package slurm

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	before    time.Time // its progress when it was submitted last, by the clock of whoever wrote it
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
	reported  map[string]bool // reasons to wait that were reported
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
	answered  time.Time // when squeue last answered
	askEvery  time.Duration
	silent    bool // the controller does not answer, and that was reported
	attempts  map[string]int
	raised    map[string]int
	noted     map[string]bool  // notes of failures that an earlier driver counted
	handled   map[string]bool  // keys this run asked for; true once a job has them in hand or had
	refused   map[string]error // by stage: sbatch will not have such jobs
	draining  bool
	excluded  []string // nodes that could not start a job
	idleTold  bool
	fatal     error
	seq       int
	run       string // distinguishes this run's batches
	binary    string // path of the program's copy, from a batch's folder
	probe     *batch
	probed    bool // the probe has answered well, or is not waited for
	probeFrom time.Time
	changed   time.Time // when something happened last
	least     float64   // seconds of work that a worker's start is worth
}

// New returns an executor for one run.
func New(o Options) *Executor {
	o.defaults()
	return &Executor{
		o: o, in: make(chan *task, 1024), todo: make(chan func(), 64), quit: make(chan struct{}), gone: make(chan struct{}),
		cancel:  make(chan struct{}),
		handled: map[string]bool{}, refused: map[string]error{}, askEvery: o.Query,
		run: strconv.FormatInt(time.Now().UnixNano(), 36),
	}
}

// Cancel makes an interrupted run cancel its jobs instead of leaving them in
// the queue.
func (e *Executor) Cancel() { e.cancelOnce.Do(func() { close(e.cancel) }) }

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

	e.attempts, e.raised, e.noted = m.attempts, m.raised, m.noted
	if e.j, err = openJournal(e.root("journal")); err != nil {
		return err
	}

	e.attach(m.open)

	name, err := CopyProgram(e.o.Binary, e.root("bin"), e.attached)
	if err != nil {
		return err
	}

	e.binary = "../../bin/" + name

	// A controller that is away must not stop the run; unknown limits have defaults.
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
		b := &batch{
			name: o.name, dir: dir, stage: plan.Stage, job: o.job, known: o.job != "", submitted: o.at, earlier: true,
			read: map[string]bool{}, reported: map[string]bool{},
		}

		for _, specs := range plan.Elements {
			b.elements = append(b.elements, &element{specs: specs, tasks: make([]*task, len(specs))})
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

// CopyProgram puts the program into a folder, named by its content, and returns the name. With alone
// others there are taken away: nobody runs an older one.
func CopyProgram(binary, dir string, alone bool) (name string, err error) {
	b, err := os.ReadFile(binary)
	if err != nil {
		return "", fmt.Errorf("copy program for the nodes: %w", err)
	}

	name = fmt.Sprintf("%x", sha256.Sum256(b))[:24]

	to := filepath.Join(dir, name)
	if _, err := os.Stat(to); err == nil {
		return name, nil
	}

	if alone {
		os.RemoveAll(dir)
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("copy program for the nodes: %w", err)
	}

	tmp := to + ".tmp"
	if err = engine.WriteFile(tmp, b); err == nil {
		err = os.Chmod(tmp, 0o755)
	}

	if err == nil {
		err = os.Rename(tmp, to)
	}

	if err != nil {
		os.Remove(tmp)
		return "", fmt.Errorf("copy program for the nodes: %w", err)
	}

	return name, nil
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

// loop is the one goroutine that decides. Commands run in others and post their
// results.
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
