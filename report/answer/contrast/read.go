package contrast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/table"
	"doubletake/report/pairs"
)

// row contains the outcomes of one unit at one condition.
type row struct {
	side   int // sideA or sideB
	source origin
	unit   string
	all    []float64 // all conditions of the table
	x      []float64 // the conditions at which the sides are compared
	y      []float64 // outcomes
}

// origin is the place that a row comes from.
type origin struct {
	row int // row of the table
	run int // 0 or 1: the first or second run of the pair
}

// read reads the rows of both sides.
func (c *comparison) read() error {
	if err := c.parse(); err != nil {
		return err
	}

	sides := [2]string{c.Options.A, c.Options.B}
	titles := sides
	for k, source := range c.Runs {
		pairTable, err := source.Open(nil)
		if err != nil {
			return err
		}

		c.addNotes(pairTable.Notes...)
		if err := c.takeColumns(pairTable); err != nil {
			return err
		}

		selected := []int{sideA, sideB}
		if len(c.Runs) == 2 { // the first experiment is side A, the second side B
			selected = []int{k}
			titles[k] = strings.TrimSpace(source.Name + " " + titles[k])
		}

		for _, side := range selected {
			if err := c.addRows(pairTable.Table, side); err != nil {
				return err
			}
		}
	}

	c.Result.A = titles[0]
	c.Result.B = titles[1]
	for side, title := range titles {
		if slices.ContainsFunc(c.rows, func(r row) bool { return r.side == side }) {
			continue
		}

		source := c.Runs[side%len(c.Runs)]
		if sides[side] == "" {
			return fault.At(source.Path, "", "rows of "+title, "none", "measure some")
		}

		return usage("--%s: no row of %s has %s; pipeline inspect %s lists the values", []string{"a", "b"}[side],
			source.Name, sides[side], source.Path)
	}

	if err := c.checkOutcomes(); err != nil {
		return err
	}

	return c.checkSides()
}

// largest is the largest absolute value of an outcome. Squares of such outcomes, and sums of them, are finite.
const largest = 1e150

// checkOutcomes returns an error about an outcome above largest.
func (c *comparison) checkOutcomes() error {
	for _, r := range c.rows {
		for k, y := range r.y {
			if math.Abs(y) > largest { // false for NaN
				source := c.Runs[r.side%len(c.Runs)]
				place := fmt.Sprintf("row %d, outcome %s", r.source.row+1, c.Options.Outcomes[k])

				return fault.At(source.Path, place, fmt.Sprintf("a number up to %g", largest), fmt.Sprint(y),
					"leave the cell empty if it stands for no value")
			}
		}
	}

	return nil
}

// checkSides returns an error if a row is on both sides, or if a unit has no name.
func (c *comparison) checkSides() error {
	sideOf := map[origin]int{}
	for _, r := range c.rows {
		if r.unit == "" {
			return usage("--unit: not all runs that are compared have a part like %s", c.Options.Unit)
		}

		if side, known := sideOf[r.source]; known && side != r.side && len(c.Runs) == 1 {
			return usage("--a and --b have rows in common, such as one of %s %s: state sides that exclude each other",
				c.Options.Unit, r.unit)
		}
		sideOf[r.source] = r.side
	}

	return nil
}

// takeColumns checks that a table has the columns that the options name, and the units and conditions of the first
// table. It stores the conditions and the outcomes of the first table, and the kind of data.
func (c *comparison) takeColumns(pairTable *pairs.Pairs) error {
	outcomes := pairs.Outcomes(pairTable.Table)
	axes, labels := pairs.Conditions(pairTable.Table)
	labels = append([]string{"run", "recording"}, labels...)
	set, _ := pairTable.SetConditions()
	var quantities []quantity
	for _, name := range set {
		quantities = append(quantities, quantity{name, pairTable.Column(name).Unit})
	}

	if c.unit == nil {
		c.axes = quantities
		c.unit = map[string]string{}
		if len(c.Options.Outcomes) == 0 {
			c.Options.Outcomes = outcomes
		}
	}

	asked := slices.Concat(c.terms[0], c.terms[1])
	if c.part == nil {
		asked = append(asked, term{flag: "unit", column: c.Options.Unit})
	}

	for _, t := range asked {
		if err := pairTable.Need("--"+t.flag, "column", t.column, slices.Concat(labels, axes)); err != nil {
			return err
		}
	}

	if err := c.takeUnits(pairTable, outcomes); err != nil {
		return err
	}

	if err := c.checkAxes(pairTable.Name, quantities); err != nil {
		return err
	}

	if kind := pairTable.Get("data"); c.Data == "" || kind == "simulated" {
		c.Data = kind
	}

	return nil
}

// takeUnits stores the units of the compared outcomes. It returns an error if a table lacks an outcome, or has another
// unit than the first table. outcomes are all outcomes of the table.
func (c *comparison) takeUnits(pairTable *pairs.Pairs, outcomes []string) error {
	for _, name := range c.Options.Outcomes {
		if err := pairTable.Need("--outcome", "outcome", name, outcomes); err != nil {
			return err
		}

		unit := pairTable.Column(name + "_1").Unit
		if first, known := c.unit[name]; known && first != unit {
			return fault.At(pairTable.Name, "", name+" in "+cmp.Or(first, "no unit")+", as in "+c.Runs[0].Name,
				cmp.Or(unit, "no unit"), "convert one of them")
		}

		c.unit[name] = unit
	}

	return nil
}

// checkAxes returns an error if a table lacks a condition of the first one.
func (c *comparison) checkAxes(name string, quantities []quantity) error {
	for _, axis := range c.axes {
		if slices.Contains(quantities, axis) {
			continue
		}

		var have []string
		for _, axis := range quantities {
			have = append(have, labelled(axis.name, axis.unit))
		}

		return fault.At(name, "", "a condition "+labelled(axis.name, axis.unit)+", as in "+c.Runs[0].Name,
			strings.Join(have, ", "), "")
	}

	return nil
}

// setPointTable is a table whose numbers are read at their set points.
type setPointTable struct{ pairs.AtSetPoints }

// text returns a cell of a column of numbers or of text as a text.
func (t setPointTable) text(name string, i int) string {
	if v, err := t.Floats(name); err == nil {
		return strconv.FormatFloat(v[i]+0, 'g', -1, 64) // −0 is 0
	}
	return t.Column(name).Strings[i]
}

// addRows adds the rows of a table that a side selects. A pair of two runs gives a row for each run; any other pair
// gives one row.
func (c *comparison) addRows(source *table.Table, side int) error {
	values := setPointTable{pairs.AtSetPoints{Table: source}}
	columns := make([][]float64, len(c.axes))
	for k, axis := range c.axes {
		var err error
		if columns[k], err = values.Floats(axis.name); err != nil {
			return fmt.Errorf("read the conditions: %w", err)
		}
	}

	for i := range source.Rows() {
		runs := pairs.RunsOf(source, i)
		for k, run := range runs {
			if !c.selects(values, side, i, run) {
				continue
			}

			r := row{side: side, source: origin{i, k}, unit: c.unitOf(values, side, i, run)}
			for _, column := range columns {
				r.all = append(r.all, column[i])
			}

			for _, outcome := range c.Options.Outcomes {
				r.y = append(r.y, outcomeOf(source, outcome, i, k, len(runs)))
			}

			c.rows = append(c.rows, r)
		}
	}

	return nil
}

// unitOf returns the name of the unit of a run in row i.
func (c *comparison) unitOf(values setPointTable, side, i int, run string) string {
	switch {
	case c.part != nil:
		return c.part.FindString(run)
	case c.Options.Unit != "run":
		return values.text(c.Options.Unit, i)
	case len(c.Runs) == 2: // runs of two experiments differ even if they have one name
		return strconv.Itoa(side) + run
	}

	return run
}

// outcomeOf returns an outcome of run k of the given number of runs in row i. If the row has one run, it is the mean of
// both values. In a table of pairs across occasions, the second value belongs to another row, and outcomeOf always
// returns the first.
func outcomeOf(source *table.Table, outcome string, i, k, runs int) float64 {
	first := source.Column(outcome + "_1").Floats[i]
	second := source.Column(outcome + "_2").Floats[i]
	switch {
	case pairs.Across(source) != "":
		return first
	case runs == 1:
		return (first + second) / 2
	case k == 0:
		return first
	}

	return second
}

// selects reports whether the given run of row i is on a side.
func (c *comparison) selects(values setPointTable, side, i int, run string) bool {
	for _, t := range c.terms[side] {
		text := run
		if t.column != "run" {
			text = values.text(t.column, i)
		}

		if !t.holds(text) {
			return false
		}
	}

	return true
}
