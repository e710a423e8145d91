package app

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/pipeline"
)

// runTasks lists the selected tasks, or writes jobs that make them for a scheduler.
func runTasks(c *call) error {
	selected := selection(c)
	format := c.String("format")
	isScheduler := slices.Contains(pipeline.Schedulers(), format)
	switch {
	case c.IsSet("parts") && !isScheduler:
		return usage("--parts belongs to array jobs: give --format with one of %s",
			strings.Join(pipeline.Schedulers(), ", "))
	case c.IsSet("image") && format != "k8s":
		return usage("--image belongs to --format k8s")
	case isScheduler:
		return writeJobs(c, selected, format)
	}

	project, all, err := loadStatus(c.file(), selected)
	if err != nil {
		return err
	}

	list := listTasks(project, all, selected)
	if format == "json" {
		marks := project.Plan.Marks()
		for i := range list {
			list[i].Mark = marks[list[i].Task]
		}

		return printJSON(c.stdout, map[string]any{"tasks": list})
	}

	return printTasks(c.stdout, list)
}

// listedTask is one task in the output of pipeline tasks.
type listedTask struct {
	Index      int            `json:"index"` // its place among all tasks
	Task       string         `json:"task"`
	Stage      string         `json:"stage"`
	Experiment string         `json:"experiment"`
	Split      string         `json:"split"`
	State      pipeline.State `json:"state"`
	Weight     float64        `json:"weight"`  // seconds that it is expected to take
	Needs      []int          `json:"needs"`   // indices of tasks whose results it needs
	Outputs    []string       `json:"outputs"` // paths of the files that it publishes
	Mark       string         `json:"mark"`    // see Plan.Marks; only in JSON
}

// listTasks returns the selected tasks without their marks. all has the status of all tasks.
func listTasks(project *pipeline.Project, all []*pipeline.Status, selected pipeline.Selection) []listedTask {
	list := []listedTask{}
	index := map[string]int{}
	for i, status := range all {
		task := status.Task
		index[task.ID] = i
		if !project.Plan.Selects(selected, task) {
			continue
		}

		needs := []int{}
		for _, dep := range task.Deps {
			if need := index[dep.Task]; !slices.Contains(needs, need) {
				needs = append(needs, need)
			}
		}

		outputs := []string{}
		for _, output := range task.Publish {
			outputs = append(outputs, filepath.Join(project.Plan.Dir, output.Path))
		}

		list = append(list, listedTask{
			Index: i, Task: task.ID, Stage: task.Stage, Experiment: task.Experiment, Split: task.Split,
			State: status.State, Weight: task.Weight, Needs: needs, Outputs: outputs,
		})
	}

	return list
}

// printTasks prints a table of tasks with tabs between its columns, and commas between several values in a cell.
func printTasks(w io.Writer, list []listedTask) error {
	if _, err := fmt.Fprintln(w, "index\ttask\tstage\texperiment\tsplit\tstate\tweight\tneeds\toutputs"); err != nil {
		return err
	}

	for _, task := range list {
		var needs []string
		for _, need := range task.Needs {
			needs = append(needs, strconv.Itoa(need))
		}

		var outputs []string
		for _, output := range task.Outputs {
			outputs = append(outputs, strings.ReplaceAll(tsv(output), ",", `\c`))
		}

		_, err := fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%g\t%s\t%s\n", task.Index, tsv(task.Task), task.Stage,
			tsv(task.Experiment), tsv(task.Split), task.State, task.Weight, strings.Join(needs, ","),
			strings.Join(outputs, ","))
		if err != nil {
			return err
		}
	}

	return nil
}

// writeJobs prints array jobs for a scheduler.
func writeJobs(c *call, selected pipeline.Selection, format string) error {
	parts := c.Int("parts")
	image := c.String("image")
	switch {
	case parts < 1:
		return usage("--parts wants a number of parts, found %d", parts)
	case format == "k8s" && image == "":
		return usage("--format k8s wants --image, the container image that holds the program (docs/install.md)")
	}

	project, err := pipeline.Load(c.file())
	if err != nil {
		return err
	}

	return project.WriteJobs(c.stdout, pipeline.Jobs{
		Config: c.file(), Scheduler: format, Parts: parts, Image: image, Selection: selected,
	})
}

// tsv returns a text with escapes, so that it stays in one cell.
var tsv = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace
