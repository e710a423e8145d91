// Package slurm makes a run's tasks on a Slurm cluster, as arrays of batch jobs
// that run the same program as workers.
//
// What counts is the store: a task is done when its object is there, whoever
// made it, and Slurm is only asked two things, "is it still in hand?" and "why
// did it die?". An error from Slurm means that nothing is known now; it never
// means that a job ended. Accounting (sacct) is not needed. Every batch is
// written to a journal before it is submitted, under a name of its own, so that
// a driver that was killed finds its jobs again.
//
// Below .cache/slurm lie the journal, a copy of the program (so that workers
// run what the driver is, though the original is rebuilt meanwhile) and one
// folder per batch: plan.json, log/<index>.log, failed/*.json. The batch script
// names nothing but these, relative to its folder: no path, name or setting of
// the user's is ever read by a shell but the words of Settings.Setup, each
// quoted.
//
// One goroutine decides (executor.go: Open, Do, loop); at every turn it looks
// for new results and ended jobs (watch.go) and submits waiting tasks
// (submit.go), after a probe of the nodes (probe.go). Submissions are kept in
// the journal (journal.go). worker.go is the other side, in the jobs.
package slurm

import (
	"cmp"
	"strings"
	"time"

	"doubletake/pipeline/engine/slurm/job"
	"doubletake/pipeline/kv"
)

// Options are the settings of the executor. The zero value of a duration means
// the default.
type Options struct {
	job.Settings
	job.Policy
	Stages map[string]job.Settings // by stage, complete, instead of Settings
	Binary string                  // the program
	Config string                  // its configuration, as the worker opens it, relative to Dir
	Added  []string                // further arguments of the driver that change the plan
	Dir    string                  // the worker's working directory
	Facts  []kv.Pair               // what the nodes must agree on with this machine: version, kernels
	Notify func(text string)       `json:"-"` // messages that concern no single task; may be nil

	Tick   time.Duration // between looks at the store; default 0.2 s, slower when nothing happens
	Query  time.Duration // between questions to squeue, at first; default 1 s, up to 15 s when nothing happens
	Settle time.Duration // how long after a job's end its result may take to become visible; default 4 s
	Grace  time.Duration // after which a reason to wait that will not pass is reported; default 10 s
	Linger time.Duration // how long an interrupted run waits for Cancel; default 5 s
	Pack   float64       // seconds of work that make one job when there is much; default 60
}

func (o *Options) defaults() {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}

	set(&o.Tick, 200*time.Millisecond)
	set(&o.Query, time.Second)
	set(&o.Settle, 4*time.Second)
	set(&o.Grace, 10*time.Second)
	set(&o.Linger, 5*time.Second)

	o.Pack = cmp.Or(o.Pack, 60)

	if o.Notify == nil {
		o.Notify = func(string) {}
	}
}

func (o *Options) settings(stage string) job.Settings {
	if s, ok := o.Stages[stage]; ok {
		return s
	}
	return o.Settings
}

// settles reports whether a reason to wait passes by itself. The user is notified
// of the others, most of which never do.
func settles(state, reason string) bool {
	if strings.HasPrefix(state, "REQUEUE_HOLD") || strings.HasPrefix(state, "SPECIAL_EXIT") {
		return false
	}

	switch reason {
	case "", "None", "Resources", "Priority", "JobArrayTaskLimit", "BeginTime", "Cleaning", "Prolog", "Dependency",
		"Licenses", "Reservation", "JobArrayTaskLimit)":
		return true
	}

	return false
}
