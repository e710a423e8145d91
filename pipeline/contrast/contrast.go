// Package contrast compares two configurations in finished experiments: two values of a condition, two
// groups of runs, or two work directories. It finds the units that were exchanged and the conditions that the
// sides have in common; the numbers are those of train/contrast. See docs/contrast.md.
package contrast

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/train/contrast"
)

// Options tell what is compared. A side is values of columns, such as "blades=2,rpm=3000", or a pattern, such
// as "run=/^a/"; of two directories it may be empty.
type Options struct {
	Runs     []string // one experiment, or two: names, folders or tables of pairs
	A, B     string
	Unit     string   // the column that names the units, or /the part of the run's name that does/
	Outcomes []string // nil: all
	Limit    float64
	Level    float64
}

// Power is the probability of a decision with the number of units that would decide.
const Power = 0.8

// Result is a comparison. Differences are B − A.
type Result struct {
	A        string    `json:"a"`
	B        string    `json:"b"`
	Data     string    `json:"data"` // "simulated" or "measured"
	Unit     string    `json:"unit"`
	By       string    `json:"compared"`
	Level    float64   `json:"level"`
	Limit    float64   `json:"limit"`
	Outcomes []Outcome `json:"outcomes"`
	Notes    []string  `json:"notes"`
}

// Outcome is the difference of an outcome, the mean over the common conditions. Of one that cannot be
// tested, Untested has the reason, and only the difference and its curves are stated.
type Outcome struct {
	Name       string   `json:"name"`
	Unit       string   `json:"unit"`
	UnitsA     int      `json:"units_a"`
	UnitsB     int      `json:"units_b"`
	Untested   string   `json:"untested,omitempty"`
	Difference float64  `json:"difference"`
	SE         *float64 `json:"se"`
	DF         *float64 `json:"degrees_of_freedom"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Above      *float64 `json:"probability_above_limit"`
	Deciding   *int     `json:"units_that_would_decide"` // on each side; 0: more than a million
	Curves     []Curve  `json:"curves"`
}

// Curve is the difference over a condition, the mean over the others, with its simultaneous band.
type Curve struct {
	Condition string  `json:"condition"`
	Unit      string  `json:"unit"`
	Points    []Point `json:"points"`
}

// Point is the difference at a value of the condition.
type Point struct {
	At         float64 `json:"at"`
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

type quantity struct{ name, unit string }

// comparison is a Result in the making.
type comparison struct {
	Options
	*Result
	terms [2][]term
	part  *regexp.Regexp    // of the run's name; nil: a column names the units
	axes  []quantity        // conditions of the tables, then those that the sides are compared at
	unit  map[string]string // by outcome
	rows  []row
}

// Compare compares two configurations.
func Compare(ctx context.Context, o Options) (_ *Result, err error) {
	defer fault.Catch(&err)
	c := &comparison{Options: o, Result: &Result{Unit: o.Unit, Level: o.Level, Limit: o.Limit, Notes: []string{}}}
	c.read()
	c.varying()
	fault.Raise(c.meet())
	for k, name := range c.Options.Outcomes {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("compare configurations: %w", err)
		}

		c.Result.Outcomes = append(c.Result.Outcomes, c.outcome(k, name))
	}

	return c.Result, nil
}

// outcome compares the units of the sides.
func (c *comparison) outcome(k int, name string) Outcome {
	d := c.design(k)
	out := Outcome{
		Name: name, Unit: c.unit[name], UnitsA: d.units[0], UnitsB: d.units[1], Untested: d.untested,
		Difference: d.difference, Curves: []Curve{},
	}

	c.note(d.notes...)

	for axis, q := range c.axes {
		if at, band := c.curve(d, axis, q.name); band != nil {
			curve := Curve{Condition: q.name, Unit: q.unit}
			for p, e := range band {
				curve.Points = append(curve.Points, Point{at[p], e.Difference, e.Low, e.High})
			}

			out.Curves = append(out.Curves, curve)
		}
	}

	if d.untested != "" {
		return out
	}

	arms := d.arms(nil, 1)
	e := contrast.Mean(arms, c.Options.Level)
	above, n := e.Above(c.Options.Limit), contrast.Units(arms, c.Options.Limit, c.Options.Level, Power)
	out.Difference, out.SE, out.DF, out.Low, out.High = e.Difference, &e.SE, &e.DF, &e.Low, &e.High
	out.Above, out.Deciding = &above, &n

	return out
}

// curve is the difference over a condition with its band; nil where there is none.
func (c *comparison) curve(d *design, axis int, name string) (at []float64, band []contrast.Estimate) {
	if d.matched != nil {
		at, band = d.over(axis)
		for p, e := range band { // one interval for each value at once (Bonferroni)
			band[p] = e.Within(1 - (1-c.Options.Level)/float64(len(band)))
		}

		return at, band
	}

	of, at := d.points(axis)
	switch {
	case len(at) < 2 || d.untested != "":
		return nil, nil
	case len(at) > mostPoints:
		c.note(fmt.Sprintf("no curve over the %d values of %s: more than %d", len(at), name, mostPoints))
		return nil, nil
	}

	return at, contrast.Band(d.arms(of, len(at)), c.Options.Level)
}

// mostPoints of a curve: the time of its band grows with their square.
const mostPoints = 100

func (c *comparison) note(notes ...string) {
	for _, n := range notes {
		if !slices.Contains(c.Notes, n) {
			c.Notes = append(c.Notes, n)
		}
	}
}
