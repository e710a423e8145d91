package predict

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/train/honest/interval"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// This file defines the columns of all outputs, so that CSV, JSON and the Python package have the same numbers. A
// column is one number or text of the prediction of an outcome, such as its mean. A cell is that prediction at one
// condition.

// cell is the prediction of one outcome at one condition.
type cell struct {
	*Answer
	i int // number of the condition among those of the Answer
	j int // number of the outcome
	k int // place in lists of conditions × outcomes
}

// cell returns the prediction of outcome j at condition i.
func (a *Answer) cell(i, j int) cell { return cell{a, i, j, i*len(a.Card.Outcomes) + j} }

// interval returns the networks' interval of one measurement. Its ends are NaN outside the training range, and if no
// held-out values checked it, unless the options ask for extrapolation.
func (c cell) interval() (low, high float64) {
	isUnchecked := c.recordIn(c.Record, c.j) == ""
	if c.silent(c.i) || isUnchecked && !c.options.Extrapolate {
		return math.NaN(), math.NaN()
	}

	half := score.HalfWidth(c.Network.Var[c.k], c.options.alpha())

	return c.Network.Mu[c.k] - half, c.Network.Mu[c.k] + half
}

// chebyshev returns the half width of the networks' interval of the mean, by Chebyshev's inequality from their claim C.
// It is NaN if C ≤ 0, and outside the training range unless the options ask for extrapolation.
func (c cell) chebyshev() float64 {
	if c.silent(c.i) {
		return math.NaN()
	}

	half, _ := score.Chebyshev(c.Network.Cov[c.k], c.options.alpha())

	return half
}

// refused returns why there is no calibrated interval, or "" if there is one.
func (c cell) refused() string {
	if c.Recommended == nil {
		return c.Uncalibrated()
	}
	return strings.Join(c.Recommended.Refused[c.i], "; ")
}

// gradeText returns the grade that the left-out groups give the calibrated interval before anything is measured there,
// with its width, or "" if there is no interval.
func (c cell) gradeText() string {
	grade, widthOverSpread := c.gradeBefore()
	if grade == "" {
		return ""
	}

	return fmt.Sprintf("%s, %s of the spread", grade, fault.Digits(widthOverSpread, 2))
}

// gradeBefore returns the grade of gradeText, which is "" without an interval, and the width of the interval over the
// spread of the training outcomes.
func (c cell) gradeBefore() (grade score.Grade, widthOverSpread float64) {
	if c.Recommended == nil || math.IsNaN(c.Recommended.Half[c.k]) {
		return "", 0
	}

	evidence := c.evidence
	grade = c.grade
	if s := c.Recommended.Query(c.i).Scale; s != nil {
		evidence = s.Evidence()
		grade = evidence.Grade()
	}

	e := c.Honest.Calibration.WithHalf(evidence, c.j, c.Recommended.Half[c.k])

	return e.Regrade(grade), e.WidthOverSpread
}

// Uncalibrated returns why the split has no calibrated model, or "" if it has one.
func (m *Models) Uncalibrated() string {
	switch {
	case m.Honest == nil:
		return "no calibrated model"
	case m.Honest.Calibration == nil:
		return cmp.Or(m.Honest.Absent, "no calibration")
	}

	return ""
}

// Column is a value of an outcome's prediction, with the name that it has in all outputs.
type Column struct {
	Network bool   // whether it belongs to the networks' prediction, rather than to the calibrated one
	Suffix  string // follows the name of the outcome in the name of the column
	Squared bool   // its unit is the square of the outcome's unit
	Raw     bool   // it is an intermediate result, which OnlyNetwork leaves out

	// Exactly one is set:
	number func(cell) float64
	text   func(cell) string
}

// Name returns the name of the column for an outcome.
func (c Column) Name(outcome string) string {
	if c.Network {
		outcome = "network_" + outcome
	}
	return outcome + c.Suffix
}

// unit returns the unit of the column for an outcome with the given unit: its square for variances, and none for texts.
func (c Column) unit(outcome string) string {
	switch {
	case c.text != nil:
		return ""
	case c.Squared:
		return units.Squared(outcome)
	}

	return outcome
}

// Columns are the values of an outcome's prediction, in the order of all outputs. CSV, JSON and the Python package
// follow the list.
var Columns = append(calibrated(), []Column{
	{Suffix: "_largest_left_out", number: func(c cell) float64 { return c.Honest.Calibration.Conformal.Half[c.j] }},
	{Suffix: "_no_interval", text: cell.refused},
	{Suffix: "_before_measuring", text: cell.gradeText},

	{Network: true, number: func(c cell) float64 { return c.Network.Mu[c.k] }},
	{Network: true, Suffix: "_low", number: cell.low},
	{Network: true, Suffix: "_high", number: cell.high},
	{Network: true, Suffix: "_var", Squared: true, number: func(c cell) float64 { return c.Network.Var[c.k] }},
	{Network: true, Suffix: "_cov", Squared: true, number: func(c cell) float64 { return c.Network.Cov[c.k] }},
	{
		Network: true, Suffix: "_cov_raw", Squared: true, Raw: true,
		number: func(c cell) float64 { return c.Network.CovRaw[c.k] },
	},
	{Network: true, Suffix: "_delta", number: func(c cell) float64 { return c.Network.Delta[c.k] }},
	{Network: true, Suffix: "_kappa", Squared: true, number: func(c cell) float64 { return c.Network.Kappa[c.k] }},
	{Network: true, Suffix: "_zigzag", number: func(c cell) float64 { return c.Network.ZigZag[c.k] }},
	{
		Network: true, Suffix: "_between_seeds_var", Squared: true,
		number: func(c cell) float64 { return c.Network.Spread[c.k] },
	},
	{Network: true, Suffix: "_mean_low", number: func(c cell) float64 { return c.Network.Mu[c.k] - c.chebyshev() }},
	{Network: true, Suffix: "_mean_high", number: func(c cell) float64 { return c.Network.Mu[c.k] + c.chebyshev() }},
}...)

// low returns the lower end of the networks' interval.
func (c cell) low() float64 {
	low, _ := c.interval()
	return low
}

// high returns the upper end of the networks' interval.
func (c cell) high() float64 {
	_, high := c.interval()
	return high
}

// calibrated returns the columns of the calibrated prediction that package interval defines.
func calibrated() []Column {
	var list []Column
	for _, x := range interval.Columns {
		value := func(c cell) float64 { return x.Value(c.Recommended.Prediction, c.k) }
		list = append(list, Column{Suffix: x.Suffix, number: value})
	}

	return list
}

// column is a Column of one outcome.
type column struct {
	Column
	name    string
	outcome int // number of the outcome
}

// columns returns the columns of the answer: first of the calibrated predictions, then of the networks.
func (a *Answer) columns() []column {
	var list []column
	for _, network := range []bool{false, true} {
		for j, outcome := range a.Card.Outcomes {
			for _, c := range Columns {
				if c.Network == network && a.shows(c) {
					list = append(list, column{c, c.Name(outcome.Name), j})
				}
			}
		}
	}

	return list
}

// shows reports whether the options ask for a column.
func (a *Answer) shows(c Column) bool {
	switch a.options.Only {
	case OnlyNetwork:
		return c.Network && !c.Raw
	case OnlyCalibrated:
		return !c.Network
	}

	return true
}

// value returns the value of a column at condition i: a text, or a float64 that is NaN if there is no value.
func (a *Answer) value(i int, c column) any {
	own := a.cell(i, c.outcome)
	switch {
	case c.text != nil:
		return c.text(own)
	case c.Network || a.Recommended != nil:
		return c.number(own)
	}

	return math.NaN()
}

// values returns the values of columns at condition i, by the names of the columns.
func (a *Answer) values(i int, columns []column) numbers.Object {
	var object numbers.Object
	for _, c := range columns {
		object = append(object, c.name, a.value(i, c))
	}
	return object
}
