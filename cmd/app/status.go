package app

import (
	"fmt"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
	"doubletake/report"
)

// loadStatus reads a configuration and the state of its tasks; the selection must
// exist in it.
func loadStatus(file string, sel pipeline.Selection) (*pipeline.Project, []*pipeline.Status) {
	p := fault.Get(pipeline.Load(file))
	fault.Raise(p.Check(sel))

	return p, fault.Get(p.Status())
}

func runStatus(c *call) error {
	sel := selection(c)

	p, all := loadStatus(c.file(), sel)
	list := slices.DeleteFunc(all, func(st *pipeline.Status) bool { return !p.Plan.Selects(sel, st.Task) })

	if c.Bool("json") {
		return printJSON(c.stdout, map[string]any{"tasks": tasksJSON(list)})
	}

	counts := map[string]map[pipeline.State]int{}
	for _, st := range list {
		if counts[st.Task.Stage] == nil {
			counts[st.Task.Stage] = map[pipeline.State]int{}
		}
		counts[st.Task.Stage][st.State]++
	}

	l := report.Listing{Heads: []string{"stage", "up to date", "stale", "missing"}}
	for _, s := range p.Plan.Stages {
		if n := counts[s]; n != nil {
			l.Add(s, strconv.Itoa(n[pipeline.UpToDate]), strconv.Itoa(n[pipeline.Stale]), strconv.Itoa(n[pipeline.Missing]))
		}
	}

	fault.Raise(l.Write(c.stdout, width(c.stdout)))
	for _, st := range list {
		if st.State == pipeline.Stale {
			fmt.Fprintf(c.stdout, "stale: %s: %s\n", st.Task.ID, st.Because())
		}
	}

	return nil
}

func runCancel(c *call) error {
	n, err := pipeline.CancelJobs(c.file())
	if err == nil {
		_, err = fmt.Fprintf(c.stdout, "cancelled %d jobs\n", n)
	}

	return err
}
