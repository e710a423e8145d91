package app

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
)

func newCancelCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "cancel the jobs of this work directory, queued and running", ArgsUsage: "[FILE]",
		Description: "Cancels the jobs of a run with --executor, which then ends, and jobs that a killed run left in " +
			"the queue. " +
			"Existing results stay, trainings keep their checkpoints, and the next run makes the missing ones.\n\n" +
			"Example: pipeline cancel pipeline.yaml\n\nExit status: 0 success, 1 failed, 2 usage or configuration error.",
		Action: onFile(func(_ *cli.Context, file string) error {
			n, err := pipeline.CancelJobs(file)
			if err == nil {
				_, err = fmt.Fprintf(stdout, "cancelled %d jobs\n", n)
			}

			return err
		}),
	}
}
