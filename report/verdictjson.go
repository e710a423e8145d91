package report

import (
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// This file writes the judgement of a split for metrics.json.

// verdictJSON returns the members of a split in the file of metrics that judge its claims.
func verdictJSON(split Split) object {
	var members object
	if sentence := split.Sentence(); sentence != "" {
		members = append(members, "verdict", string(split.Verdict()), "sentence", sentence, "network",
			append([]score.OutcomeTrust{}, split.Network...))
	}

	if len(split.Held) > 0 {
		members = append(members, "held_out_outcomes", numbers.Objects(split.Held, HeldOutcome.document))
	}

	if outlooks := split.outlooks(); len(outlooks) > 0 {
		members = append(members, "outlook", outlooks)
	}

	if len(split.Rivals) > 0 {
		members = append(members, "reference", split.Rivals)
	}

	switch honest := split.Honest; {
	case honest == nil:
	case honest.Absent != "":
		members = append(members, "honest_absent", honest.Absent)
	default:
		members = append(members, "honest", append(honest.Document(), "ecov", split.ecov()))
	}

	return members
}

// outlooks returns what further test runs would show about each undecided outcome that they could decide. The keys are
// the fields of score.Outlook.
func (s Split) outlooks() []object {
	var list []object
	for _, outcome := range s.recommended() {
		outlook := outcome.Evidence().Outlook()
		if outlook.Units == 0 {
			continue
		}

		list = append(list, object{
			"outcome", outcome.Outcome, "runs", outlook.Units, "like_these", outlook.Like,
			"all_inside", outlook.Best, "none_inside", outlook.Worst, "fewest_to_hold", outlook.FewestHold,
		})
	}

	return list
}

// ecov returns the rise of E|cov| for the file of metrics, with the record of earlier groups that rose alike, and the
// rises of the left-out groups for which a network was trained.
func (s Split) ecov() object {
	record := s.Honest.Calibration.Scale.Prior.RisesRecord()
	like := record.Like(s.covRise())
	groups := []object{}
	for _, group := range s.leftOut() {
		groups = append(groups, object{"group", group.Name, "rise", *group.Rise})
	}

	return object{
		"rise", s.covRise(),
		"record",
		object{"inside_95", like.Inside, "groups", like.Groups, "rose_above", record.Ratio()},
		"left_out", groups,
	}
}

// covRise returns the ratio of E|cov| of the held-out part to E|cov| of the training part. It is NaN if nothing is held
// out.
func (s Split) covRise() float64 { return s.Test.Get("abs_cov").Mean / s.Train.Get("abs_cov").Mean }
