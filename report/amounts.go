package report

import (
	"math"
	"strconv"

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// This file writes amounts, shares and their ranges in words.

// extent returns the least and the largest number of the outcomes. Both are NaN if one of the numbers is NaN.
func extent(list []score.OutcomeTrust, numberOf func(score.OutcomeTrust) float64) (low, high float64) {
	low = math.Inf(1)
	high = math.Inf(-1)
	for _, outcome := range list {
		low = min(low, numberOf(outcome))
		high = max(high, numberOf(outcome))
	}

	return low, high
}

// span writes the range of a number of the outcomes in their unit.
func span(list []score.OutcomeTrust, numberOf func(score.OutcomeTrust) float64) string {
	low, high := extent(list, numberOf)
	return amountsIn(list[0].Unit, low, high)
}

// sharesText writes the range of the shares of values inside the intervals of the outcomes.
func sharesText(list []score.OutcomeTrust) string {
	low, high := extent(list, insideOf)
	return shareRange(low, high)
}

// fitRange writes the range of R² or of the noise ceiling of outcomes, or "undefined" if one of them is not defined.
func fitRange(list []score.OutcomeTrust, numberOf func(score.OutcomeTrust) float64) string {
	low, high := extent(list, numberOf)
	if math.IsNaN(low) || math.IsInf(low, 0) {
		return "undefined"
	}

	return rangeOf(numbers.Fixed(low, 2), numbers.Fixed(high, 2), "")
}

// rmsText writes the range of the errors of the means. An error is 0 if the noise of the pairs exceeds it.
func rmsText(list []score.OutcomeTrust) string {
	switch low, high := extent(list, rmseOf); {
	case high == 0:
		return "below the noise"
	case low == 0:
		return "up to " + amountsIn(list[0].Unit, high, high)
	default:
		return amountsIn(list[0].Unit, low, high)
	}
}

// rangeOf writes a range: "1 to 2 dB". It leaves out the unit if high is undefinedText, and low if both are equal.
func rangeOf(low, high, unit string) string {
	text := low
	if low != high {
		text += " to " + high
	}

	if high != undefinedText {
		text += unit
	}

	return text
}

// shareRange writes a range of shares in percent.
func shareRange(low, high float64) string {
	return rangeOf(inPercent(low), inPercent(high), percentSign)
}

// unitOf returns a quantity without a name that has the outcome's unit.
func unitOf(outcome score.OutcomeTrust) Quantity { return Quantity{Unit: outcome.Unit} }

// amount writes a difference in the quantity's unit, with the digits of cell.
func (q Quantity) amount(value float64) string { return amountsIn(q.Unit, value, value) }

// amountsIn writes a range of differences in a unit.
func amountsIn(unit string, low, high float64) string {
	q := Quantity{Unit: unit}
	suffix := q.difference()
	if suffix != "" {
		suffix = " " + suffix
	}

	return rangeOf(q.cell(low, math.NaN()).plain(), q.cell(high, math.NaN()).plain(), suffix)
}

// cell returns a difference in the quantity's unit with its standard error, which is NaN if there is none. Levels have
// one decimal. Other differences have two significant digits, or the digits that their standard error allows.
func (q Quantity) cell(difference, se float64) number {
	value := score.Value{Mean: difference, Std: se, N: 2}
	size := math.Abs(difference)
	hasOneDecimal := q.difference() == "dB" && size >= 0.05 && size < 1e6
	switch {
	case math.IsInf(difference, 1):
		return number{text: "∞"}
	case hasOneDecimal:
		cell := number{mean: numbers.Fixed(difference, 1)}
		if se >= 0.05 {
			cell.std = numbers.Fixed(se, 1)
		}

		return cell

	case se > 0:
		return round(value, 1)
	}

	return twoDigits(value, 1)
}

// shareText writes a share in percent.
func shareText(value float64) string { return shareRange(value, value) }

// shareCell writes a share for a table.
func shareCell(value float64) number { return number{text: shareText(value)} }

// percentSign follows a number in percent on the same line.
const percentSign = "\u00a0%"

// inPercent writes a share in percent without the sign.
func inPercent(value float64) string { return numbers.Fixed(100*value, 0) }

// levelText writes a level in percent, with as many decimals as it has.
func levelText(level float64) string {
	return strconv.FormatFloat(100*level, 'g', 4, 64) + percentSign
}

// rmseOf and the functions below return numbers of an outcome, to be passed to extent and its callers.
func rmseOf(outcome score.OutcomeTrust) float64    { return outcome.RMSE }
func halfOf(outcome score.OutcomeTrust) float64    { return outcome.Half }
func insideOf(outcome score.OutcomeTrust) float64  { return outcome.Inside }
func claimedOf(outcome score.OutcomeTrust) float64 { return outcome.ClaimedSigma }
func r2Of(outcome score.OutcomeTrust) float64      { return outcome.R2 }
func ceilingOf(outcome score.OutcomeTrust) float64 { return outcome.Ceiling }
