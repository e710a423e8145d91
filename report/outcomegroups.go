package report

import (
	"strings"

	"doubletake/train/score"
)

// This file groups the outcomes of a split for texts about several of them.

// eachUnit writes the groups of outcomes that grouped makes: at most two outcomes of a unit have a text each, more
// share a text. If there are several texts, each begins with the names of its outcomes.
func eachUnit(list []score.OutcomeTrust, write func([]score.OutcomeTrust) string) []string {
	var texts []string
	groups := grouped(list, 2)
	for _, group := range groups {
		text := write(group)
		if len(groups) > 1 {
			text = outcomeNames(group) + ": " + text
		}

		texts = append(texts, text)
	}

	return texts
}

// grouped returns one group per outcome, or one group per unit if the unit has more than most outcomes.
func grouped(list []score.OutcomeTrust, most int) [][]score.OutcomeTrust {
	countOf := map[string]int{} // number of outcomes, by unit
	for _, outcome := range list {
		countOf[outcome.Unit]++
	}

	var groups [][]score.OutcomeTrust
	lastGroup := map[string]int{} // index of the last group, by unit
	for _, outcome := range list {
		i, exists := lastGroup[outcome.Unit]
		if exists && countOf[outcome.Unit] > most {
			groups[i] = append(groups[i], outcome)
			continue
		}

		lastGroup[outcome.Unit] = len(groups)
		groups = append(groups, []score.OutcomeTrust{outcome})
	}

	return groups
}

// outcomeNames lists the names of outcomes.
func outcomeNames(list []score.OutcomeTrust) string {
	var names []string
	for _, outcome := range list {
		names = append(names, clean(outcome.Outcome))
	}

	return strings.Join(names, ", ")
}
