package app

import (
	"doubletake/pipeline"
)

// runSchema prints the JSON schema of the configuration.
func runSchema(c *call) error { return printJSON(c.stdout, pipeline.Schema()) }
