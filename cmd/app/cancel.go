package app

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
)

// runCancel cancels the jobs of a work directory and prints how many there were.
func runCancel(c *call) error {
	cancelled, err := pipeline.CancelJobs(c.file())
	if err != nil {
		return err
	}

	_, err = fmt.Fprintf(c.stdout, "cancelled %s\n", fault.Plural(int64(cancelled), "job"))

	return err
}
