package report

import (
	"math"

	"doubletake/report/figure"
)

// This file draws held-out outcomes with the intervals of the calibrated model. If there is no calibration, the
// intervals are the network's.

// Intervals are a calibrated model's answers at the conditions of a Detail: means, and half widths of the intervals of
// the chosen level and of 68 %. Each list is conditions × outcomes, in the outcomes' own units, and NaN at conditions
// for which the model was not asked.
type Intervals struct {
	Mu, Half, Half68 []float64
	Level            float64 // of Half, such as 0.95
}

// heldOutLevels draws held-out outcomes along an input, at the middle place of the held-out conditions. With a
// calibration and networks it draws two figures: all outcomes with the calibrated intervals, and the outcome whose
// calibrated interval is widest, with the intervals of the calibrated model and of the network. If there is a single
// outcome, the second figure has it already, and heldOutLevels leaves out the first. Without networks it leaves out the
// second. Without a calibration it draws all outcomes with the network's intervals, unless an input is an angle: then
// the directivities show these intervals.
func (m *maker) heldOutLevels(split *SplitDetail) {
	detail := m.detail
	isCalibrated := split.Calibrated != nil
	hasNetworks := len(split.Seeds) > 0
	if !isCalibrated && (!hasNetworks || detail.angle() >= 0) {
		return
	}

	asked := detail.asked(split, split.intervals())
	input := detail.along(asked)
	if input < 0 {
		return
	}

	fixed := indicesWithout(detail.inputCount(), input)
	spots := detail.spots(asked, fixed)
	middle := spots[len(spots)/2]
	line := &conditionLine{m: m, split: split, input: input, conditions: detail.sorted(middle.conditions, input)}
	location := ""
	if text := placeText(detail.Inputs, middle.inputs, fixed); text != "" {
		location = ", " + text
	}

	hasBoth := isCalibrated && hasNetworks
	if !hasBoth || detail.outcomeCount() > 1 {
		m.add(line.outcomesFigure(location))
	}

	if hasBoth {
		m.add(line.widestFigure(location))
	}
}

// outcomesFigure draws all outcomes with the intervals of the calibrated model or, without one, of the network.
// location follows the heading.
func (l *conditionLine) outcomesFigure(location string) captionedFigure {
	_, spread := l.m.detail.widest(l.split.Name)
	isCalibrated := l.split.Calibrated != nil
	drawn := captionedFigure{
		split: l.split.Name, fig: l.allOutcomes(l.split.intervals()), page: true, spread: spread,
		caption: phrase("figure-outcomes", isCalibrated),
	}
	if isCalibrated {
		drawn.kind = "honest-outcomes"
		drawn.model = calibratedModel
		drawn.heading = "Calibrated model: held-out outcomes with their intervals" + location
	} else {
		drawn.kind = "outcomes"
		drawn.model = paperNetwork
		drawn.heading = "The paper's network: held-out outcomes with its intervals" + location
	}

	return drawn
}

// widestFigure draws the outcome whose calibrated interval is widest, with the intervals of the calibrated model and of
// the network, which must exist. location follows the heading.
func (l *conditionLine) widestFigure(location string) captionedFigure {
	detail := l.m.detail
	widest, spread := detail.widest(l.split.Name)
	fig := &figure.Figure{Columns: 2, Width: 720, Panels: []figure.Panel{
		l.panel(widest, "Calibrated model", l.split.intervals()),
		l.panel(widest, "Paper's network, its own intervals", l.split.networkIntervals()),
	}}
	sameRange(fig.Panels, 0.04)

	return captionedFigure{
		kind: "honest-levels", split: l.split.Name, model: paperNetwork, fig: fig, page: true, spread: spread,
		heading: "Calibrated model and the paper's network: held-out " + detail.Outcomes[widest].Word() + location,
		caption: phrase("figure-levels", detail.outcomeCount() > 1),
	}
}

// asked returns the held-out conditions at which there are intervals.
func (d *Detail) asked(split *SplitDetail, intervals shownIntervals) []int {
	var conditions []int
	for c, held := range split.Test {
		mu, _, _ := intervals.at(c * d.outcomeCount())
		if held && !math.IsNaN(mu) {
			conditions = append(conditions, c)
		}
	}

	return conditions
}

// along returns the input that is the horizontal axis of figures of some conditions: the angle of radiation if it
// varies, or the input with the most values. It returns −1 if no input varies.
func (d *Detail) along(conditions []int) int {
	best := -1
	most := 1
	for k := range d.Inputs {
		values := map[float64]bool{}
		for _, c := range conditions {
			values[d.x(c, k)] = true
		}

		if k == d.angle() && len(values) > 1 {
			return k
		}

		if len(values) > most {
			best = k
			most = len(values)
		}
	}

	return best
}

// widest returns the outcome whose calibrated interval on a split is widest over the spread of the outcome in training,
// and that ratio. It returns 0 and 0 if the split is not calibrated.
func (d *Detail) widest(name string) (outcome int, spread float64) {
	for _, split := range d.Experiment.Splits {
		if split.Name != name || !split.isCalibrated() {
			continue
		}

		for _, trust := range split.Honest.Record.Outcomes {
			k := d.outcomeIndex(trust.Outcome)
			if k >= 0 && trust.WidthOverSpread > spread {
				outcome = k
				spread = trust.WidthOverSpread
			}
		}
	}

	return outcome, spread
}

// conditionLine is a line of conditions along an input, over which outcomes are drawn.
type conditionLine struct {
	m          *maker
	split      *SplitDetail
	input      int   // index of the input
	conditions []int // in ascending order of the input
}

// allOutcomes draws a panel for each outcome.
func (l *conditionLine) allOutcomes(intervals shownIntervals) *figure.Figure {
	detail := l.m.detail
	fig := &figure.Figure{Columns: min(3, detail.outcomeCount()), Width: 720}
	for k, outcome := range detail.Outcomes {
		panel := l.panel(k, outcome.Word(), intervals)
		panel.Height = 200

		fig.Panels = append(fig.Panels, panel)
	}

	oneLegend(fig.Panels)

	return fig
}

// panel draws an outcome with its intervals.
func (l *conditionLine) panel(outcome int, title string, intervals shownIntervals) figure.Panel {
	marks, _ := l.marks(outcome, intervals)

	return figure.Panel{
		Title: title, X: figure.Axis{Label: l.m.detail.Inputs[l.input].Label()}, Height: 260,
		Y: figure.Axis{Label: l.m.detail.Outcomes[outcome].Label()}, Marks: marks,
	}
}

// marks draws an outcome over the input: intervals, pairs, and another program's predictions. held reports whether some
// of the conditions are held out.
func (l *conditionLine) marks(outcome int, intervals shownIntervals) (marks []figure.Mark, held bool) {
	// Of many conditions only some pairs are drawn. A series of pairs then has at most twice as many pairs as the limit of
	// conditions, which are four times as many values.
	const mostPairs = 8 // at a condition
	pairs := max(1, min(mostPairs, 2*l.m.limit/max(1, len(l.conditions))))
	split := l.split
	detail := l.m.detail
	total := figure.Mark{Kind: figure.Band, Name: plainLevel(intervals.level) + " interval", Class: "total"}
	inner := figure.Mark{Kind: figure.Band, Name: "68 % interval", Class: "sigma1"}
	mean := figure.Mark{Kind: figure.Line, Name: "mean μ", Class: "mean"}
	train := figure.Mark{Kind: figure.Points, Name: "pairs, trained on", Class: "train", Size: 1.7}
	test := figure.Mark{Kind: figure.Points, Name: "pairs, held out", Class: "test", Size: 1.7}
	trainBounds := figure.Mark{Kind: figure.Points, Name: boundsName, Class: "train", Shape: "bound", Size: 1.7}
	testBounds := figure.Mark{Kind: figure.Points, Name: boundsName, Class: "test", Shape: "bound", Size: 1.7}
	other := figure.Mark{Kind: figure.Line, Name: clean(split.ReferenceName), Class: "epi", Dashed: true}

	for _, c := range thin(l.conditions, l.m.limit) {
		x := detail.x(c, l.input)
		k := c*detail.outcomeCount() + outcome
		if y, half, half68 := intervals.at(k); !math.IsNaN(y) {
			total.Between(x, y-half, y+half)
			inner.Between(x, y-half68, y+half68)
			mean.Point(x, y)
		}

		if split.Reference != nil && split.Test[c] {
			other.Point(x, split.Reference[k])
		}

		measured := &train
		bounds := &trainBounds
		if split.Test[c] {
			measured = &test
			bounds = &testBounds
			held = true
		}

		for _, row := range thin(l.m.rowsOf(c), pairs) {
			i := row*detail.outcomeCount() + outcome
			addValue(x, detail.Y1[i], isBound(detail.Bound1, i), detail.runOf(row), measured, bounds)
			addValue(x, detail.Y2[i], isBound(detail.Bound2, i), detail.runOf(row), measured, bounds)
		}
	}

	return withPoints(total, inner, mean, trainBounds, train, testBounds, test, other), held
}

// isBound reports whether value i is an upper bound. bounds is nil if no value is one.
func isBound(bounds []bool, i int) bool { return bounds != nil && bounds[i] }

// addValue adds a measured value with the name of its run to one of two marks: to bounds if it is an upper bound.
func addValue(x, y float64, isBound bool, run string, measured, bounds *figure.Mark) {
	mark := measured
	if isBound {
		mark = bounds
	}

	mark.NamedPoint(x, y, run)
}

// shownIntervals are the intervals that a figure draws.
type shownIntervals struct {
	level float64 // of half, such as 0.95

	// at returns the mean, and the half widths of the intervals of level and of 68 %. k counts conditions × outcomes. The
	// numbers are NaN if there is no interval.
	at func(k int) (mu, half, half68 float64)
}

// intervals returns the intervals of the calibrated model at held-out conditions, or the network's intervals if there
// is not a calibration.
func (s *SplitDetail) intervals() shownIntervals {
	calibrated := s.Calibrated
	if calibrated == nil {
		return s.networkIntervals()
	}

	return shownIntervals{level: calibrated.Level, at: func(k int) (mu, half, half68 float64) {
		return calibrated.Mu[k], calibrated.Half[k], calibrated.Half68[k]
	}}
}

// networkIntervals returns the network's own 95 % intervals, μ ± 1.96 σ by the means over seeds of μ and σ².
func (s *SplitDetail) networkIntervals() shownIntervals {
	means, variance := s.answers()

	return shownIntervals{level: 0.95, at: func(k int) (mu, half, half68 float64) {
		deviation := rootOrZero(variance[k])
		return means[k], 1.96 * deviation, deviation
	}}
}
