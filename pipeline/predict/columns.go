package predict

import (
	"math"
	"slices"
	"strings"

	"doubletake/train/score"
)

// cell is the prediction of one outcome at one condition.
type cell struct {
	*Answer
	i, j, k int // condition, outcome, and the place of both
}

func (a *Answer) cell(i, j int) cell { return cell{a, i, j, i*len(a.Card.Outcomes) + j} }

// chebyshev is the half width of the networks' interval of the mean; NaN where there is none:
// C ≤ 0, or outside the training range.
func (c cell) chebyshev() float64 {
	if c.silent(c.i) {
		return math.NaN()
	}

	h, _ := score.Chebyshev(c.Network.Cov[c.k], c.options.Alpha)

	return h
}

// measurement is the interval of one measurement by the recalibrated laws; NaN without.
func (c cell) measurement() [2]float64 {
	lo, hi, _ := c.Network.Interval(c.k, 1-c.options.Alpha)
	return [2]float64{lo, hi}
}

// largest is the largest deviation of a left-out group; NaN without a calibration.
func (c cell) largest() float64 {
	if c.Honest == nil || c.Honest.Calibration == nil {
		return math.NaN()
	}
	return c.Honest.Calibration.Conformal.Half[c.j]
}

// Column is a number of an outcome's prediction, under its names in all outputs.
type Column struct {
	Name   string // OUTCOME_Name in CSV, and in the frame of the Python package
	Key    string // in JSON, "" for none; two columns of one key are the ends of an interval
	Python string // attribute of the Python package's Prediction, "" for none

	of func(cell) float64 // nil: in Python alone
}

// ofCalibrated and ofLaw begin the keys of what the calibrated model and the recalibrated
// laws predict, which a split may lack.
const (
	ofCalibrated = "honest."
	ofLaw        = "measurement_"
)

// Columns lists the numbers of an outcome's prediction. This is the only place that names them:
// CSV, JSON and the Python package follow it.
var Columns = []Column{
	{"honest_mu", "honest.mean", "calibrated.mean", func(c cell) float64 { return c.Recommended.Mu[c.k] }},
	{"honest_low", "honest.interval", "calibrated.low", func(c cell) float64 {
		return c.Recommended.Mu[c.k] - c.Recommended.Half[c.k]
	}},
	{"honest_high", "honest.interval", "calibrated.high", func(c cell) float64 {
		return c.Recommended.Mu[c.k] + c.Recommended.Half[c.k]
	}},
	{"honest_claim", "honest.claim_variance", "calibrated.claim", func(c cell) float64 {
		return c.Recommended.Claim[c.k]
	}},
	{"honest_epistemic", "honest.epistemic_variance", "calibrated.epistemic", func(c cell) float64 {
		return c.Recommended.Epistemic[c.k]
	}},
	{"honest_var", "honest.total_variance", "calibrated.variance", func(c cell) float64 {
		return c.Recommended.Total[c.k]
	}},
	{"largest_left_out", "honest.largest_left_out", "", cell.largest},

	{"mu", "mean", "mean", func(c cell) float64 { return c.Network.Mu[c.k] }},
	{"var", "total_variance", "variance", func(c cell) float64 { return c.Network.Total[c.k] }},
	{"cov", "cov", "cov", func(c cell) float64 { return c.Network.Cov[c.k] }},
	{"cov_raw", "cov_raw", "", func(c cell) float64 { return c.Network.Raw[c.k] }},
	{"delta", "delta", "delta", func(c cell) float64 { return c.Network.Delta[c.k] }},
	{"kappa", "", "kappa", nil},
	{"zigzag", "zigzag", "zigzag", func(c cell) float64 { return c.Network.ZigZag[c.k] }},
	{"between_seeds_var", "between_seeds_variance", "spread", func(c cell) float64 { return c.Network.Spread[c.k] }},
	{"low", "interval", "low", func(c cell) float64 { return c.Network.Mu[c.k] - c.chebyshev() }},
	{"high", "interval", "high", func(c cell) float64 { return c.Network.Mu[c.k] + c.chebyshev() }},

	{"measurement_low", "measurement_interval", "", func(c cell) float64 { return c.measurement()[0] }},
	{"measurement_high", "measurement_interval", "", func(c cell) float64 { return c.measurement()[1] }},
}

// columns are those of Columns that the program prints: laws only where they were asked for.
func (a *Answer) columns() []Column {
	return slices.DeleteFunc(slices.Clone(Columns), func(c Column) bool {
		return c.of == nil || strings.HasPrefix(c.Key, ofLaw) && !score.IsLaw(a.options.Calibrated)
	})
}

// value is the number in a column, NaN where there is none.
func (a *Answer) value(c Column, i, j int) float64 {
	if a.Recommended == nil && strings.HasPrefix(c.Key, ofCalibrated) {
		return math.NaN()
	}
	return c.of(a.cell(i, j))
}
