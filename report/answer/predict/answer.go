package predict

import (
	"context"
	"math"

	"doubletake/train/score"
)

// Options are what the user of a prediction chooses.
type Options struct {
	Level       float64             // level of the intervals; 0: the calibration's level, and 0.95 for the networks
	Extrapolate bool                // whether to give intervals that no left-out group and no record supports, too
	Things      []map[string]string // by condition: its names by label, see ParseAt; nil: all things are new
	Only        string              // columns of CSV and JSON: "" (all), OnlyCalibrated or OnlyNetwork

	named []string // labels of which Things has names; nil: Answer finds them

	// For Table alone:
	Network bool // whether to print the networks' own prediction beside a calibrated one
	Width   int  // width of the terminal in columns; 0: lines are not wrapped
	Colour  bool // grades in tables are coloured, for a terminal
}

// alpha returns the share of values that are outside of the networks' intervals.
func (o Options) alpha() float64 {
	if o.Level == 0 {
		return 0.05
	}

	return 1 - o.Level
}

// Values of Options.Only. OnlyCalibrated leaves the columns of the networks out of an Answer. OnlyNetwork leaves out
// the calibrated columns, and also the raw covariance of the networks, because it takes many samples.
const (
	OnlyCalibrated = "calibrated"
	OnlyNetwork    = "network"
)

// Answer is what the models of a split predict at N conditions. It can be written as a Table for people, as CSV, and as
// JSON.
type Answer struct {
	*Models
	X           []float64    // conditions, N rows of inputs
	Network     *Predictions // predictions of the networks; its lists are empty with OnlyCalibrated
	Recommended *Recommended // calibrated predictions; nil if the split has no calibrated model, and with OnlyNetwork

	options  Options
	places   []place        // of the conditions; nil without calibrated predictions
	evidence score.Evidence // of the left-out groups; zero without calibrated predictions
	grade    score.Grade    // grade of this evidence
}

// Answer predicts at conditions x, row-major, with inputs in the order of InputNames. The length of x must be a
// multiple of the number of inputs.
func (m *Models) Answer(ctx context.Context, x []float64, o Options) (*Answer, error) {
	if o.named == nil {
		o.named = m.namedLabels(o.Things)
	}

	a := &Answer{Models: m, X: x, options: o}
	var err error
	switch o.Only {
	case OnlyCalibrated:
		a.Network = &Predictions{N: len(x) / len(m.Card.Inputs), Out: len(m.Card.Outcomes)}
	case OnlyNetwork:
		a.Network, err = m.Quick(ctx, x)
	default:
		a.Network, err = m.Predict(ctx, x)
	}

	if err != nil {
		return nil, err
	}

	if o.Only == OnlyNetwork {
		return a, nil
	}

	a.Recommended, err = m.Recommend(ctx, x, o)
	if err != nil {
		return nil, err
	}

	if a.Recommended != nil {
		a.places = a.Recommended.places()
		a.evidence = m.Honest.Calibration.GroupEvidence()
		a.grade = a.evidence.Grade()
	}

	return a, nil
}

// outcomeUnits returns the unit of each outcome.
func (m *Models) outcomeUnits() []string {
	var units []string
	for _, outcome := range m.Card.Outcomes {
		units = append(units, outcome.Unit)
	}

	return units
}

// inputsAt returns the inputs of the i-th condition.
func (a *Answer) inputsAt(i int) []float64 {
	width := len(a.Card.Inputs)
	return a.X[i*width : (i+1)*width]
}

// silent reports whether the networks give no interval at the i-th condition because it is outside the training range.
func (a *Answer) silent(i int) bool { return !a.options.Extrapolate && a.Outside(a.inputsAt(i)) != nil }

// rise returns E|cov| of the networks at the i-th condition over E|cov| at the training conditions. It returns NaN with
// Options.Only, which asks for too few samples, or for none.
func (a *Answer) rise(i int) float64 {
	if a.options.Only != "" {
		return math.NaN()
	}
	return a.Network.Rise[i]
}
