package contrast

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/contrast"
)

// block is a stratum of conditions whose units measured them all.
type block struct {
	cells [][]float64    // conditions; NaN where the block is the differences of several
	side  [2][][]float64 // units × cells; of differences B alone
}

// design is how the units of an outcome are compared: pairs of one unit, units of each side by strata, or
// pairs of strata without repeats.
type design struct {
	blocks     []block
	units      [2]int
	untested   string
	difference float64 // where it is untested
	notes      []string
	matched    []match // where no condition was repeated: the difference at each
}

// match is the difference at a condition.
type match struct {
	x          []float64
	difference float64
}

const within = "without repeats this holds within one set-up: how much a new mounting of the same configuration " +
	"differs is not known"

// grid is the mean outcome by unit and condition.
type grid map[string]map[string]float64

func (g grid) set(unit, cell string, y float64) {
	if g[unit] == nil {
		g[unit] = map[string]float64{}
	}
	g[unit][cell] = y
}

// grids are the means of both sides, and the conditions by their keys.
func (c *comparison) grids(outcome int) (g [2]grid, at map[string][]float64) {
	g, at = [2]grid{{}, {}}, map[string][]float64{}
	count := [2]grid{{}, {}}
	for _, r := range c.rows {
		if math.IsNaN(r.y[outcome]) {
			continue
		}

		cell := key(r.x)
		at[cell] = r.x
		n := count[r.side][r.unit][cell] + 1
		mean := g[r.side][r.unit][cell]
		count[r.side].set(r.unit, cell, n)
		g[r.side].set(r.unit, cell, mean+(r.y[outcome]-mean)/n)
	}

	return g, at
}

func (c *comparison) design(outcome int) *design {
	g, at := c.grids(outcome)
	d := &design{}

	pairs := grid{}
	for u, curve := range g[0] {
		for cell, y := range curve {
			if other, ok := g[1][u][cell]; ok {
				pairs.set(u, cell, other-y)
			}
		}
	}

	if len(pairs) >= 3 || len(pairs) > 0 && len(pairs) == len(g[0]) && len(pairs) == len(g[1]) {
		d.pair(pairs, at, c.Options.Unit)
		return d
	}

	repeated := true
	for _, cells := range components(g, at) {
		bl, left := complete(g, cells, at)
		if len(bl.cells) == 0 {
			continue
		}

		d.blocks = append(d.blocks, bl)
		for side := range 2 {
			d.units[side] += len(bl.side[side])
			repeated = repeated && len(bl.side[side]) > 1
		}

		if left > 0 {
			d.notes = append(d.notes, fmt.Sprintf("values missing at some conditions: units and conditions with the most "+
				"were left out, %d of %d values", left, left+len(bl.cells)*(len(bl.side[0])+len(bl.side[1]))))
		}
	}

	d.difference = d.mean()
	if !repeated {
		d.match()
	}

	switch {
	case len(d.blocks) == 0:
		d.untested = "the sides have no condition in common"
	case !repeated && len(d.blocks) == 1:
		d.untested = alone(c.Options.Unit)
	case !repeated:
		d.strata(at, c.Options.Unit)
	}

	if !repeated {
		d.notes = append(d.notes, within)
	}

	return d
}

func alone(unit string) string {
	return fmt.Sprintf("no test is possible with one %s on a side: nothing shows how much two of the same "+
		"configuration differ; measure another", unit)
}

// pair compares within units.
func (d *design) pair(pairs grid, at map[string][]float64, unit string) {
	pairs, at, some := between(pairs, at)
	if some {
		d.notes = append(d.notes, "units of other conditions are averaged: the interval is that of the mean over conditions "+
			"like these")
	}

	cells := map[string]bool{}
	for _, curve := range pairs {
		for cell := range curve {
			cells[cell] = true
		}
	}

	bl, left := complete([2]grid{nil, pairs}, byValue(cells, at), at)
	d.blocks = []block{bl}
	d.units = [2]int{len(bl.side[1]), len(bl.side[1])}
	d.difference = d.mean()
	switch len(bl.side[1]) {
	case 0:
		d.untested = "the units have no condition in common"
	case 1:
		d.untested = alone(unit)
	}

	if left > 0 {
		d.notes = append(d.notes, fmt.Sprintf("values missing at some conditions: units and conditions with the most "+
			"were left out, %d of %d pairs", left, left+len(bl.cells)*len(bl.side[1])))
	}
}

// strata makes pairs of the means of both sides at each stratum.
func (d *design) strata(at map[string][]float64, unit string) {
	pairs := grid{}
	for i, b := range d.blocks {
		for j, x := range b.cells {
			pairs.set(fmt.Sprintf("%09d", i), key(x), column(b.side[1], j)-column(b.side[0], j))
		}
	}

	units := d.units
	d.notes = append(d.notes, fmt.Sprintf("no condition was repeated: the units are %d pairs at equal conditions",
		len(d.blocks)))
	d.pair(pairs, at, unit)
	d.units = units
}

func (d *design) match() {
	for _, b := range d.blocks {
		for j, x := range b.cells {
			d.matched = append(d.matched, match{x, column(b.side[1], j) - column(b.side[0], j)})
		}
	}
}

// over is the difference over a condition, the mean over the others, of pairs without repeats. Its scatter is that
// about lines through the neighbours of each value at equal other conditions, which a bend makes larger (Gasser,
// Sroka and Jennen-Steinmetz 1986). It is nil where no value has two neighbours, or it has few degrees of freedom.
func (d *design) over(axis int) (at []float64, out []contrast.Estimate) {
	series, sums := map[string][]match{}, map[float64][2]float64{}
	for _, m := range d.matched {
		rest := slices.Clone(m.x)
		rest[axis] = 0
		series[key(rest)] = append(series[key(rest)], m)
		sum := sums[m.x[axis]]
		sums[m.x[axis]] = [2]float64{sum[0] + m.difference, sum[1] + 1}
	}

	squares, n := 0.0, 0.0
	for _, k := range slices.Sorted(maps.Keys(series)) {
		list := series[k]
		slices.SortFunc(list, func(a, b match) int { return cmp.Compare(a.x[axis], b.x[axis]) })
		for i := 1; i < len(list)-1; i++ {
			a, b, c := list[i-1], list[i], list[i+1]
			w := (c.x[axis] - b.x[axis]) / (c.x[axis] - a.x[axis])
			off := b.difference - w*a.difference - (1-w)*c.difference
			squares, n = squares+off*off/(1+w*w+(1-w)*(1-w)), n+1
		}
	}

	const perResidual = 1.94 // residuals that have one value in common are related
	free := n / perResidual
	if free < 2 {
		return nil, nil
	}

	at = slices.Sorted(maps.Keys(sums))
	for _, v := range at {
		sum := sums[v]
		out = append(out, contrast.Estimate{Difference: sum[0] / sum[1], SE: math.Sqrt(squares / n / sum[1]), DF: free})
	}

	return at, out
}

// between returns the differences of units without the conditions that vary between units alone, which are
// averaged over.
func between(pairs grid, at map[string][]float64) (out grid, places map[string][]float64, some bool) {
	within := map[int]bool{}
	for _, curve := range pairs {
		var first []float64
		for cell := range curve {
			if first == nil {
				first = at[cell]
			}

			for k, v := range at[cell] {
				within[k] = within[k] || v != first[k]
			}
		}
	}

	out, places = grid{}, map[string][]float64{}
	for u, curve := range pairs {
		for cell, y := range curve {
			x := slices.Clone(at[cell])
			for k := range x {
				if !within[k] {
					some, x[k] = true, math.NaN()
				}
			}

			places[key(x)] = x
			out.set(u, key(x), y)
		}
	}

	return out, places, some
}

// column is the mean over the units of a cell.
func column(units [][]float64, j int) (mean float64) {
	for _, u := range units {
		mean += u[j] / float64(len(units))
	}
	return mean
}

// mean is the difference over all blocks.
func (d *design) mean() (sum float64) {
	for _, b := range d.blocks {
		for j := range b.cells {
			sum += (column(b.side[1], j) - column(b.side[0], j)) / float64(len(b.cells)*len(d.blocks))
		}
	}
	return sum
}

// points numbers the values of a condition: of the cells of each block, and the values.
func (d *design) points(axis int) (of [][]int, at []float64) {
	for _, b := range d.blocks {
		for _, x := range b.cells {
			if v := x[axis]; !math.IsNaN(v) && !slices.Contains(at, v) {
				at = append(at, v)
			}
		}
	}

	slices.Sort(at)
	for _, b := range d.blocks {
		of = append(of, lists.Each(b.cells, func(x []float64) int { return slices.Index(at, x[axis]) }))
	}

	return of, at
}

// arms are the units' means over the cells of each of n points; of numbers the points of the cells, by
// block, nil: all cells are one point.
func (d *design) arms(of [][]int, n int) (arms []contrast.Arm) {
	if of == nil {
		of = lists.Each(d.blocks, func(bl block) []int { return make([]int, len(bl.cells)) })
	}

	blocks := make([]float64, n) // at a point
	for b, bl := range d.blocks {
		cells := make([]float64, n)
		for _, p := range of[b] {
			cells[p]++
		}

		for p, k := range cells {
			if k > 0 {
				blocks[p]++
			}
		}

		for side, units := range bl.side {
			if len(units) == 0 { // differences
				continue
			}

			a := contrast.Arm{Weight: make([]float64, n)}
			for p, k := range cells {
				if k > 0 {
					a.Weight[p] = float64(2*side - 1)
				}
			}

			for _, u := range units {
				curve := make([]float64, n)
				for j, p := range of[b] {
					curve[p] += u[j] / cells[p]
				}

				a.Curves = append(a.Curves, curve)
			}

			arms = append(arms, a)
		}
	}

	for _, a := range arms {
		for p := range a.Weight {
			a.Weight[p] /= blocks[p]
		}
	}

	return arms
}

// byValue sorts conditions.
func byValue(cells map[string]bool, at map[string][]float64) []string {
	return slices.SortedFunc(maps.Keys(cells), func(a, b string) int { return slices.Compare(at[a], at[b]) })
}

// components are the common conditions of both sides, those together that one unit measured.
func components(g [2]grid, at map[string][]float64) (out [][]string) {
	has := [2]map[string]bool{{}, {}}
	for side := range g {
		for _, curve := range g[side] {
			for cell := range curve {
				has[side][cell] = true
			}
		}
	}

	maps.DeleteFunc(has[0], func(cell string, _ bool) bool { return !has[1][cell] })
	left := has[0]
	for _, first := range byValue(left, at) {
		if !left[first] {
			continue
		}

		part := map[string]bool{first: true}
		for size := 0; size < len(part); {
			size = len(part)
			for side := range g {
				for _, curve := range g[side] {
					keys := slices.Collect(maps.Keys(curve))
					meets := slices.ContainsFunc(keys, func(cell string) bool { return part[cell] })
					for _, cell := range keys {
						if meets && left[cell] {
							part[cell] = true
						}
					}
				}
			}
		}

		maps.DeleteFunc(left, func(cell string, _ bool) bool { return part[cell] })
		out = append(out, byValue(part, at))
	}

	return out
}

// complete leaves out units and conditions, each time the one that misses the largest share of values,
// until none is missing. left counts the values that were left out.
func complete(g [2]grid, cells []string, at map[string][]float64) (out block, left int) {
	type unit struct {
		side  int
		curve map[string]float64
	}

	has := func(u unit, cell string) bool { _, ok := u.curve[cell]; return ok }
	var units []unit
	for side := range g {
		for _, name := range slices.Sorted(maps.Keys(g[side])) {
			u := unit{side, g[side][name]}
			if n := len(lists.Keep(cells, func(cell string) bool { return has(u, cell) })); n > 0 {
				units, left = append(units, u), left+n
			}
		}
	}

	for {
		worst, most, cell := -1, 0.0, false
		missing := make([]float64, len(cells))
		for i, u := range units {
			n := 0.0
			for j, c := range cells {
				if !has(u, c) {
					n++
					missing[j]++
				}
			}

			if share := n / float64(len(cells)); share > most {
				worst, most = i, share
			}
		}

		for j, n := range missing {
			if share := n / float64(len(units)); share > 0 && share >= most {
				worst, most, cell = j, share, true
			}
		}

		if worst < 0 {
			break
		} else if cell {
			cells = slices.Delete(slices.Clone(cells), worst, worst+1)
		} else {
			units = slices.Delete(units, worst, worst+1)
		}
	}

	for _, u := range units {
		y := lists.Each(cells, func(c string) float64 { return u.curve[c] })
		out.side[u.side] = append(out.side[u.side], y)
		left -= len(cells)
	}

	if len(out.side[1]) == 0 || len(out.side[0]) == 0 && g[0] != nil {
		return block{}, left
	}

	out.cells = lists.Each(cells, func(c string) []float64 { return at[c] })

	return out, left
}
