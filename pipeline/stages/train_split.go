package stages

import (
	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/engine"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train/honest"
	"doubletake/train/triplets"
)

// dividerOf returns what divides the tables of triplets of an experiment.
func dividerOf(exp plan.Experiment) pairs.Divider {
	return pairs.Divider{Experiment: settingsOf(exp), Tolerances: exp.Ingest.Tolerances}
}

// readSplit reads the triplets that take part in a split, as a table and as a set with its parts.
func (pl *trainPlanner) readSplit(job *engine.Job, split config.Split) (*table.Table, triplets.Set, error) {
	all, err := readTable(job, pl.trip.Triplets)
	if err != nil {
		return nil, triplets.Set{}, err
	}

	tab, set, err := pl.experiment.DivideTable(all, split)

	return tab, set, pl.exp.Located("train", err)
}

// readGroups reads the triplets of a split, and the value of each row's condition by which the learner leaves groups
// out. It completes the learner (pairs.Divider.DivideGroups).
func (pl *trainPlanner) readGroups(job *engine.Job, split config.Split, learner *honest.Learner) (
	triplets.Set, []float64, error,
) {
	all, err := readTable(job, pl.trip.Triplets)
	if err != nil {
		return triplets.Set{}, nil, err
	}

	set, groups, err := pl.experiment.DivideGroups(all, split, learner)

	return set, groups, pl.exp.Located("train", err)
}
