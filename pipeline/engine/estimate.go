package engine

import (
	"os"
	"time"
)

// Estimate forecasts how long a run still takes. It compares the seconds that tasks took with the seconds that were
// expected of them, in three groups: all tasks, the tasks of a stage, and the tasks of a stage with the same version
// and experiment. The ratio of a group with few tasks is drawn towards the ratio of the group before it, which is
// larger. The methods are called by one goroutine at a time, as Options.Observe is.
type Estimate struct {
	jobs    int                 // tasks at a time; 0: a cluster decides, and most stands for the number
	most    int                 // the greatest number of tasks that ran at the same time
	expect  map[*Task]float64   // seconds expected of the tasks that have not ended
	started map[*Task]time.Time // when the running tasks began
	groups  map[group]*pace
}

// group identifies tasks that share a pace. paces sets the fields that do not distinguish a group to fixed values.
type group struct {
	stage, experiment string
	version           int
}

// pace compares the seconds that the tasks of a group took with the seconds expected of them.
type pace struct {
	took     float64 // seconds that the tasks took that ended
	expected float64 // seconds that were expected of the tasks that ended
	tasks    int     // number of tasks in the plan
	planned  float64 // seconds that were expected of all tasks in the plan
}

// ratio returns the seconds taken per second expected. The prior ratio, of a larger group, counts as much
// as one average task.
func (p *pace) ratio(prior float64) float64 {
	average := p.planned / float64(max(p.tasks, 1))
	if p.expected+average <= 0 {
		return prior
	}

	return (p.took + prior*average) / (p.expected + average)
}

// NewEstimate returns the estimate of a run that makes jobs tasks at a time. jobs is 0
// if a cluster decides.
func NewEstimate(jobs int) *Estimate {
	return &Estimate{jobs: jobs, expect: map[*Task]float64{}, started: map[*Task]time.Time{}, groups: map[group]*pace{}}
}

// Observe learns from an event that happened at the time now.
func (e *Estimate) Observe(event Event, now time.Time) {
	switch event.Kind {
	case "plan":
		for i, task := range event.Todo {
			seconds := task.Weight
			if i < len(event.Expect) {
				seconds = event.Expect[i]
			}

			e.expect[task] = seconds
			for _, pace := range e.paces(task) {
				pace.tasks++
				pace.planned += seconds
			}
		}

	case "start":
		e.started[event.Task] = now
		e.most = max(e.most, len(e.started))

	case "done", "failed":
		if event.Ran {
			for _, pace := range e.paces(event.Task) {
				pace.took += event.Seconds
				pace.expected += e.expect[event.Task]
			}
		}

		delete(e.expect, event.Task)
		delete(e.started, event.Task)

		for _, task := range event.Skipped {
			delete(e.expect, task)
		}

	case "skipped":
		delete(e.expect, event.Task)
		delete(e.started, event.Task) // a node that died may have begun it
	}
}

// paces returns the paces of a task's groups, from the largest to the smallest group. Versions of tasks are not
// negative, so negative numbers distinguish the groups of all tasks and of a stage.
func (e *Estimate) paces(task *Task) []*pace {
	groups := []group{{version: -2}, {stage: task.Stage, version: -1}, {task.Stage, task.Experiment, task.Version}}

	var list []*pace
	for _, g := range groups {
		if e.groups[g] == nil {
			e.groups[g] = &pace{}
		}

		list = append(list, e.groups[g])
	}

	return list
}

// leastLeft is for tasks that run longer than expected: such a task is still expected to take this share of its
// expected time.
const leastLeft = 0.05

// Left returns how long the tasks that have not ended will take: the sum of their expected
// seconds over the number of tasks at a time, but at least the seconds of the longest task.
func (e *Estimate) Left(now time.Time) time.Duration {
	var sum, longest float64
	for task, seconds := range e.expect {
		ratio := 1.0
		for _, pace := range e.paces(task) {
			ratio = pace.ratio(ratio)
		}

		seconds *= ratio
		if began, ok := e.started[task]; ok {
			seconds = max(seconds-now.Sub(began).Seconds(), leastLeft*seconds)
		}

		sum += seconds
		longest = max(longest, seconds)
	}

	jobs := e.jobs
	if jobs <= 0 {
		jobs = max(1, e.most)
	}

	return time.Duration(max(sum/float64(jobs), longest) * float64(time.Second))
}

// Idle reports whether a cluster decides how many tasks run, and no task runs. Left would then be a
// guess.
func (e *Estimate) Idle() bool { return e.jobs <= 0 && len(e.started) == 0 }

// typicalBytes is the size of the raw files of a task that takes about its Weight in
// seconds; fixedShare is the part of the Weight that does not depend on the size.
const (
	typicalBytes = 2e6
	fixedShare   = 0.1
)

// expectedNew returns the seconds expected of a task that was never made: its Weight, scaled by the size of the raw
// files that it reads, if there are any.
func expectedNew(task *Task) float64 {
	var bytes float64
	for _, file := range task.Files {
		if fi, err := os.Stat(file.Open); err == nil {
			bytes += float64(fi.Size())
		}
	}

	if bytes == 0 {
		return task.Weight
	}

	return task.Weight * (fixedShare + bytes/typicalBytes)
}

// Seconds estimates how long the selected tasks take on one processor, with the time to read their raw files.
func (p *Plan) Seconds(selection Selection) float64 {
	const bytesPerSecond = 2e7 // of raw files
	sum := 0.0
	for _, task := range p.Tasks {
		if !p.Selects(selection, task) {
			continue
		}

		own := task.Weight
		for _, file := range task.Files {
			if info, err := os.Stat(file.Open); err == nil {
				own += float64(info.Size()) / bytesPerSecond
			}
		}

		sum += own
	}

	return sum
}
