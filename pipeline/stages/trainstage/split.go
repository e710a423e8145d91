package trainstage

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"doubletake/ingest/derive"
	"doubletake/ingest/spelling"
	"doubletake/pipeline/config"
	"doubletake/pipeline/stages/plan"
	"doubletake/pipeline/table"
	"doubletake/train/holdout"
	"doubletake/train/triplets"
)

// Outcomes returns the names of the outcomes the experiment is trained on: those
// it chooses, or all of the triplet table.
func Outcomes(exp plan.Experiment, t *table.Table) ([]string, error) {
	all, chosen := plan.Outcomes(t), exp.Train.Outcomes
	if err := checkOutcomes(exp, all); err != nil {
		return nil, err
	}

	if len(chosen) > 0 {
		return chosen, nil
	}

	return all, nil
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

// Events are the experiment's events of outcomes it is trained on.
func Events(exp plan.Experiment, outcomes []string) (out []*derive.Event, err error) {
	if chosen := exp.Train.Outcomes; len(chosen) > 0 {
		outcomes = chosen
	}

	for _, d := range exp.Train.Events {
		e, err := derive.NewEvent(derive.Definition{Name: d.Name, Text: d.Value}, outcomes)
		if err != nil {
			return nil, exp.Errorf("train.events."+d.Name, "%v", err)
		}

		out = append(out, e)
	}

	return out, nil
}

// Triplets reads the inputs and outcomes that the experiment is trained on.
func Triplets(exp plan.Experiment, t *table.Table) (triplets.Set, error) {
	outcomes, err := Outcomes(exp, t)
	if err != nil {
		return triplets.Set{}, err
	}

	if _, err := Events(exp, outcomes); err != nil {
		return triplets.Set{}, err // before any training
	}

	set, err := plan.Triplets(t, exp.Train.Inputs, outcomes)
	set.Couples = exp.DSP.Couples

	return set, err
}

// Split returns set, read from t, with every row's part under the rule s and the
// scale of the training part.
func Split(exp plan.Experiment, set triplets.Set, t *table.Table, s config.Split) (triplets.Set, error) {
	held, err := heldOut(exp, s.Test, t)
	if err != nil {
		return set, fmt.Errorf("read triplets: %w", err)
	}

	set.Part = slices.Repeat([]triplets.Part{triplets.Train}, set.N)

	test := rowsWith(held, true)
	for _, i := range test {
		set.Part[i] = triplets.Test
	}

	at := "train.splits." + s.Name
	switch {
	case s.Final():
	case len(test) == 0:
		return set, exp.Errorf(at, "%s holds for none of the %d triplets: the test set would be empty%s", s.Test, set.N,
			holdout.Choices(s.Test, plan.AtSetPoints{Table: t}))
	case len(test) == set.N:
		return set, exp.Errorf(at, "%s holds for all %d triplets: the training set would be empty; hold out less",
			s.Test, set.N)
	}

	if err := setAside(exp, &set, at); err != nil {
		return set, err
	}

	set.Scale = triplets.Identity(set.Out)
	if exp.Train.Standardise {
		train := set.Of(triplets.Train)
		set.Scale = train.OutcomeScale()
	}

	return set, nil
}

// heldOut reports which rows of a triplet table are held out, by their set points.
func heldOut(exp plan.Experiment, h holdout.Holdout, t *table.Table) ([]bool, error) {
	points, err := plan.SetPointsOf(exp.Ingest.Within, t)
	if err != nil {
		return nil, err
	}

	return holdout.AtSetPoints(h, points.Find).Held(plan.AtSetPoints{Table: t})
}

// setAside moves the calibration runs out of the training part: whole runs,
// chosen by a hash of their names, the same for every seed of a split.
func setAside(exp plan.Experiment, s *triplets.Set, at string) error {
	share := exp.Train.Calibration.Share
	if share == 0 {
		return nil
	}

	runs := map[string]bool{}
	for _, i := range s.RowsOf(triplets.Train) {
		runs[s.Runs[s.Run[i]]] = true
	}

	stream := strconv.FormatUint(exp.Train.Seed, 10) + "\x00calibration"
	aside := holdout.Draw(stream, slices.Collect(maps.Keys(runs)), share)
	if len(aside) == len(runs) {
		return exp.Errorf("train.calibration",
			"%g of the %d training runs leaves none to train on in split %s", share, len(runs), at)
	}

	for _, i := range s.RowsOf(triplets.Train) {
		if aside[s.Runs[s.Run[i]]] {
			s.Part[i] = triplets.Calibration
		}
	}

	return nil
}
