package reportstage

import (
	"fmt"

	"doubletake/pipeline/budget"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/report"
)

// Of the budgets on a page: its size and time are bounded, pipeline budget has all.
const (
	budgetRows       = 100_000 // of a table, at most
	budgetConditions = 1000
	budgetOutcomes   = 6
	budgetLevel      = 0.95
)

// budget is the uncertainty budget of each outcome at the condition where it is least certain; nil of
// a table too long.
func (x *experiment) budget(tab *table.Table) (*report.Sheet, error) {
	if tab.Rows() > budgetRows {
		return nil, nil
	}

	outcomes := plan.Outcomes(tab)
	shown := outcomes[:min(len(outcomes), budgetOutcomes)]

	list, err := budget.OfTable(tab, x.exp.Name, &x.exp.Experiment,
		budget.Options{Outcomes: shown, Most: budgetConditions})
	if err != nil {
		return nil, err
	}

	results := make([]budget.Result, len(list))
	for i, b := range list {
		if results[i], err = b.Evaluate(budgetLevel, 0); err != nil {
			return nil, err
		}
	}

	s := budget.Sheet(budget.LeastCertain(results))
	text := "Each outcome at the condition where it is least certain"
	if len(results) == len(shown)*budgetConditions {
		text += fmt.Sprintf(", of %d conditions, evenly selected where there are more", budgetConditions)
	}

	if len(shown) < len(outcomes) {
		text += fmt.Sprintf("; the first %d of %d outcomes", len(shown), len(outcomes))
	}

	s.After = []string{text + ". All others: pipeline budget " + x.exp.Name + "."}

	return &s, nil
}
