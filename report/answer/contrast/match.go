package contrast

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
)

// Values of Result.Compared: how the conditions of the two sides are matched.
const (
	byConditions = "at equal conditions"
	byPoints     = "at set points, between neighbours"
)

// keepVarying keeps the conditions that vary within a side as the axes of the comparison, except columns that select a
// side or name the units. It notes conditions that are constant on each side and differ between the sides.
func (c *comparison) keepVarying() {
	var keep []int
	for k, axis := range c.axes {
		var low, high [2]float64
		for side := range 2 {
			low[side], high[side] = c.span(side, k)
		}

		switch {
		case c.isSelected(axis.name):
		case low != high:
			keep = append(keep, k)
		case low[0] != low[1]:
			c.addNotes(fmt.Sprintf("the sides also differ in %s: %s and %s", axis.name, fault.Digits(low[0], 6),
				fault.Digits(low[1], 6)))
		}
	}

	all := c.axes
	c.axes = nil
	for _, k := range keep {
		c.axes = append(c.axes, all[k])
		for i := range c.rows {
			c.rows[i].x = append(c.rows[i].x, c.rows[i].all[k])
		}
	}
}

// isSelected reports whether a column selects a side or names the units.
func (c *comparison) isSelected(name string) bool {
	selects := func(t term) bool { return t.column == name }
	return name == c.Options.Unit || slices.ContainsFunc(slices.Concat(c.terms[0], c.terms[1]), selects)
}

// span returns the smallest and the largest value of condition k on a side.
func (c *comparison) span(side, k int) (low, high float64) {
	low = math.Inf(1)
	high = math.Inf(-1)
	for _, r := range c.rows {
		if r.side == side {
			low = min(low, r.all[k])
			high = max(high, r.all[k])
		}
	}

	return low, high
}

// matchConditions makes the conditions of the two sides equal. It keeps the rows at conditions that both sides have, if
// these are at least half of the rows of each side; if only one condition varies, the units must also have most of its
// values (mostlyComplete). Otherwise it interpolates the rows to common set points if only one condition varies, and
// returns an error if several do.
func (c *comparison) matchConditions() error {
	present := [2]map[string]bool{{}, {}} // conditions of each side
	for _, r := range c.rows {
		present[r.side][key(r.x)] = true
	}

	var common []row
	var all, shared [2]int // rows of each side: all, and at conditions of both sides
	for _, r := range c.rows {
		all[r.side]++
		if present[1-r.side][key(r.x)] {
			shared[r.side]++
			common = append(common, r)
		}
	}

	mostShared := 2*shared[0] >= all[0] && 2*shared[1] >= all[1]
	switch {
	case mostShared && (len(c.axes) != 1 || mostlyComplete(common)):
		if left := len(c.rows) - len(common); left > 0 {
			c.addNotes(fmt.Sprintf("%d of %d values are at conditions that one side alone has: left out", left, len(c.rows)))
		}

		c.rows = common
		c.Compared = byConditions

		return nil
	case len(c.axes) == 1:
		c.interpolate()
		c.Compared = byPoints

		return nil
	}

	return &fault.Error{
		Path: c.Runs[0].Name, Want: "equal conditions on both sides, or one condition that varies",
		Found: "few that are equal",
		Hint:  "where conditions scatter about set points, name these: ingest: {within: …}",
	}
}

// mostlyComplete reports whether the units have at least half of all conditions on average. If they have not, the
// condition varies freely, and units share few of its values. It also returns true if units have fewer than three
// conditions on average, which is too few to interpolate between.
func mostlyComplete(rows []row) bool {
	all := map[string]bool{}              // conditions of all units
	units := map[string]map[string]bool{} // conditions of each unit
	for _, r := range rows {
		unit := strconv.Itoa(r.side) + r.unit
		if units[unit] == nil {
			units[unit] = map[string]bool{}
		}

		units[unit][key(r.x)] = true
		all[key(r.x)] = true
	}

	count := 0
	for _, u := range units {
		count += len(u)
	}

	return count < 3*len(units) || 2*count >= len(all)*len(units)
}

// key returns a text that is equal for equal conditions. Conditions are equal if their values agree in nine digits; −0
// is 0.
func key(x []float64) string {
	values := slices.Clone(x)
	for i := range values {
		values[i] += 0 // −0 + 0 is 0
	}

	return fmt.Sprintf("%.9g", values)
}
