package app

import (
	"io"

	"doubletake/pipeline"

	"github.com/urfave/cli/v2"
)

func newSchemaCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "JSON Schema of pipeline.yaml, for editors",
		Description: "Example: pipeline schema > pipeline.schema.json\n\nExit status: 0 success, 2 usage error.",
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usage("pipeline schema takes no arguments, found %q", c.Args().Slice())
			}
			return printJSON(stdout, pipeline.Schema())
		},
	}
}
