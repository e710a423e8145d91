package predict

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/honest/interval"
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
// nothing checked it.
func (c cell) interval() (lo, hi float64) {
	if !c.options.Extrapolate && (c.silent(c.i) || c.recordIn(c.Record, c.j) == "") {
		return math.NaN(), math.NaN()
	}

	half := score.HalfWidth(c.Network.Var[c.k], c.options.Alpha)

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
		return c.Uncalibrated()
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

	return fmt.Sprintf("%s, %.2g of the spread", e.Regrade(c.graded).Words(), e.WidthOverSpread)
}

// Uncalibrated says why the split has no calibrated model, "" where it has one.
func (m *Models) Uncalibrated() string {
	switch {
	case m.Honest == nil:
		return "no calibrated model"
	case m.Honest.Calibration == nil:
		return cmp.Or(m.Honest.Absent, "no calibration")
	}

	return ""
}

// Column is a value of an outcome's prediction, under its name in all outputs.
type Column struct {
	Network bool   // of the networks alone, not the calibrated prediction
	Suffix  string // after the outcome's name

	of  func(cell) float64 // nil: text
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
var Columns = append(calibrated(), []Column{
	{Suffix: "_largest_left_out", of: func(c cell) float64 { return c.Honest.Calibration.Conformal.Half[c.j] }},
	{Suffix: "_no_interval", why: cell.refused},
	{Suffix: "_before_measuring", why: cell.grade},

	{Network: true, of: func(c cell) float64 { return c.Network.Mu[c.k] }},
	{Network: true, Suffix: "_low", of: func(c cell) float64 {
		lo, _ := c.interval()
		return lo
	}},
	{Network: true, Suffix: "_high", of: func(c cell) float64 {
		_, hi := c.interval()
		return hi
	}},
	{Network: true, Suffix: "_var", of: func(c cell) float64 { return c.Network.Var[c.k] }},
	{Network: true, Suffix: "_cov", of: func(c cell) float64 { return c.Network.Cov[c.k] }},
	{Network: true, Suffix: "_cov_raw", of: func(c cell) float64 { return c.Network.CovRaw[c.k] }},
	{Network: true, Suffix: "_delta", of: func(c cell) float64 { return c.Network.Delta[c.k] }},
	{Network: true, Suffix: "_kappa", of: func(c cell) float64 { return c.Network.Kappa[c.k] }},
	{Network: true, Suffix: "_zigzag", of: func(c cell) float64 { return c.Network.ZigZag[c.k] }},
	{Network: true, Suffix: "_between_seeds_var", of: func(c cell) float64 { return c.Network.Spread[c.k] }},
	{Network: true, Suffix: "_mean_low", of: func(c cell) float64 { return c.Network.Mu[c.k] - c.chebyshev() }},
	{Network: true, Suffix: "_mean_high", of: func(c cell) float64 { return c.Network.Mu[c.k] + c.chebyshev() }},
}...)

// calibrated are those of the calibrated prediction.
func calibrated() []Column {
	return lists.Each(interval.Columns, func(x interval.Column) Column {
		return Column{Suffix: x.Suffix, of: func(c cell) float64 { return x.Of(c.Recommended.Prediction, c.k) }}
	})
}

// column is a value of one outcome.
type column struct {
	Column
	name    string
	outcome int
}

// columns are those of the answer: the calibrated predictions, then the networks'.
func (a *Answer) columns() (out []column) {
	for _, network := range []bool{false, true} {
		for j, o := range a.Card.Outcomes {
			for _, c := range Columns {
				left := a.options.Only == OnlyNetwork && (!network || c.Suffix == "_cov_raw") ||
					a.options.Only == OnlyCalibrated && network
				if c.Network == network && !left {
					out = append(out, column{c, c.Name(o.Name), j})
				}
			}
		}
	}

	return out
}

// value is a column at condition i: a float64, NaN where there is none, or a text.
func (a *Answer) value(i int, c column) any {
	switch at := a.cell(i, c.outcome); {
	case c.why != nil:
		return c.why(at)
	case c.Network || a.Recommended != nil:
		return c.of(at)
	}

	return math.NaN()
}

// values are columns at condition i by name.
func (a *Answer) values(i int, columns []column) (out numbers.Object) {
	for _, c := range columns {
		out = append(out, c.name, a.value(i, c))
	}
	return out
}
