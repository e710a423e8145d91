package app

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline"
	"doubletake/train/numbers"
)

// runCheck checks a configuration and the files that it names, and prints how many tasks it has and what they cost.
func runCheck(c *call) error {
	file := c.file()
	if c.Bool("no-programs") {
		if err := pipeline.RefusePrograms(file); err != nil {
			return err
		}
	}

	project, err := pipeline.Load(file)
	if err != nil {
		return err
	}

	found, err := project.CheckFiles(c.ctx)
	warnings := append(project.Warnings, found...)
	c.warn(warnings)
	if err != nil {
		return err
	}

	var cost trainingCost
	for _, task := range project.Plan.Tasks {
		cost.add(task.Stage, task.Weight)
	}

	if c.Bool("json") {
		texts := []string{}
		for _, warning := range warnings {
			texts = append(texts, warning.Path+": "+warning.Text)
		}

		return printJSON(c.stdout, numbers.Object{
			"file", file, "valid", true, "experiments", len(project.File.Experiments), "tasks", len(project.Plan.Tasks),
			"train_tasks", cost.tasks, "train_seconds", cost.seconds, "warnings", texts,
		})
	}

	fmt.Fprintf(c.stdout, "%s is valid: %s, %s\n", file,
		fault.Plural(int64(len(project.File.Experiments)), "experiment"),
		fault.Plural(int64(len(project.Plan.Tasks)), "task"))
	cost.write(c.stdout)

	return nil
}
