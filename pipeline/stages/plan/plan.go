// Package plan contains what the stages share while they plan an experiment: the Experiment with its tasks, its raw
// files, and the settings, digests and provenance of tasks and tables.
package plan

import (
	"path/filepath"
	"slices"
	"strings"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
)

// Program identifies the running program. Results record it, but it is not part of the keys of tasks.
type Program struct {
	Version string
	Kernels string // the numeric kernel set in use
}

// Experiment is the experiment that is planned. Every stage gets a copy, and its changes are not seen by other stages.
type Experiment struct {
	config.Entry // the settings
	Program      Program
	Tasks        *Tasks // the tasks to which the stages add theirs
}

// NewExperiment returns experiment k of a file, whose stages will add their tasks to tasks.
func NewExperiment(f *config.File, k int, p Program, tasks *Tasks) Experiment {
	return Experiment{Entry: config.NewEntry(f, k), Program: p, Tasks: tasks}
}

// Tasks holds the tasks of all experiments of a file.
type Tasks struct {
	Plan   *engine.Plan
	shared map[string]*engine.Task // tasks of variants, which several variants may share, by ID
}

// NewTasks returns a Tasks that adds the tasks of experiments to a plan.
func NewTasks(p *engine.Plan) *Tasks { return &Tasks{Plan: p, shared: map[string]*engine.Task{}} }

// ID returns the ID of a task of the experiment. The first part is the stage, or recordings or triplets for the tasks
// that join the results of stages ingest and dsp. Variants of a sweep share the tasks of the stages before the first
// setting in which they differ, so that these IDs begin with the name of the variants' owner.
func (e *Experiment) ID(parts ...string) string {
	stage := parts[0]
	switch stage {
	case "recordings":
		stage = "ingest"
	case "triplets":
		stage = "dsp"
	}

	return strings.Join(append([]string{e.Owner(stage)}, parts...), "/")
}

// Published returns the path below the work directory at which a result of a stage appears.
func (e *Experiment) Published(stage string, parts ...string) string {
	return filepath.Join(append([]string{e.Owner(stage)}, parts...)...)
}

// Add appends a task to the plan, unless another variant of the experiment has added an equal one. It returns the given
// task, whose ID is the ID of the equal one.
func (e *Experiment) Add(task *engine.Task) *engine.Task {
	task.Experiment = e.Owner(task.Stage)
	if strings.HasPrefix(task.ID, e.Name+"/") { // other variants do not have the task, even if they share the stage
		task.Experiment = e.Name
	}

	if e.Variant != nil {
		if other := e.Tasks.shared[task.ID]; other != nil && sameTask(other, task) {
			other.Shared = append(other.Shared, e.Name)
			return task
		}

		e.Tasks.shared[task.ID] = task
		task.Shared = []string{e.Name}
	}

	e.Tasks.Plan.Tasks = append(e.Tasks.Plan.Tasks, task)

	return task
}

// sameTask reports whether two tasks with one ID have the same settings and inputs. If they have not, the program is
// faulty, and the check of the plan reports two tasks with one ID.
func sameTask(a, b *engine.Task) bool {
	sameStage := a.Stage == b.Stage && a.Version == b.Version
	sameSettings := slices.Equal(a.Config, b.Config) && slices.Equal(a.Local, b.Local)
	sameInputs := slices.Equal(a.Files, b.Files) && slices.Equal(a.Deps, b.Deps)

	return sameStage && sameSettings && sameInputs
}
