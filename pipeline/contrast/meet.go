package contrast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// How the sides meet.
const (
	byConditions = "at equal conditions"
	byPoints     = "at set points, between neighbours"
)

// setPoints is the number of places at which curves of unequal conditions are compared.
const setPoints = 9

// varying leaves the conditions that vary within a side, other than those that are compared.
func (c *comparison) varying() {
	asked := func(name string) bool {
		return slices.ContainsFunc(slices.Concat(c.terms[0], c.terms[1]), func(t term) bool { return t.column == name }) ||
			name == c.Options.Unit
	}

	var keep []int
	for k, q := range c.axes {
		var low, high [2]float64
		for side := range 2 {
			low[side], high[side] = c.span(side, k)
		}

		switch {
		case asked(q.name):
		case low != high:
			keep = append(keep, k)
		case low[0] != low[1]:
			c.note(fmt.Sprintf("the sides also differ in %s: %.6g and %.6g", q.name, low[0], low[1]))
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

// span is the range of a condition on a side.
func (c *comparison) span(side, k int) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, r := range c.rows {
		if r.side == side {
			low, high = min(low, r.all[k]), max(high, r.all[k])
		}
	}

	return low, high
}

// meet keeps the rows at conditions that both sides have, or moves them to such.
func (c *comparison) meet() error {
	has := [2]map[string]bool{{}, {}}
	for _, r := range c.rows {
		has[r.side][key(r.x)] = true
	}

	var common []row
	var all, met [2]int
	for _, r := range c.rows {
		all[r.side]++
		if has[1-r.side][key(r.x)] {
			met[r.side]++
			common = append(common, r)
		}
	}

	switch {
	case 2*met[0] >= all[0] && 2*met[1] >= all[1] && (len(c.axes) != 1 || filled(common)):
		if left := len(c.rows) - len(common); left > 0 {
			c.note(fmt.Sprintf("%d of %d values are at conditions that one side alone has: left out", left, len(c.rows)))
		}

		c.rows = common

		c.By = byConditions
		return nil
	case len(c.axes) == 1:
		c.interpolate()
		c.By = byPoints
		return nil
	}

	return &fault.Error{
		Path: c.Runs[0], Want: "equal conditions on both sides, or one condition that varies", Found: "few that are equal",
		Hint: "where conditions scatter about set points, name these: ingest: {within: …}",
	}
}

// filled reports whether units of several conditions have at least half of all conditions: where one varies
// freely, few are equal.
func filled(rows []row) bool {
	all, units := map[string]bool{}, map[string]map[string]bool{}
	for _, r := range rows {
		u := strconv.Itoa(r.side) + r.unit
		if units[u] == nil {
			units[u] = map[string]bool{}
		}
		units[u][key(r.x)], all[key(r.x)] = true, true
	}

	has := 0
	for _, u := range units {
		has += len(u)
	}

	return has < 3*len(units) || 2*has >= len(all)*len(units)
}

func key(x []float64) string { return fmt.Sprintf("%.9g", x) }

// interpolate moves the rows to set points within the range of most units, along lines between the two
// neighbours of one unit.
func (c *comparison) interpolate() {
	type unit struct {
		side int
		name string
	}

	units := lists.Alike(lists.Each(c.rows, func(r row) unit { return unit{r.side, r.unit} }))
	curves := lists.Each(units, func(at []int) []row {
		list := means(lists.Rows(c.rows, 1, at))
		slices.SortFunc(list, func(a, b row) int { return cmp.Compare(a.x[0], b.x[0]) })

		return list
	})

	low, high := math.Inf(-1), math.Inf(1)
	for side := range 2 {
		var first, last []float64
		for _, list := range curves {
			if list[0].side == side {
				first, last = append(first, list[0].x[0]), append(last, list[len(list)-1].x[0])
			}
		}

		slices.Sort(first)
		slices.Sort(last)
		low, high = max(low, first[len(first)*3/4]), min(high, last[len(last)/4])
	}

	c.rows = nil
	for _, list := range curves {
		for p := range setPoints {
			at := low + (high-low)*float64(p)/(setPoints-1)
			if r, ok := interpolated(list, at); ok && low <= high {
				c.rows = append(c.rows, r)
			}
		}
	}
}

// means are the rows of one unit, those at one place averaged.
func means(list []row) (out []row) {
	for _, same := range lists.Alike(lists.Each(list, func(r row) float64 { return r.x[0] })) {
		r := list[same[0]]
		r.y = slices.Clone(r.y)
		for n, i := range same[1:] {
			for k, v := range list[i].y {
				r.y[k] += (v - r.y[k]) / float64(n+2)
			}
		}

		out = append(out, r)
	}

	return out
}

// interpolated is the curve of one unit at a place.
func interpolated(list []row, at float64) (row, bool) {
	i := slices.IndexFunc(list, func(r row) bool { return r.x[0] >= at })
	if i < 0 || i == 0 && list[0].x[0] > at {
		return row{}, false
	}

	out, a, b := list[i], list[max(i-1, 0)], list[i]
	out.x, out.y = []float64{at}, slices.Clone(b.y)
	if w := b.x[0] - a.x[0]; w > 0 {
		for k := range out.y {
			out.y[k] += (a.y[k] - b.y[k]) * (b.x[0] - at) / w
		}
	}

	return out, true
}
