package contrast

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"doubletake/train/contrast"
)

// This file chooses how the units of the two sides are compared. If enough units were measured on both sides, each
// gives its own difference. Otherwise units of side A are compared with units of side B in strata. A stratum is a set
// of conditions that units of both sides have in common; no unit has conditions of two strata.

// block contains the outcomes of the units of a stratum. Each unit of a block has a value at each of its conditions
// (cells).
type block struct {
	cells [][]float64    // inputs of each condition; an input over which differences were averaged is NaN
	side  [2][][]float64 // by side: units × cells. A block of differences has them on side B, and no side A
}

// design contains the units of an outcome as they are compared: differences within units, units of each side in strata,
// or differences of strata if no condition was repeated.
type design struct {
	blocks     []block
	units      [2]int  // number of units on each side
	untested   string  // reason why the difference cannot be tested; "" if it can
	difference float64 // mean difference, which is reported if it cannot be tested
	notes      []string
	matched    []match // if no condition was repeated: the difference at each condition
}

// match is the difference at a condition.
type match struct {
	x          []float64
	difference float64
}

// withoutRepeats is the note about a comparison of conditions that were not repeated.
const withoutRepeats = "without repeats this holds within one set-up: how much a new mounting of the same " +
	"configuration differs is not known"

// enoughOnBoth is the number of units on both sides from which on units of one side alone are left out.
const enoughOnBoth = 3

// design chooses how the units of an outcome are compared. It compares within units if at least enoughOnBoth units, or
// all of them, were measured on both sides. Otherwise it compares the units of both sides in strata of common
// conditions. If no condition was repeated in some stratum, the strata themselves become the units, or nothing can be
// tested.
func (c *comparison) design(outcome int) *design {
	grids, places := c.grids(outcome)
	d := &design{}

	differences := grid{}
	for unit, curve := range grids[sideA] {
		for cell, y := range curve {
			if other, ok := grids[sideB][unit][cell]; ok {
				differences.set(unit, cell, other-y)
			}
		}
	}

	onBoth := len(differences) // number of units
	areAllOnBoth := onBoth > 0 && onBoth == len(grids[sideA]) && onBoth == len(grids[sideB])
	if onBoth >= enoughOnBoth || areAllOnBoth {
		d.pair(differences, places, c.Options.Unit)
		return d
	}

	d.stratify(grids, places)
	d.difference = d.mean()
	repeated := d.repeated()
	if !repeated {
		d.addMatches()
	}

	switch {
	case len(d.blocks) == 0:
		d.untested = "the sides have no condition in common"
	case !repeated && len(d.blocks) == 1:
		d.untested = singleUnitReason(c.Options.Unit)
	case !repeated:
		d.pairStrata(places, c.Options.Unit)
	}

	if !repeated {
		d.notes = append(d.notes, withoutRepeats)
	}

	return d
}

// stratify adds a block for each stratum that both sides have measured.
func (d *design) stratify(grids [2]grid, places conditions) {
	for _, cells := range components(grids, places) {
		stratum, left := completeBlock(grids, cells, places)
		if len(stratum.cells) == 0 {
			continue
		}

		d.blocks = append(d.blocks, stratum)
		for side := range 2 {
			d.units[side] += len(stratum.side[side])
		}

		if left > 0 {
			d.notes = append(d.notes, fmt.Sprintf("values missing at some conditions: units and conditions with the most "+
				"were left out, %d of %d values", left,
				left+len(stratum.cells)*(len(stratum.side[sideA])+len(stratum.side[sideB]))))
		}
	}
}

// repeated reports whether each block has several units of each side.
func (d *design) repeated() bool {
	for _, stratum := range d.blocks {
		if len(stratum.side[sideA]) < 2 || len(stratum.side[sideB]) < 2 {
			return false
		}
	}

	return true
}

// singleUnitReason returns the reason why a comparison with one unit on a side cannot be tested. unit is what the user
// calls a unit.
func singleUnitReason(unit string) string {
	return fmt.Sprintf("no test is possible with one %s on a side: nothing shows how much two of the same "+
		"configuration differ; measure another", unit)
}

// pair makes the design of differences within units, as one block. differences contains the difference B − A of each
// unit at each condition.
func (d *design) pair(differences grid, places conditions, unit string) {
	differences, places, averaged := averageUnvaried(differences, places)
	if averaged {
		d.notes = append(d.notes, "units of other conditions are averaged: the interval is that of the mean over conditions "+
			"like these")
	}

	cells := map[string]bool{}
	for _, curve := range differences {
		for cell := range curve {
			cells[cell] = true
		}
	}

	stratum, left := completeBlock([2]grid{sideB: differences}, places.sorted(cells), places)
	units := len(stratum.side[sideB]) // each is on both sides
	d.blocks = []block{stratum}
	d.units = [2]int{units, units}
	d.difference = d.mean()
	switch units {
	case 0:
		d.untested = "the units have no condition in common"
	case 1:
		d.untested = singleUnitReason(unit)
	}

	if left > 0 {
		d.notes = append(d.notes, fmt.Sprintf("values missing at some conditions: units and conditions with the most "+
			"were left out, %d of %d pairs", left, left+len(stratum.cells)*units))
	}
}

// pairStrata makes the design of a comparison without repeats: each stratum counts as a unit, whose differences are the
// differences of the sides' means. The numbers of units stay the numbers of real units.
func (d *design) pairStrata(places conditions, unit string) {
	differences := grid{}
	for i, stratum := range d.blocks {
		for j, cell := range stratum.cells {
			differences.set(fmt.Sprintf("%09d", i), key(cell), stratum.difference(j))
		}
	}

	units := d.units
	d.notes = append(d.notes, fmt.Sprintf("no condition was repeated: the units are %d pairs at equal conditions",
		len(d.blocks)))
	d.pair(differences, places, unit)
	d.units = units
}

// addMatches stores the difference at each condition of the blocks.
func (d *design) addMatches() {
	for _, stratum := range d.blocks {
		for j, x := range stratum.cells {
			d.matched = append(d.matched, match{x, stratum.difference(j)})
		}
	}
}

// perResidual is the number of pseudo-residuals that count as one degree of freedom of a curve. Two residuals that
// share a value are correlated, so that each is less than one degree of freedom.
const perResidual = 1.94

// curve returns the values of a condition and the mean difference at each of them, for conditions without repeats. The
// scatter of the differences comes from pseudo-residuals. curve returns nil if fewer than two degrees of freedom are
// left.
func (d *design) curve(axis int) (values []float64, curve []contrast.Estimate) {
	type total struct {
		sum   float64
		count float64
	}

	series := map[string][]match{} // by the other conditions
	totals := map[float64]total{}  // by the value of the condition
	for _, pair := range d.matched {
		others := slices.Clone(pair.x)
		others[axis] = 0
		series[key(others)] = append(series[key(others)], pair)

		t := totals[pair.x[axis]]
		totals[pair.x[axis]] = total{t.sum + pair.difference, t.count + 1}
	}

	squares := 0.0
	n := 0.0
	for _, k := range slices.Sorted(maps.Keys(series)) {
		sum, count := pseudoResiduals(series[k], axis)
		squares += sum
		n += count
	}

	free := n / perResidual
	if free < 2 {
		return nil, nil
	}

	values = slices.Sorted(maps.Keys(totals))
	for _, v := range values {
		t := totals[v]
		curve = append(curve, contrast.Estimate{
			Difference: t.sum / t.count, SE: math.Sqrt(squares / n / t.count), DF: free,
		})
	}

	return values, curve
}

// pseudoResiduals returns the sum of squares and the number of the pseudo-residuals of differences over a condition:
// the distances from the line through both neighbours, divided by the standard deviation that independent differences
// of variance one give them (Gasser, Sroka and Jennen-Steinmetz 1986). A bend of the differences makes them larger.
// pseudoResiduals sorts list by the condition.
func pseudoResiduals(list []match, axis int) (squares, count float64) {
	slices.SortFunc(list, func(a, b match) int { return cmp.Compare(a.x[axis], b.x[axis]) })
	for i := 1; i < len(list)-1; i++ {
		left := list[i-1]
		middle := list[i]
		right := list[i+1]
		w := (right.x[axis] - middle.x[axis]) / (right.x[axis] - left.x[axis])
		residual := middle.difference - w*left.difference - (1-w)*right.difference
		squares += residual * residual / (1 + w*w + (1-w)*(1-w))
		count++
	}

	return squares, count
}

// averageUnvaried removes the inputs that vary within no unit: it replaces them by NaN in the conditions. Units that
// differ only in such inputs then repeat each other, and averages over units are averages over the values of these
// inputs. averageUnvaried returns the differences at the new conditions, the new conditions, and whether it replaced
// any input.
func averageUnvaried(differences grid, places conditions) (merged grid, kept conditions, averaged bool) {
	varies := map[int]bool{} // within a unit
	for _, curve := range differences {
		var first []float64
		for cell := range curve {
			if first == nil {
				first = places[cell]
			}

			for k, v := range places[cell] {
				varies[k] = varies[k] || v != first[k]
			}
		}
	}

	merged = grid{}
	kept = conditions{}
	for unit, curve := range differences {
		for cell, y := range curve {
			rest := slices.Clone(places[cell])
			for k := range rest {
				if !varies[k] {
					rest[k] = math.NaN()
					averaged = true
				}
			}

			kept[key(rest)] = rest
			merged.set(unit, key(rest), y)
		}
	}

	return merged, kept, averaged
}

// difference returns the difference B − A of the sides' means over their units in cell j. A side without units has the
// mean 0, so that a block of differences gives their mean.
func (b block) difference(j int) float64 { return meanOf(b.side[sideB], j) - meanOf(b.side[sideA], j) }

// meanOf returns the mean over the units of the values in cell j, or 0 without units.
func meanOf(units [][]float64, j int) (mean float64) {
	for _, values := range units {
		mean += values[j] / float64(len(units))
	}
	return mean
}

// mean returns the difference, averaged over the cells of each block and then over the blocks. It returns 0 without
// blocks.
func (d *design) mean() (sum float64) {
	for _, stratum := range d.blocks {
		for j := range stratum.cells {
			sum += stratum.difference(j) / float64(len(stratum.cells)*len(d.blocks))
		}
	}
	return sum
}
