package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline"
)

func runTasks(c *call) error {
	file, sel, format := c.file(), selection(c), c.String("format")
	if slices.Contains(pipeline.Schedulers(), format) {
		return writeJobs(c, file, sel, format)
	}

	p, all := loadStatus(file, sel)
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

		_, needs := lists.Index(lists.Make(len(t.Deps), func(k int) int { return at[t.Deps[k].Task] }))
		outputs := lists.Make(len(t.Publish), func(k int) string { return filepath.Join(p.Plan.Dir, t.Publish[k].Path) })
		list = append(list, listedTask{
			i, t.ID, t.Stage, t.Experiment, t.Split, st.State, t.Weight, append([]int{}, needs...),
			append([]string{}, outputs...), marks[t.ID],
		})
	}

	if format == "json" {
		return printJSON(c.stdout, map[string]any{"tasks": list})
	}

	fault.Get(fmt.Fprintln(c.stdout, "index\ttask\tstage\texperiment\tsplit\tstate\tweight\tneeds\toutputs"))
	for _, l := range list {
		needs := lists.Each(l.Needs, strconv.Itoa)
		outputs := lists.Each(l.Outputs, func(o string) string { return strings.ReplaceAll(tsv(o), ",", `\c`) })
		fault.Get(fmt.Fprintf(c.stdout, "%d\t%s\t%s\t%s\t%s\t%s\t%g\t%s\t%s\n", l.Index, tsv(l.Task), l.Stage,
			tsv(l.Experiment), tsv(l.Split), l.State, l.Weight, strings.Join(needs, ","), strings.Join(outputs, ",")))
	}

	return nil
}

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

// writeJobs writes array jobs for a scheduler.
func writeJobs(c *call, file string, sel pipeline.Selection, format string) error {
	parts, image := c.Int("parts"), c.String("image")
	switch {
	case parts < 1:
		return usage("--parts wants a number of parts, found %d", parts)
	case format == "k8s" && image == "":
		return usage("--format k8s wants --image, the container image that holds the program (docs/install.md)")
	}

	return fault.Get(pipeline.Load(file)).WriteJobs(c.stdout, file, format, parts, image, sel)
}

// tsv writes a text so that it stays one cell.
var tsv = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace
