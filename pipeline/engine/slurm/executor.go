package slurm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"doubletake/pipeline/engine"
)

// element is one array element as the driver knows it.
type element struct {
	specs    []engine.Spec
	tasks    []*Task         // nil where resolved, or never asked for
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
	return slices.ContainsFunc(el.tasks, func(t *Task) bool { return t != nil })
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
	Hand
	o    Options
	todo chan func()
	quit chan struct{}
	gone chan struct{} // the loop has ended

	cancel     chan struct{}
	cancelOnce sync.Once

	// The rest belongs to the loop.
	j         *journal
	cluster   cluster
	batches   []*batch
	pending   []*Task
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
	excluded  []string       // nodes that could not start a job
	launches  map[string]int // by key: how often a node could not start it
	idleTold  bool
	fatal     error
	seq       int
	run       string // distinguishes this run's batches
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
		Hand: NewHand("slurm"), o: o, todo: make(chan func(), 64), quit: make(chan struct{}), gone: make(chan struct{}),
		cancel:   make(chan struct{}),
		launches: map[string]int{}, handled: map[string]bool{}, refused: map[string]error{}, askEvery: o.Query,
		run: strconv.FormatInt(time.Now().UnixNano(), 36),
	}
}

// Cancel makes an interrupted run cancel its jobs instead of leaving them in
// the queue.
func (e *Executor) Cancel() { e.cancelOnce.Do(func() { close(e.cancel) }) }

// Open reads what an earlier driver left, and learns of the cluster.
func (e *Executor) Open(ctx context.Context, s *engine.Session) error {
	if _, err := call(ctx, "", "squeue", "--version"); err != nil {
		return err
	}

	if err := e.Enter(ctx, s, "batches"); err != nil {
		return err
	}

	m, err := readJournal(e.Root("journal"))
	if err != nil {
		return err
	}

	e.attempts, e.raised, e.noted = m.attempts, m.raised, m.noted
	if e.j, err = openJournal(e.Root("journal")); err != nil {
		return err
	}

	e.attach(m.open)

	if err := e.Copy(e.o.Binary, e.attached); err != nil {
		e.j.f.Close()
		return err
	}

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
		dir := e.Root("batches", o.name)
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
			b.elements = append(b.elements, &element{specs: specs, tasks: make([]*Task, len(specs))})
		}

		if o.job == "" && time.Since(o.at) < time.Minute {
			e.waitUntil = time.Now().Add(3 * time.Second) // its sbatch may just be through
		}

		e.batches = append(e.batches, b)
	}

	for _, n := range list(e.Root("batches")) {
		if !known[n] {
			os.RemoveAll(e.Root("batches", n))
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

// Drain cancels what has not begun, unless the run was interrupted: then its
// jobs stay where they are, for the next run to find.
func (e *Executor) Drain() {
	if e.Ctx.Err() != nil {
		return
	}

	e.post(func() {
		e.draining = true
		for _, t := range e.pending {
			t.End(engine.ErrNotStarted)
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
		case t := <-e.In:
			e.handled[t.W.Key] = false
			if e.draining {
				t.End(engine.ErrNotStarted)
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

// resolve ends a task.
func (e *Executor) resolve(t *Task, err error) {
	e.stir()
	t.End(err)
}
