package report

import (
	"math"
	"strings"

	"doubletake/report/figure"
	"doubletake/train/score"
)

// This file draws how the calibrated model did on the held-out part: parity, residuals over each input, and the share
// of values inside intervals of all levels. It also draws the errors of all groups over the rise of E|cov|.

// calibrated draws the figures of the calibrated model on the held-out part of a split.
func (m *maker) calibrated(split *SplitDetail) {
	if split.Calibrated == nil {
		return
	}

	asked := m.detail.asked(split, split.intervals())
	if len(asked) == 0 {
		return
	}

	m.calibratedParity(split, thin(asked, m.limit))
	for k := range m.detail.Inputs {
		if m.detail.varies(asked, k) {
			m.residuals(split, asked, k)
		}
	}

	m.calibratedCoverage(split)
}

// calibratedParity draws the measured mean of each outcome against the calibrated model's mean.
func (m *maker) calibratedParity(split *SplitDetail, conditions []int) {
	detail := m.detail
	panels := min(parityOutcomes, detail.outcomeCount())
	fig := &figure.Figure{Columns: min(3, panels), Width: 720}
	if panels == 1 {
		fig.Width = 420
	}

	for k := range panels {
		held := figure.Mark{Kind: figure.Points, Name: "held out", Class: "test", Size: 1.6}
		bounds := figure.Mark{Kind: figure.Points, Name: boundsName, Class: "test", Shape: "bound", Size: 1.6}
		for _, c := range conditions {
			i := c*detail.outcomeCount() + k
			if detail.isMeanBound(i) {
				bounds.NamedPoint(split.Calibrated.Mu[i], detail.Mean[i], m.runsOf(c))
			} else {
				held.NamedPoint(split.Calibrated.Mu[i], detail.Mean[i], m.runsOf(c))
			}
		}

		panel := equalAxes(detail, k, withPoints(held, bounds))
		if trust := detail.trustOf(split.Name, k); trust != nil && panel.Title != "" {
			panel.Title += ", error " + strings.ReplaceAll(detail.Outcomes[k].amount(trust.RMSE), "\u00a0", " ")
		}

		fig.Panels = append(fig.Panels, panel)
	}

	oneLegend(fig.Panels)
	m.add(captionedFigure{
		kind: "honest-parity", split: split.Name, model: calibratedModel, fig: fig, page: true,
		heading: "Calibrated model: predicted and " + detail.data() + " outcome",
		caption: phrase("figure-calibrated-parity", map[string]any{
			"Data": detail.data(), "N": panels, "Outcomes": detail.outcomeCount(),
		}),
	})
}

// residuals draws the measured mean less the calibrated model's mean over an input, in a panel for each outcome. The
// band of the intervals is the mean over all conditions. residuals draws points at as many conditions as the limit
// allows.
func (m *maker) residuals(split *SplitDetail, conditions []int, input int) {
	detail := m.detail
	panels := min(parityOutcomes, detail.outcomeCount())
	fig := &figure.Figure{Columns: panels, Width: 720}
	if panels == 1 {
		fig.Width = 420
	}

	var ticks []float64 // of the input's axis; nil: at round numbers
	if values := detail.values(input); input == detail.angle() {
		ticks = angleTicks(values[0], values[len(values)-1])
	}

	for k := range panels {
		inside := m.meanInterval(split, conditions, input, k)
		held := figure.Mark{Kind: figure.Points, Name: "held out", Class: "test", Size: 1.4}
		bounds := figure.Mark{Kind: figure.Points, Name: boundsName, Class: "test", Shape: "bound", Size: 1.4}
		for _, c := range detail.sorted(thin(conditions, m.limit), input) {
			i := c*detail.outcomeCount() + k
			x := detail.x(c, input)
			residual := detail.Mean[i] - split.Calibrated.Mu[i]
			if detail.isMeanBound(i) {
				bounds.NamedPoint(x, residual, m.runsOf(c))
			} else {
				held.NamedPoint(x, residual, m.runsOf(c))
			}
		}

		outcome := detail.Outcomes[k]
		fig.Panels = append(fig.Panels, figure.Panel{
			Title: outcome.Word(), Height: 150, X: figure.Axis{Label: detail.Inputs[input].Label(), Ticks: ticks},
			Y:     figure.Axis{Label: withUnit(detail.data()+" − μ", outcome.difference())},
			Marks: withPoints(inside, zeroLine(), held, bounds),
		})
	}

	fig.Shared = panels > 1 && detail.haveOneUnit()
	if fig.Shared {
		sameRange(fig.Panels, 0.04)
	} else {
		fig.Columns = min(3, panels)
	}

	m.add(captionedFigure{
		kind: "honest-residuals-" + detail.Inputs[input].Name, split: split.Name, model: calibratedModel, fig: fig,
		page: true, heading: "Calibrated model: residuals over " + detail.Inputs[input].Word(),
		caption: phrase("figure-residuals", detail.data()),
	})
}

// meanInterval returns the band of the mean half width of the calibrated intervals of outcome k at each value of an
// input, or at as many values as the limit allows.
func (m *maker) meanInterval(split *SplitDetail, conditions []int, input, k int) figure.Mark {
	band := figure.Mark{
		Kind: figure.Band, Name: plainLevel(split.Calibrated.Level) + " interval, mean half width", Class: "total",
	}

	d := m.detail
	for _, place := range thin(d.spots(conditions, []int{input}), m.limit) {
		half := 0.0
		for _, c := range place.conditions {
			half += split.Calibrated.Half[c*d.outcomeCount()+k] / float64(len(place.conditions))
		}

		band.Between(place.inputs[input], -half, half)
	}

	return band
}

// calibratedCoverage draws the share of values inside the calibrated intervals over the level of the intervals.
func (m *maker) calibratedCoverage(split *SplitDetail) {
	detail := m.detail
	panels := min(parityOutcomes, len(split.Reached))
	if panels == 0 {
		return
	}

	fig := &figure.Figure{Columns: panels, Width: 720, Shared: panels > 1}
	if panels == 1 {
		fig.Width = 420
	}

	for k := range panels {
		coverage := split.Reached[k]
		exact := figure.Mark{
			Kind: figure.Line, Name: "as it should be", Class: "grey", Dashed: true, X: []float64{0, 1}, Y: []float64{0, 1},
		}
		line := figure.Mark{
			Kind: figure.Line, Name: "held-out values, calibrated model", Class: "mean",
			X: coverage.Nominal, Y: coverage.Observed[0],
		}
		fig.Panels = append(fig.Panels, figure.Panel{
			Title: detail.Outcomes[k].Word(), X: figure.Axis{Label: "level", Min: 0, Max: 1, Ticks: []float64{0, 0.5, 1}},
			Y:      figure.Axis{Label: "share inside", Min: 0, Max: 1},
			Square: true, Marks: []figure.Mark{exact, line},
		})
	}

	m.add(captionedFigure{
		kind: "honest-coverage", split: split.Name, model: calibratedModel, fig: fig, page: true,
		heading: "Calibrated model: share inside intervals of every level",
		caption: phrase("figure-calibrated-coverage", nil),
	})
}

// isMeanBound reports whether the mean at place i of conditions × outcomes contains an upper bound.
func (d *Detail) isMeanBound(i int) bool { return d.MeanBound != nil && d.MeanBound[i] }

// haveOneUnit reports whether all outcomes have the same unit.
func (d *Detail) haveOneUnit() bool {
	for _, outcome := range d.Outcomes {
		if outcome.Unit != d.Outcomes[0].Unit {
			return false
		}
	}

	return true
}

// trustOf returns the trust in the calibrated model on outcome k of the split with the given name, or nil if the
// split is not calibrated.
func (d *Detail) trustOf(name string, k int) *score.OutcomeTrust {
	for _, split := range d.Experiment.Splits {
		if split.Name != name || !split.isCalibrated() {
			continue
		}

		for i, trust := range split.Honest.Record.Outcomes {
			if trust.Outcome == d.Outcomes[k].Name {
				return &split.Honest.Record.Outcomes[i]
			}
		}
	}

	return nil
}

// fewestRises is the smallest number of groups whose rises of E|cov| are drawn.
const fewestRises = 3

// rises draws a point for each left-out and each held-out group: the logarithm of the error over the claim against the
// logarithm of the rise of E|cov|. It draws nothing if there are fewer than fewestRises points.
func (m *maker) rises() {
	left := figure.Mark{Kind: figure.Points, Name: "left-out groups", Class: "train", Shape: "ring", Size: 2.6}
	held := figure.Mark{Kind: figure.Points, Name: "held-out groups", Class: "test", Size: 3}
	for _, split := range m.detail.Experiment.Splits {
		for _, group := range split.leftOut() {
			addRise(&left, *group.Rise, group.E/group.Claim)
		}

		if split.isCalibrated() {
			addRise(&held, split.covRise(), split.Honest.Record.RatioBefore)
		}
	}

	if len(left.X)+len(held.X) < fewestRises {
		return
	}

	m.add(captionedFigure{
		kind: "honest-rises", page: true, heading: "Calibrated model: errors over claims, and the rise of E|cov|",
		caption: phrase("figure-rises", nil),
		fig: &figure.Figure{Width: 420, Columns: 1, Panels: []figure.Panel{{
			X:     figure.Axis{Label: "ρ = ln(E|cov| over that of the training)"},
			Y:     figure.Axis{Label: "ln(e/v̂)"},
			Marks: append([]figure.Mark{zeroLine()}, withPoints(left, held)...), Height: 260,
		}}},
	})
}

// addRise adds the point of the logarithms of both numbers, if they have finite logarithms.
func addRise(mark *figure.Mark, rise, ratio float64) {
	hasLogarithms := rise > 0 && ratio > 0
	isInfinite := math.IsInf(rise, 1) || math.IsInf(ratio, 1)
	if hasLogarithms && !isInfinite {
		mark.Point(math.Log(rise), math.Log(ratio))
	}
}
