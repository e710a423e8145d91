package app

import (
	"fmt"
	"strconv"

	"doubletake/pipeline"
	"doubletake/report"
)

// loadStatus reads a configuration and returns the status of all its tasks. It returns an error if the selection names
// something that the configuration does not have.
func loadStatus(file string, selected pipeline.Selection) (*pipeline.Project, []*pipeline.Status, error) {
	project, err := pipeline.Load(file)
	if err != nil {
		return nil, nil, err
	}

	if err := project.Check(selected); err != nil {
		return nil, nil, err
	}

	all, err := project.Status()
	if err != nil {
		return nil, nil, err
	}

	return project, all, nil
}

// runStatus prints how many tasks of each stage are up to date, stale or missing, and why the stale ones are stale.
func runStatus(c *call) error {
	selected := selection(c)
	project, all, err := loadStatus(c.file(), selected)
	if err != nil {
		return err
	}

	var list []*pipeline.Status
	for _, status := range all {
		if project.Plan.Selects(selected, status.Task) {
			list = append(list, status)
		}
	}

	if c.Bool("json") {
		return printJSON(c.stdout, map[string]any{"tasks": tasksJSON(list)})
	}

	if err := stateListing(project.Plan.Stages, list).Write(c.stdout, width(c.stdout)); err != nil {
		return err
	}

	for _, status := range list {
		if status.State == pipeline.Stale {
			fmt.Fprintf(c.stdout, "stale: %s: %s\n", status.Task.ID, status.Because())
		}
	}

	return nil
}

// stateListing counts the tasks of each stage that are up to date, stale or missing. It leaves out stages without
// tasks.
func stateListing(stages []string, list []*pipeline.Status) report.Listing {
	counts := map[string]map[pipeline.State]int{} // by stage
	for _, status := range list {
		stage := status.Task.Stage
		if counts[stage] == nil {
			counts[stage] = map[pipeline.State]int{}
		}

		counts[stage][status.State]++
	}

	listing := report.Listing{Heads: []string{"stage", "up to date", "stale", "missing"}}
	for _, stage := range stages {
		if n := counts[stage]; n != nil {
			listing.Add(stage, strconv.Itoa(n[pipeline.UpToDate]), strconv.Itoa(n[pipeline.Stale]),
				strconv.Itoa(n[pipeline.Missing]))
		}
	}

	return listing
}

// taskJSON is one task in the output of status and dry runs.
type taskJSON struct {
	Task       string            `json:"task"`
	Stage      string            `json:"stage"`
	Experiment string            `json:"experiment,omitempty"`
	Split      string            `json:"split,omitempty"`
	State      pipeline.State    `json:"state"`
	Reasons    []pipeline.Reason `json:"reasons,omitempty"`
}

// tasksJSON returns tasks with their states, for JSON.
func tasksJSON(list []*pipeline.Status) []taskJSON {
	tasks := make([]taskJSON, len(list))
	for i, status := range list {
		task := status.Task
		tasks[i] = taskJSON{task.ID, task.Stage, task.Experiment, task.Split, status.State, status.Reasons}
	}

	return tasks
}
