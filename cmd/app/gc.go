package app

import (
	"cmp"
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
	"doubletake/report"
)

func runGC(c *call) error {
	remove := c.Bool("delete")

	p := fault.Get(pipeline.Load(c.file()))
	list := fault.Get(p.Collect(remove))
	if c.Bool("json") {
		return printJSON(c.stdout, map[string]any{"deleted": remove, "objects": list})
	}

	var total int64
	l := report.Listing{Heads: []string{"made", "size", "key", "task"}}
	for _, g := range list {
		total += g.Bytes
		l.Add(g.Made.Format("2006-01-02 15:04"), size(g.Bytes), fmt.Sprintf("%.12s", g.Key), cmp.Or(g.Task, "(unfinished)"))
	}

	if len(list) > 0 {
		fault.Raise(l.Write(c.stdout, width(c.stdout)))
	}

	switch {
	case len(list) == 0:
		fmt.Fprintln(c.stdout, "nothing to collect")
	case remove:
		fmt.Fprintf(c.stdout, "deleted %d objects, %s\n", len(list), size(total))
	default:
		fmt.Fprintf(c.stdout, "%d objects, %s; `pipeline gc --delete` removes them\n", len(list), size(total))
	}

	return nil
}

// size writes a number of bytes for people.
func size(n int64) string {
	v, unit := float64(n), 0

	units := []string{"B", "kB", "MB", "GB", "TB"}
	for v >= 1000 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}

	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}

	return fmt.Sprintf("%.1f %s", v, units[unit])
}
