// Package command makes a run's tasks in parts that a command of the user's starts
// somewhere: qsub, bsub, a script of their own. The command gets the path of a shell script
// as its last word. It may return at once or when the script ends.
//
// The scheduler behind the command is asked nothing. What became of a part is read in
// the work directory: results in the store, notes of failures, and a file that the part's
// process touches while it lives. A part whose file is silent is dead; its tasks are
// submitted again. A part that was never started cannot be told from one that waits: the
// user is told, and the run goes on waiting.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm"
	"doubletake/pipeline/engine/slurm/job"
	"doubletake/pipeline/kv"
)

// Options are the settings of the executor. The zero value of a duration means the default.
type Options struct {
	Command []string // the command and its words
	Status  []string // a command that prints why jobs wait; may be empty
	Parts   int      // at a time
	Binary  string   // the program
	Config  string   // its configuration, relative to Dir
	Added   []string // further arguments of the driver that change the plan
	Dir     string   // the workers' working directory
	Facts   []kv.Pair
	Notify  func(text string)

	Silent time.Duration // after which a part whose process shows no life is dead; default 30 s
	Grace  time.Duration // after which parts that did not begin are reported; default 15 s
}

// Times between looks at the work directory, and how long tasks that become ready together
// are waited for.
const (
	tick   = 200 * time.Millisecond
	gather = 300 * time.Millisecond
	settle = 4 * time.Second // until a result is visible after its process has ended
)

// worth is how many seconds of work a part is at least given, where there is as much.
const worth = 5

// folder is the executor's in the cache.
const folder = "command"

// launches is how often the command is tried.
const launches = 3

// Executor makes tasks by a command. It works for one run.
type Executor struct {
	slurm.Hand
	o     Options
	drain chan struct{}
	ended chan error // of launches; nil where it worked
	quit  chan struct{}
	gone  chan struct{}
	run   string

	// The rest belongs to the loop.
	pending  []*slurm.Task
	parts    []*part
	attempts map[string]int
	fatal    error
	draining bool
	seq      int
	told     bool // that nothing begins
	quiet    time.Time
}

// part is one job: its own folder with one element.
type part struct {
	dir       string
	tasks     []*slurm.Task // nil where resolved
	submitted time.Time
	life      slurm.Life
	beat      time.Time // when the life last changed, by this machine's clock
	read      map[string]bool
	failed    bool
}

// New returns an executor for one run.
func New(o Options) *Executor {
	o.Silent = cmp.Or(o.Silent, 30*time.Second)

	o.Grace = cmp.Or(o.Grace, 15*time.Second)

	return &Executor{
		Hand: slurm.NewHand(folder), o: o, drain: make(chan struct{}, 1), ended: make(chan error, 64),
		quit: make(chan struct{}), gone: make(chan struct{}), attempts: map[string]int{},
		run: strconv.FormatInt(time.Now().UnixNano(), 36),
	}
}

// Cancel does nothing more than an interrupt: parts that have not begun find nothing to do,
// others end after their present task.
func (e *Executor) Cancel() {}

// Open takes away what an earlier driver left: its parts find nothing to do.
func (e *Executor) Open(ctx context.Context, s *engine.Session) error {
	if _, err := exec.LookPath(e.o.Command[0]); err != nil {
		return fmt.Errorf("%s, which executor.command names, is not here: run on a machine that submits jobs, or with "+
			"--executor local", e.o.Command[0])
	}

	os.RemoveAll(s.Cache(folder, "parts"))

	if err := e.Enter(ctx, s, "parts"); err != nil {
		return err
	}

	if err := e.Copy(e.o.Binary, true); err != nil {
		return err
	}

	go e.loop()

	return nil
}

// Drain ends what has not begun.
func (e *Executor) Drain() { e.drain <- struct{}{} }

// Close ends the executor. Parts that still wait or work find their folder gone.
func (e *Executor) Close() error {
	close(e.quit)
	<-e.gone

	for _, p := range e.parts {
		e.forget(p)
	}

	if e.Ctx.Err() != nil && len(e.parts) > 0 {
		e.o.Notify(fmt.Sprintf("interrupted; %d parts are withdrawn: those that wait will find nothing to do, those at work "+
			"end after their present task", len(e.parts)))
	}

	return nil
}

func (e *Executor) loop() {
	defer close(e.gone)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()

	e.quiet = time.Now()

	var last time.Time
	for {
		select {
		case t := <-e.In:
			e.pending = append(e.pending, t)
			continue
		case <-e.drain:
			e.draining = e.Ctx.Err() == nil
			continue
		case err := <-e.ended:
			if e.fatal == nil {
				e.fatal = err
			}
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
		e.submit(now)
		e.waiting(now)
	}
}

func (e *Executor) resolve(t *slurm.Task, err error) {
	e.quiet = time.Now()
	t.End(err)
}

// look reads what became of the parts.
func (e *Executor) look(now time.Time) {
	var left []*part
	for _, p := range e.parts {
		if life, ok := slurm.ReadLife(p.dir); ok && life != p.life {
			p.life, p.beat = life, now
			e.told = false
		}

		open := 0
		for i, t := range p.tasks {
			switch {
			case t == nil:
			case t.W.Sealed():
				p.tasks[i] = nil
				e.resolve(t, nil)
			case e.fatal != nil && p.beat.IsZero():
				p.tasks[i] = nil
				e.resolve(t, e.fatal)
			case e.draining && p.beat.IsZero():
				p.tasks[i] = nil
				e.resolve(t, engine.ErrNotStarted)
			default:
				open++
				if !p.beat.IsZero() {
					t.W.Started(p.life.Node)
				}
			}
		}

		e.failures(p)

		if dead := e.dead(p, now); dead != "" {
			e.bury(p, dead)
			open = 0
		}

		if open == 0 {
			e.forget(p)
			continue
		}

		left = append(left, p)
	}

	e.parts = left
}

// dead reports how a part ended that leaves tasks without result, "" where it goes on.
func (e *Executor) dead(p *part, now time.Time) string {
	quiet := now.Sub(p.beat)
	switch {
	case p.beat.IsZero():
		return ""
	case p.life.Ended && quiet > settle:
		return "its process ended, and its result is not there; does the node see the same work directory?"
	case quiet > e.o.Silent:
		return fmt.Sprintf("its process has shown no sign of life for %.0f s: it was killed (memory, time limit, qdel), "+
			"or its node is gone", quiet.Seconds())
	}

	return ""
}

// failures reads the notes of tasks that failed.
func (e *Executor) failures(p *part) {
	for _, f := range slurm.ReadFailures(p.dir, p.read) {
		for i, t := range p.tasks {
			if t != nil && t.W.Key == f.Key {
				p.tasks[i], p.failed = nil, true
				e.died(t, &slurm.TaskError{Task: f.Task, Text: f.Text, Code: f.Code, Node: f.Node, Log: p.log()}, f.Code == 1)
			}
		}
	}
}

func (p *part) log() string { return filepath.Join(p.dir, "log", "0.log") }

// bury books the tasks of a part that died.
func (e *Executor) bury(p *part, text string) {
	for i, t := range p.tasks {
		if t != nil {
			p.tasks[i], p.failed = nil, true
			err := &slurm.TaskError{Task: t.W.Task.ID, Text: text, Code: 1, Node: p.life.Node, Log: p.log()}
			err.Tail = slurm.Tail(err.Log, 8)
			e.died(t, err, true)
		}
	}
}

// died books the end of a task without a result, and has it made again where that may help.
func (e *Executor) died(t *slurm.Task, err *slurm.TaskError, again bool) {
	e.attempts[t.W.Key]++
	n, most := e.attempts[t.W.Key], job.DefaultPolicy().Retries+1
	err.Of = n

	switch {
	case again && e.draining:
		e.resolve(t, engine.ErrNotStarted)
	case !again || n >= most:
		e.resolve(t, err)
	default:
		text, _, _ := strings.Cut(err.Text, "\n")
		t.W.Note(fmt.Sprintf("tried again, attempt %d of %d: %s", n+1, most, text))
		e.pending = append(e.pending, t)
		e.quiet = time.Now()
	}
}

// submit makes parts of what is ready, as many as may be in hand.
func (e *Executor) submit(now time.Time) {
	if e.draining || e.fatal != nil {
		err := cmp.Or(e.fatal, engine.ErrNotStarted)

		for _, t := range e.pending {
			e.resolve(t, err)
		}

		e.pending = nil
	}

	free := e.o.Parts - len(e.parts)
	if len(e.pending) == 0 || free <= 0 || e.Ctx.Err() != nil || now.Sub(e.pending[len(e.pending)-1].Came) < gather {
		return
	}

	of := map[*engine.Task]*slurm.Task{}

	var tasks []*engine.Task

	work := 0.0
	for _, t := range e.pending {
		of[t.W.Task] = t
		tasks = append(tasks, t.W.Task)
		work += t.W.Expect
	}

	e.pending = nil
	n := min(free, len(tasks), int(work/worth)+1)
	for i := range n {
		var list []*slurm.Task
		for _, t := range engine.Part(tasks, i+1, n) {
			list = append(list, of[t])
		}

		if len(list) > 0 {
			e.start(list, now)
		}
	}
}

// start writes a part and has the command start it.
func (e *Executor) start(list []*slurm.Task, now time.Time) {
	e.seq++
	p := &part{
		dir: e.Root("parts", fmt.Sprintf("%s-%d", e.run, e.seq)), tasks: list, submitted: now, read: map[string]bool{},
	}
	e.parts = append(e.parts, p)

	var specs []engine.Spec
	for _, t := range list {
		if err := t.W.Clear(); err != nil {
			e.fatal = err
			return
		}

		specs = append(specs, t.W.Spec())
	}

	x := &slurm.Batch{
		Format: slurm.BatchFormat, Name: filepath.Base(p.dir), Config: []byte(e.o.Config), Added: e.o.Added,
		Dir: []byte(e.o.Dir), Facts: e.o.Facts, Written: now, Alive: true, Elements: [][]engine.Spec{specs},
	}

	script := filepath.Join(p.dir, "dt-part.sh")
	text := fmt.Sprintf("#!/bin/sh\ncd -- %s || exit 1\nexec >>log/0.log 2>&1\nexec %s exec --plan plan.json --index 0\n",
		job.Quote(p.dir), e.Bin)

	err := x.Write(p.dir)
	if err == nil {
		err = engine.WriteFile(script, []byte(text))
	}

	if err == nil {
		err = os.Chmod(script, 0o755)
	}

	if err != nil {
		e.fatal = err
		return
	}

	go e.launch(p.dir, script)
}

// launch calls the command. A launch that fails is no attempt of the tasks.
func (e *Executor) launch(dir, script string) {
	var err error
	for try := range launches {
		c := exec.CommandContext(e.Ctx, e.o.Command[0], append(e.o.Command[1:len(e.o.Command):len(e.o.Command)], script)...)
		c.Dir = dir

		var out []byte
		if out, err = c.CombinedOutput(); err == nil || e.Ctx.Err() != nil {
			return
		}

		if _, began := slurm.ReadLife(dir); began { // it returned with the part, whose state is known
			return
		}

		err = fmt.Errorf("submit by %q: %w: %s", strings.Join(e.o.Command, " "), err, strings.TrimSpace(string(out)))

		select {
		case <-time.After(time.Second << try):
		case <-e.gone:
			return
		}
	}

	select {
	case e.ended <- err:
	case <-e.gone:
	}
}

// waiting reports once that no part begins or works.
func (e *Executor) waiting(now time.Time) {
	if e.told || len(e.parts) == 0 {
		return
	}

	for _, p := range e.parts {
		if !p.beat.IsZero() || now.Sub(p.submitted) < e.o.Grace {
			return
		}
	}

	e.told = true
	e.o.Notify(fmt.Sprintf("nothing runs: %d parts that were submitted by %q %.0f s ago have not begun. %s"+
		"If they ended, see whether the nodes can run %s and write to %s. To submit "+
		"them again, interrupt and run again", len(e.parts), strings.Join(e.o.Command, " "),
		now.Sub(e.parts[0].submitted).Seconds(), e.reason(), e.Root("bin"), e.Root("parts")))
}

// reason is the scheduler's status of waiting jobs, or advice to ask for it.
func (e *Executor) reason() string {
	if len(e.o.Status) == 0 {
		return "Ask the scheduler why they wait (qstat; executor.status has it asked). "
	}

	ctx, cancel := context.WithTimeout(e.Ctx, 5*time.Second)
	defer cancel()

	c := exec.CommandContext(ctx, e.o.Status[0], e.o.Status[1:]...)
	c.WaitDelay = time.Second // a child of the command's may live on and hold its output open
	out, err := c.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		text += fmt.Sprintf(" (%v)", err)
	}

	const most = 2000
	text = strings.ToValidUTF8(text[:min(len(text), most)], "?")

	return fmt.Sprintf("%q says:\n    %s\n", strings.Join(e.o.Status, " "), strings.ReplaceAll(text, "\n", "\n    "))
}

// forget drops a part of which nothing is in hand: without its plan a process does nothing.
func (e *Executor) forget(p *part) {
	if !p.failed {
		os.RemoveAll(p.dir)
		return
	}

	if err := os.Remove(filepath.Join(p.dir, "plan.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		e.o.Notify(err.Error())
	}
}
