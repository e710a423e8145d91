package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newCancelCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "cancel the Slurm jobs of this work directory, queued and running", ArgsUsage: "[FILE]",
		Description: "Cancels the jobs of a run, which then ends, and jobs that a killed or interrupted run left in the " +
			"queue. " +
			"Existing results stay, trainings keep their checkpoints, and the next run makes the missing ones.\n\n" +
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
	n, err := pipeline.CancelJobs(file)
	if err != nil {
		return err
	}

	_, err = fmt.Fprintf(stdout, "cancelled %d jobs\n", n)

	return err
}
