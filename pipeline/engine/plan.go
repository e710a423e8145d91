package engine

import (
	"fmt"
	"slices"
	"strings"
)

// Selection selects the tasks of a run: those that pass all of its filters, Stages to Splits. An empty filter passes
// every task.
type Selection struct {
	Stages      []string // passes tasks of these stages
	From        string   // passes tasks of this stage and of later stages
	To          string   // passes tasks of this stage and of earlier stages
	Experiments []string // passes tasks that work for one of these experiments, or for a variant below one of them
	Splits      []string // passes tasks of these splits, and all tasks that belong to no split

	Force  bool // run the selected tasks even if they are up to date
	Verify bool // hash all files and results, even if size and time are unchanged
}

// all reports whether all tasks are selected: every filter is empty.
func (s Selection) all() bool {
	return len(s.Stages)+len(s.Experiments)+len(s.Splits) == 0 && s.From+s.To == ""
}

// Plan is an ordered list of tasks, each after its dependencies.
type Plan struct {
	Dir    string   // work directory
	Stages []string // stage names in order
	Tasks  []*Task
}

// Check returns an error if an ID occurs twice, or if a dependency is missing or comes later. Only a fault of the
// program makes such a plan.
func (p *Plan) Check() error {
	seen := make(map[string]bool, len(p.Tasks))
	for _, task := range p.Tasks {
		if seen[task.ID] {
			return fmt.Errorf("plan: task %s occurs twice", task.ID)
		}

		for _, dep := range task.Deps {
			if !seen[dep.Task] {
				return fmt.Errorf("plan: task %s needs %s, which does not come before it", task.ID, dep.Task)
			}
		}

		seen[task.ID] = true
	}

	return nil
}

// Selects reports whether a task passes all filters of the selection.
func (p *Plan) Selects(selection Selection, task *Task) bool {
	stage := slices.Index(p.Stages, task.Stage)
	switch {
	case len(selection.Stages) > 0 && !slices.Contains(selection.Stages, task.Stage):
		return false
	case selection.From != "" && stage < slices.Index(p.Stages, selection.From):
		return false
	case selection.To != "" && stage > slices.Index(p.Stages, selection.To):
		return false
	case len(selection.Experiments) > 0 && !slices.ContainsFunc(selection.Experiments, task.worksFor):
		return false
	case len(selection.Splits) > 0 && task.Split != "" && !slices.Contains(selection.Splits, task.Split):
		return false
	}

	return true
}

// worksFor reports whether the task works for an experiment, or for one below its name: a variant of a sweep.
func (t *Task) worksFor(experiment string) bool {
	for _, name := range append([]string{t.Experiment}, t.Shared...) {
		if name == experiment || strings.HasPrefix(name, experiment+"/") {
			return true
		}
	}

	return false
}
