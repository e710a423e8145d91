package app

import (
	"fmt"
	"io"
	"runtime"

	"github.com/urfave/cli/v2"

	"doubletake/pipeline"
	"doubletake/train"
)

func newVersionCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "the program's version and numeric kernels",
		Description: "Example: pipeline version --json\n\nExit status: 0 success, 2 usage error.",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "as one JSON document"}},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usage("pipeline version takes no arguments, found %q", c.Args().Slice())
			}

			kernels, err := train.KernelSet("auto")
			if err != nil {
				return err
			}

			commit, date := pipeline.Commit()
			if c.Bool("json") {
				return printJSON(stdout, map[string]string{
					"version": pipeline.Version(), "commit": commit, "commit_date": date, "kernels": kernels,
					"go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
				})
			}

			fmt.Fprintf(stdout, "doubletake pipeline %s, kernels %s, %s %s/%s\n", pipeline.Version(), kernels, runtime.Version(),
				runtime.GOOS, runtime.GOARCH)

			if commit != "" {
				fmt.Fprintf(stdout, "commit %s of %s\n", commit, date)
			}

			return nil
		},
	}
}
