package app

import (
	"cmp"
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
	"doubletake/report"
)

// runGC lists results that no task of the configuration needs, and removes them with --delete.
func runGC(c *call) error {
	remove := c.Bool("delete")

	project, err := pipeline.Load(c.file())
	if err != nil {
		return err
	}

	objects, err := project.Collect(remove)
	if err != nil {
		return err
	}

	if c.Bool("json") {
		return printJSON(c.stdout, map[string]any{"deleted": remove, "objects": objects})
	}

	var total int64
	listing := report.Listing{Heads: []string{"made", "size", "key", "task"}}
	for _, object := range objects {
		total += object.Bytes
		listing.Add(object.Made.Format("2006-01-02 15:04"), size(object.Bytes), fmt.Sprintf("%.12s", object.Key),
			cmp.Or(object.Task, "(unfinished)"))
	}

	if len(objects) > 0 {
		if err := listing.Write(c.stdout, width(c.stdout)); err != nil {
			return err
		}
	}

	count := fault.Plural(int64(len(objects)), "object")
	switch {
	case len(objects) == 0:
		fmt.Fprintln(c.stdout, "nothing to collect")
	case remove:
		fmt.Fprintf(c.stdout, "deleted %s, %s\n", count, size(total))
	default:
		fmt.Fprintf(c.stdout, "%s, %s; `pipeline gc --delete` removes them\n", count, size(total))
	}

	return nil
}

// size returns a number of bytes as a text for people.
func size(bytes int64) string {
	const leastNext = 999.95 // is rounded to 1000.0, which is 1.0 of the next unit
	if bytes < 1000 {
		return fmt.Sprintf("%d B", bytes)
	}

	units := []string{"kB", "MB", "GB", "TB"}
	value := float64(bytes) / 1000
	for value >= leastNext && len(units) > 1 {
		value /= 1000
		units = units[1:]
	}

	return fmt.Sprintf("%.1f %s", value, units[0])
}
