package app

import (
	"path/filepath"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/pipeline/budget"
	"doubletake/report"
)

// monteCarloDraws are enough for two digits of an interval of 95 % (JCGM 101, 7.2).
const monteCarloDraws = 200_000

func runBudget(c *call) error {
	name, level := c.arg(0), c.Float64("level")
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" {
		return usage("budgets of a file went with version 0.2: pipeline budget takes an EXPERIMENT, found %q", name)
	}

	o := budget.Options{At: c.String("at"), Above: c.String("above"), Pool: c.String("pool"), Config: c.String("config")}
	if name := c.String("outcome"); name != "" {
		o.Outcomes = []string{name}
	}

	list := fault.Get(budget.Read(name, o))
	draws := monteCarloDraws
	if c.Bool("csv") {
		draws = 0
	}

	results := lists.Each(list, func(b budget.Budget) budget.Result { return fault.Get(b.Evaluate(level, 0)) })

	if !c.IsSet("at") && !c.Bool("csv") && !c.Bool("json") {
		results = budget.LeastCertain(results)
	}

	if len(results) <= 20 && draws > 0 {
		for i, r := range results {
			results[i] = fault.Get(r.Budget.Evaluate(level, draws))
		}
	}

	switch {
	case c.Bool("csv"):
		return report.CSV(c.stdout, budget.CSV(results))
	case c.Bool("json"):
		return printJSON(c.stdout, budget.JSON(results))
	case c.Bool("tex"):
		_, err := c.stdout.Write(report.SheetsLaTeX([]report.Sheet{budget.Sheet(results)}))
		return err
	}

	return report.Sheets(c.stdout, []report.Sheet{budget.Sheet(results)}, width(c.stdout), colour(c.stdout))
}
