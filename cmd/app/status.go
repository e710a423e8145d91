package app

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newStatusCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "list tasks that are up to date, stale or missing, and why", ArgsUsage: "[FILE]",
		Description: "Example: pipeline status pipeline.yaml\n\nExit status: 0 success, 2 configuration error, 3 input " +
			"data error.",
		Flags: append(selectionFlags(), &cli.BoolFlag{Name: "json", Usage: "as one JSON document"}),
		Action: onFile(func(c *cli.Context, file string) error {
			return runStatus(file, selection(c), c.Bool("json"), stdout)
		}),
	}
}

// loadStatus reads a configuration and the state of its tasks; the selection must
// exist in it.
func loadStatus(file string, sel pipeline.Selection) (*pipeline.Project, []*pipeline.Status, error) {
	p, err := pipeline.Load(file)
	if err != nil {
		return nil, nil, err
	}

	if err := p.Check(sel); err != nil {
		return nil, nil, err
	}

	all, err := p.Status()

	return p, all, err
}

func runStatus(file string, sel pipeline.Selection, asJSON bool, stdout io.Writer) error {
	p, all, err := loadStatus(file, sel)
	if err != nil {
		return err
	}

	var list []*pipeline.Status
	for _, st := range all {
		if p.Plan.Selects(sel, st.Task) {
			list = append(list, st)
		}
	}

	if asJSON {
		return printJSON(stdout, map[string]any{"tasks": tasksJSON(list)})
	}

	type count struct{ upToDate, stale, missing int }

	counts := map[string]*count{}
	for _, st := range list {
		c := counts[st.Task.Stage]
		if c == nil {
			c = &count{}
			counts[st.Task.Stage] = c
		}

		switch st.State {
		case pipeline.UpToDate:
			c.upToDate++
		case pipeline.Stale:
			c.stale++
		case pipeline.Missing:
			c.missing++
		}
	}

	fmt.Fprintf(stdout, "%-9s %11s %6s %8s\n", "stage", "up to date", "stale", "missing")

	for _, s := range p.Plan.Stages {
		if c := counts[s]; c != nil {
			fmt.Fprintf(stdout, "%-9s %11d %6d %8d\n", s, c.upToDate, c.stale, c.missing)
		}
	}

	for _, st := range list {
		if st.State == pipeline.Stale {
			fmt.Fprintf(stdout, "stale: %s: %s\n", st.Task.ID, st.Because())
		}
	}

	return nil
}
