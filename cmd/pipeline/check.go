package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newCheckCommand(stdout, stderr io.Writer) *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "validate a configuration and its files, run nothing", ArgsUsage: "[FILE]",
		Description: "Example: pipeline check pipeline.yaml\n\nExit status: 0 success (the file is valid), 2 usage or configuration error, 3 input data error.",
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			return runCheck(file, stdout, stderr)
		},
	}
}

func runCheck(file string, stdout, stderr io.Writer) error {
	p, err := pipeline.Load(file)
	if err != nil {
		return err
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(stderr, "warning: %s: %s\n", w.Path, w.Text)
	}
	what := "experiments"
	if len(p.File.Experiments) == 1 {
		what = "experiment"
	}
	fmt.Fprintf(stdout, "%s is valid: %d %s, %d tasks\n", file, len(p.File.Experiments), what, len(p.Plan.Tasks))
	return nil
}
