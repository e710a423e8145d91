package score

import (
	"fmt"
	"math"

	"doubletake/internal/lists"
	"doubletake/train/numbers"
	"doubletake/train/triplets"
)

// OutcomeTrust is the Trust of one outcome.
type OutcomeTrust struct {
	Outcome, Unit string // Unit is "" when it has none
	HeldOut       string // what it was judged on, where a list has several splits'; not in documents
	Trust
}

// members are what documents state of an outcome's trust. The verdict and the noise follow from
// the others and are not read.
func (t *OutcomeTrust) members() numbers.Object {
	verdict := t.Grade()
	noise := math.Sqrt(t.ClaimedSigma*t.ClaimedSigma - t.ClaimedEpistemic*t.ClaimedEpistemic)
	o := numbers.Object{
		"outcome", &t.Outcome, "unit", &t.Unit, "verdict", &verdict, "runs", &t.Runs,
		"rmse", &t.RMSE, "rmse_se", &t.RMSESE, "r2", &t.R2, "noise_ceiling", &t.Ceiling,
		"sd", &t.ClaimedSigma, "sd_epistemic", &t.ClaimedEpistemic, "sd_noise", &noise,
		"level", &t.Level, "coverage", &t.Inside, "coverage_se", &t.InsideSE,
		"half_width", &t.Half, "width_over_spread", &t.WidthOverSpread, "error_over_claim", &t.Ratio,
	}
	for l := range t.At {
		o = append(o, fmt.Sprintf("coverage_%g", 100*Levels[l]), &t.At[l])
	}

	return o
}

// MarshalJSON writes the numbers that documents state; an undefined one is null.
func (t OutcomeTrust) MarshalJSON() ([]byte, error) { return t.members().MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON wrote. It has not all that a grade needs.
func (t *OutcomeTrust) UnmarshalJSON(b []byte) error {
	*t = OutcomeTrust{}
	return t.members().UnmarshalJSON(b)
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

	return lists.Make(len(s.Outcomes), func(k int) OutcomeTrust {
		t := TrustOf(set, total, epistemic, spread, []int{k}, intervals)
		return OutcomeTrust{Outcome: s.Outcomes[k].Name, Unit: s.Outcomes[k].Unit, Trust: t}
	})
}

// MeanByOutcome averages the trust of each outcome over trainings.
func MeanByOutcome(trainings [][]OutcomeTrust) []OutcomeTrust {
	if len(trainings) == 0 {
		return nil
	}

	return lists.Make(len(trainings[0]), func(i int) OutcomeTrust {
		o := trainings[0][i]
		o.Trust = MeanTrust(lists.Each(trainings, func(t []OutcomeTrust) Trust { return t[i].Trust }))

		return o
	})
}

// Grades are the grades of the outcomes.
func Grades(list []OutcomeTrust) []Grade { return lists.Each(list, OutcomeTrust.Grade) }
