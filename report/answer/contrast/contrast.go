// Package contrast compares two configurations in finished experiments: two values of a condition, two groups of runs,
// or two work directories. It finds the units that were exchanged and the conditions that both sides have. Package
// train/contrast computes the differences and their intervals. See docs/contrast.md.
//
// The two configurations are the sides A and B. A unit is what was exchanged between measurements, such as a wing or a
// mounting: only differences between units show whether the sides differ. Each unit was measured at some conditions,
// which are also called cells. Compare reads the rows of both sides (read.go), makes their conditions equal (match.go),
// and chooses for each outcome how units are compared (design.go).
package contrast

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"doubletake/report/pairs"
	"doubletake/train/contrast"
)

// Options say what is compared.
type Options struct {
	// Runs are the pairs of one experiment or of two. With two, the first is side A.
	Runs []pairs.Source
	// A and B select the rows of the sides by values of columns, such as "blades=2,rpm=3000", or by a pattern, such as
	// "run=/^a/". They may be empty if there are two experiments.
	A, B string
	// Unit is the column that names the units. It may also be a pattern between slashes: the part of a run's name that it
	// matches is the name of the unit.
	Unit     string
	Outcomes []string // nil means all outcomes
	Limit    float64  // difference B − A with which the differences found are compared, in the outcome's unit
	Level    float64  // probability of the intervals, from 0 to 1
}

// Power is the probability of a decision with the number of units that would decide (Outcome.Deciding).
const Power = 0.8

// Sides, as indices of lists with two elements.
const (
	sideA = 0
	sideB = 1
)

// Result is a comparison. Differences are B − A.
type Result struct {
	A        string    `json:"a"`
	B        string    `json:"b"`
	Data     string    `json:"data"` // "simulated" or "measured"
	Unit     string    `json:"unit"`
	Compared string    `json:"compared"`
	Level    float64   `json:"level"`
	Limit    float64   `json:"limit"`
	Outcomes []Outcome `json:"outcomes"`
	Notes    []string  `json:"notes"`
}

// Outcome is the difference of an outcome, averaged over the common conditions. If it cannot be tested, Untested has
// the reason, and only the difference and its curves are set.
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
	Deciding   *int     `json:"units_that_would_decide"` // on each side; 0 means more than a million
	Curves     []Curve  `json:"curves"`
}

// Curve is the difference over a condition, averaged over the other conditions, with its simultaneous band.
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

// quantity is a condition with its unit.
type quantity struct{ name, unit string }

// comparison collects the rows of both sides and computes the Result.
type comparison struct {
	Options
	*Result
	terms [2][]term         // by side: the terms that select its rows
	part  *regexp.Regexp    // matches the part of a run's name that names its unit; nil if a column names the units
	axes  []quantity        // the conditions of the tables; after keepVarying the conditions at which sides are compared
	unit  map[string]string // unit of each outcome
	rows  []row
}

// Compare compares two configurations.
func Compare(ctx context.Context, o Options) (*Result, error) {
	c := &comparison{Options: o, Result: &Result{Unit: o.Unit, Level: o.Level, Limit: o.Limit, Notes: []string{}}}
	if err := c.read(); err != nil {
		return nil, err
	}

	c.keepVarying()
	if err := c.matchConditions(); err != nil {
		return nil, err
	}

	for k, name := range c.Options.Outcomes {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("compare configurations: %w", err)
		}

		c.Result.Outcomes = append(c.Result.Outcomes, c.outcome(k, name))
	}

	return c.Result, nil
}

// outcome compares the units of the sides by outcome k, which has the given name.
func (c *comparison) outcome(k int, name string) Outcome {
	d := c.design(k)
	outcome := Outcome{
		Name: name, Unit: c.unit[name], UnitsA: d.units[sideA], UnitsB: d.units[sideB], Untested: d.untested,
		Difference: d.difference, Curves: []Curve{},
	}

	c.addNotes(d.notes...)

	for axis, q := range c.axes {
		values, band := c.curve(d, axis, q.name)
		if band == nil {
			continue
		}

		curve := Curve{Condition: q.name, Unit: q.unit}
		for point, estimate := range band {
			curve.Points = append(curve.Points, Point{values[point], estimate.Difference, estimate.Low, estimate.High})
		}

		outcome.Curves = append(outcome.Curves, curve)
	}

	if d.untested != "" {
		return outcome
	}

	const onePoint = 1 // all conditions together
	arms := d.arms(nil, onePoint)
	estimate := contrast.Mean(arms, c.Options.Level)
	above := estimate.Above(c.Options.Limit)
	n := contrast.Units(arms, c.Options.Limit, c.Options.Level, Power)
	outcome.Difference = estimate.Difference
	outcome.SE = &estimate.SE
	outcome.DF = &estimate.DF
	outcome.Low = &estimate.Low
	outcome.High = &estimate.High
	outcome.Above = &above
	outcome.Deciding = &n

	return outcome
}

// curve returns the values of a condition and the difference at each of them, with a simultaneous band. It returns nil
// if there is no band.
func (c *comparison) curve(d *design, axis int, name string) (values []float64, band []contrast.Estimate) {
	if d.matched != nil {
		values, band = d.curve(axis)
		for point, estimate := range band { // the level of each of n intervals is 1 − (1 − level)/n (Bonferroni)
			band[point] = estimate.Within(1 - (1-c.Options.Level)/float64(len(band)))
		}

		return values, band
	}

	pointOf, values := d.points(axis)
	switch {
	case len(values) < 2 || d.untested != "":
		return nil, nil
	case len(values) > mostPoints:
		c.addNotes(fmt.Sprintf("no curve over the %d values of %s: more than %d", len(values), name, mostPoints))
		return nil, nil
	}

	return values, contrast.Band(d.arms(pointOf, len(values)), c.Options.Level)
}

// mostPoints is the largest number of points of a curve. The time for its band grows with the square of the number.
const mostPoints = 100

// addNotes adds the notes that the result does not have yet.
func (c *comparison) addNotes(notes ...string) {
	for _, note := range notes {
		if !slices.Contains(c.Notes, note) {
			c.Notes = append(c.Notes, note)
		}
	}
}
