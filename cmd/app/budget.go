package app

import (
	"doubletake/pipeline/locate"
	"doubletake/report"
	"doubletake/report/answer/budget"
)

const (
	// monteCarloDraws is enough for two digits of an interval of 95 % (JCGM 101, 7.2).
	monteCarloDraws = 200_000
	// maxSampled is the number of budgets up to which the Monte Carlo method is used. Each takes a moment.
	maxSampled = 20
)

// runBudget prints budgets of uncertainty: how much each source contributes to the uncertainty of an outcome. Without
// --at, people see only the least certain condition of each outcome.
func runBudget(c *call) error {
	level := c.Float64("level")
	options := budget.Options{
		At: c.String("at"), Above: c.String("above"), Pool: c.String("pool"),
	}
	if outcome := c.String("outcome"); outcome != "" {
		options.Outcomes = []string{outcome}
	}

	source, experiment, err := locate.Pairs(c.arg(0), c.String("config"))
	if err != nil {
		return err
	}

	table, err := source.Open(nil)
	if err != nil {
		return err
	}

	printNotes(c.stderr, table.Notes)

	budgets, err := budget.Compute(table, locate.Stated(experiment), options)
	if err != nil {
		return err
	}

	results, err := evaluateBudgets(budgets, level)
	if err != nil {
		return err
	}

	csv := c.Bool("csv")
	if !csv && !c.Bool("json") && !c.IsSet("at") {
		results = budget.LeastCertain(results)
	}

	if !csv && len(results) <= maxSampled {
		if err := sampleBudgets(results, level); err != nil {
			return err
		}
	}

	switch {
	case csv:
		return report.CSV(c.stdout, budget.CSV(results))
	case c.Bool("json"):
		return printJSON(c.stdout, budget.JSON(results))
	case c.Bool("tex"):
		_, err := c.stdout.Write(report.SheetsLaTeX([]report.Sheet{budget.Sheet(results)}))
		return err
	}

	return report.Sheets(c.stdout, []report.Sheet{budget.Sheet(results)}, width(c.stdout), colour(c.stdout))
}

// evaluateBudgets evaluates budgets by the law of propagation of uncertainty, for intervals of a level.
func evaluateBudgets(budgets []budget.Budget, level float64) ([]budget.Result, error) {
	var results []budget.Result
	for _, b := range budgets {
		result, err := b.Evaluate(level, 0)
		if err != nil {
			return nil, err
		}

		results = append(results, result)
	}

	return results, nil
}

// sampleBudgets replaces the results by results of the Monte Carlo method.
func sampleBudgets(results []budget.Result, level float64) error {
	for i, result := range results {
		sampled, err := result.Budget.Evaluate(level, monteCarloDraws)
		if err != nil {
			return err
		}

		results[i] = sampled
	}

	return nil
}
