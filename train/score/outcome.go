package score

import (
	"fmt"
	"math"

	"doubletake/train/numbers"
	"doubletake/train/triplets"
)

// OutcomeTrust is the Trust of one outcome.
type OutcomeTrust struct {
	Outcome string // name of the outcome
	Unit    string // "" if the outcome has no unit
	HeldOut string // the held-out rows, if a list has the trust of several splits; not in documents
	Trust
}

// members returns the members of the JSON object of an outcome's trust. The verdict and the noise follow from the
// others and are not read.
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

// Details returns the members of a JSON object with what documents leave out of an outcome's trust.
func (t *OutcomeTrust) Details() numbers.Object {
	return numbers.Object{
		"held_out", &t.HeldOut, "claimed", &t.Claimed, "values", &t.Values, "effective", &t.Effective,
		"error_over_claim_se", &t.RatioSE, "epistemic_ratio", &t.EpistemicRatio,
		"epistemic_ratio_defect", &t.EpistemicRatioDefect,
	}
}

// Document returns what documents state of an outcome's trust.
func (t OutcomeTrust) Document() numbers.Object { return t.members() }

// MarshalJSON writes the trust for documents. An undefined number is null.
func (t OutcomeTrust) MarshalJSON() ([]byte, error) { return t.members().MarshalJSON() }

// UnmarshalJSON reads an object that MarshalJSON wrote. The result lacks some numbers that Grade needs.
func (t *OutcomeTrust) UnmarshalJSON(b []byte) error {
	*t = OutcomeTrust{}
	return t.members().UnmarshalJSON(b)
}

// TrustByOutcome judges predictions of the test part of s, by outcome. mu, total and epistemic have one row for each
// triplet of the test part, in the outcomes' own units. intervals are as for TrustOf. The spread of the outcomes comes
// from the training part, or from the test part if there is no training part.
func TrustByOutcome(s triplets.Set, mu, total, epistemic []float64, intervals *Intervals) []OutcomeTrust {
	train := s.Only(triplets.Train)
	test := s.Only(triplets.Test)
	if train.N == 0 {
		train = test
	}

	spread := train.OutcomeScale().Std

	set := Set{Set: test, Answers: triplets.Answers{Mu: mu}}
	if intervals == nil {
		intervals = Claimed(total, 0.95)
	}

	var list []OutcomeTrust
	for k := range len(s.Outcomes) {
		t := TrustOf(set, total, epistemic, spread, []int{k}, intervals)

		list = append(list, OutcomeTrust{Outcome: s.Outcomes[k].Name, Unit: s.Outcomes[k].Unit, Trust: t})
	}

	return list
}

// MeanByOutcome averages the trust of each outcome over trainings. It returns nil without trainings.
func MeanByOutcome(trainings [][]OutcomeTrust) []OutcomeTrust {
	if len(trainings) == 0 {
		return nil
	}

	var list []OutcomeTrust
	for i := range len(trainings[0]) {
		o := trainings[0][i]

		trusts := make([]Trust, len(trainings))
		for k, outcomes := range trainings {
			trusts[k] = outcomes[i].Trust
		}

		o.Trust = MeanTrust(trusts)
		list = append(list, o)
	}

	return list
}

// Grades returns the grades of the outcomes.
func Grades(list []OutcomeTrust) []Grade {
	var results []Grade
	for _, v := range list {
		results = append(results, v.Grade())
	}

	return results
}
