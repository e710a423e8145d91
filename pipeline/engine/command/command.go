// Package command runs the tasks of a run in parts, which are jobs of a cluster. A scheduler (Slurm, Grid Engine, PBS
// or HTCondor; package job has their words) or a command of the user starts the jobs. The command gets the path of a
// shell script as its last word, and may return at once or when the script ends.
//
// The driver learns what happened from the work directory: from results in the store, from notes of failures, and from
// a file that the process of a part rewrites while it lives. A part whose file stays the same for too long is dead, and
// its tasks are submitted again. The driver asks the scheduler only about parts that have not begun or are silent:
// whether they are in the queue, and why they wait. It cannot ask a user's command. A part that was never started then
// looks like one that waits; the driver tells the user and goes on waiting.
//
// The folder .cache/command contains
//   - bin, with a copy of the program: workers run the driver's program even if the original is rebuilt meanwhile
//   - jobs, with the commands that cancel the submitted jobs, one a line
//   - parts, with a folder for each part: plan.json, alive.json, log, failed/*.json
//
// A part without plan.json is withdrawn: its process ends after its present task.
//
// One goroutine, the loop in command.go, decides everything in the driver. The other side, in the jobs, is in
// worker.go.
package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"doubletake/internal/kv"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/job"
)

// Options are the settings of the executor.
type Options struct {
	Scheduler *job.Scheduler // starts parts; nil if Command starts them
	Command   []string       // a command and its words
	Status    []string       // a command that prints why jobs wait; may be empty
	Cancel    []string       // a command that cancels the job whose identifier follows; may be empty

	Settings job.Settings            // of the jobs of a Scheduler
	Stages   map[string]job.Settings // by stage: replaces Settings for the jobs of this stage
	Parts    int                     // parts at a time, if the settings of the jobs have no number
	Binary   string                  // path of the program
	Config   string                  // path of its configuration, relative to Dir
	Added    []string                // further arguments of the driver that change the plan
	Dir      string                  // working directory of the workers
	Facts    []kv.Pair               // facts that nodes and this machine must agree on: version, kernels
	Notify   func(text string)       // takes messages that concern no single task

	Silent time.Duration // a part without a sign of life for this long counts as dead; 0 means 30 s
	Grace  time.Duration // parts that have not begun after this time are reported; 0 means 12 s
}

const (
	// tick is the time between two looks at the work directory while something happens.
	tick = 200 * time.Millisecond
	// quietShare and longestTick make looks rarer while nothing happens: the time between two looks grows to 1/quietShare
	// of the time since the last change, and at most to longestTick.
	quietShare  = 50
	longestTick = 3 * time.Second
	// gather is how long a ready task waits for other tasks that become ready together with it.
	gather = 300 * time.Millisecond
	// resultDelay is how long a result may take to become visible here after the process that made it has ended.
	resultDelay = 4 * time.Second
	// launchDelay is how long Close waits for submissions that are under way.
	launchDelay = 10 * time.Second
)

const (
	// partSeconds is about the least work of a part, in seconds: pending work of n × partSeconds is divided into n + 1
	// parts at most.
	partSeconds = 5
	// maxAttempts is the number of attempts to make a task: after this many failures or killed processes it has failed.
	maxAttempts = 3
	// maxStarts is the number of times that a task is submitted if the program never begins in its jobs.
	maxStarts = 5
	// maxTasks is the greatest number of tasks in hand. Each has a goroutine.
	maxTasks = 20000
)

// Executor makes tasks in parts. It works for one run.
type Executor struct {
	options Options
	ctx     context.Context //nolint:containedctx // of the run, from Open to Close
	root    string          // path of .cache/command, absolute
	program string          // path of the program's copy, relative to the folder of a part
	run     string          // a word in the names of this run's jobs; no other run has this word

	incoming  chan *task
	todo      chan func() // functions that the loop calls
	quit      chan struct{}
	refused   chan struct{} // closed when nothing is submitted any more
	ended     chan struct{} // closed when the loop has ended
	launching atomic.Int32  // submissions under way

	// Only the loop uses the fields below.
	pending     []*task // ready, and in no part
	parts       []*part
	submissions []*submission
	attempts    map[string]int // failed attempts, by the key of the task
	starts      map[string]int // jobs in which the program did not begin, by the key of the task
	blind       []string       // nodes on which the program did not begin; later jobs avoid them
	fatal       error          // the reason why nothing is submitted any more; refuse sets it
	draining    bool           // tasks that have not begun end with engine.ErrNotStarted
	submitted   int            // number of submissions, for their names
	saidWaiting bool           // the user was told that no part begins
	changed     time.Time      // when something last happened

	asking     bool // the scheduler is being asked for its queue
	failedAsks int  // lists of the queue that failed since the last one that did not
	nextAsk    time.Time
	askEvery   time.Duration
	understood bool // a job of this run was found in the queue, so that a missing job has left it
}

// task is a task in hand: Do was called for it and has not returned yet.
type task struct {
	work *engine.Work
	came time.Time  // when Do was called
	done chan error // takes the result of Do
}

// New returns an executor for one run.
func New(options Options) *Executor {
	options.Silent = cmp.Or(options.Silent, 30*time.Second)
	options.Grace = cmp.Or(options.Grace, 12*time.Second)

	return &Executor{
		options:  options,
		run:      strconv.FormatInt(time.Now().UnixNano(), 36),
		incoming: make(chan *task, 1024),
		todo:     make(chan func(), 64),
		quit:     make(chan struct{}),
		refused:  make(chan struct{}),
		ended:    make(chan struct{}),
		attempts: map[string]int{},
		starts:   map[string]int{},
		askEvery: firstAsk,
	}
}

// Limit returns the number of tasks that the executor takes in hand at a time. Almost all of them wait in the queue of
// the scheduler, so that the limit only bounds the number of goroutines.
func (e *Executor) Limit() int { return maxTasks }

// Open cancels the jobs of an earlier driver and removes their parts. It then copies the program for the nodes and
// starts the loop.
func (e *Executor) Open(ctx context.Context, session *engine.Session) error {
	if err := e.findSubmitter(); err != nil {
		return err
	}

	dir, err := filepath.Abs(session.Dir)
	if err != nil {
		return fmt.Errorf("find workdir: %w", err)
	}

	e.ctx = ctx
	e.root = folder(dir)
	if open := withdraw(ctx, e.root); open > 0 {
		e.options.Notify(fmt.Sprintf("withdrew %s of an earlier run; the missing results are submitted again",
			count(open, "job")))
	}

	clearParts(e.root)

	if err := os.MkdirAll(e.partsDir(), 0o755); err != nil {
		return &engine.WorkdirError{Dir: dir, Err: err}
	}

	if err := os.WriteFile(jobsFile(e.root), nil, 0o644); err != nil {
		return &engine.WorkdirError{Dir: dir, Err: err}
	}

	if err := e.copyProgram(); err != nil {
		return fmt.Errorf("copy program for the nodes: %w", err)
	}

	go e.loop()

	return nil
}

// findSubmitter returns an error if the program that submits jobs is not installed on this machine.
func (e *Executor) findSubmitter() error {
	words := e.options.Command
	if e.options.Scheduler != nil {
		var err error
		words, err = e.options.Scheduler.Submit(job.Array{})
		if err != nil {
			return err
		}
	}

	if _, err := exec.LookPath(words[0]); err != nil {
		return fmt.Errorf("%s, which submits jobs, is not here: run on a machine that submits to the cluster, or with "+
			"--executor local", words[0])
	}

	return nil
}

// folder returns the path of the executor's folder in a work directory.
func folder(workdir string) string { return filepath.Join(workdir, ".cache", "command") }

// jobsFile returns the path of the file below root that lists the commands that cancel the submitted jobs.
func jobsFile(root string) string { return filepath.Join(root, "jobs") }

// partsDir returns the path of the folder that contains the folders of the parts.
func (e *Executor) partsDir() string { return filepath.Join(e.root, "parts") }

// copyProgram copies the program to bin, under a name that is made of its contents, unless the copy is there. It
// removes copies of other programs.
func (e *Executor) copyProgram() error {
	data, err := os.ReadFile(e.options.Binary)
	if err != nil {
		return err
	}

	name := fmt.Sprintf("%x", sha256.Sum256(data))[:24]
	e.program = "../../bin/" + name

	target := filepath.Join(e.root, "bin", name)
	if _, err := os.Stat(target); err == nil {
		return nil
	}

	os.RemoveAll(filepath.Dir(target))

	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}

	// Only the rename gives the copy its name, so that a worker never runs a program that is not complete.
	tmp := target + ".tmp"
	if err := engine.WriteFile(tmp, data); err != nil {
		return err
	}

	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}

	return os.Rename(tmp, target)
}

// Do waits until a task is made in some part, or cannot be made, or ctx ends.
func (e *Executor) Do(ctx context.Context, work *engine.Work) error {
	t := &task{work: work, done: make(chan error, 1), came: time.Now()}
	select {
	case e.incoming <- t:
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

// Drain ends tasks that have not begun with engine.ErrNotStarted. After an interrupt it does nothing, because Close
// withdraws all parts.
func (e *Executor) Drain() {
	e.post(func() {
		if e.ctx.Err() == nil {
			e.draining = true
		}
	})
}

// Close ends the executor. It removes the parts that still wait or work, and cancels their jobs if the command that
// cancels them is known. A job that cannot be cancelled finds its plan gone and ends by itself.
func (e *Executor) Close() error {
	// A job can be cancelled only when the call that submits it has returned its identifier.
	for end := time.Now().Add(launchDelay); e.launching.Load() > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}

	close(e.quit)
	<-e.ended

	if open := len(e.parts); open > 0 && e.ctx.Err() != nil {
		e.options.Notify(fmt.Sprintf("interrupted; withdrew %s: jobs that wait find nothing to do, and jobs at work end "+
			"after their present task, or now if they can be cancelled", count(open, "job")))
	}

	for _, part := range e.parts {
		e.forget(part)
	}

	e.cancelOpen()

	return nil
}

// post lets the loop call f. After the loop has ended, post does nothing.
func (e *Executor) post(f func()) {
	select {
	case e.todo <- f:
	case <-e.ended:
	}
}

// loop takes tasks, and looks at the parts again and again, until Close ends it.
func (e *Executor) loop() {
	defer close(e.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()

	e.changed = time.Now()

	var looked time.Time
	for {
		select {
		case task := <-e.incoming:
			e.pending = append(e.pending, task)
			continue
		case f := <-e.todo:
			f()
			continue
		case <-e.quit:
			return
		case <-ticker.C:
		}

		now := time.Now()
		pause := min(now.Sub(e.changed)/quietShare, longestTick)
		if now.Sub(looked) < pause {
			continue
		}

		looked = now
		e.look(now)
		e.ask(now)
		e.submit(now)
		e.sayWaiting(now)
	}
}

// stir notes that something happened, after which the work directory and the queue are looked at more often.
func (e *Executor) stir() {
	e.changed = time.Now()
	e.askEvery = firstAsk
	if soon := e.changed.Add(firstAsk); soon.Before(e.nextAsk) {
		e.nextAsk = soon
	}
}

// refuse ends all submissions with the first error of several. Tasks that have not begun end with it.
func (e *Executor) refuse(err error) {
	if e.fatal == nil {
		e.fatal = err
		close(e.refused)
	}
}

// resolve ends a task in hand: its Do returns err.
func (e *Executor) resolve(t *task, err error) {
	e.stir()
	t.done <- err
}
