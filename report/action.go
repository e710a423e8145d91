package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/score"
)

// This file says what to do with predictions as they are, by the worst grade and its reason. nextstep.go says what to
// measure.

// action says what to do with the split's predictions as they are: by the worst grade and its reason, and then for
// values above the noise floor.
func (s Split) action() string {
	if !s.isCalibrated() {
		return s.uncalibratedAction()
	}

	return joinTexts(" ", s.gradeAction(), s.floorAction())
}

// gradeAction says what to do by the worst grade and its reason. It leaves out undecided outcomes of floorAction, and
// returns "" if no other outcome has the worst grade.
func (s Split) gradeAction() string {
	grade := s.Verdict()
	worst := withGrade(s.recommended(), grade)
	switch grade {
	case score.Fails:
		return "Do not use the intervals of " + outcomesWord(worst) + " there."
	case score.Undecided:
		others := slices.DeleteFunc(worst, func(outcome score.OutcomeTrust) bool {
			return isDoubtful(s.gradeAboveFloor(outcome))
		})

		return undecidedAction(others, score.OutcomeTrust.Residual)
	case score.Wide:
		return s.narrowingAction(worst[0].Outcome)
	}

	return "Use the intervals."
}

// floorAction says what to use above the noise floor for outcomes whose grade is undecided or fails without upper
// bounds. It returns "" if there is no such outcome.
func (s Split) floorAction() string {
	var doubtful []score.OutcomeTrust
	for _, outcome := range s.recommended() {
		if isDoubtful(s.gradeAboveFloor(outcome)) {
			doubtful = append(doubtful, *s.heldOutcome(outcome.Outcome).Measured)
		}
	}

	if len(doubtful) == 0 {
		return ""
	}

	words := undecidedAction(doubtful, func(outcome score.OutcomeTrust) float64 {
		return s.heldOutcome(outcome.Outcome).MeasuredResidual
	})

	return "Above the noise floor: " + strings.ToLower(words[:1]) + words[1:]
}

// isDoubtful reports whether intervals with a grade should not be used as they are.
func isDoubtful(grade score.Grade) bool { return grade == score.Undecided || grade == score.Fails }

// mostNamed is the number of outcomes up to which a sentence names them.
const mostNamed = 3

// outcomesWord names up to mostNamed outcomes, and counts more of them.
func outcomesWord(list []score.OutcomeTrust) string {
	if len(list) > mostNamed {
		return numbered(len(list), "outcome", "outcomes")
	}
	return outcomeNames(list)
}

// undecidedAction says which numbers of undecided outcomes can be used: the intervals of one level if they hold, and
// otherwise the measured residuals, which residual returns in the unit of an outcome.
func undecidedAction(list []score.OutcomeTrust, residual func(score.OutcomeTrust) float64) string {
	usable, doubtful := lists.Split(list, func(outcome score.OutcomeTrust) bool {
		return missesOnlyAt68(outcome.Evidence())
	})

	var sentences []string
	if len(usable) > 0 {
		sentences = append(sentences,
			fmt.Sprintf("Use only the %s interval of %s.", levelText(usable[0].Level), outcomesWord(usable)))
	}

	if len(doubtful) > 0 {
		sentences = append(sentences, residualAction(doubtful, residual))
	}

	return strings.Join(sentences, " ")
}

// residualAction gives intervals of the measured residuals in place of intervals that contain too few values. The
// residuals are normal enough, and contain both the error that the model did not expect and the noise of one
// measurement.
func residualAction(list []score.OutcomeTrust, residual func(score.OutcomeTrust) float64) string {
	factor := math.Sqrt2 * math.Erfinv(list[0].Level)
	residuals := fmt.Sprintf("%.3g × RMS held-out residual, noise included", factor)
	if len(list) > mostNamed {
		return fmt.Sprintf("For %s use ±\u00a0%s, not the intervals.", outcomesWord(list), residuals)
	}

	var parts []string
	verb := " use" // once in the sentence
	for _, outcome := range list {
		half := unitOf(outcome).amount(factor * residual(outcome))
		parts = append(parts, fmt.Sprintf("%s%s ±\u00a0%s", clean(outcome.Outcome), verb, half))
		verb = ""
	}

	intervals := "its interval"
	if len(list) > 1 {
		intervals = "their intervals"
	}

	return fmt.Sprintf("For %s (%s), not %s.", strings.Join(parts, ", for "), residuals, intervals)
}

// narrowingAction says what would narrow the wide interval of an outcome, by the forecast if there is one.
func (s Split) narrowingAction(outcome string) string {
	forecast := s.forecastWords(outcome)
	if forecast == "" {
		return "Use the intervals; they are safe but wide."
	}

	if len(s.Honest.Record.Outcomes) > 1 {
		forecast = clean(outcome) + " " + forecast
	}

	return "Train on one run there: " + forecast + "."
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
