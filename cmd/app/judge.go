package app

import (
	"fmt"

	"doubletake/ingest/fault"
	"doubletake/pipeline/judge"
	"doubletake/report"
)

func runJudge(c *call) error {
	o := judge.Options{
		Predictions: c.arg(0), Against: c.String("against"), Split: c.String("split"), Groups: c.String("groups"),
		Level: c.Float64("level"),
	}

	if o.Against == "" {
		return usage("pipeline judge wants --against, e.g. --against runs/drone or --against pairs.csv")
	}

	e := fault.Get(judge.Judge(c.ctx, o))
	if !c.Bool("json") {
		return report.Judgement(c.stdout, e, width(c.stdout), colour(c.stdout))
	}

	b, err := e.MetricsJSON()
	if err != nil {
		return fmt.Errorf("write judgement: %w", err)
	}

	return emit(c.stdout, "write judgement", b)
}
