package app

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"doubletake/pipeline"
)

// runGraph prints the tasks and what they need as a graph.
func runGraph(c *call) error {
	if c.Bool("json") && c.IsSet("format") {
		return usage("pipeline graph: --json and --format exclude each other")
	}

	selected := selection(c)
	project, all, err := loadStatus(c.file(), selected)
	if err != nil {
		return err
	}

	tasks := listTasks(project, all, selected)
	if c.Bool("json") {
		return printJSON(c.stdout, map[string]any{"tasks": tasks})
	}

	if c.String("format") == "dot" {
		return writeDot(c.stdout, tasks)
	}

	return writeMermaid(c.stdout, tasks)
}

// stateClass is how tasks of a state look in a graph.
type stateClass struct {
	state        pipeline.State
	name, colour string
}

// stateClasses has a class for each state. The last one is for all other states.
var stateClasses = []stateClass{
	{pipeline.UpToDate, "done", "#d5e8d4"}, {pipeline.Stale, "stale", "#ffe6cc"}, {"", "missing", "#f5f5f5"},
}

// classOf returns the class of a task.
func classOf(task listedTask) stateClass {
	for _, class := range stateClasses {
		if class.state == task.State {
			return class
		}
	}

	return stateClasses[len(stateClasses)-1]
}

// writeMermaid writes the tasks as a flowchart of Mermaid, coloured by their states.
func writeMermaid(w io.Writer, tasks []listedTask) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for _, task := range tasks {
		label := strings.NewReplacer(`"`, "#quot;", "<", "#lt;", ">", "#gt;").Replace(task.Task)
		fmt.Fprintf(&b, "  t%d[\"%s\"]:::%s\n", task.Index, label, classOf(task).name)
	}

	eachNeed(tasks, func(need, index int) { fmt.Fprintf(&b, "  t%d --> t%d\n", need, index) })

	for _, class := range stateClasses {
		fmt.Fprintf(&b, "  classDef %s fill:%s\n", class.name, class.colour)
	}

	return emit(w, "print graph", []byte(b.String()))
}

// writeDot writes the tasks as a graph of Graphviz, coloured by their states.
func writeDot(w io.Writer, tasks []listedTask) error {
	var b strings.Builder
	b.WriteString("digraph tasks {\n  rankdir=LR\n  node [shape=box style=filled]\n")
	for _, task := range tasks {
		fmt.Fprintf(&b, "  t%d [label=%s fillcolor=%q]\n", task.Index, strconv.Quote(task.Task), classOf(task).colour)
	}

	eachNeed(tasks, func(need, index int) { fmt.Fprintf(&b, "  t%d -> t%d\n", need, index) })
	b.WriteString("}\n")

	return emit(w, "print graph", []byte(b.String()))
}

// eachNeed calls f for each task that another of the list needs, with the indices of both.
func eachNeed(tasks []listedTask, f func(need, index int)) {
	listed := map[int]bool{}
	for _, task := range tasks {
		listed[task.Index] = true
	}

	for _, task := range tasks {
		for _, need := range task.Needs {
			if listed[need] {
				f(need, task.Index)
			}
		}
	}
}
