package trainstage

import (
	"fmt"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// Outcomes returns the names of the outcomes the experiment is trained on: those
// it chooses, or all of the triplet table that vary.
func Outcomes(exp plan.Experiment, t *table.Table) ([]string, error) {
	all, chosen := plan.Outcomes(t), exp.Train.Outcomes
	err := checkOutcomes(exp, all)
	if vary := slices.DeleteFunc(slices.Clone(all), func(o string) bool { return Constant(t, o) }); len(vary) > 0 {
		all = vary
	}

	if len(chosen) > 0 {
		all = chosen
	}

	return all, err
}

// Constant reports whether both values of an outcome are one number in all rows of a triplet table.
func Constant(t *table.Table, outcome string) bool {
	both := slices.Concat(t.Column(outcome+"_1").Floats, t.Column(outcome+"_2").Floats)
	return len(both) > 2 && same(both)
}

// checkOutcomes reports a chosen outcome that is none of all.
func checkOutcomes(exp plan.Experiment, all []string) error {
	for _, o := range exp.Train.Outcomes {
		if !slices.Contains(all, o) {
			return exp.Errorf("train.outcomes",
				"%q is not an outcome of this experiment, which has %v%s", o, all, spelling.DidYouMean(o, all))
		}
	}

	return nil
}

// Triplets reads the inputs and outcomes that the experiment is trained on.
func Triplets(exp plan.Experiment, t *table.Table) (set triplets.Set, err error) {
	defer fault.Catch(&err)
	set = fault.Get(plan.Triplets(t, exp.Train.Inputs, fault.Get(Outcomes(exp, t))))
	set.Couples = exp.DSP.Couples
	if across, _ := exp.Across(); across != "" {
		set.PairAcross(set.Recording, reading(t.Strings(across)))
	}

	return set, nil
}

// reading returns v, or raises an error of reading triplets.
func reading[T any](v T, err error) T {
	if err != nil {
		fault.Raise(fmt.Errorf("read triplets: %w", err))
	}

	return v
}

// Split returns set, read from t, with every row's part under the rule s and the
// scale of the training part.
func Split(exp plan.Experiment, set triplets.Set, t *table.Table, s config.Split) (_ triplets.Set, err error) {
	defer fault.Catch(&err)
	set.Part = slices.Repeat([]triplets.Part{triplets.Train}, set.N)
	test := rowsWith(reading(heldOut(exp, s.Test, t)), true)
	for _, i := range test {
		set.Part[i] = triplets.Test
	}

	fault.Raise(checkSides(exp, s, len(test), "triplets", plan.AtSetPoints{Table: t}))
	triplets.Apart(&set, set.Part)
	set.Scale = triplets.Identity(set.Out)
	if exp.Train.Standardise {
		train := set.Of(triplets.Train)
		set.Scale = train.OutcomeScale()
	}

	return set, nil
}

// heldOut reports which rows of a triplet table are held out, by their set points.
func heldOut(exp plan.Experiment, h holdout.Holdout, t *table.Table) ([]bool, error) {
	return holdout.AtSetPoints(h, plan.SetPointsOf(exp.Ingest.Within, t).Find).Held(plan.AtSetPoints{Table: t})
}
