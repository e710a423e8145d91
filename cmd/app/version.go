package app

import (
	"fmt"
	"runtime"

	"doubletake/pipeline"
	"doubletake/train"
)

// runVersion prints the version of the program, its kernels, its platform and its commit.
func runVersion(c *call) error {
	kernels, err := train.KernelSet("auto")
	if err != nil {
		return err
	}

	commit, date := pipeline.Commit()
	if c.Bool("json") {
		return printJSON(c.stdout, map[string]string{
			"version": pipeline.Version(), "commit": commit, "commit_date": date, "kernels": kernels,
			"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}

	fmt.Fprintf(c.stdout, "doubletake pipeline %s, kernels %s, %s %s/%s\n", pipeline.Version(), kernels,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)

	if commit != "" {
		fmt.Fprintf(c.stdout, "commit %s of %s\n", commit, date)
	}

	return nil
}
