package report

import (
	"math"
	"slices"
	"strings"

	"doubletake/report/figure"
	"doubletake/train/honest/interval"
)

// This file draws the figures of the calibrated ("honest") model: outcomes with their intervals, the rise of E|cov|,
// and the parts of the variance. If there is no calibration, the intervals are the network's.

// Intervals are a calibrated model's answers at the conditions of a Detail: means, and half widths of the intervals of
// the chosen level and of 68 %. Each list is conditions × outcomes, in the outcomes' own units, and NaN at conditions
// for which the model was not asked.
type Intervals struct {
	Mu, Half, Half68 []float64
	Level            float64 // of Half: 0.95
}

// plainLevel writes a level like levelText, but with a plain blank: CSV files have the names of series too.
func plainLevel(level float64) string { return strings.ReplaceAll(levelText(level), "\u00a0", " ") }

// isCalibrated reports whether the split has a calibration, and the calibration's record on the held-out part. If it
// does not, the network's predictions are the ones that are judged and drawn.
func (s Split) isCalibrated() bool {
	return s.Honest != nil && s.Honest.Absent == "" && s.Honest.Record != nil
}

// heldOutLevels draws held-out outcomes along an input, at the middle place of the held-out conditions. With a
// calibration it draws two figures: all outcomes with the calibrated intervals, and the outcome whose calibrated
// interval is widest, with the intervals of the calibrated model and of the network. If there is a single outcome, the
// second figure has it already, and heldOutLevels leaves out the first. Without a calibration it draws all outcomes
// with the network's intervals, unless an input is an angle: then the directivities show these intervals.
func (m *maker) heldOutLevels(split *SplitDetail) {
	detail := m.detail
	isCalibrated := split.Calibrated != nil
	hasNetworkFigure := len(split.Seeds) > 0 && detail.angle() < 0
	if !isCalibrated && !hasNetworkFigure {
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

	if !isCalibrated || detail.outcomeCount() > 1 {
		m.add(line.outcomesFigure(location))
	}

	if isCalibrated {
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
// the network. location follows the heading.
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

// fewestRises is the number of groups from which the rises of E|cov| are drawn.
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
	if rise > 0 && ratio > 0 && !math.IsInf(rise*ratio, 0) {
		mark.Point(math.Log(rise), math.Log(ratio))
	}
}

// variance draws the parts of the variance of each outcome as a stack of bars: between things or occasions, from run to
// run, and noise. Error bars show the central 95 % of the shares between.
func (m *maker) variance(split *SplitDetail) {
	things := m.detail.Experiment.things(split.Name)
	if len(things) == 0 {
		return
	}

	names := figure.Mark{Kind: figure.Labels}
	ends := figure.Mark{Kind: figure.Bars, Name: "95 % of the share between", Class: "mean", Size: 2}
	runs := figure.Mark{Kind: figure.Band, Name: "from run to run", Class: "sigma3"}
	noise := figure.Mark{Kind: figure.Band, Name: "noise", Class: "train"}
	var between []figure.Mark
	for i, part := range things[0].Between {
		between = append(between, figure.Mark{
			Kind: figure.Band, Name: "between " + clean(part.Label), Class: []string{"sigma1", "epi", "floor"}[i%3],
		})
	}

	for k, thing := range things {
		x := float64(k) // the middle of the outcome's bar
		sum := 0.0      // of the shares that are drawn already
		for i, part := range thing.Between {
			beside := 0.1 * float64(2*i-len(between)+1) // error bars stand side by side about x
			ends.Point(x+beside, 100*(sum+part.Share))
			ends.Lo = append(ends.Lo, 100*(sum+part.Low))
			ends.Hi = append(ends.Hi, 100*(sum+part.High))
			sum = stack(&between[i], x, sum, part.Share)
		}

		sum = stack(&runs, x, sum, thing.Runs)
		stack(&noise, x, sum, thing.Noise)
		names.Point(x, 101)
		names.Text = append(names.Text, clean(thing.Outcome))
	}

	m.add(captionedFigure{
		kind: "honest-variance", split: split.Name, page: true, model: calibratedModel,
		heading: "Calibrated model: where the variance of the outcomes is",
		caption: phrase("figure-variance", nil), fig: &figure.Figure{Width: 720, Panels: []figure.Panel{{
			X: figure.Axis{Min: -0.6, Max: float64(len(things)) - 0.4, Ticks: []float64{}}, Height: 200,
			Y:     figure.Axis{Label: "share of the variance (%)", Max: 112, Ticks: []float64{0, 25, 50, 75, 100}},
			Marks: slices.Concat(between, []figure.Mark{runs, noise, ends, names}),
		}}},
	})
}

// things returns the parts of the variance of each outcome, by the calibration of the split with the given name. It
// returns nil if the split is not calibrated.
func (e Experiment) things(name string) []interval.Thing {
	for _, split := range e.Splits {
		if split.Name == name && split.isCalibrated() {
			return split.Honest.Calibration.Things
		}
	}

	return nil
}

// stack adds a share to a mark, as a bar about x on top of the sum of the shares below. It returns the new sum.
func stack(mark *figure.Mark, x, below, share float64) float64 {
	sum := below + share
	for _, edge := range []float64{-0.3, 0.3, math.NaN()} { // NaN ends the bar
		mark.Between(x+edge, 100*below, 100*sum)
	}

	return sum
}

// shownIntervals are the intervals that a figure draws.
type shownIntervals struct {
	level float64 // of half: 0.95

	// at returns the mean, and the half widths of the intervals of level and of 68 %. k counts conditions × outcomes. The
	// numbers are NaN if there is no interval.
	at func(k int) (mu, half, half68 float64)
}

// marks draws an outcome over the input: intervals, pairs, and another program's predictions. held reports whether some
// of the conditions are held out.
func (l *conditionLine) marks(outcome int, intervals shownIntervals) (marks []figure.Mark, held bool) {
	const mostPairs = 8 // drawn at a condition; fewer at many conditions, so that a series has about twice the limit
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

// rowsOf returns the rows of a condition. The first call finds the rows of all conditions.
func (m *maker) rowsOf(c int) []int {
	if m.rowsByCondition == nil {
		m.rowsByCondition = make([][]int, m.detail.conditionCount())
		for row, c := range m.detail.Cond {
			m.rowsByCondition[c] = append(m.rowsByCondition[c], row)
		}
	}

	return m.rowsByCondition[c]
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

// sameRange sets the same range of y in all panels: the range of their marks, widened on either side by the share
// beyond of that range. It leaves the panels unchanged if the range is empty or infinite.
func sameRange(panels []figure.Panel, beyond float64) {
	var marks []figure.Mark
	for _, panel := range panels {
		marks = append(marks, panel.Marks...)
	}

	low, high := rangeOfMarks(marks)
	if !(high > low) || math.IsInf(high-low, 0) {
		return
	}

	for i := range panels {
		panels[i].Y.Min = low - beyond*(high-low)
		panels[i].Y.Max = high + beyond*(high-low)
	}
}

// rangeOfMarks returns the least and the largest y of marks, without NaN. If there are no numbers, low is greater than
// high.
func rangeOfMarks(marks []figure.Mark) (low, high float64) {
	low = math.Inf(1)
	high = math.Inf(-1)
	for _, mark := range marks {
		for _, value := range slices.Concat(mark.Y, mark.Lo, mark.Hi) {
			if !math.IsNaN(value) {
				low = min(low, value)
				high = max(high, value)
			}
		}
	}

	return low, high
}
