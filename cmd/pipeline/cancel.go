package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline/config"
	"doubletake/pipeline/engine/slurm"
)

func newCancelCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "cancel the Slurm jobs of this work directory, queued and running", ArgsUsage: "[FILE]",
		Description: "Of a run that goes on, elsewhere perhaps, the jobs are cancelled and it ends; of one that was killed or interrupted, those it left. " +
			"Results that are there stay, trainings keep their checkpoints, and the next run makes what is missing.\n\n" +
			"Example: pipeline cancel pipeline.yaml\n\nExit status: 0 success, 1 failed, 2 usage or configuration error.",
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			return runCancel(file, stdout)
		},
	}
}

func runCancel(file string, stdout io.Writer) error {
	f, err := config.Load(file)
	if err != nil {
		return err
	}
	n, err := slurm.Cancel(f.Resolve(f.Workdir))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "cancelled %d jobs\n", n)
	return err
}
