package app

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
)

func runCheck(c *call) error {
	file := c.file()
	if c.Bool("no-programs") {
		fault.Raise(pipeline.RefusePrograms(file))
	}

	p := fault.Get(pipeline.Load(file))
	found, err := p.CheckFiles(c.ctx)
	c.warn(append(p.Warnings, found...))

	if err != nil {
		return err
	}

	what := "experiments"
	if len(p.File.Experiments) == 1 {
		what = "experiment"
	}

	fmt.Fprintf(c.stdout, "%s is valid: %d %s, %d tasks\n", file, len(p.File.Experiments), what, len(p.Plan.Tasks))
	writeCost(c.stdout, len(p.Plan.Tasks), func(i int) (string, float64) {
		return p.Plan.Tasks[i].Stage, p.Plan.Tasks[i].Weight
	})

	return nil
}

func runSchema(c *call) error { return printJSON(c.stdout, pipeline.Schema()) }
