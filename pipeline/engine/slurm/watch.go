package slurm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/engine"
)

// results looks into the store for finished tasks, and into the batches for
// failed ones.
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

				if !t.W.Sealed() {
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
	if b.earlier && !e.attached {
		return // see settleAttached
	}

	for n, f := range b.notes() {
		el := b.elements[f.Element]
		for i, t := range el.tasks {
			if t != nil && t.W.Key == f.Key {
				el.tasks[i] = nil
				err := &TaskError{Task: f.Task, Text: f.Text, Code: f.Code, Node: f.Node, Job: f.Job, Log: e.keepLog(b, f.Element)}
				e.died(t, err, ending{again: f.Code == 1, note: b.name + "/" + n})
			}
		}
	}
}

// notes reads the notes of failures that were not read yet, by name.
func (b *batch) notes() map[string]Failure {
	fresh := ReadFailures(b.dir, b.read)
	for n, f := range fresh {
		if f.Element < 0 || f.Element >= len(b.elements) {
			delete(fresh, n)
		}
	}

	return fresh
}

// ReadFailures reads the notes of failures in a batch's folder that are not in read, and
// puts their names there.
func ReadFailures(dir string, read map[string]bool) map[string]Failure {
	fresh := map[string]Failure{}

	dir = filepath.Join(dir, "failed")
	for _, n := range list(dir) {
		if read[n] || strings.HasPrefix(n, ".") {
			continue
		}

		js, err := os.ReadFile(filepath.Join(dir, n))

		var f Failure
		if err == nil && json.Unmarshal(js, &f) == nil {
			read[n] = true
			fresh[n] = f
		}
	}

	return fresh
}

// TaskError is the reason why a task has no result.
type TaskError struct {
	Task string
	Text string // the task's error, or the end of its job by Slurm
	Code int    // exit status that the failure means
	Node string
	Job  string
	Log  string // path of the log
	Tail string // end of the log, if the task left no error
	Of   int    // attempts made
}

func (e *TaskError) Error() string {
	var b strings.Builder
	b.WriteString(e.Text)

	var of []string
	if e.Job != "" {
		of = append(of, "job "+e.Job)
	}

	if e.Node != "" {
		of = append(of, "on "+e.Node)
	}

	where := strings.Join(of, " ")
	if e.Of > 1 {
		where += fmt.Sprintf(", tried %d times", e.Of)
	}

	fmt.Fprintf(&b, " (%s)", where)

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

// LogPath is the path of the job's log.
func (e *TaskError) LogPath() string { return e.Log }

func (e *Executor) keepLog(b *batch, el int) string {
	b.failed = true
	return filepath.Join(b.dir, "log", strconv.Itoa(el)+".log")
}

// Tail returns the last lines of a log, or the first of its last panic.
func Tail(path string, lines int) string {
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
	from := max(0, len(all)-lines)
	for i := from - 1; i >= 0; i-- {
		if strings.HasPrefix(all[i], "panic: ") || strings.HasPrefix(all[i], "fatal error: ") {
			from = i // what follows is stacks
			break
		}
	}

	return strings.ToValidUTF8(strings.Join(all[from:min(from+lines, len(all))], "\n"), "?")
}

// ending is what kind of end it was: worth another try (again); perhaps for want
// of memory (more); cut short from outside (cut), so that another try goes on
// where it wrote its last checkpoint and counts for nothing if there is a new
// one.
type ending struct {
	again, more, cut bool
	launch           bool   // the node could not start it: no attempt of the task
	note             string // of the failure, where the task left one
}

// died books the end of a task without a result, and has it made again where
// that is wanted.
func (e *Executor) died(t *Task, err *TaskError, end ending) {
	key, again, more := t.W.Key, end.again, end.more

	// Clocks of nodes differ: what counts is that there is another checkpoint.
	last := t.W.Progress()
	progress := end.cut && !last.IsZero() && !last.Equal(t.before)
	launch := end.launch && err.Node != "" && e.launches[key] < mostLaunches
	if launch {
		e.launches[key]++
		e.exclude(err.Node)
	}

	if !progress && !launch {
		e.attempts[key]++

		if more && e.o.RetryMem > 1 {
			e.raised[key]++
		}

		if werr := e.j.write(entry{Died: key, Why: err.Text, Note: end.note, Memory: e.raised[key]}); werr != nil {
			e.o.Notify(werr.Error())
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
		switch {
		case progress:
			how = "it goes on where it stopped"
		case launch:
			how = "on other nodes"
		}

		t.W.Note(fmt.Sprintf("tried again, %s: %s", how, firstLine(err.Text)))
		t.notBefore = time.Now().Add(min(time.Second<<min(e.attempts[key], 5), 30*time.Second) / 2)
		e.pending = append(e.pending, t)
		e.stir()
	}
}

func firstLine(s string) string { l, _, _ := strings.Cut(s, "\n"); return l }

// ask asks squeue, outside the loop.
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
		rows, err := squeue(context.WithoutCancel(e.Ctx), names)
		e.post(func() {
			e.asking = false
			if quiet := time.Since(e.changed); quiet > 10*e.askEvery {
				e.askEvery = min(e.askEvery*3/2, 15*time.Second)
			}

			e.nextAsk = time.Now().Add(e.askEvery)
			if err != nil {
				if !e.silent {
					e.silent = true
					e.o.Notify(fmt.Sprintf("the Slurm controller does not answer; jobs go on, and so does the run when it does (%s)",
						firstLine(err.Error())))
				}

				return
			}

			if e.silent {
				e.silent = false
				e.o.Notify("the Slurm controller answers again")
			}

			e.update(now, rows)
		})
	}()
}

// update takes squeue's answer to a question asked at that time.
func (e *Executor) update(asked time.Time, rows []row) {
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
	some := map[*batch]bool{}

	now := time.Now()
	for _, r := range rows {
		b := of[r.name]
		if b == nil || r.index >= len(b.elements) {
			continue
		}

		b.known, b.job, some[b] = true, r.job, true
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
					t.W.Started(el.node)
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
				// record, but of others of the array, or one of it as a whole, for
				// minutes (MinJobAge). A controller that knows nothing of the array
				// has lost it.
				if ended(whole[b]) || el.state == "PENDING" && some[b] && asked.Sub(e.answered) < time.Minute {
					el.state = "CANCELLED"
				}
			}
		}
	}

	e.answered = asked
	if !e.attached {
		e.attached = true
		e.settleAttached()
	}
}

// settleAttached decides about an earlier driver's batches, once Slurm has
// reported their state: jobs in hand and still wanted are kept for their tasks,
// the others are cancelled.
func (e *Executor) settleAttached() {
	kept := 0
	for _, b := range slices.Clone(e.batches) {
		if !b.known { // its sbatch never came through
			e.forget(b)
			continue
		}

		// What failed before is tried again; if its driver did not live to count it,
		// it is counted now.
		for n, f := range b.notes() {
			el := b.elements[f.Element]
			if el.failed == nil {
				el.failed = map[string]bool{}
			}

			el.failed[f.Key] = true
			if note := b.name + "/" + n; !e.noted[note] {
				e.attempts[f.Key]++
				if err := e.j.write(entry{Died: f.Key, Why: f.Text, Note: note, Memory: e.raised[f.Key]}); err != nil {
					e.o.Notify(err.Error())
				}
			}
		}

		var superseded []int
		for i, el := range b.elements {
			if !el.over.IsZero() {
				el.closed = true
				continue
			}

			wanted := slices.ContainsFunc(el.specs, func(s engine.Spec) bool { return e.S.Current[s.Task] == s.Key })
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
			e.o.Notify(fmt.Sprintf("%d jobs of an earlier run are cancelled: their results are not wanted any more",
				len(superseded)))
		}
	}

	if kept > 0 {
		e.o.Notify(fmt.Sprintf("%d jobs of an earlier run are in hand and are waited for", kept))
	}
}

// scancel cancels elements of a batch, outside the loop.
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

	go func() { _, _ = call(context.WithoutCancel(e.Ctx), "", "scancel", args...) }()
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
						t.W.Refresh()
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
			e.forget(b)
		}
	}

	e.idle(now)
}

// spent reports whether nothing of the element is still to be made.
func (e *Executor) spent(el *element) bool {
	if el.unresolved() {
		return false
	}
	return !slices.ContainsFunc(el.specs, func(s engine.Spec) bool { return !e.handled[s.Key] && !e.S.Sealed(s.Key) })
}

// bury books the tasks of an element that ended without them.
func (e *Executor) bury(b *batch, i int) {
	el := b.elements[i]
	for k, t := range el.tasks {
		if t == nil {
			continue
		}

		el.tasks[k] = nil

		if t.W.Sealed() {
			e.resolve(t, nil)
			continue
		}

		if el.stopped && e.draining {
			e.resolve(t, engine.ErrNotStarted)
			continue
		}

		job := fmt.Sprintf("%s_%d", b.job, i)
		err := &TaskError{Task: t.W.Task.ID, Code: 1, Node: el.node, Job: job, Log: e.keepLog(b, i)}
		err.Tail = Tail(err.Log, 8)

		state := el.state
		if !ended(state) { // it is gone from the controller's memory
			if known := account(e.Ctx, job); known != "" {
				state = known
			}
		}

		var end ending
		err.Text, end = verdict(state, el.reason, e.o.settings(b.stage).Time, err.Tail)
		e.died(t, err, end)
	}
}

// verdict interprets the end of an element without a result: Slurm's last
// word on it and its reason, the time limit that was asked for, and how its log
// ends.
func verdict(state, reason, limit, log string) (text string, end ending) {
	switch {
	case strings.HasPrefix(state, "CANCELLED"):
		return "its job was cancelled by scancel; run again to have it made", ending{}
	case state == "TIMEOUT" || state == "DEADLINE":
		return "its job reached its time limit" + timeHint(limit), ending{again: true, cut: true}
	case state == "OUT_OF_MEMORY":
		return "its job ran out of memory", ending{again: true, more: true}
	case state == "NODE_FAIL" || state == "BOOT_FAIL":
		return "its node failed", ending{again: true, cut: true}
	case state == "PREEMPTED":
		return "its job was preempted", ending{again: true, cut: true}
	case state == "FAILED" && log == "": // the worker's first act is a line in its log
		return "its job could not be started on the node (" + reason + ")", ending{again: true, launch: true}
	case state == "FAILED":
		return "its worker was killed, or could not go on", ending{again: true, more: true}
	case state == "COMPLETED":
		return "its job ended, and its result is not there; does the node see the same work directory?", ending{again: true}
	case state == "PENDING" || state == "":
		return "the controller has lost its job, which waited", ending{again: true}
	}

	return "its job is gone without a result or a reason (killed: memory, time limit or node)",
		ending{again: true, more: true}
}

func timeHint(t string) string {
	if t == "" {
		return ""
	}
	return " (" + t + ")"
}

// mostLaunches is how many failures to start a task may be its nodes' fault.
const mostLaunches = 3

// exclude keeps further jobs from a node that could not start one. Those of arrays that were
// submitted before may still be sent there.
func (e *Executor) exclude(node string) {
	if slices.Contains(e.excluded, node) {
		return
	}

	e.excluded = append(e.excluded, node)
	e.o.Notify(fmt.Sprintf("node %s could not start a job and is excluded for the rest of this run; see whether it sees "+
		"%s, can run %s, knows your user, and its slurmd's log (scontrol show "+
		"node %s)", node, e.Root("batches"), e.Root("bin"), node))
}

// idle reports once that nothing runs, with Slurm's reason.
func (e *Executor) idle(now time.Time) {
	all := e.batches
	if e.probe != nil {
		all = append(slices.Clone(all), e.probe)
	}

	n, reason := 0, ""
	for _, b := range all {
		for _, el := range b.elements {
			switch {
			case el.closed || !el.over.IsZero():
			case el.state != "PENDING":
				e.idleTold = false
				return
			case now.Sub(el.waits) < e.o.Grace:
				return
			default:
				n++
				reason = el.reason
			}
		}
	}

	if n > 0 && !e.idleTold {
		e.idleTold = true
		e.o.Notify(fmt.Sprintf("nothing runs: %d jobs wait in the queue; Slurm's reason: %s (squeue, sinfo --list-reasons)",
			n, reason))
	}
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

// reasons reports each reason to wait that will not pass by itself, once.
func (e *Executor) reasons(b *batch, now time.Time) {
	for _, el := range b.elements {
		if el.closed || !el.over.IsZero() || el.state == "RUNNING" || el.state == "" || settles(el.state, el.reason) ||
			b.reported[el.reason] || now.Sub(el.waits) < e.o.Grace {
			continue
		}

		for _, t := range el.tasks {
			if t != nil {
				b.reported[el.reason] = true

				n := 0
				for _, o := range b.elements {
					if o.reason == el.reason && !o.closed {
						n++
					}
				}

				t.W.Note(fmt.Sprintf("waits in the queue with reason %s (job %s, %d such); it may never start: compare "+
					"partition, account, qos, time, mem and cpus with what the cluster offers (sinfo, sacctmgr), or cancel with "+
					"pipeline cancel", el.reason, b.job, n))
				break
			}
		}
	}
}

// forget drops a batch of which nothing is in hand.
func (e *Executor) forget(b *batch) {
	if err := e.j.write(entry{Of: b.name, Close: true}); err != nil {
		e.o.Notify(err.Error())
	}

	if !b.failed {
		os.RemoveAll(b.dir)
	} else {
		os.Remove(filepath.Join(b.dir, "plan.json")) // a job that comes late finds nothing to do
	}

	e.batches = slices.DeleteFunc(e.batches, func(o *batch) bool { return o == b })
	e.stir()
}
