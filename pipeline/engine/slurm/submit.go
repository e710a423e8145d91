package slurm

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/slurm/job"
)

// submit makes batches of what waits, and submits one at a time.
func (e *Executor) submit(now time.Time) {
	if !e.attached || e.calling || e.Ctx.Err() != nil {
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

	var due []*Task
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

	refusal := func(t *Task) error {
		if e.fatal != nil {
			return e.fatal
		}
		return e.refused[t.W.Task.Stage]
	}

	before := len(e.pending)
	e.pending = slices.DeleteFunc(e.pending, func(t *Task) bool {
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
	newest, oldest := due[0].Came, due[0].Came
	for _, t := range due {
		if t.Came.After(newest) {
			newest = t.Came
		}

		if t.Came.Before(oldest) {
			oldest = t.Came
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

	e.pending = slices.DeleteFunc(e.pending, func(t *Task) bool {
		p, ok := at[t.W.Key]
		if ok {
			t.before = t.W.Progress()
			e.handled[t.W.Key] = true
			p.el.tasks[p.i] = t
		}

		return ok
	})
}

// pack makes a batch of tasks of one stage and one size of memory. Short tasks
// share a job: as many as make a worthwhile time, yet enough jobs that all
// slots have work.
func (e *Executor) pack(due []*Task, limit int) *batch {
	stage, mem := due[0].W.Task.Stage, e.raised[due[0].W.Key]
	var tasks []*Task

	total := 0.0
	for _, t := range due {
		if t.W.Task.Stage == stage && e.raised[t.W.Key] == mem {
			tasks = append(tasks, t)
			total += t.W.Expect
		}
	}

	sort.SliceStable(tasks, func(i, j int) bool { return tasks[i].W.Task.ID < tasks[j].W.Task.ID })
	aim := max(min(e.o.Pack, total/float64(3*e.cluster.slots)), e.least)
	e.seq++
	name := fmt.Sprintf("dt-%s-%s-%d", plain(stage), e.run, e.seq)
	b := &batch{
		name: name, dir: e.Root("batches", name), stage: stage, limit: limit, memory: mem, read: map[string]bool{},
		reported: map[string]bool{}, ready: true,
	}

	var el *element

	sum := 0.0
	for _, t := range tasks {
		if el == nil || sum+t.W.Expect > aim || len(el.tasks) >= 2000 {
			if len(b.elements) == e.cluster.maxArray {
				break
			}

			el, sum = &element{}, 0
			b.elements = append(b.elements, el)
		}

		el.specs = append(el.specs, t.W.Spec())
		el.tasks = append(el.tasks, t)
		sum += t.W.Expect
	}

	taken := map[*Task]bool{}
	for _, el := range b.elements {
		for _, t := range el.tasks {
			taken[t] = true
			t.before = t.W.Progress()
			if !e.handled[t.W.Key] { // once: a retry, or a task of the same content, must not
				if err := t.W.Clear(); err != nil {
					e.fatal = err
					return nil
				}
			}

			e.handled[t.W.Key] = true
		}
	}

	e.pending = slices.DeleteFunc(e.pending, func(t *Task) bool { return taken[t] })
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
	x := &Batch{
		Format: BatchFormat, Name: b.name, Stage: b.stage, Config: []byte(e.o.Config), Added: e.o.Added,
		Dir: []byte(e.o.Dir), Facts: e.o.Facts, Written: time.Now(), Probe: probe,
	}

	for _, el := range b.elements {
		x.Elements = append(x.Elements, el.specs)
	}

	if err := x.Write(b.dir); err != nil {
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
func (e *Executor) script(b *batch, set job.Settings) (string, error) {
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
		words, err := job.Words(c)
		if err != nil {
			return "", err
		}

		for j, w := range words {
			if j > 0 {
				s.WriteByte(' ')
			}
			s.WriteString(job.Quote(w))
		}

		fmt.Fprintf(&s, " || { echo 'setup command %d failed'; exit 1; }\n", i+1)
	}

	fmt.Fprintf(&s, "cd -- \"$here\" && exec %s exec --plan plan.json --index \"$SLURM_ARRAY_TASK_ID\"\n", e.Bin)

	return s.String(), nil
}

// plainOutput reports whether the batch's path holds what Slurm itself would
// read as a pattern in a log's path: then the script opens the log.
func (e *Executor) plainOutput(b *batch) bool { return strings.ContainsAny(b.dir, `\%`) }

// arguments are those of sbatch.
func (e *Executor) arguments(b *batch, set job.Settings) []string {
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

	args := []string{
		"--parsable", "--job-name=" + b.name, array, "--requeue", "--open-mode=append", "--chdir=" + b.dir,
		output,
	}

	opt := func(name, v string) {
		if v != "" {
			args = append(args, "--"+name+"="+v)
		}
	}

	opt("partition", set.Partition)
	opt("account", set.Account)
	opt("qos", set.QOS)
	opt("time", set.Time)
	opt("mem", job.Raise(set.Mem, e.o.RetryMem, b.memory))

	if set.CPUs > 0 {
		opt("cpus-per-task", strconv.Itoa(set.CPUs))
	}

	// Of two --exclude sbatch takes the last: the user's nodes and ours are one list.
	excluded := slices.Clone(e.excluded)
	for _, o := range set.Extra {
		if nodes, ok := strings.CutPrefix(o, "--exclude="); ok {
			excluded = append(excluded, nodes)
		} else {
			args = append(args, o)
		}
	}

	opt("exclude", strings.Join(excluded, ","))

	return args
}

// sbatch submits a batch, outside the loop.
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
		ctx := context.WithoutCancel(e.Ctx)
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
				if b.tries > 2 {
					e.o.Notify("jobs are accepted again")
				}

				if err := e.j.write(entry{Of: b.name, Job: b.job}); err != nil {
					e.o.Notify(err.Error())
				}

				e.stir()
				e.nextAsk = time.Now().Add(e.o.Query)

			case passing(err, inHand):
				wait := min(time.Second<<min(b.tries-1, 5), 30*time.Second)
				b.retryAt = time.Now().Add(wait)
				if b.tries == 2 {
					e.o.Notify(fmt.Sprintf("jobs cannot be submitted now, tried again until they can: %s", firstLine(err.Error())))
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
		args := []string{"update", "JobId=" + b.job, "ArrayTaskThrottle=" + strconv.Itoa(n)}
		e.calling = true
		go func() {
			_, err := call(context.WithoutCancel(e.Ctx), "", "scontrol", args...)
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
