package contrast

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"doubletake/ingest/units"
	"doubletake/report"
	"doubletake/report/figure"
	"doubletake/train/numbers"
)

// Sheet is the comparison for people: a sentence and the differences of each outcome.
func (r *Result) Sheet() report.Sheet {
	s := report.Sheet{
		Title: fmt.Sprintf("B − A of %s data, %s; A: %s; B: %s; units: %s", r.Data, r.By, r.A, r.B, r.Unit),
	}
	for _, o := range r.Outcomes {
		s.Before = append(s.Before, r.sentence(o))
		for _, c := range o.Curves {
			g := report.Grid{
				Title: fmt.Sprintf("%s over %s, with a band that holds all of them with %.4g %%", o.Name, c.Condition, 100*r.Level),
				Heads: []string{labelled(c.Condition, c.Unit), "difference", "from", "to", ""}, Words: []string{""},
			}
			for _, p := range c.Points {
				mark := ""
				if p.Low > 0 || p.High < 0 {
					mark = "differs"
				}

				number := digits((p.High - p.Low) / 2)
				g.Rows = append(g.Rows, []string{
					fmt.Sprintf("%.6g", p.At), number(p.Difference), number(p.Low), number(p.High), mark,
				})
			}

			s.Grids = append(s.Grids, g)
		}
	}

	return s
}

// sentence is the answer in one outcome.
func (r *Result) sentence(o Outcome) string {
	unit := units.Difference(o.Unit)
	if o.Untested != "" {
		return strings.TrimSpace(fmt.Sprintf("%s: %s (A %d, B %d); the difference found is %.3g %s", o.Name, o.Untested,
			o.UnitsA, o.UnitsB, o.Difference, unit))
	}

	number := digits((*o.High - *o.Low) / 2)
	verb := "may be the same"
	switch {
	case *o.Low > 0:
		verb = "B is higher"
	case *o.High < 0:
		verb = "B is lower"
	}

	s := fmt.Sprintf("%s: %s; difference %s, %.4g %% interval %s to %s", o.Name, verb,
		strings.TrimSpace(number(o.Difference)+" "+unit), 100*r.Level, number(*o.Low), number(*o.High))

	p := *o.Above
	switch {
	case p > 0.999:
		s += fmt.Sprintf("; above %g with probability > 0.999", r.Limit)
	case p < 0.001:
		s += fmt.Sprintf("; above %g with probability < 0.001", r.Limit)
	default:
		s += fmt.Sprintf("; above %g with probability %.3f", r.Limit, p)
	}

	s += fmt.Sprintf("; units: A %d, B %d", o.UnitsA, o.UnitsB)
	switch n := *o.Deciding; {
	case *o.Low > r.Limit || *o.High < r.Limit:
	case n == 0:
		s += fmt.Sprintf("; a difference of this size from %g is decided by no number of units below a million", r.Limit)
	default:
		s += fmt.Sprintf("; if the difference is as found, %d units a side tell it from %g with probability %g", n, r.Limit,
			Power)
	}

	return s
}

// digits writes numbers to the second digit of a deviation.
func digits(deviation float64) func(float64) string {
	decimals := 6
	if deviation > 0 && !math.IsInf(deviation, 0) {
		decimals = max(0, min(12, numbers.Decimals(deviation, 2)))
	}

	return func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
}

func labelled(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " (" + unit + ")"
}

// SVG draws the difference over each condition with its band; nil where there is no curve.
func (r *Result) SVG() []byte {
	f := &figure.Figure{
		ID: "contrast", Title: fmt.Sprintf("B − A; A: %s; B: %s", r.A, r.B),
		Desc: fmt.Sprintf("The difference of each outcome, the mean over the other conditions, with a band that holds all "+
			"points of a panel with %.4g %%, %s.", 100*r.Level, r.By),
		Note:    strings.TrimSpace(fmt.Sprintf("%s data. A: %s. B: %s.", r.Data, r.A, r.B)),
		Columns: 2,
	}

	for _, o := range r.Outcomes {
		unit := units.Difference(o.Unit)
		for _, c := range o.Curves {
			band := figure.Mark{Kind: figure.Band, Name: fmt.Sprintf("all inside with %.4g %%", 100*r.Level), Class: "sigma2"}
			line := figure.Mark{Kind: figure.Line, Name: "B − A", Class: "mean"}
			points := figure.Mark{Kind: figure.Points, Name: "B − A", Class: "mean", Quiet: true}
			for _, p := range c.Points {
				band.Between(p.At, p.Low, p.High)
				line.Point(p.At, p.Difference)
				points.Point(p.At, p.Difference)
			}

			limits := []float64{0}
			if r.Limit != 0 {
				limits = append(limits, r.Limit)
			}

			f.Panels = append(f.Panels, figure.Panel{
				X: figure.Axis{Label: labelled(c.Condition, c.Unit)},
				Y: figure.Axis{Label: labelled("difference of "+o.Name, unit), Zero: true},
				Marks: []figure.Mark{
					band, {Kind: figure.Rule, Y: limits, Class: "grey", Quiet: true, Thin: true}, line, points,
				},
			})
		}
	}

	if len(f.Panels) == 0 {
		return nil
	}

	f.Columns = min(2, len(f.Panels))

	return figure.Draw(f, figure.Options{})
}
