package engine

import (
	"os"
	"time"

	"doubletake/internal/lists"
)

// Estimate tells how long a run still takes. It learns from the tasks that have
// ended: per stage, and within a stage per version and experiment, how many
// seconds they took for each second that was expected. Its methods are called
// by one goroutine at a time, as Options.Observe is.
type Estimate struct {
	jobs    int // tasks at a time; 0: as many as have been seen to run
	most    int // tasks that ran at the same time
	expect  map[*Task]float64
	started map[*Task]time.Time
	groups  map[group]*pace
}

// group is the tasks that run the same code on data of the same kind, all of a stage, or all.
type group struct {
	stage, experiment string
	version           int
}

// pace compares the seconds that tasks took with those expected of them.
type pace struct {
	took, expected float64
	tasks          int     // of the run
	load           float64 // seconds expected of them all
}

// ratio returns seconds taken per second expected. The ratio before counts as much
// as one average task.
func (p *pace) ratio(before float64) float64 {
	one := p.load / float64(max(p.tasks, 1))
	if p.expected+one <= 0 {
		return before
	}

	return (p.took + before*one) / (p.expected + one)
}

// NewEstimate returns the estimate of a run that makes jobs tasks at a time; 0
// where that depends on a cluster.
func NewEstimate(jobs int) *Estimate {
	return &Estimate{jobs: jobs, expect: map[*Task]float64{}, started: map[*Task]time.Time{}, groups: map[group]*pace{}}
}

// Observe learns from an event that happened at the time now.
func (e *Estimate) Observe(v Event, now time.Time) {
	switch v.Kind {
	case "plan":
		for i, t := range v.Todo {
			x := t.Weight
			if i < len(v.Expect) {
				x = v.Expect[i]
			}

			e.expect[t] = x
			for _, p := range e.paces(t) {
				p.tasks, p.load = p.tasks+1, p.load+x
			}
		}

	case "start":
		e.started[v.Task] = now
		e.most = max(e.most, len(e.started))

	case "done", "failed":
		if v.Ran {
			for _, p := range e.paces(v.Task) {
				p.took, p.expected = p.took+v.Seconds, p.expected+e.expect[v.Task]
			}
		}

		delete(e.expect, v.Task)
		delete(e.started, v.Task)
	}
}

// paces lists what a task teaches, from the general to the particular.
func (e *Estimate) paces(t *Task) []*pace {
	of := []group{{version: -2}, {stage: t.Stage, version: -1}, {t.Stage, t.Experiment, t.Version}}

	return lists.Each(of, func(g group) *pace {
		if e.groups[g] == nil {
			e.groups[g] = &pace{}
		}

		return e.groups[g]
	})
}

// Left returns how long the tasks that have not ended will take: their expected
// seconds over the number of tasks at a time, and at least the longest of them.
func (e *Estimate) Left(now time.Time) time.Duration {
	var sum, longest float64
	for t, x := range e.expect {
		r := 1.0
		for _, p := range e.paces(t) {
			r = p.ratio(r)
		}

		x *= r
		if began, ok := e.started[t]; ok {
			x = max(x-now.Sub(began).Seconds(), 0.05*x)
		}

		sum += x
		longest = max(longest, x)
	}

	jobs := e.jobs
	if jobs <= 0 {
		jobs = max(1, e.most)
	}

	return time.Duration(max(sum/float64(jobs), longest) * float64(time.Second))
}

// Idle reports whether a cluster decides how many tasks run, and none of them does: then
// Left would be a guess.
func (e *Estimate) Idle() bool { return e.jobs <= 0 && len(e.started) == 0 }

// typicalBytes is the size of a raw file whose tasks take about their Weight in
// seconds.
const typicalBytes = 2e6

// load is the seconds expected of a task of which no record exists: its Weight,
// in proportion to the bytes of the raw files it reads where these exist.
func load(t *Task) float64 {
	var bytes float64
	for _, f := range t.Files {
		if fi, err := os.Stat(f.Open); err == nil {
			bytes += float64(fi.Size())
		}
	}

	if bytes == 0 {
		return t.Weight
	}

	return t.Weight * (0.1 + bytes/typicalBytes)
}
