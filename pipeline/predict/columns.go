package predict

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// cell is the prediction of one outcome at one condition.
type cell struct {
	*Answer
	i, j, k int // condition, outcome, and the place of both
}

func (a *Answer) cell(i, j int) cell { return cell{a, i, j, i*len(a.Card.Outcomes) + j} }

// interval is that of one measurement by the networks, NaN outside the training range and where
// nothing checked it: by their recalibrated laws, or the normal law.
func (c cell) interval() (lo, hi float64) {
	if !c.options.Extrapolate && (c.silent(c.i) || c.recordIn(c.Record, c.j) == "") {
		return math.NaN(), math.NaN()
	}

	if lo, hi, ok := c.Network.Interval(c.k, 1-c.options.Alpha); ok {
		return lo, hi
	}

	half := score.HalfWidth(c.Network.Total[c.k], c.options.Alpha)

	return c.Network.Mu[c.k] - half, c.Network.Mu[c.k] + half
}

// chebyshev is the half width of the networks' interval of the mean; NaN where there is none:
// C ≤ 0, or outside the training range.
func (c cell) chebyshev() float64 {
	if c.silent(c.i) {
		return math.NaN()
	}

	h, _ := score.Chebyshev(c.Network.Cov[c.k], c.options.Alpha)

	return h
}

// refused says why there is no calibrated interval, "" where there is one.
func (c cell) refused() string {
	if c.Recommended == nil {
		return c.absent()
	}
	return strings.Join(c.Recommended.Refused[c.i], "; ")
}

// grade is that of the calibrated interval before anything is measured there, with its width;
// "" where there is no interval.
func (c cell) grade() string {
	if c.Recommended == nil || math.IsNaN(c.Recommended.Half[c.k]) {
		return ""
	}

	e := c.Honest.Calibration.At(c.before, c.j, c.Recommended.Half[c.k])

	return fmt.Sprintf("%s, %.2g of the spread", e.Grade().Words(), e.WidthOverSpread)
}

// absent says why the split has no calibrated model.
func (m *Models) absent() string {
	if m.Honest == nil {
		return "no calibrated model"
	}
	return cmp.Or(m.Honest.Absent, "no calibration")
}

// Column is a value of an outcome's prediction, under its name in all outputs.
type Column struct {
	Network bool   // of the networks alone, not the calibrated prediction
	Suffix  string // after the outcome's name
	Python  string // attribute of the Python package's Prediction, "" for none

	of  func(cell) float64 // nil: text, or in Python alone
	why func(cell) string
}

// Name is the column's name for an outcome.
func (c Column) Name(outcome string) string {
	if c.Network {
		outcome = "network_" + outcome
	}
	return outcome + c.Suffix
}

// Columns lists the values of an outcome's prediction. This is the only place that names them:
// CSV, JSON, the Python package and graphs follow it.
var Columns = []Column{
	{Python: "mean", of: func(c cell) float64 { return c.Recommended.Mu[c.k] }},
	{Suffix: "_low", Python: "low", of: func(c cell) float64 { return c.Recommended.Mu[c.k] - c.Recommended.Half[c.k] }},
	{Suffix: "_high", Python: "high", of: func(c cell) float64 { return c.Recommended.Mu[c.k] + c.Recommended.Half[c.k] }},
	{Suffix: "_sd", Python: "sd", of: func(c cell) float64 { return math.Sqrt(c.Recommended.Total[c.k]) }},
	{Suffix: "_sd_epistemic", Python: "sd_epistemic", of: func(c cell) float64 {
		return math.Sqrt(c.Recommended.Epistemic[c.k])
	}},
	{Suffix: "_sd_noise", Python: "sd_noise", of: func(c cell) float64 {
		return math.Sqrt(max(c.Recommended.Total[c.k]-c.Recommended.Epistemic[c.k], 0))
	}},
	{Suffix: "_sd_claimed", Python: "sd_claimed", of: func(c cell) float64 { return math.Sqrt(c.Recommended.Claim[c.k]) }},
	{Suffix: "_largest_left_out", of: func(c cell) float64 { return c.Honest.Calibration.Conformal.Half[c.j] }},
	{Suffix: "_no_interval", Python: "no_interval", why: cell.refused},
	{Suffix: "_before_measuring", why: cell.grade},

	{Network: true, Python: "network.mean", of: func(c cell) float64 { return c.Network.Mu[c.k] }},
	{Network: true, Suffix: "_low", Python: "network.low", of: func(c cell) float64 {
		lo, _ := c.interval()
		return lo
	}},
	{Network: true, Suffix: "_high", Python: "network.high", of: func(c cell) float64 {
		_, hi := c.interval()
		return hi
	}},
	{Network: true, Suffix: "_var", Python: "network.variance", of: func(c cell) float64 { return c.Network.Total[c.k] }},
	{Network: true, Suffix: "_cov", Python: "network.cov", of: func(c cell) float64 { return c.Network.Cov[c.k] }},
	{Network: true, Suffix: "_cov_raw", of: func(c cell) float64 { return c.Network.Raw[c.k] }},
	{Network: true, Suffix: "_delta", Python: "network.delta", of: func(c cell) float64 { return c.Network.Delta[c.k] }},
	{Network: true, Suffix: "_kappa", Python: "network.kappa"},
	{Network: true, Suffix: "_zigzag", Python: "network.zigzag", of: func(c cell) float64 {
		return c.Network.ZigZag[c.k]
	}},
	{Network: true, Suffix: "_between_seeds_var", Python: "network.spread", of: func(c cell) float64 {
		return c.Network.Spread[c.k]
	}},
	{Network: true, Suffix: "_mean_low", Python: "network.mean_low", of: func(c cell) float64 {
		return c.Network.Mu[c.k] - c.chebyshev()
	}},
	{Network: true, Suffix: "_mean_high", Python: "network.mean_high", of: func(c cell) float64 {
		return c.Network.Mu[c.k] + c.chebyshev()
	}},
}

// values are the columns at condition i by name: the calibrated predictions, then the networks'.
func (a *Answer) values(i int) (out numbers.Object) {
	for _, network := range []bool{false, true} {
		for j, o := range a.Card.Outcomes {
			for _, c := range Columns {
				if c.Network != network || c.of == nil && c.why == nil {
					continue
				}

				v := any(math.NaN())
				switch at := a.cell(i, j); {
				case c.why != nil:
					v = c.why(at)
				case c.Network || a.Recommended != nil:
					v = c.of(at)
				}

				out = append(out, c.Name(o.Name), v)
			}
		}
	}

	return out
}
