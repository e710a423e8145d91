// Package command makes a run's tasks in parts that a scheduler starts somewhere: Slurm, Grid
// Engine, PBS or HTCondor, whose words package job has, or a command of the user's, which gets the
// path of a shell script as its last word and may return at once or when the script ends.
//
// What counts is the work directory: results in the store, notes of failures, and a file that the
// part's process touches while it lives. A part whose file is silent is dead; its tasks are submitted
// again. The scheduler is only asked for parts that have not begun or are silent: whether they are in
// the queue, and why they wait. Of a user's command nothing is known; a part that was never started
// cannot be told from one that waits, the user is told, and the run goes on waiting.
//
// Below .cache/command are a copy of the program, so that workers run what the driver is though the
// original is rebuilt meanwhile, jobs, which lists the commands that cancel what was submitted, and a
// folder for each part: plan.json, alive.json, log, failed/*.json. A part without plan.json is
// withdrawn.
//
// One goroutine decides (command.go: look, submit); submit.go calls the scheduler, worker.go is the
// other side, in the jobs.
package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/job"
	"doubletake/pipeline/kv"
)

// Options are the settings of the executor. The zero value of a duration means the default.
type Options struct {
	Scheduler *job.Scheduler // nil: Command starts parts
	Command   []string       // a command and its words
	Status    []string       // a command that prints why jobs wait; may be empty
	Cancel    []string       // a command that cancels the job that follows; may be empty

	Settings job.Settings            // of the jobs of a Scheduler
	Stages   map[string]job.Settings // by stage, instead of Settings
	Parts    int                     // at a time, where the settings have no number
	Binary   string                  // the program
	Config   string                  // its configuration, relative to Dir
	Added    []string                // further arguments of the driver that change the plan
	Dir      string                  // the workers' working directory
	Facts    []kv.Pair               // what the nodes must agree on with this machine: version, kernels
	Notify   func(text string)       // messages that concern no single task

	Silent time.Duration // after which a part whose process shows no life is dead; default 30 s
	Grace  time.Duration // after which parts that did not begin are reported; default 12 s
}

// Times between looks at the work directory, and how long tasks that become ready together
// are waited for.
const (
	tick   = 200 * time.Millisecond
	gather = 300 * time.Millisecond
	settle = 4 * time.Second // until a result is visible after its process has ended
)

const (
	worth    = 5 // seconds of work that a part is at least given, where there is as much
	attempts = 3 // of a task that failed or was killed
	starts   = 5 // of a task, by jobs in which the program never began
)

// Executor makes tasks in parts. It works for one run.
type Executor struct {
	o    Options
	ctx  context.Context //nolint:containedctx // of the run, from Open to Close
	root string          // .cache/command, absolute
	bin  string          // the program's copy, from a part's folder

	in        chan *task
	todo      chan func() // for the loop
	quit      chan struct{}
	gone      chan struct{} // the loop has ended
	launching atomic.Int32

	// The rest belongs to the loop.
	pending     []*task
	parts       []*part
	submissions []*submission
	attempts    map[string]int // by key
	starts      map[string]int
	blind       []string // nodes on which the program did not begin: told, and avoided
	fatal       error
	draining    bool
	seq         int
	run         string // distinguishes this run's jobs
	told        bool   // that nothing begins
	quiet       time.Time
	asking      bool
	nextAsk     time.Time
	askEvery    time.Duration
	understood  bool // a job of this run was found in the queue
}

// task is one task in hand, from Do to its end.
type task struct {
	w    *engine.Work
	came time.Time
	done chan error
}

// part is one folder with its tasks, and one job or one of an array.
type part struct {
	dir    string
	of     *submission
	n      int     // in the submission, from 1
	tasks  []*task // nil where resolved
	life   life
	beat   time.Time // when the life last changed, by this machine's clock; zero: it has not begun
	read   map[string]bool
	failed bool // some task of it failed: its log stays

	seen  bool // in the queue
	state job.State
	runs  time.Time // since when its job runs
	left  time.Time // since when its job has left the queue
}

// New returns an executor for one run.
func New(o Options) *Executor {
	o.Silent, o.Grace = cmp.Or(o.Silent, 30*time.Second), cmp.Or(o.Grace, 12*time.Second)

	return &Executor{
		o: o, in: make(chan *task, 1024), todo: make(chan func(), 64), quit: make(chan struct{}),
		gone: make(chan struct{}), attempts: map[string]int{}, starts: map[string]int{},
		run: strconv.FormatInt(time.Now().UnixNano(), 36), askEvery: firstAsk,
	}
}

// Limit keeps the number of goroutines within reason.
func (e *Executor) Limit() int { return 20000 }

// Open cancels and takes away what an earlier driver left.
func (e *Executor) Open(ctx context.Context, s *engine.Session) error {
	first := e.o.Command
	if e.o.Scheduler != nil {
		first, _ = e.o.Scheduler.Submit(job.Array{})
	}

	if _, err := exec.LookPath(first[0]); err != nil {
		return fmt.Errorf("%s, which submits jobs, is not here: run on a machine that submits to the cluster, or with "+
			"--executor local", first[0])
	}

	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return fmt.Errorf("find workdir: %w", err)
	}

	e.ctx, e.root = ctx, folder(dir)
	if n := withdraw(ctx, e.root); n > 0 {
		e.o.Notify(fmt.Sprintf("%d jobs of an earlier run are withdrawn; what they lack is submitted again", n))
	}

	clearParts(e.root)

	err = os.MkdirAll(filepath.Join(e.root, "parts"), 0o755)
	if err == nil {
		err = os.WriteFile(e.jobs(), nil, 0o644)
	}

	if err != nil {
		return &engine.WorkdirError{Dir: dir, Err: err}
	}

	if err := e.copyProgram(); err != nil {
		return fmt.Errorf("copy program for the nodes: %w", err)
	}

	go e.loop()

	return nil
}

// folder is the executor's in a work directory.
func folder(workdir string) string { return filepath.Join(workdir, ".cache", "command") }

// jobs is the file that lists the commands that cancel what was submitted.
func (e *Executor) jobs() string { return filepath.Join(e.root, "jobs") }

// copyProgram puts the program into the folder, named by its content, unless it is there.
func (e *Executor) copyProgram() error {
	b, err := os.ReadFile(e.o.Binary)
	if err != nil {
		return err
	}

	name := fmt.Sprintf("%x", sha256.Sum256(b))[:24]
	e.bin = "../../bin/" + name

	to := filepath.Join(e.root, "bin", name)
	if _, err := os.Stat(to); err == nil {
		return nil
	}

	os.RemoveAll(filepath.Dir(to))

	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}

	tmp := to + ".tmp"

	return errors.Join(engine.WriteFile(tmp, b), os.Chmod(tmp, 0o755), os.Rename(tmp, to))
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

// Drain ends what has not begun.
func (e *Executor) Drain() { e.post(func() { e.draining = e.ctx.Err() == nil }) }

// Close ends the executor. Jobs that still wait or work are cancelled where the scheduler is known, and
// find their folder gone.
func (e *Executor) Close() error {
	for end := time.Now().Add(10 * time.Second); e.launching.Load() > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond) // its job is then known
	}

	close(e.quit)
	<-e.gone

	if n := len(e.parts); n > 0 && e.ctx.Err() != nil {
		e.o.Notify(fmt.Sprintf("interrupted; %d jobs are withdrawn: those that wait find nothing to do, those at work end "+
			"after their present task, or now if they can be cancelled", n))
	}

	for _, p := range e.parts {
		e.forget(p)
	}

	e.cancelOpen()

	return nil
}

// post has the loop call f.
func (e *Executor) post(f func()) {
	select {
	case e.todo <- f:
	case <-e.gone:
	}
}

// loop is the one goroutine that decides.
func (e *Executor) loop() {
	defer close(e.gone)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()

	e.quiet = time.Now()

	var last time.Time
	for {
		select {
		case t := <-e.in:
			e.pending = append(e.pending, t)
			continue
		case f := <-e.todo:
			f()
			continue
		case <-e.quit:
			return
		case <-ticker.C:
		}

		now := time.Now()
		if now.Sub(last) < min(now.Sub(e.quiet)/50, 3*time.Second) {
			continue // the longer nothing happens the more rarely the store is looked at
		}

		last = now
		e.look(now)
		e.ask(now)
		e.submit(now)
		e.waiting(now)
	}
}

func (e *Executor) stir() { e.quiet, e.askEvery = time.Now(), firstAsk }

func (e *Executor) resolve(t *task, err error) {
	e.stir()
	t.done <- err
}

// look reads what became of the parts.
func (e *Executor) look(now time.Time) {
	if _, err := os.Stat(e.jobs()); errors.Is(err, os.ErrNotExist) && e.fatal == nil {
		e.fatal = errors.New("cancelled by pipeline cancel; run again to have it made")
		for _, p := range e.parts {
			e.end(p, e.fatal)
		}
	}

	var rest []*part
	for _, p := range e.parts {
		if l, ok := readLife(p.dir); ok && l != p.life {
			p.life, p.beat = l, now
			e.told = false
		}

		e.failures(p)
		e.results(p)

		switch {
		case !p.beat.IsZero():
			if text := e.dead(p, now); text != "" {
				e.bury(p, text)
			}
		case e.fatal != nil:
			e.end(p, e.fatal)
		case e.draining:
			e.end(p, engine.ErrNotStarted)
		default:
			e.restart(p, now)
		}

		if p.open() {
			rest = append(rest, p)
		} else {
			e.forget(p)
		}
	}

	e.parts = rest
}

func (p *part) open() bool {
	return slices.ContainsFunc(p.tasks, func(t *task) bool { return t != nil })
}

// take returns the tasks in hand, which the part has no more.
func (p *part) take() []*task {
	open := slices.DeleteFunc(p.tasks, func(t *task) bool { return t == nil })
	p.tasks = nil

	return open
}

// results resolves tasks whose results are there.
func (e *Executor) results(p *part) {
	for i, t := range p.tasks {
		switch {
		case t == nil:
		case t.w.Sealed():
			p.tasks[i] = nil
			e.resolve(t, nil)
		default: // they are made in this order
			if !p.beat.IsZero() {
				t.w.Started(p.life.Node)
			}

			return
		}
	}
}

// end resolves the tasks of a part without a result.
func (e *Executor) end(p *part, err error) {
	for _, t := range p.take() {
		e.resolve(t, err)
	}
}

// dead reports how a part ended that leaves tasks without result, "" where it goes on.
func (e *Executor) dead(p *part, now time.Time) string {
	quiet := now.Sub(p.beat)
	switch {
	case p.life.Ended && p.life.Stopped && quiet > settle:
		return "its process was told to end: its time limit, a cancelled job, or a node that shuts down"
	case p.life.Ended && quiet > settle:
		return "its process ended, and its result is not there; does the node see the same work directory?"
	case quiet > 3*beat && !p.left.IsZero() && now.Sub(p.left) > settle:
		return "its job has left the queue: it was cancelled or killed (memory, time limit), or its node failed"
	case quiet > e.o.Silent:
		return fmt.Sprintf("its process has shown no sign of life for %.0f s: it was killed (memory, time limit, qdel), "+
			"or its node is gone", quiet.Seconds())
	}

	return ""
}

// failures reads the notes of tasks that failed.
func (e *Executor) failures(p *part) {
	for _, f := range p.notes() {
		for i, t := range p.tasks {
			if t != nil && t.w.Key == f.Key {
				p.tasks[i], p.failed = nil, true
				e.died(t, &TaskError{Text: f.Text, Code: f.Code, Node: f.Node, Log: p.log()})
			}
		}
	}
}

func (p *part) log() string { return filepath.Join(p.dir, "log") }

// bury books the tasks of a part that died.
func (e *Executor) bury(p *part, text string) {
	for _, t := range p.take() {
		t.w.Refresh()

		if t.w.Sealed() {
			e.resolve(t, nil)
			continue
		}

		p.failed = true
		e.died(t, &TaskError{Text: text, Code: 1, Node: p.life.Node, Log: p.log(), Tail: engine.Tail(p.log(), 8)})
	}
}

// died books the end of a task without a result, and has it made again where that may help.
func (e *Executor) died(t *task, err *TaskError) {
	e.attempts[t.w.Key]++

	n := e.attempts[t.w.Key]
	err.Of = n

	switch again := err.Code == 1; {
	case again && e.draining:
		e.resolve(t, engine.ErrNotStarted)
	case !again || n >= attempts:
		e.resolve(t, err)
	default:
		text, _, _ := strings.Cut(err.Text, "\n")
		t.w.Note(fmt.Sprintf("tried again, attempt %d of %d: %s", n+1, attempts, text))
		e.pending = append(e.pending, t)
		e.stir()
	}
}

// restart has a part submitted again whose job has ended, or runs, and has not begun. This is no attempt of its
// tasks; its node gets no further jobs.
func (e *Executor) restart(p *part, now time.Time) {
	text := "ended before the program began"
	switch {
	case !p.left.IsZero() && now.Sub(p.left) > settle:
		if b := engine.Tail(p.log(), 8); b != "" { // the node sees the folder
			e.bury(p, "its job "+text+", in a command of setup perhaps")
			return
		}
	case !p.runs.IsZero() && now.Sub(p.runs) > e.o.Silent:
		text = "runs, and the program does not begin"
	default:
		return
	}

	text = fmt.Sprintf("a job on node %q %s: see whether it sees %s and can run %s", p.state.Node, text,
		filepath.Join(e.root, "parts"), filepath.Join(e.root, "bin"))
	if !slices.Contains(e.blind, p.state.Node) {
		e.blind = append(e.blind, p.state.Node)
		e.o.Notify(text + "; its tasks are submitted again")
	}

	for _, t := range p.take() {
		if e.starts[t.w.Key]++; e.starts[t.w.Key] >= starts {
			e.resolve(t, &TaskError{Text: fmt.Sprintf("started %d times: %s", starts, text), Code: 1})
			continue
		}

		e.pending = append(e.pending, t)
		e.stir()
	}
}

// forget drops a part of which nothing is in hand: without its plan a process does nothing.
func (e *Executor) forget(p *part) {
	if !p.beat.IsZero() && !p.open() && !p.failed {
		p.of.open--
	}

	if !p.failed {
		os.RemoveAll(p.dir)
		return
	}

	if err := os.Remove(filepath.Join(p.dir, "plan.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		e.o.Notify(err.Error())
	}
}
