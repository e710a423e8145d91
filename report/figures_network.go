package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/report/figure"
	"doubletake/train/numbers"
)

// This file draws the figures of the networks of a split: the calibration, parity, and the learning curves.

// split draws the figures of a split's networks. It draws nothing if there are no networks.
func (m *maker) split(split *SplitDetail) {
	if len(split.Seeds) == 0 {
		return
	}

	if angle := m.detail.angle(); angle >= 0 {
		m.directivities(split, angle)
	}

	m.bandLevels(split)
	m.parity(split)
	m.calibration(split)
	m.learning(split)
}

// calibration draws two panels: the coverage of the intervals, and the covariance against the measured error. The
// second is left out if no error was measured.
func (m *maker) calibration(split *SplitDetail) {
	fig := &figure.Figure{Columns: 2, Width: 720, Panels: []figure.Panel{m.coveragePanel(split)}}
	facts := map[string]any{"Couples": m.detail.Experiment.Couples} // for the caption
	errors, lost := m.bins(split)
	if errors != nil {
		fig.Panels = append(fig.Panels, *errors)
		facts["Bins"] = len(slices.Concat(split.Bins...))
		facts["Lost"] = lost
	} else {
		fig.Columns = 1
		fig.Width = 420
	}

	m.add(captionedFigure{
		kind: "calibration", split: split.Name, model: paperNetwork, fig: fig, page: true,
		heading: "The paper's network: calibration",
		caption: phrase("figure-calibration", facts),
	})
}

// coveragePanel draws the share of values inside the intervals over the nominal probability of the intervals.
func (m *maker) coveragePanel(split *SplitDetail) figure.Panel {
	perfect := figure.Mark{
		Kind: figure.Line, Name: "perfect", Class: "grey", Dashed: true,
		X: []float64{0, 1}, Y: []float64{0, 1},
	}
	train := figure.Mark{
		Kind: figure.Bars, Name: "training pairs, mean and range over seeds", Class: "train", Shape: "square", Size: 2,
	}
	test := figure.Mark{Kind: figure.Bars, Name: "held-out pairs, mean and range over seeds", Class: "test", Size: 2}

	marks := []figure.Mark{perfect}
	for i, mark := range []figure.Mark{train, test} {
		coverage := split.Coverage[i]
		if len(coverage.Observed) == 0 {
			continue
		}

		for k, nominal := range coverage.Nominal {
			low, high, mean := seedRange(coverage.Observed, k)
			mark.Between(nominal, low, high)
			mark.Y = append(mark.Y, mean)
		}

		marks = append(marks, mark)
	}

	return figure.Panel{
		Title: "Total: coverage of μ ± zσ", X: figure.Axis{Label: "nominal probability", Min: 0, Max: 1},
		Y:      figure.Axis{Label: "share of " + m.detail.data() + " values inside", Min: 0, Max: 1},
		Square: true, Marks: marks,
	}
}

// seedRange returns the range and the mean over seeds of number k. They are NaN if no seed has a number k.
func seedRange(seeds [][]float64, k int) (low, high, mean float64) {
	var values []float64
	sum := 0.0
	for _, seed := range seeds {
		if k < len(seed) {
			values = append(values, seed[k])
			sum += seed[k]
		}
	}

	if len(values) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}

	return slices.Min(values), slices.Max(values), sum / float64(len(values))
}

// bins draws the covariance against the measured error: the bins of every seed, and the median over the seeds of each
// bin. lost is the number of bins that have no place on the axes. panel is nil if there are no bins.
func (m *maker) bins(split *SplitDetail) (panel *figure.Panel, lost int) {
	all := slices.Concat(split.Bins...)
	if len(all) == 0 {
		return nil, 0
	}

	middle := medians(split.Bins)
	limits := binRange(middle, all)

	bars := figure.Mark{Kind: figure.Bars, Name: "bins of C, a set per seed, ± 2 SE", Class: "train", Size: 1.4}
	below := limits.below(all)
	for _, bin := range all {
		halfLength := 2 * bin.SE
		if math.IsNaN(halfLength) {
			halfLength = 0
		}

		low := bin.E - halfLength
		if limits.log && low <= 0 {
			low = below // the bar goes beyond the lower edge of the panel
		}

		bars.Between(bin.Cov, low, bin.E+halfLength)
		bars.Y = append(bars.Y, bin.E)
		if !limits.contains(bin) {
			lost++
		}
	}

	median := figure.Mark{Kind: figure.Points, Name: "median of a bin over seeds", Class: "epi", Shape: "diamond", Size: 3}
	for _, bin := range middle {
		if limits.contains(bin) {
			median.Point(bin.Cov, bin.E)
		}
	}

	ends := []float64{limits.low, limits.high}
	claimed := figure.Mark{Kind: figure.Line, Name: "as claimed", Class: "grey", Dashed: true, X: ends, Y: ends}

	return &figure.Panel{
		Title: "Claim: C against the error e", Square: true, X: limits.axis("C"), Y: limits.axis("e"),
		Marks: append([]figure.Mark{claimed, bars}, withPoints(median)...),
	}, lost
}

// medians returns for each bin the medians of C and e over the seeds.
func medians(seeds [][]Bin) []Bin {
	most := 0
	for _, bins := range seeds {
		most = max(most, len(bins))
	}

	var middle []Bin
	for i := range most {
		var covariances, errors []float64
		for _, bins := range seeds {
			if i < len(bins) {
				covariances = append(covariances, bins[i].Cov)
				errors = append(errors, bins[i].E)
			}
		}

		middle = append(middle, Bin{Cov: lists.Median(covariances), E: lists.Median(errors)})
	}

	return middle
}

// binLimits is the range of both axes of the bins.
type binLimits struct {
	low, high float64
	log       bool
}

// binRange returns limits for logarithmic axes, whole decades about the positive medians. If no median is positive, it
// returns limits for linear axes, the range of all bins.
func binRange(middle, all []Bin) binLimits {
	var positive []Bin
	for _, bin := range middle {
		if bin.Cov > 0 && bin.E > 0 {
			positive = append(positive, bin)
		}
	}

	if low, high := binExtent(positive); high > 0 {
		return binLimits{
			low:  math.Pow(10, math.Floor(math.Log10(low/1.2))),
			high: math.Pow(10, math.Ceil(math.Log10(high*1.2))),
			log:  true,
		}
	}

	low, high := binExtent(all)
	limits := binLimits{low: low - 0.05*(high-low), high: high + 0.05*(high-low)}
	if !(limits.high > limits.low) {
		limits.low--
		limits.high++
	}

	return limits
}

// binExtent returns the least and the largest number of the bins.
func binExtent(bins []Bin) (low, high float64) {
	low = math.Inf(1)
	high = math.Inf(-1)
	for _, bin := range bins {
		low = math.Min(low, math.Min(bin.Cov, bin.E))
		high = math.Max(high, math.Max(bin.Cov, bin.E))
	}

	return low, high
}

// contains reports whether a bin can be drawn within the limits. Linear axes contain all bins.
func (l binLimits) contains(bin Bin) bool {
	if !l.log {
		return true
	}

	return min(bin.Cov, bin.E) >= l.low && max(bin.Cov, bin.E) <= l.high
}

// below returns a positive number that is less than the limits and all positive numbers of the bins.
func (l binLimits) below(bins []Bin) float64 {
	below := l.low / 10
	for _, bin := range bins {
		for _, value := range []float64{bin.Cov, bin.E} {
			if value > 0 {
				below = math.Min(below, value/10)
			}
		}
	}

	return below
}

// axis returns the axis for C or e.
func (l binLimits) axis(name string) figure.Axis {
	return figure.Axis{Label: "mean " + name + " of the bin (standardised)", Log: l.log, Min: l.low, Max: l.high}
}

// parityOutcomes is the largest number of outcomes that the figure shows.
const parityOutcomes = 6

// parity draws the mean of an outcome at each condition against the predicted mean, in a square panel per outcome.
func (m *maker) parity(split *SplitDetail) {
	detail := m.detail
	mu, _ := split.answers()
	trained, held := split.trainedAndHeldOut(detail.conditionCount())
	all := len(trained) + len(held)
	allTrained := len(held) == 0
	trained = thin(trained, m.limit)
	held = thin(held, m.limit)

	panels := min(parityOutcomes, detail.outcomeCount())
	fig := &figure.Figure{Columns: min(3, panels), Width: 720}
	if panels == 1 {
		fig.Width = 420
	}

	for k := range panels {
		fig.Panels = append(fig.Panels, m.parityPanel(split, k, trained, held, mu))
	}

	oneLegend(fig.Panels)
	shown := len(trained) + len(held)
	caption := phrase("figure-parity", map[string]any{
		"Data": detail.data(), "Seeds": len(split.Seeds), "RMSE": !detail.Experiment.Couples && !allTrained,
		"Selected": shown < all || detail.AllConditions > detail.conditionCount(), "Shown": shown,
		"Conditions": detail.AllConditions, "N": panels, "Outcomes": detail.outcomeCount(),
	})

	m.add(captionedFigure{
		kind: "parity", split: split.Name, model: paperNetwork, caption: caption, fig: fig, page: true,
		heading: "The paper's network: predicted and " + detail.data() + " outcome",
	})
}

// parityPanel draws outcome k at the conditions of the training and at the held-out conditions. mu is conditions ×
// outcomes. The panel is blank if there are no numbers.
func (m *maker) parityPanel(split *SplitDetail, k int, trained, held []int, mu []float64) figure.Panel {
	detail := m.detail
	outcome := detail.Outcomes[k]
	name := "held out"
	if rmse := m.rmse(split, k); rmse > 0 {
		name = strings.TrimSpace(fmt.Sprintf("held out, RMSE %s %s", number2(rmse), outcome.difference()))
	}

	train := figure.Mark{Kind: figure.Points, Name: "trained on", Class: "train", Size: 1.3}
	test := figure.Mark{Kind: figure.Points, Name: name, Class: "test", Size: 1.6}
	trainBounds := figure.Mark{Kind: figure.Points, Name: boundsName, Class: "train", Shape: "bound", Size: 1.3}
	testBounds := figure.Mark{Kind: figure.Points, Name: boundsName, Class: "test", Shape: "bound", Size: 1.6}
	add := func(conditions []int, measured, bounds *figure.Mark) {
		for _, c := range conditions {
			i := c*detail.outcomeCount() + k
			if detail.isMeanBound(i) {
				bounds.NamedPoint(mu[i], detail.Mean[i], m.runsOf(c))
			} else {
				measured.NamedPoint(mu[i], detail.Mean[i], m.runsOf(c))
			}
		}
	}

	add(trained, &train, &trainBounds)
	add(held, &test, &testBounds)

	return equalAxes(detail, k, withPoints(trainBounds, train, testBounds, test))
}

// rmse returns the error of the predicted mean of an outcome at the held-out conditions, as the tables have it: for
// each seed the root of the mean of e = (y1 − μ)(y2 − μ) over the pairs, or 0 if that mean is negative, and of these
// roots the mean over seeds. rmse returns 0 if the error cannot be measured.
func (m *maker) rmse(split *SplitDetail, outcome int) float64 {
	detail := m.detail
	if detail.Experiment.Couples {
		return 0
	}

	mean := 0.0
	for _, seed := range split.Seeds {
		sum := 0.0
		pairs := 0.0
		for row, c := range detail.Cond {
			if !split.Test[c] {
				continue
			}

			mu := seed.Mu[c*detail.outcomeCount()+outcome]
			i := row*detail.outcomeCount() + outcome
			sum += (detail.Y1[i] - mu) * (detail.Y2[i] - mu)
			pairs++
		}

		mean += rootOrZero(sum/math.Max(1, pairs)) / float64(len(split.Seeds))
	}

	return mean
}

// number2 writes two significant digits.
func number2(value float64) string {
	decimals := numbers.Decimals(value, 2)
	if decimals > 6 || decimals < -5 {
		return strconv.FormatFloat(value, 'g', 2, 64)
	}

	return numbers.Fixed(value, max(0, decimals))
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
