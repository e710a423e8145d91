package report

import (
	"cmp"
	"fmt"

	"doubletake/train/score"
)

// This file ends each verdict in one action: what a reader does next, by the worst grade and its reason.

// mostMore is the number of times that the measured runs may have to be repeated before a verdict advises against it.
const mostMore = 3

// action says what to do about the split's predictions.
func (s Split) action() string {
	if !s.isCalibrated() {
		return s.uncalibratedAction()
	}

	grade := s.Verdict()
	worst := withGrade(s.recommended(), grade)
	place := cmp.Or(clean(s.HeldOut), clean(s.Name))
	switch grade {
	case score.Fails:
		return fmt.Sprintf("Do not use the intervals of %s there: train on runs with %s first.", outcomesWord(worst),
			place)
	case score.Undecided:
		return undecidedAction(worst[0].Evidence(), outcomesWord(worst), errorWord(worst))
	case score.Wide:
		return s.narrowingAction(worst[0].Outcome)
	}

	return "Use the intervals."
}

// outcomesWord names up to three outcomes, and counts more of them.
func outcomesWord(list []score.OutcomeTrust) string {
	if len(list) > 3 {
		return numbered(len(list), "outcome", "outcomes")
	}
	return outcomeNames(list)
}

// errorWord writes the error of a single outcome with its unit, as " (3.0 dB)". It returns "" for several outcomes.
func errorWord(list []score.OutcomeTrust) string {
	if len(list) != 1 {
		return ""
	}
	return " (" + unitOf(list[0]).amount(list[0].RMSE) + ")"
}

// undecidedAction says what to do about intervals of which too little is known, and whether more runs can change that.
// Test runs are worth measuring only if they can show that the intervals hold. rmse is the error of the outcomes in
// brackets, or "".
func undecidedAction(evidence score.Evidence, outcomes, rmse string) string {
	outlook := evidence.Outlook()
	more := outlook.Units - evidence.Units
	canHold := outlook.Like == score.Holds
	isNear := more <= mostMore*evidence.Units
	switch {
	case evidence.WidthOverSpread > score.MostSpread:
		return "Train on runs there before you predict " + outcomes + "."
	case isBoundReached(evidence) && evidence.MissesAt68() && outlook.Units == 0:
		return fmt.Sprintf("Use only the %s interval of %s; %s.", levelText(evidence.Level), outcomes, unchanged)
	case isBoundReached(evidence) && evidence.MissesAt68():
		return fmt.Sprintf("Use only the %s interval of %s: %s.", levelText(evidence.Level), outcomes,
			outlookWords(outlook, more))
	case canHold && isNear:
		return fmt.Sprintf("Measure %s: %s.", numbered(more, "more test run", "more test runs"),
			outlookWords(outlook, more))
	}

	return fmt.Sprintf("Rely on the error of %s%s, not on the interval: %s.", outcomes, rmse, outlookWords(outlook, more))
}

// unchanged says that more runs would not decide the grade.
const unchanged = "more runs like these do not help"

// outlookWords says which outcomes are possible with more runs: the outcome if these are like the measured runs, and
// the outcome if they are as good or as bad as they can be. more is the number of further runs that decide.
func outlookWords(outlook score.Outlook, more int) string {
	text := unchanged
	if outlook.Units > 0 {
		text = fmt.Sprintf("with %s like these it %s", numbered(more, "more run", "more runs"), wouldWords(outlook.Like))
	}

	switch {
	case outlook.Like == score.Holds && outlook.Worst != score.Fails:
		return text + ", and whatever they show, it cannot fail"
	case outlook.Like == score.Holds:
		return text
	case outlook.FewestHold == 0:
		return text + ", and it cannot hold even if all further values are inside"
	}

	return text + fmt.Sprintf("; it can hold from %d runs in all, if all new values are inside", outlook.FewestHold)
}

// wouldWords writes the grade that intervals would have: "would hold".
func wouldWords(grade score.Grade) string {
	switch grade {
	case score.Holds, score.Wide:
		return "would hold"
	case score.Fails:
		return "would fail"
	}

	return "would stay undecided"
}

// narrowingAction says what would narrow the wide interval of an outcome, by the forecast if there is one.
func (s Split) narrowingAction(outcome string) string {
	record := s.Honest.Record
	for k, trust := range record.Outcomes {
		if trust.Outcome != outcome || len(record.Forecast) < 2 {
			continue
		}

		now := record.Forecast[0].Half[k]
		one := record.Forecast[1].Half[k]
		name := ""
		if len(record.Outcomes) > 1 {
			name = clean(outcome) + " "
		}

		if one < leastGain*now {
			return fmt.Sprintf("Train on one run there: %s± %s instead of ± %s (forecast).", name,
				amountsIn(trust.Unit, one, one), amountsIn(trust.Unit, now, now))
		}
	}

	return "Use the intervals; they are safe but wide."
}

// uncalibratedAction says what to do about predictions without a calibration.
func (s Split) uncalibratedAction() string {
	switch {
	case !s.hasIntervals():
		return "Use the means, and measure how wrong they are where it matters."
	case s.Verdict() == score.Fails:
		return "Use the means, not the intervals."
	case s.Network[0].OneLevel:
		return "State 68\u00a0% intervals too (OUTCOME_low_68, OUTCOME_high_68): one level alone never holds."
	}

	return "Treat the intervals as unproven."
}
