package report

import (
	"fmt"
	"math"

	"doubletake/ingest/fault"
	"doubletake/train/score"
)

// This file says which prediction to use if a plain model has a smaller error on held-out values than the recommended
// model.

// plainModel is a plain model whose error on the held-out values of an outcome is smaller than the recommended model's.
type plainModel struct {
	name    string // at the beginning of a sentence
	outcome score.OutcomeTrust
	error   float64
	leftOut float64 // its error over the model's on left-out training groups; NaN if it is not known
}

// closerModels returns the closer plain model of each outcome that has one.
func (s Split) closerModels() []plainModel {
	var list []plainModel
	for k, outcome := range s.recommended() {
		held := s.heldOutcome(outcome.Outcome)
		plain := plainModel{name: "Least squares", outcome: outcome, error: held.LinearError, leftOut: math.NaN()}
		if s.isCalibrated() && s.Honest.Calibration != nil {
			plain.leftOut = s.Honest.Calibration.LeftOutRatio("linear", k)
		}

		if smaller, isOfMean := held.plainError(); isOfMean {
			plain = plainModel{name: "The training mean", outcome: outcome, error: smaller, leftOut: math.NaN()}
		}

		if plain.error < outcome.RMSE {
			list = append(list, plain)
		}
	}

	return list
}

// closerWords names the plain model that is closest in comparison with the recommended model, and says which of both to
// use. It counts the other outcomes of which it can say the same. It returns "" if no plain model is closer.
func (s Split) closerWords() string {
	list := s.closerModels()
	if len(list) == 0 {
		return ""
	}

	best := list[0]
	for _, plain := range list[1:] {
		if plain.error/plain.outcome.RMSE < best.error/best.outcome.RMSE {
			best = plain
		}
	}

	advice := best.advice(s.model())
	same := 0
	for _, plain := range list {
		if plain.name == best.name && plain.advice(s.model()) == advice {
			same++
		}
	}

	more := ""
	if same > 1 {
		more = " and " + numbered(same-1, "more outcome", "more outcomes")
	}

	return fmt.Sprintf("%s is closer for %s%s (%s), %s", best.name, clean(best.outcome.Outcome), more,
		unitOf(best.outcome).amount(best.error), advice)
}

// alike is the ratio of errors from which one model is said to be worse than the other.
const alike = 1.05

// advice says which of a plain model and the given model to use. The left-out training groups decide, because a choice
// by the held-out values would make their error too small.
func (p plainModel) advice(model string) string {
	switch {
	case math.IsNaN(p.leftOut):
		return "and no other group shows which is closer: rely on the interval, not on the value"
	case p.leftOut < 1/alike:
		return "and on training groups left out in turn too: take its values, and the interval from the " + model
	case p.leftOut < alike, math.IsInf(p.leftOut, 1):
		return "but not on training groups left out in turn: rely on the " + model
	}

	return fmt.Sprintf("but has %s times the model's error on left-out training groups: do not use it",
		fault.Digits(p.leftOut, 2))
}
