package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"doubletake/internal/lists"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/job"
)

// hold is how many seconds a job that finds no work directory keeps its place, so that its node is learned.
const hold = 20

// toCancel is how long a command that cancels may take.
const toCancel = 20 * time.Second

// launches is how often a command that does not submit is called.
const launches = 3

// firstAsk is the time between two looks at the queue, at first; up to lastAsk when nothing happens.
const firstAsk, lastAsk = 2 * time.Second, 15 * time.Second

// later are the words of errors that pass: the scheduler is away or busy, or has as many jobs as it takes.
var later = regexp.MustCompile(`(?i)unable to contact|connect|timed out|temporar|communication|try again|retry|` +
	`submit limit|deadline exceeded|signal: killed`)

var number = regexp.MustCompile(`\d+`)

// submission is what one call of the scheduler submits: the parts of an array, or one.
type submission struct {
	words    []string // of the command, with the script or its description
	cancel   func(id string) []string
	parts    int
	open     int       // parts that may be in the queue
	id       string    // "": not known
	accepted time.Time // zero: not yet
}

// settings are those of a stage's jobs; group is the same for stages that share them.
func (e *Executor) settings(stage string) (set job.Settings, group string) {
	if set, ok := e.o.Stages[stage]; ok {
		return set, stage
	}

	return e.o.Settings, ""
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

	if len(e.pending) == 0 || e.ctx.Err() != nil || now.Sub(e.pending[len(e.pending)-1].came) < gather {
		return
	}

	groups, of := map[string][]*engine.Task{}, map[*engine.Task]*task{}
	for _, t := range e.pending {
		_, group := e.settings(t.w.Task.Stage)
		groups[group] = append(groups[group], t.w.Task)
		of[t.w.Task] = t
	}

	for _, tasks := range groups {
		set, _ := e.settings(tasks[0].Stage)
		limit := cmp.Or(set.MaxRunning, e.o.Parts)
		work := 0.0
		for _, t := range tasks {
			work += of[t].w.Expect
		}

		n := min(limit, len(tasks), int(work/worth)+1)

		parts := lists.Make(min(n, limit-len(e.parts)), func(i int) []*task {
			return lists.Each(engine.Part(tasks, i+1, n), func(t *engine.Task) *task { return of[t] })
		})
		if len(parts) > 0 {
			e.start(set, parts)
		}
	}
}

// start writes parts and has them submitted: as an array, or one by one.
func (e *Executor) start(set job.Settings, parts [][]*task) {
	taken := map[*task]bool{}
	for _, t := range slices.Concat(parts...) {
		taken[t] = true
	}

	e.pending = slices.DeleteFunc(e.pending, func(t *task) bool { return taken[t] })

	if e.o.Scheduler == nil {
		for i := range parts {
			e.write(set, parts[i:i+1])
		}
	} else {
		e.write(set, parts)
	}
}

// write writes the parts of one submission and launches it.
func (e *Executor) write(set job.Settings, parts [][]*task) {
	e.seq++
	a := job.Array{
		Settings: set, Name: fmt.Sprintf("dt-%s-%d", e.run, e.seq), Parts: len(parts), Dir: filepath.Join(e.root, "parts"),
		Words: []string{e.bin, "exec", "--plan", "plan.json"},
		Avoid: slices.DeleteFunc(slices.Clone(e.blind), func(node string) bool { return node == "" }),
	}
	s := &submission{parts: len(parts), open: len(parts)}
	e.submissions = append(e.submissions, s)

	var err error
	for i, list := range parts {
		p := &part{
			dir: filepath.Join(a.Dir, fmt.Sprintf("%s-%d", a.Name, i+1)), of: s, n: i + 1, tasks: list,
			read: map[string]bool{},
		}
		e.parts = append(e.parts, p)
		err = errors.Join(err, e.plan(p))
	}

	if err == nil {
		err = e.script(s, a)
	}

	if err != nil {
		e.fatal = err
		return
	}

	e.launching.Add(1)
	go e.launch(s, a)
}

// plan writes the folder of a part.
func (e *Executor) plan(p *part) error {
	x := Batch{Format: batchFormat, Config: []byte(e.o.Config), Added: e.o.Added, Dir: []byte(e.o.Dir), Facts: e.o.Facts}

	for _, t := range p.tasks {
		if err := t.w.Clear(); err != nil {
			return err
		}

		x.Tasks = append(x.Tasks, t.w.Spec())
	}

	js, err := json.Marshal(x)
	if err == nil {
		err = os.MkdirAll(filepath.Join(p.dir, "failed"), 0o755)
	}

	if err == nil {
		err = engine.WriteFile(filepath.Join(p.dir, "plan.json"), js)
	}

	return err
}

// script writes the script of a submission, and sets its words.
func (e *Executor) script(s *submission, a job.Array) error {
	x, seconds := e.o.Scheduler, hold
	if x == nil {
		x, seconds = &job.Scheduler{Index: "1"}, 0
		s.words = e.o.Command
		s.cancel = func(id string) []string { return append(slices.Clip(e.o.Cancel), id) }
		s.accepted = time.Now()
	}

	text, err := x.Script(a, seconds)
	if err != nil {
		return err
	}

	path := filepath.Join(a.Dir, a.Name+".sh")
	if err := errors.Join(engine.WriteFile(path, []byte(text)), os.Chmod(path, 0o755)); err != nil {
		return err
	}

	if e.o.Scheduler != nil {
		if s.words, err = x.Submit(a); err != nil {
			return err
		}

		s.cancel = func(id string) []string { return x.Cancel(job.Job{ID: id, Parts: a.Parts}) }
		if text := x.Describe(a, path); text != "" {
			path = filepath.Join(a.Dir, a.Name+".sub")
			err = engine.WriteFile(path, []byte(text))
		}
	}

	s.words = append(slices.Clip(s.words), path)

	return err
}

// call runs a command of the scheduler's. What a job in which the driver itself runs, or the user's habits, would
// make Slurm's commands do otherwise is not in its environment.
func call(ctx context.Context, longest time.Duration, dir string, words []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()

	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Dir, c.WaitDelay = dir, time.Second // a child of the command's may live on and hold its output open
	c.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		own := []string{"SLURM_", "SBATCH_", "SQUEUE_", "SCANCEL_"}
		has := func(prefix string) bool { return strings.HasPrefix(kv, prefix) }

		return !has("SLURM_CONF=") && slices.ContainsFunc(own, has)
	})

	out, err := c.CombinedOutput()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return string(out), nil
	}

	return string(out), fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
}

// launch submits. A launch that fails is no attempt of the tasks.
func (e *Executor) launch(s *submission, a job.Array) {
	defer e.launching.Add(-1)

	ctx := e.ctx
	if e.o.Scheduler != nil { // whose jobs must be known, to be cancelled
		ctx = context.WithoutCancel(ctx)
	}

	var err error
	for try := 0; e.ctx.Err() == nil; try++ {
		var out string
		if out, err = e.submitOnce(ctx, s, a); err == nil {
			id := number.FindString(out)
			e.post(func() { e.accept(s, id) })

			return
		}

		// A user's command may have returned with the part, whose state is known.
		if _, began := readLife(filepath.Join(a.Dir, a.Name+"-1")); began {
			return
		}

		passes := e.o.Scheduler != nil && later.MatchString(err.Error())
		err = fmt.Errorf("submit by %q: %w", strings.Join(s.words[:len(s.words)-1], " "), err)

		if try >= launches-1 && !passes {
			e.post(func() { e.fatal = cmp.Or(e.fatal, err) })
			return
		}

		if try == 1 && passes {
			e.post(func() { e.o.Notify("jobs cannot be submitted now, tried again until they can: " + err.Error()) })
		}

		select {
		case <-time.After(min(time.Second<<min(try, 5), lastAsk)):
		case <-e.gone:
			return
		}
	}
}

func (e *Executor) submitOnce(ctx context.Context, s *submission, a job.Array) (string, error) {
	if e.o.Scheduler == nil { // it may return when the part has ended
		return call(ctx, math.MaxInt64, filepath.Join(a.Dir, a.Name+"-1"), s.words)
	}

	return call(ctx, 90*time.Second, a.Dir, s.words)
}

// accept notes the job of a submission.
func (e *Executor) accept(s *submission, id string) {
	s.id, s.accepted = id, time.Now()
	if id == "" || e.o.Scheduler == nil && len(e.o.Cancel) == 0 {
		s.id = ""
		return
	}

	js, err := json.Marshal(s.cancel(id))

	var f *os.File
	if err == nil {
		f, err = os.OpenFile(e.jobs(), os.O_WRONLY|os.O_APPEND, 0)
	}

	if err == nil {
		_, err = f.Write(append(js, '\n'))
		err = errors.Join(err, f.Close())
	}

	if errors.Is(err, os.ErrNotExist) { // cancelled meanwhile
		_, err = call(e.ctx, toCancel, e.root, s.cancel(id))
	}

	if err != nil {
		e.o.Notify("note a job: " + err.Error())
	}
}

// cancelOpen cancels what may be in the queue.
func (e *Executor) cancelOpen() {
	for _, s := range e.submissions {
		if s.open > 0 && s.id != "" {
			_, _ = call(context.WithoutCancel(e.ctx), toCancel, e.root, s.cancel(s.id))
		}
	}

	os.Remove(e.jobs())
}

// Cancel cancels the jobs of a work directory, whether their driver lives or not, and returns how many there were. A
// living driver ends.
func Cancel(workdir string) (int, error) {
	dir, err := filepath.Abs(workdir)
	if err != nil {
		return 0, fmt.Errorf("find workdir: %w", err)
	}

	return withdraw(context.Background(), folder(dir)), nil
}

// withdraw cancels the jobs that a driver noted below root, and takes their parts away.
func withdraw(ctx context.Context, root string) int {
	b, err := os.ReadFile(filepath.Join(root, "jobs"))
	if err != nil {
		return 0
	}

	os.Remove(filepath.Join(root, "jobs"))

	plans, _ := filepath.Glob(filepath.Join(root, "parts", "*", "plan.json"))
	n := 0
	for _, p := range plans {
		if l, _ := readLife(filepath.Dir(p)); !l.Ended {
			n++
		}
	}

	for l := range strings.Lines(string(b)) {
		var words []string
		if json.Unmarshal([]byte(l), &words) == nil && len(words) > 0 {
			_, _ = call(ctx, toCancel, root, words) // those that ended are unknown
		}
	}

	clearParts(root)

	return n
}

// clearParts takes all parts away. Their folder stays: without it a job takes its node for blind.
func clearParts(root string) {
	all, _ := filepath.Glob(filepath.Join(root, "parts", "*"))
	for _, p := range all {
		os.RemoveAll(p)
	}
}

// ask looks for parts in the queue that have not begun or are silent, outside of the loop.
func (e *Executor) ask(now time.Time) {
	if e.o.Scheduler == nil || e.asking || now.Before(e.nextAsk) {
		return
	}

	silent := func(p *part) bool { return p.of.id != "" && now.Sub(p.beat) > 3*beat }
	if !slices.ContainsFunc(e.parts, silent) {
		return
	}

	e.asking = true
	go func() {
		out, err := call(e.ctx, time.Minute, e.root, e.o.Scheduler.Queue())
		e.post(func() {
			e.asking = false
			e.nextAsk = time.Now().Add(e.askEvery)
			e.askEvery = min(e.askEvery*3/2, lastAsk)

			if err == nil { // else nothing is known
				e.listed(now, e.o.Scheduler.Read(out))
			}
		})
	}()
}

// listed takes the queue as it was when it was asked for. What has left it ended; jobs that were never seen there may
// have a form that is not known here.
func (e *Executor) listed(asked time.Time, queue map[job.Part]job.State) {
	for _, p := range e.parts {
		st, ok := queue[job.Part{ID: p.of.id, N: p.n}]
		if ok {
			p.seen, e.understood, p.state, p.left = true, true, st, time.Time{}
			if st.Running && p.runs.IsZero() {
				p.runs = asked
			}
		}
	}

	for _, p := range e.parts {
		_, ok := queue[job.Part{ID: p.of.id, N: p.n}]
		old := p.of.id != "" && p.of.accepted.Before(asked.Add(-time.Second))

		if !ok && old && p.left.IsZero() && (p.seen || e.understood) {
			p.left = asked
			e.stir()
		}
	}
}

// waiting reports once that no part begins or works.
func (e *Executor) waiting(now time.Time) {
	if e.told || len(e.parts) == 0 {
		return
	}

	first := e.parts[0].of
	for _, p := range e.parts {
		if !p.beat.IsZero() || !p.runs.IsZero() || p.of.accepted.IsZero() || now.Sub(p.of.accepted) < e.o.Grace {
			return
		}
	}

	e.told = true
	e.o.Notify(fmt.Sprintf("nothing runs: %d parts that were submitted by %q %.0f s ago have not begun. %s"+
		"If they ended, see whether the nodes can run %s and write to %s. To submit "+
		"them again, interrupt and run again", len(e.parts), strings.Join(first.words[:len(first.words)-1], " "),
		now.Sub(first.accepted).Seconds(), e.reason(first), filepath.Join(e.root, "bin"), filepath.Join(e.root, "parts")))
}

// reason is the scheduler's status of waiting jobs, or advice to ask for it.
func (e *Executor) reason(s *submission) string {
	words := e.o.Status
	if len(words) == 0 && e.o.Scheduler != nil {
		words = e.o.Scheduler.Why(job.Job{ID: s.id, Parts: s.parts})
	}

	if len(words) == 0 {
		return "Ask the scheduler why they wait (qstat; executor.status has it asked). "
	}

	text, err := call(e.ctx, 5*time.Second, e.root, words)
	if err != nil {
		text = err.Error()
	}

	const most = 2000
	text = strings.TrimSpace(text)
	text = strings.ToValidUTF8(text[:min(len(text), most)], "?")

	return fmt.Sprintf("%q says:\n    %s\n", strings.Join(words, " "), strings.ReplaceAll(text, "\n", "\n    "))
}

// notes reads the notes of failures that were not read yet.
func (p *part) notes() []failure {
	var fresh []failure

	paths, _ := filepath.Glob(filepath.Join(p.dir, "failed", "*.json"))
	for _, path := range paths {
		js, err := os.ReadFile(path)

		var f failure
		if !p.read[path] && err == nil && json.Unmarshal(js, &f) == nil {
			p.read[path] = true
			fresh = append(fresh, f)
		}
	}

	return fresh
}
