package trainstage

import (
	"fmt"
	"slices"

	"doubletake/ingest/spelling"
	"doubletake/ingest/table"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/report/pairs"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// Outcomes returns the names of the outcomes that the experiment is trained on: the ones that the configuration names,
// or otherwise the outcomes of the table of triplets that vary. If none varies, it returns all.
func Outcomes(exp plan.Experiment, t *table.Table) ([]string, error) {
	all := pairs.Outcomes(t)
	if err := checkOutcomes(exp, all); err != nil {
		return nil, err
	}

	if chosen := exp.Train.Outcomes; len(chosen) > 0 {
		return chosen, nil
	}

	vary := slices.DeleteFunc(slices.Clone(all), func(outcome string) bool { return pairs.Constant(t, outcome) })
	if len(vary) > 0 {
		return vary, nil
	}

	return all, nil
}

// checkOutcomes returns an error if the configuration names an outcome that is not among all.
func checkOutcomes(exp plan.Experiment, all []string) error {
	for _, name := range exp.Train.Outcomes {
		if !slices.Contains(all, name) {
			return exp.Errorf("train.outcomes",
				"%q is not an outcome of this experiment, which has %v%s", name, all, spelling.DidYouMean(name, all))
		}
	}

	return nil
}

// Triplets reads the inputs and outcomes that the experiment is trained on from a table of triplets.
func Triplets(exp plan.Experiment, t *table.Table) (triplets.Set, error) {
	outcomes, err := Outcomes(exp, t)
	if err != nil {
		return triplets.Set{}, err
	}

	set, err := pairs.Triplets(t, exp.Train.Inputs, outcomes)
	if err != nil {
		return triplets.Set{}, err
	}

	set.Couples = exp.DSP.Couples
	if across, _ := exp.Across(); across != "" {
		occasions, err := t.Strings(across)
		if err != nil {
			return triplets.Set{}, fmt.Errorf("read triplets: %w", err)
		}

		set.PairAcross(set.Recording, occasions)
	}

	return set, nil
}

// Split returns a set with the part of every row in a split, and with the scale of the split's training part. t is the
// table that the set was read from.
func Split(exp plan.Experiment, set triplets.Set, t *table.Table, split config.Split) (triplets.Set, error) {
	held, err := heldOut(exp, split.Test, t)
	if err != nil {
		return triplets.Set{}, err
	}

	set.Part = slices.Repeat([]triplets.Part{triplets.Train}, set.N)
	test := rowsWith(held, true)
	for _, i := range test {
		set.Part[i] = triplets.Test
	}

	if err := checkSides(exp, split, len(test), "triplets", pairs.AtSetPoints{Table: t}); err != nil {
		return triplets.Set{}, err
	}

	triplets.Apart(&set, set.Part)
	set.Scale = triplets.Identity(set.Out)
	if exp.Train.Standardise {
		train := set.Of(triplets.Train)
		set.Scale = train.OutcomeScale()
	}

	return set, nil
}

// heldOut reports for each row of a table of triplets whether a rule holds it out, by its set points.
func heldOut(exp plan.Experiment, rule holdout.Holdout, t *table.Table) ([]bool, error) {
	points, err := plan.SetPointsOf(exp.Ingest.Tolerances, t)
	if err != nil {
		return nil, err
	}

	held, err := holdout.AtSetPoints(rule, points.Find).Held(pairs.AtSetPoints{Table: t})
	if err != nil {
		return nil, fmt.Errorf("read triplets: %w", err)
	}

	return held, nil
}
