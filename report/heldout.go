package report

import (
	"math"

	"doubletake/train/score"
)

// HeldOutcome is what the held-out values of one outcome show besides the trust in the recommended predictions: how
// many of the values are upper bounds, and how wrong plain predictions would be.
type HeldOutcome struct {
	Outcome string
	Values  int // held-out values y1 and y2
	Bounds  int // values that are upper bounds: levels at the noise floor

	// Measured is the trust in the recommended predictions on the pairs without an upper bound. It is nil if no value is a
	// bound, or if every pair has one.
	Measured *score.OutcomeTrust

	// MeasuredResidual is the root mean squared residual of the values of Measured, with their noise. It is NaN if
	// Measured is nil or the predictions are the network's.
	MeasuredResidual float64

	// Errors of plain predictions, as roots of the measured squared error in the unit of the outcome. They are NaN if the
	// prediction cannot be made.
	MeanError   float64 // by the mean of the training values
	LinearError float64 // by least squares on the inputs
}

// BoundShare returns the share of the held-out values that are upper bounds. It returns 0 if there are no held-out
// values.
func (h HeldOutcome) BoundShare() float64 {
	if h.Values == 0 {
		return 0
	}
	return float64(h.Bounds) / float64(h.Values)
}

// plainError returns the smaller error of the two plain predictions, and reports whether the mean has it. A prediction
// that cannot be made does not count. The error is NaN if neither can be made.
func (h HeldOutcome) plainError() (smaller float64, isOfMean bool) {
	if h.MeanError < h.LinearError || math.IsNaN(h.LinearError) {
		return h.MeanError, true
	}

	return h.LinearError, false
}

// heldOutcome returns what the held-out values of an outcome show. Its errors are NaN if the split does not have it.
func (s Split) heldOutcome(outcome string) HeldOutcome {
	for _, held := range s.Held {
		if held.Outcome == outcome {
			return held
		}
	}

	return HeldOutcome{Outcome: outcome, MeasuredResidual: undefined, MeanError: undefined, LinearError: undefined}
}

// boundShare returns the share of upper bounds among all held-out values of the split.
func (s Split) boundShare() float64 {
	var all HeldOutcome
	for _, held := range s.Held {
		all.Values += held.Values
		all.Bounds += held.Bounds
	}

	return all.BoundShare()
}

// document returns the members of the file of metrics.
func (h HeldOutcome) document() object {
	members := object{
		"outcome", h.Outcome, "values", h.Values, "upper_bounds", h.Bounds,
		"rmse_mean", h.MeanError, "rmse_least_squares", h.LinearError,
	}

	if h.Measured != nil {
		members = append(members, "without_upper_bounds", h.Measured)
	}

	return members
}
