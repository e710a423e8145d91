package app

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"doubletake/cmd/app/watch"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline"
)

// dryRun prints the tasks that a run would make.
func dryRun(project *pipeline.Project, options runOptions, stdout io.Writer) error {
	todo, cached, err := project.Pending(options.sel)
	if err != nil {
		return err
	}

	if options.json {
		return printJSON(stdout, map[string]any{"would_run": tasksJSON(todo), "up_to_date": cached})
	}

	if options.explain {
		explain(todo, stdout)
	} else {
		for _, status := range todo {
			fmt.Fprintf(stdout, "would run %s: %s\n", status.Task.ID, status.Because())
		}
	}

	fmt.Fprintf(stdout, "%d to run, %d up to date\n", len(todo), cached)

	var cost trainingCost
	for _, status := range todo {
		cost.add(status.Task.Stage, status.Task.Weight)
	}

	cost.write(stdout)

	return nil
}

// trainingCost is the number of tasks of the stage train, and the time that they are expected to take. They train
// networks, calibrate them, and fit the methods to compare with.
type trainingCost struct {
	tasks   int64
	seconds float64 // of one processor
}

// add adds a task if it belongs to the stage train. Its weight is the seconds that it is expected to take.
func (cost *trainingCost) add(stage string, weight float64) {
	if stage == "train" {
		cost.tasks++
		cost.seconds += weight
	}
}

// write prints the cost, unless no task of the stage train is to run.
func (cost *trainingCost) write(w io.Writer) {
	if cost.tasks > 0 {
		fmt.Fprintf(w, "train: %s, %s of one processor\n", fault.Plural(cost.tasks, "task"),
			watch.About(watch.Seconds(cost.seconds)))
	}
}

// sharedReasons are words for the kinds of reasons that name a file or another task. The words name none, so that
// similar tasks have equal words and share a line.
var sharedReasons = map[string]string{
	"upstream": "their inputs are made again", "file": "their files changed", "input": "their inputs changed",
	"unread": "their files were not read yet", "damaged": "their results are damaged",
}

// explain prints why tasks are made. Tasks of an experiment and a stage with equal reasons share a line, which has
// their number and the first of them.
func explain(todo []*pipeline.Status, w io.Writer) {
	type cause struct{ experiment, stage, reason string }
	var causes []cause
	for _, status := range todo {
		causes = append(causes, cause{status.Task.Experiment, status.Task.Stage, sharedReason(status.Reasons)})
	}

	for _, alike := range lists.Alike(causes) {
		first := todo[alike[0]]
		if len(alike) == 1 {
			fmt.Fprintf(w, "%s: %s\n", first.Task.ID, first.Because())
			continue
		}

		group := causes[alike[0]]
		fmt.Fprintf(w, "%d tasks of %s: %s (%s, …)\n", len(alike), path.Join(group.experiment, group.stage), group.reason,
			first.Task.ID)
	}
}

// sharedReason returns the reasons of a task in words that are the same for similar tasks.
func sharedReason(reasons []pipeline.Reason) string {
	var words []string
	for _, reason := range reasons {
		text, ok := sharedReasons[reason.Kind]
		if !ok {
			words = append(words, reason.String())
		} else if !slices.Contains(words, text) {
			words = append(words, text)
		}
	}

	return strings.Join(words, "; ")
}
