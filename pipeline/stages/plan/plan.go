// Package plan contains what the stages share while they plan an experiment: the Experiment with its tasks, its raw
// files, and the settings, digests and provenance of tasks and tables.
package plan

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"doubletake/ingest/condition"
	"doubletake/ingest/setting"
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
	config.Experiment              // the settings
	File              *config.File // the file with the settings
	Key               string       // dotted key of the experiment in the file
	Program           Program
	Tasks             *Tasks         // the tasks to which the stages add theirs
	Asked             []config.Split // splits of the command line, in addition to the experiment's own

	index int // place of the experiment in the file
}

// NewExperiment returns experiment k of a file, whose stages will add their tasks to tasks.
func NewExperiment(f *config.File, k int, p Program, tasks *Tasks) Experiment {
	e := f.Experiments[k]
	return Experiment{Experiment: e, File: f, Key: "experiments." + e.Name, Program: p, Tasks: tasks, index: k}
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

// Errorf returns an error about a key of the experiment, such as "ingest.files". If the key belongs to a split of the
// command line, the error names the flag and shows no line of the file.
func (e *Experiment) Errorf(key, format string, args ...any) *config.Error {
	if name := e.askedSplit(key); name != "" {
		return &config.Error{File: "--held-out " + name, Text: fmt.Sprintf(format, args...)}
	}

	return e.File.Errorf(e.Key+"."+key, format, args...)
}

// Located returns an error about a setting as an error about its key in the configuration. section is the section of
// the experiment that contains the setting, such as ingest or dsp, unless the error names another. Located returns
// other errors unchanged.
func (e *Experiment) Located(section string, err error) error {
	bad, ok := errors.AsType[*setting.Error](err)
	if !ok {
		return err
	}

	return e.Errorf(strings.TrimSuffix(cmp.Or(bad.Section, section)+"."+bad.Key, "."), "%s", bad.Text)
}

// Project returns the folder of the experiment, and which keys of its section ingest the user wrote.
func (e *Experiment) Project() setting.Project {
	return setting.Project{
		Path: e.File.Path, Dir: e.File.Dir,
		Given: func(key string) bool { return e.File.Has(e.Key + ".ingest." + key) },
	}
}

// askedSplit returns the name of the split of the command line to which a key belongs, or "" if the key belongs to none
// or to a split of the file.
func (e *Experiment) askedSplit(key string) string {
	place, isOfSplit := strings.CutPrefix(key, "train.splits.")
	if !isOfSplit || len(e.Asked) == 0 {
		return ""
	}

	if splitAt(e.File.Experiments[e.index].Train.Splits, place) != "" {
		return ""
	}

	return splitAt(e.Asked, place)
}

// splitAt returns the name of the split to which a place belongs: "NAME", "NAME.test", or "CONDITION=VALUE" for a split
// with the key each. It returns "" if no such split exists. If several splits fit, it returns the longest name:
// "rpm=0.5" may be a split, or a place in the split "rpm=0".
func splitAt(splits []config.Split, place string) string {
	found := ""
	for _, split := range splits {
		isNamed := place == split.Name || strings.HasPrefix(place, split.Name+".")
		startsWith := func(condition string) bool { return strings.HasPrefix(place, condition+"=") }
		isOneValue := slices.ContainsFunc(split.Each, startsWith)
		if (isNamed || isOneValue) && len(split.Name) > len(found) {
			found = split.Name
		}
	}

	return found
}

// Variants returns the variants of the experiment, as the file states them.
func (e *Experiment) Variants() config.Variants {
	if e.File == nil || len(e.File.Experiments) == 0 {
		return config.Variants{&e.Experiment}
	}

	return e.File.Variants(e.index)
}

// Roles returns the roles that the experiment, its variants and the splits of the command line give to columns.
func (e *Experiment) Roles() condition.Roles {
	return e.Variants().Roles(&e.Experiment, e.Asked)
}
