package app

import (
	"fmt"

	"doubletake/pipeline"
)

func runCancel(c *call) error {
	n, err := pipeline.CancelJobs(c.file())
	if err == nil {
		_, err = fmt.Fprintf(c.stdout, "cancelled %d jobs\n", n)
	}

	return err
}
