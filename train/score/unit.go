package score

import "doubletake/train/triplets"

// UnitTrust is the Trust of the outcomes of one unit.
type UnitTrust struct {
	Unit     string   // "" when it has none
	Outcomes []string // names
	Trust
}

// TrustByUnit compares predictions for the test part of s, one row for each of its
// triplets, with its pairs, in the outcomes' own units: a Trust for the outcomes of each
// unit, in order of first appearance. intervals are as for TrustOf.
func TrustByUnit(s triplets.Set, mu, total, epistemic []float64, intervals *Intervals) []UnitTrust {
	var list []UnitTrust
	var columns [][]int

	index := map[string]int{}
	for k, o := range s.Outcomes {
		i, known := index[o.Unit]
		if !known {
			i = len(list)
			index[o.Unit] = i
			list, columns = append(list, UnitTrust{Unit: o.Unit}), append(columns, nil)
		}

		list[i].Outcomes, columns[i] = append(list[i].Outcomes, o.Name), append(columns[i], k)
	}

	train, test := s.Of(triplets.Train), s.Of(triplets.Test)
	spread := train.OutcomeScale().Std

	set := Set{Set: test, Answers: triplets.Answers{Mu: mu}}
	for i, c := range columns {
		list[i].Trust = TrustOf(set, total, epistemic, spread, c, intervals)
	}

	return list
}

// MeanByUnit averages the trust of each unit's outcomes over trainings.
func MeanByUnit(trainings [][]UnitTrust) []UnitTrust {
	var out []UnitTrust

	if len(trainings) == 0 {
		return nil
	}

	for i, u := range trainings[0] {
		var list []Trust
		for _, t := range trainings {
			list = append(list, t[i].Trust)
		}

		u.Trust = MeanTrust(list)
		out = append(out, u)
	}

	return out
}
