package app

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newCheckCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "validate a configuration and its files, run nothing", ArgsUsage: "[FILE]",
		Description: "Example: pipeline check pipeline.yaml\n\nThe headers of the files are read, tables of pairs, " +
			"and the samples of the first 256 MB of files whose samples may be no numbers. It finds missing columns and " +
			"channels, units that cannot be used, recordings that are too short, samples that are no numbers, sampling " +
			"rates that differ or are in another unit, held-out values that do not occur, inputs that do not vary, " +
			"microphones that no condition tells apart, outcomes that no table has, splits that cut set points, and " +
			"values that init left to be filled in.\n\n" +
			"Exit status: 0 success (the file is valid), 2 usage or " +
			"configuration error, 3 input data error.",
		Flags: []cli.Flag{&cli.BoolFlag{
			Name: "no-programs", Usage: "refuse a configuration that names programs to start (ingest: {reader: …})",
		}},
		Action: onFile(func(c *cli.Context, file string) error {
			if c.Bool("no-programs") {
				if err := pipeline.RefusePrograms(file); err != nil {
					return err
				}
			}

			return runCheck(c.Context, file, stdout, stderr)
		}),
	}
}

func runCheck(ctx context.Context, file string, stdout, stderr io.Writer) error {
	p, err := pipeline.Load(file)
	if err != nil {
		return err
	}

	found, err := p.CheckFiles(ctx)
	for _, w := range append(p.Warnings, found...) {
		fmt.Fprintf(stderr, "warning: %s: %s\n", w.Path, w.Text)
	}

	if err != nil {
		return err
	}

	what := "experiments"
	if len(p.File.Experiments) == 1 {
		what = "experiment"
	}

	fmt.Fprintf(stdout, "%s is valid: %d %s, %d tasks\n", file, len(p.File.Experiments), what, len(p.Plan.Tasks))

	return nil
}
