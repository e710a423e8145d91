package report

import (
	"math"
	"strings"

	"doubletake/report/figure"
	"doubletake/train/score"
)

// This file draws how the calibrated model did on the held-out part: parity, residuals over each input, and the share
// of values inside intervals of all levels. It also draws the learning curves of the networks.

// boundsName names upper bounds in legends.
const boundsName = "upper bound, at the noise floor"

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

// oneLegend keeps the first entry of each name in the legends of panels.
func oneLegend(panels []figure.Panel) {
	seen := map[string]bool{}
	for _, panel := range panels {
		for i := range panel.Marks {
			mark := &panel.Marks[i]
			mark.Quiet = mark.Quiet || seen[mark.Name]
			seen[mark.Name] = true
		}
	}
}

// equalAxes returns a square panel of outcome k with equal axes and their diagonal. It is blank if there are no points.
func equalAxes(detail *Detail, k int, marks []figure.Mark) figure.Panel {
	low := math.Inf(1)
	high := math.Inf(-1)
	for _, mark := range marks {
		for _, values := range [][]float64{mark.X, mark.Y} {
			for _, value := range values {
				low = min(low, value)
				high = max(high, value)
			}
		}
	}

	if !(high >= low) {
		return figure.Panel{}
	}

	margin := math.Max(0.04*(high-low), 1e-12+1e-6*math.Abs(high))
	low -= margin
	high += margin
	ends := []float64{low, high}
	equal := figure.Mark{Kind: figure.Line, Name: "equal", Class: "grey", Dashed: true, X: ends, Y: ends}
	outcome := detail.Outcomes[k]

	return figure.Panel{
		Title:  outcome.Word(),
		X:      figure.Axis{Label: withUnit("predicted mean μ", clean(outcome.Unit)), Min: low, Max: high},
		Y:      figure.Axis{Label: withUnit(detail.data()+" mean", clean(outcome.Unit)), Min: low, Max: high},
		Square: true, Marks: append([]figure.Mark{equal}, marks...),
	}
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

// learning draws the losses of the networks over the epochs of their trainings.
func (m *maker) learning(split *SplitDetail) {
	var marks []figure.Mark
	for _, losses := range split.Losses {
		train := figure.Mark{Kind: figure.Line, Name: "training", Class: "train", Thin: true}
		held := figure.Mark{Kind: figure.Line, Name: "held out, no part in training", Class: "test", Thin: true}
		for i, epoch := range losses.Epoch {
			train.Point(epoch, losses.Train[i])
			if losses.HeldOut != nil && !math.IsNaN(losses.HeldOut[i]) {
				held.Point(epoch, losses.HeldOut[i])
			}
		}

		marks = append(marks, withPoints(train, held)...)
	}

	if len(marks) == 0 {
		return
	}

	m.add(captionedFigure{
		kind: "learning", split: split.Name, model: paperNetwork, page: true, heading: "The paper's network: learning curves",
		caption: phrase("figure-learning", len(split.Losses)), fig: &figure.Figure{Width: 420, Panels: []figure.Panel{{
			X: figure.Axis{Label: "epoch"}, Y: figure.Axis{Label: "loss"}, Height: 180, Marks: marks,
		}}},
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
