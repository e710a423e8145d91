package score

import (
	"fmt"
	"math"

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
		"outcome", &t.Outcome,
		"unit", &t.Unit,
		"verdict", &verdict,
		"runs", &t.Runs,
		"rmse", &t.RMSE,
		"rmse_se", &t.RMSESE,
		"r2", &t.R2,
		"noise_ceiling", &t.Ceiling,
		"sd", &t.ClaimedSigma,
		"sd_epistemic", &t.ClaimedEpistemic,
		"sd_noise", &noise,
		"level", &t.Level,
		"coverage", &t.Inside,
		"coverage_se", &t.InsideSE,
		"half_width", &t.Half,
		"width_over_spread", &t.WidthOverSpread,
		"error_over_claim", &t.Ratio,
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

	var list []OutcomeTrust
	for k, o := range s.Outcomes {
		list = append(list, OutcomeTrust{
			Outcome: o.Name, Unit: o.Unit, Trust: TrustOf(set, total, epistemic, spread, []int{k}, intervals),
		})
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
