package app

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/pipeline"

	"github.com/urfave/cli/v2"
)

func newTasksCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "tasks", Usage: "list the tasks, for programs that drive them one by one", ArgsUsage: "[FILE]",
		Description: "One task a line, each after the tasks it needs: index, task, stage, experiment, split, state, weight " +
			"(expected cost, about seconds), " +
			"needs (indices of other tasks) and outputs (paths that pipeline exec publishes). Lists are separated by commas " +
			"in tsv; " +
			"tabs, line ends, commas inside a list and backslashes are written \\t, \\n, \\r, \\c and \\\\. " +
			"The index of a task is its place in the whole plan, whatever is selected. " +
			"In json a task also has a mark, which is another one when its settings or raw files change, or those of a " +
			"task it needs.\n\n" +
			"--format pbs, torque, sge, slurm, htcondor or k8s writes array jobs instead, which make all selected stages by " +
			"pipeline exec --part, each after the one before: a shell script to be run where jobs are submitted, for " +
			"htcondor the input of condor_submit_dag. Time, memory, processors, account and queue are those of the " +
			"scheduler's section of executor in the configuration (torque: of pbs; k8s: of the first section).\n\n" +
			"Example: pipeline tasks pipeline.yaml --format tsv, then pipeline exec --plan pipeline.yaml --index 0\n\n" +
			"Exit status: 0 success, 2 usage or configuration error, 3 input data error.",
		Flags: append(selectionFlags(), &cli.StringFlag{
			Name: "format", Value: "tsv",
			Usage: "tsv, json, the stages as a graph: dot, mermaid, or array jobs: " + strings.Join(pipeline.Schedulers(), ", "),
		},
			&cli.IntFlag{Name: "parts", Value: 8, Usage: "of array jobs: in how many parts a stage is made"},
			&cli.StringFlag{Name: "image", Usage: "of k8s: the container image that holds the program"}),
		Action: onFile(func(c *cli.Context, file string) error {
			if f := c.String("format"); slices.Contains(pipeline.Schedulers(), f) {
				return writeJobs(file, selection(c), f, c.Int("parts"), c.String("image"), stdout)
			}

			return runTasks(file, selection(c), c.String("format"), stdout)
		}),
	}
}

var taskFormats = append([]string{"tsv", "json", "dot", "mermaid"}, pipeline.Schedulers()...)

// listedTask is one task in the output of pipeline tasks.
type listedTask struct {
	Index      int            `json:"index"`
	Task       string         `json:"task"`
	Stage      string         `json:"stage"`
	Experiment string         `json:"experiment"`
	Split      string         `json:"split"`
	State      pipeline.State `json:"state"`
	Weight     float64        `json:"weight"`
	Needs      []int          `json:"needs"`
	Outputs    []string       `json:"outputs"`
	Mark       string         `json:"mark"`
}

func runTasks(file string, sel pipeline.Selection, format string, stdout io.Writer) error {
	if !slices.Contains(taskFormats, format) {
		return usage("--format %q is unknown, expected %s", format, strings.Join(taskFormats, ", "))
	}

	p, all, err := loadStatus(file, sel)
	if err != nil {
		return err
	}

	at, marks := map[string]int{}, map[string]string{}
	if format == "json" {
		marks = p.Plan.Marks()
	}

	list := []listedTask{}
	for i, st := range all {
		t := st.Task
		at[t.ID] = i
		if !p.Plan.Selects(sel, t) {
			continue
		}

		l := listedTask{i, t.ID, t.Stage, t.Experiment, t.Split, st.State, t.Weight, []int{}, []string{}, marks[t.ID]}

		seen := map[int]bool{}
		for _, d := range t.Deps {
			if n := at[d.Task]; !seen[n] {
				seen[n] = true
				l.Needs = append(l.Needs, n)
			}
		}

		for _, o := range t.Publish {
			l.Outputs = append(l.Outputs, filepath.Join(p.Plan.Dir, o.Path))
		}

		list = append(list, l)
	}

	switch format {
	case "json":
		return printJSON(stdout, map[string]any{"tasks": list})
	case "dot", "mermaid":
		return lineage(stdout, format, list)
	}

	if _, err := fmt.Fprintln(stdout, "index\ttask\tstage\texperiment\tsplit\tstate\tweight\tneeds\toutputs"); err != nil {
		return err
	}

	for _, l := range list {
		needs := make([]string, len(l.Needs))
		for i, n := range l.Needs {
			needs[i] = strconv.Itoa(n)
		}

		outputs := make([]string, len(l.Outputs))
		for i, o := range l.Outputs {
			outputs[i] = strings.ReplaceAll(tsv(o), ",", `\c`)
		}

		_, err := fmt.Fprintf(stdout, "%d\t%s\t%s\t%s\t%s\t%s\t%g\t%s\t%s\n", l.Index, tsv(l.Task), l.Stage,
			tsv(l.Experiment), tsv(l.Split), l.State, l.Weight,
			strings.Join(needs, ","), strings.Join(outputs, ","))
		if err != nil {
			return err
		}
	}

	return nil
}

// writeJobs writes array jobs for a scheduler.
func writeJobs(file string, sel pipeline.Selection, format string, parts int, image string, stdout io.Writer) error {
	switch {
	case parts < 1:
		return usage("--parts wants a number of parts, found %d", parts)
	case format == "k8s" && image == "":
		return usage("--format k8s wants --image, the container image that holds the program (docs/install.md)")
	}

	p, err := pipeline.Load(file)
	if err != nil {
		return err
	}

	return p.WriteJobs(stdout, file, format, parts, image, sel)
}

// tsv writes a text so that it stays one cell.
var tsv = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace
