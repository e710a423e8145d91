package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"doubletake/pipeline/engine"
	"doubletake/pipeline/engine/job"
)

// part is a folder with the plan of some tasks. One job, or one part of an array job, makes them.
type part struct {
	dir        string
	submission *submission
	number     int             // in the submission, from 1
	tasks      []*task         // in the order in which they are made; nil for a task that is resolved
	life       life            // the last sign of life
	lastSign   time.Time       // when life last changed, by this machine's clock; zero if the part has not begun
	read       map[string]bool // paths of the notes of failures that were read
	failed     bool            // a task failed, so that the log must stay

	state     job.State // as the queue last showed it
	running   time.Time // since when the queue shows that its job runs; zero if it does not
	leftQueue time.Time // since when its job is missing in the queue; zero if it is not
}

// hasBegun reports whether the program has begun to make the part's tasks.
func (p *part) hasBegun() bool { return !p.lastSign.IsZero() }

// hasLeft reports whether the part's job left the queue so long ago that its results must be visible.
func (p *part) hasLeft(now time.Time) bool {
	return !p.leftQueue.IsZero() && now.Sub(p.leftQueue) > resultDelay
}

// isOpen reports whether the part has tasks in hand.
func (p *part) isOpen() bool {
	return slices.ContainsFunc(p.tasks, func(t *task) bool { return t != nil })
}

// takeTasks removes the tasks in hand from the part and returns them.
func (p *part) takeTasks() []*task {
	var open []*task
	for _, t := range p.tasks {
		if t != nil {
			open = append(open, t)
		}
	}

	p.tasks = nil

	return open
}

// log returns the path of the file with what the part's job printed.
func (p *part) log() string { return filepath.Join(p.dir, "log") }

// tailLines is the number of lines at the end of a log that an error quotes.
const tailLines = 8

// look reads the folders of all parts. It resolves the tasks that have ended, submits tasks again if their part died or
// did not begin, and forgets parts without tasks in hand. If the file of jobs is gone, the user has cancelled the jobs,
// and all tasks end with an error.
func (e *Executor) look(now time.Time) {
	if _, err := os.Stat(jobsFile(e.root)); errors.Is(err, os.ErrNotExist) && e.fatal == nil {
		e.refuse(errors.New("cancelled by pipeline cancel; run again to have it made"))
		for _, part := range e.parts {
			e.end(part, e.fatal)
		}
	}

	var open []*part
	for _, part := range e.parts {
		e.lookAt(part, now)

		if part.isOpen() {
			open = append(open, part)
		} else {
			e.forget(part)
		}
	}

	e.parts = open
}

// lookAt reads the folder of a part. It resolves the tasks that have ended, and submits the others again if the part
// died or never began.
func (e *Executor) lookAt(p *part, now time.Time) {
	if sign, ok := readLife(p.dir); ok && sign != p.life {
		p.life = sign
		p.lastSign = now
		e.saidWaiting = false
	}

	e.resolveFailed(p)
	e.resolveSealed(p)

	switch {
	case p.hasBegun():
		if reason := e.deathOf(p, now); reason != "" {
			e.bury(p, reason)
		}
	case e.fatal != nil:
		e.end(p, e.fatal)
	case e.draining:
		e.end(p, engine.ErrNotStarted)
	default:
		e.restart(p, now)
	}
}

// resolveSealed resolves the tasks whose results are in the store. A part makes its tasks one after the other, so that
// the task without a result that comes first is the one at work.
func (e *Executor) resolveSealed(p *part) {
	for i, task := range p.tasks {
		if task == nil {
			continue
		}

		if !task.work.Sealed() {
			if p.hasBegun() {
				task.work.Started(p.life.Node)
			}

			return
		}

		p.tasks[i] = nil
		e.resolve(task, nil)
	}
}

// resolveFailed reads the new notes of failures, and removes their tasks from the part.
func (e *Executor) resolveFailed(p *part) {
	for _, failure := range p.newFailures() {
		for i, task := range p.tasks {
			if task != nil && task.work.Key == failure.Key {
				p.tasks[i] = nil
				p.failed = true
				e.fail(task, &TaskError{Text: failure.Text, Code: failure.Code, Node: failure.Node, Log: p.log()})
			}
		}
	}
}

// newFailures reads the notes of failures that were not read yet. A note that is damaged or unreadable is tried again
// at the next look.
func (p *part) newFailures() []failure {
	var fresh []failure

	for _, path := range engine.Matches(p.dir, "failed/*.json") {
		if p.read[path] {
			continue
		}

		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}

		var f failure
		if json.Unmarshal(data, &f) == nil {
			p.read[path] = true
			fresh = append(fresh, f)
		}
	}

	return fresh
}

// end resolves the tasks of a part without a result.
func (e *Executor) end(p *part, err error) {
	for _, task := range p.takeTasks() {
		e.resolve(task, err)
	}
}

// deathOf returns how the process of a part ended before it made all tasks, or "" if the process may be alive.
func (e *Executor) deathOf(p *part, now time.Time) string {
	silence := now.Sub(p.lastSign)
	switch {
	case p.life.Ended && p.life.Stopped && silence > resultDelay:
		return "its process was told to end: its time limit, a cancelled job, or a node that shuts down"
	case p.life.Ended && silence > resultDelay:
		return "its process ended, and its result is not there; does the node see the same work directory?"
	case silence > missedBeats*beat && p.hasLeft(now):
		return "its job has left the queue: it was cancelled or killed (memory, time limit), or its node failed"
	case silence > e.options.Silent:
		return fmt.Sprintf("its process has shown no sign of life for %.0f s: it was killed (memory, time limit, qdel), "+
			"or its node is gone", silence.Seconds())
	}

	return ""
}

// bury ends a part whose process died. Its tasks without results have failed.
func (e *Executor) bury(p *part, reason string) {
	for _, task := range p.takeTasks() {
		task.work.Refresh()

		if task.work.Sealed() {
			e.resolve(task, nil)
			continue
		}

		p.failed = true
		e.fail(task, &TaskError{
			Text: reason, Code: statusTask, Node: p.life.Node, Log: p.log(), Tail: engine.Tail(p.log(), tailLines),
		})
	}
}

// fail counts a failed attempt of a task. The task is made again if the failure may pass, attempts are left and the run
// goes on. Otherwise fail resolves it with the failure.
func (e *Executor) fail(t *task, err *TaskError) {
	e.attempts[t.work.Key]++
	err.Attempts = e.attempts[t.work.Key]

	mayPass := err.Code == statusTask
	if !mayPass || err.Attempts >= maxAttempts || e.draining || e.fatal != nil {
		e.resolve(t, err)
		return
	}

	line, _, _ := strings.Cut(err.Text, "\n")
	t.work.Note(fmt.Sprintf("tried again, attempt %d of %d: %s", err.Attempts+1, maxAttempts, line))
	e.pending = append(e.pending, t)
	e.stir()
}

// restart submits the tasks of a part again if its job has ended, or runs for long, and the program has not begun.
// Later jobs avoid the job's node. This does not count as a failed attempt of the tasks, unless the job wrote to its
// log. A log shows that the node sees the folder, so that a command before the program must have failed.
func (e *Executor) restart(p *part, now time.Time) {
	const endedEarly = "ended before the program began"
	var symptom string
	switch {
	case p.hasLeft(now) && engine.Tail(p.log(), tailLines) != "":
		e.bury(p, "its job "+endedEarly+", in a command of setup perhaps")
		return
	case p.hasLeft(now):
		symptom = endedEarly
	case !p.running.IsZero() && now.Sub(p.running) > e.options.Silent:
		symptom = "runs, and the program does not begin"
	default:
		return
	}

	place := "a job"
	if p.state.Node != "" {
		place = "a job on node " + p.state.Node
	}

	text := fmt.Sprintf("%s %s: see whether its node sees %s and can run %s", place, symptom, e.partsDir(),
		filepath.Join(e.root, "bin"))
	if !slices.Contains(e.blind, p.state.Node) {
		e.blind = append(e.blind, p.state.Node)
		e.options.Notify(text + "; its tasks are submitted again")
	}

	for _, task := range p.takeTasks() {
		e.starts[task.work.Key]++
		if e.starts[task.work.Key] >= maxStarts {
			e.resolve(task, &TaskError{Text: fmt.Sprintf("started %d times: %s", maxStarts, text), Code: statusTask})
			continue
		}

		e.pending = append(e.pending, task)
		e.stir()
	}
}

// forget withdraws a part that the executor no longer waits for. It removes the part's folder, or only the plan if a
// task failed, whose log stays. A process that does not find its plan ends. The job of a part that failed stays among
// the open ones, which Close cancels: its process may have died while the scheduler lists the job.
func (e *Executor) forget(p *part) {
	if p.hasBegun() && !p.isOpen() && !p.failed {
		p.submission.open--
	}

	path := p.dir
	remove := os.RemoveAll
	if p.failed {
		path = filepath.Join(p.dir, planFile)
		remove = os.Remove
	}

	if err := remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		e.options.Notify("withdraw a job: " + err.Error())
	}
}
