package app

import (
	"fmt"

	"doubletake/pipeline/locate"
	"doubletake/report"
	"doubletake/report/answer/judge"
)

// runJudge prints how predictions of any origin compare with measurements.
func runJudge(c *call) error {
	against := c.String("against")
	if against == "" {
		return usage("pipeline judge wants --against with the measured pairs, "+
			"such as pipeline judge %s --against runs/drone, or --against pairs.csv", c.arg(0))
	}

	source, _, err := locate.Pairs(against, "")
	if err != nil {
		return err
	}

	options := judge.Options{
		Predictions: c.arg(0), Against: source, Split: c.String("split"), Groups: c.String("groups"),
		Level: c.Float64("level"),
	}

	judgement, err := judge.Judge(c.ctx, options)
	if err != nil {
		return unlessConfiguration(options.Predictions, "a table of predictions, such as predictions.csv,", err)
	}

	if !c.Bool("json") {
		return report.Judgement(c.stdout, judgement, width(c.stdout), colour(c.stdout))
	}

	document, err := judgement.JudgementJSON()
	if err != nil {
		return fmt.Errorf("write judgement: %w", err)
	}

	return emit(c.stdout, "write judgement", document)
}
