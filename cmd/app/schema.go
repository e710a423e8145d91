package app

import "doubletake/pipeline"

func runSchema(c *call) error { return printJSON(c.stdout, pipeline.Schema()) }
