package score

import "doubletake/train/triplets"

// OutcomeTrust is the Trust of one outcome.
type OutcomeTrust struct {
	Outcome, Unit string // Unit is "" when it has none
	Trust
}

// TrustByOutcome compares predictions for the test part of s, one row for each of its
// triplets, with its pairs, in the outcomes' own units: a Trust for each outcome.
// intervals are as for TrustOf. Without a training part the spread is that of the test part.
func TrustByOutcome(s triplets.Set, mu, total, epistemic []float64, intervals *Intervals) []OutcomeTrust {
	train, test := s.Of(triplets.Train), s.Of(triplets.Test)
	if train.N == 0 {
		train = test
	}

	spread := train.OutcomeScale().Std

	set := Set{Set: test, Answers: triplets.Answers{Mu: mu}}
	if intervals == nil {
		intervals = Claimed(total, 0.95)
	}

	var list []OutcomeTrust
	for k, o := range s.Outcomes {
		list = append(list, OutcomeTrust{o.Name, o.Unit, TrustOf(set, total, epistemic, spread, []int{k}, intervals)})
	}

	return list
}

// MeanByOutcome averages the trust of each outcome over trainings.
func MeanByOutcome(trainings [][]OutcomeTrust) []OutcomeTrust {
	var out []OutcomeTrust

	if len(trainings) == 0 {
		return nil
	}

	for i, o := range trainings[0] {
		var list []Trust
		for _, t := range trainings {
			list = append(list, t[i].Trust)
		}

		o.Trust = MeanTrust(list)
		out = append(out, o)
	}

	return out
}

// Grades are the grades of the outcomes.
func Grades(list []OutcomeTrust) []Grade {
	out := make([]Grade, len(list))
	for i, t := range list {
		out[i] = t.Grade()
	}

	return out
}
