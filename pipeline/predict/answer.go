package predict

import (
	"context"
	"math"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/score"
)

// Options are what the user of a prediction chooses.
type Options struct {
	Alpha       float64             // the networks' intervals have the confidence 1 − Alpha
	Level       float64             // of the calibrated intervals; 0: that of the calibration
	Extrapolate bool                // also intervals outside the training range, or without a record
	Things      []map[string]string // see ParseAt
	Only        string              // of CSV and JSON: "" for all columns, or OnlyCalibrated or OnlyNetwork: quicker

	// Of Table alone.
	Network bool // the networks' own prediction too
	Width   int  // of the terminal in columns; 0: lines as long as they are
}

// OnlyCalibrated leaves the networks' columns out of an Answer, OnlyNetwork all others and the networks' sampled raw
// covariance.
const (
	OnlyCalibrated = "calibrated"
	OnlyNetwork    = "network"
)

// Answer is what a split's models predict at N conditions, to be printed: for people (Table),
// as CSV and for JSON.
type Answer struct {
	*Models
	X           []float64 // the conditions, N rows of inputs
	Network     *Predictions
	Recommended *Recommended // nil where the split has no calibrated model

	options Options
	before  score.Evidence // of the left-out groups
	graded  score.Grade    // of before
}

// Answer predicts at conditions x, row-major, inputs in the order of InputNames.
func (m *Models) Answer(ctx context.Context, x []float64, o Options) (_ *Answer, err error) {
	defer fault.Catch(&err)
	a := &Answer{Models: m, X: x, options: o}
	switch o.Only {
	case OnlyCalibrated:
		a.Network = &Predictions{N: len(x) / len(m.Card.Inputs), Out: len(m.Card.Outcomes)}
	case OnlyNetwork:
		a.Network, err = m.Quick(ctx, x)
		return a, err
	default:
		a.Network = fault.Get(m.Predict(ctx, x))
	}

	a.Recommended = fault.Get(m.Recommend(ctx, x, o.Level, o.Extrapolate, o.Things))
	if a.Recommended != nil {
		a.before = m.Honest.Calibration.Before()
		a.graded = a.before.Grade()
	}

	return a, nil
}

// outcomeUnits are the units of the outcomes.
func (m *Models) outcomeUnits() []string {
	return lists.Each(m.Card.Outcomes, func(o Outcome) string { return o.Unit })
}

// at is the i-th condition.
func (a *Answer) at(i int) []float64 {
	d := len(a.Card.Inputs)
	return a.X[i*d : (i+1)*d]
}

// silent reports whether the networks give no interval at the i-th condition, because it is
// outside the training range.
func (a *Answer) silent(i int) bool { return !a.options.Extrapolate && a.Outside(a.at(i)) != nil }

// rise is E|cov| at the i-th condition over that of the training conditions; NaN where it was not sampled.
func (a *Answer) rise(i int) float64 {
	if a.options.Only != "" {
		return math.NaN()
	}
	return a.Network.Rise[i]
}
