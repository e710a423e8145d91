package app

import (
	"cmp"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newGCCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "list old results in the cache, with sizes; --delete removes them", ArgsUsage: "[FILE]",
		Description: "Keeps what the configuration refers to now. Other configurations that share the workdir are not " +
			"looked at.\n\n" +
			"Example: pipeline gc pipeline.yaml, then pipeline gc pipeline.yaml --delete\n\n" +
			"Exit status: 0 success, 1 failed, 2 usage or configuration error, 3 input data error.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "delete", Usage: "delete the entries listed"},
			&cli.BoolFlag{Name: "json", Usage: "as one JSON document"},
		},
		Action: onFile(func(c *cli.Context, file string) error {
			return runGC(file, c.Bool("delete"), c.Bool("json"), stdout)
		}),
	}
}

func runGC(file string, remove, asJSON bool, stdout io.Writer) error {
	p, err := pipeline.Load(file)
	if err != nil {
		return err
	}

	list, err := p.Collect(remove)
	if err != nil {
		return err
	}

	if asJSON {
		return printJSON(stdout, map[string]any{"deleted": remove, "objects": list})
	}

	var total int64
	for _, g := range list {
		total += g.Bytes

		task := cmp.Or(g.Task, "(unfinished)")

		fmt.Fprintf(stdout, "%s  %9s  %.12s  %s\n", g.Made.Format("2006-01-02 15:04"), size(g.Bytes), g.Key, task)
	}

	switch {
	case len(list) == 0:
		fmt.Fprintln(stdout, "nothing to collect")
	case remove:
		fmt.Fprintf(stdout, "deleted %d objects, %s\n", len(list), size(total))
	default:
		fmt.Fprintf(stdout, "%d objects, %s; `pipeline gc --delete` removes them\n", len(list), size(total))
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
