package contrast

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/units"
	"doubletake/report"
	"doubletake/report/figure"
	"doubletake/train/numbers"
)

// Sheet returns the comparison as a text for people: a sentence about each outcome, and tables of its differences.
func (r *Result) Sheet() report.Sheet {
	sheet := report.Sheet{
		Title: fmt.Sprintf("B − A of %s data, %s; A: %s; B: %s; units: %s", r.Data, r.Compared, r.A, r.B, r.Unit),
	}
	for _, outcome := range r.Outcomes {
		sheet.Opening = append(sheet.Opening, r.sentence(outcome))
		for _, curve := range outcome.Curves {
			g := report.Grid{
				Title: fmt.Sprintf("%s over %s, with a band that holds all of them with %.4g %%", outcome.Name, curve.Condition,
					100*r.Level),
				Heads: []string{labelled(curve.Condition, curve.Unit), "difference", "from", "to", ""}, Words: []string{""},
			}
			for _, point := range curve.Points {
				mark := ""
				if point.Low > 0 || point.High < 0 {
					mark = "differs"
				}

				number := digits((point.High - point.Low) / 2)
				g.Rows = append(g.Rows, []string{
					fault.Digits(point.At, 6), number(point.Difference), number(point.Low), number(point.High), mark,
				})
			}

			sheet.Grids = append(sheet.Grids, g)
		}
	}

	return sheet
}

// sentence returns a sentence about the difference of one outcome.
func (r *Result) sentence(outcome Outcome) string {
	unit := units.Difference(outcome.Unit)
	if outcome.Untested != "" {
		return strings.TrimSpace(fmt.Sprintf("%s: %s (A %d, B %d); the difference found is %s %s", outcome.Name,
			outcome.Untested, outcome.UnitsA, outcome.UnitsB, fault.Digits(outcome.Difference, 3), unit))
	}

	number := digits((*outcome.High - *outcome.Low) / 2)
	verb := "may be the same"
	switch {
	case *outcome.Low > 0:
		verb = "B is higher"
	case *outcome.High < 0:
		verb = "B is lower"
	}

	s := fmt.Sprintf("%s: %s; difference %s, %.4g %% interval %s to %s", outcome.Name, verb,
		strings.TrimSpace(number(outcome.Difference)+" "+unit), 100*r.Level, number(*outcome.Low), number(*outcome.High))

	p := *outcome.Above
	switch {
	case p > 0.999:
		s += fmt.Sprintf("; above %g with probability > 0.999", r.Limit)
	case p < 0.001:
		s += fmt.Sprintf("; above %g with probability < 0.001", r.Limit)
	default:
		s += fmt.Sprintf("; above %g with probability %.3f", r.Limit, p)
	}

	s += fmt.Sprintf("; units: A %d, B %d", outcome.UnitsA, outcome.UnitsB)
	switch n := *outcome.Deciding; {
	case *outcome.Low > r.Limit || *outcome.High < r.Limit:
		// the interval tells the difference from the limit already
	case n == 0:
		s += fmt.Sprintf("; a million units would not tell a difference of this size from %g", r.Limit)
	default:
		s += fmt.Sprintf("; if the true difference is as found, %d units a side tell it from %g with probability %g",
			n, r.Limit, Power)
	}

	return s
}

// digits returns a function that writes numbers to the second digit of a deviation.
func digits(deviation float64) func(float64) string {
	decimals := 6
	if deviation > 0 && !math.IsInf(deviation, 0) {
		decimals = max(0, min(12, numbers.Decimals(deviation, 2)))
	}

	return func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
}

// labelled names a quantity with its unit.
func labelled(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// SVG returns a drawing of the difference over each condition with its band, or nil if there is no curve.
func (r *Result) SVG() []byte {
	drawing := &figure.Figure{
		ID: "contrast", Title: fmt.Sprintf("B − A; A: %s; B: %s", r.A, r.B),
		Desc: fmt.Sprintf("The difference of each outcome, the mean over the other conditions, with a band that holds all "+
			"points of a panel with %.4g %%, %s.", 100*r.Level, r.Compared),
		Note:    strings.TrimSpace(fmt.Sprintf("%s data. A: %s. B: %s.", r.Data, r.A, r.B)),
		Columns: 2,
	}

	for _, outcome := range r.Outcomes {
		unit := units.Difference(outcome.Unit)
		for _, curve := range outcome.Curves {
			band := figure.Mark{Kind: figure.Band, Name: fmt.Sprintf("all inside with %.4g %%", 100*r.Level), Class: "sigma2"}
			line := figure.Mark{Kind: figure.Line, Name: "B − A", Class: "mean"}
			points := figure.Mark{Kind: figure.Points, Name: "B − A", Class: "mean", Quiet: true}
			for _, point := range curve.Points {
				band.Between(point.At, point.Low, point.High)
				line.Point(point.At, point.Difference)
				points.Point(point.At, point.Difference)
			}

			limits := []float64{0}
			if r.Limit != 0 {
				limits = append(limits, r.Limit)
			}

			drawing.Panels = append(drawing.Panels, figure.Panel{
				X: figure.Axis{Label: labelled(curve.Condition, curve.Unit)},
				Y: figure.Axis{Label: labelled("difference of "+outcome.Name, unit), Zero: true},
				Marks: []figure.Mark{
					band, {Kind: figure.Rule, Y: limits, Class: "grey", Quiet: true, Thin: true}, line, points,
				},
			})
		}
	}

	if len(drawing.Panels) == 0 {
		return nil
	}

	drawing.Columns = min(2, len(drawing.Panels))

	return figure.Draw(drawing, figure.Options{})
}
