package report

import (
	"doubletake/train/score"
	"doubletake/train/triplets"
)

// OverSeeds averages the summaries of all seeds for one part of a set.
func OverSeeds(seeds []score.Summary, outcomes []triplets.Quantity) SetMetrics {
	first := seeds[0]
	numbers := make([]score.Numbers, len(seeds))
	for i, summary := range seeds {
		numbers[i] = summary.Numbers
	}

	metrics := SetMetrics{
		Values: score.OverSeeds(numbers),
		Rows:   first.Rows, Conditions: first.Conditions, Runs: first.Runs, Notes: first.Warnings,
	}

	for k, q := range outcomes {
		for i, summary := range seeds {
			numbers[i] = summary.Outcomes[k]
		}

		metrics.Outcomes = append(metrics.Outcomes, OutcomeMetrics{
			Name: q.Name, Unit: q.Unit, Values: score.OverSeeds(numbers),
		})
	}

	return metrics
}
