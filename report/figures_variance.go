package report

import (
	"math"
	"slices"

	"doubletake/report/figure"
	"doubletake/train/honest/interval"
)

// variance draws the parts of the variance of each outcome as a stack of bars: between things or occasions, from run to
// run, and noise. Error bars show the central 95 % of the shares between. All outcomes have the same labels, in the
// same order.
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
