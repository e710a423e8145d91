package contrast

import (
	"maps"
	"slices"
)

// components divides the conditions that both sides have into strata, so that all conditions of a unit are in one
// stratum. It returns the keys of each stratum's conditions.
func components(grids [2]grid, places conditions) [][]string {
	left := grids[sideA].cells() // common conditions that are in no stratum yet
	other := grids[sideB].cells()
	maps.DeleteFunc(left, func(cell string, _ bool) bool { return !other[cell] })

	var parts [][]string
	for _, first := range places.sorted(left) {
		if !left[first] {
			continue
		}

		part := map[string]bool{first: true}
		for size := 0; size < len(part); {
			size = len(part)
			for side := range grids {
				for _, curve := range grids[side] {
					join(part, curve, left)
				}
			}
		}

		maps.DeleteFunc(left, func(cell string, _ bool) bool { return part[cell] })
		parts = append(parts, places.sorted(part))
	}

	return parts
}

// cells returns the keys of the conditions of all units.
func (g grid) cells() map[string]bool {
	cells := map[string]bool{}
	for _, curve := range g {
		for cell := range curve {
			cells[cell] = true
		}
	}

	return cells
}

// join adds the conditions of a unit that are left to a part, if the unit has a condition of the part.
func join(part map[string]bool, curve map[string]float64, left map[string]bool) {
	for cell := range curve {
		if !part[cell] {
			continue
		}

		for other := range curve {
			if left[other] {
				part[other] = true
			}
		}

		return
	}
}

// unitCurve contains the values of one unit.
type unitCurve struct {
	side   int
	values map[string]float64 // by condition
}

// missing counts the conditions that the unit lacks.
func (u unitCurve) missing(cells []string) int {
	n := 0
	for _, cell := range cells {
		if _, ok := u.values[cell]; !ok {
			n++
		}
	}

	return n
}

// completeBlock returns a block without missing values, of the conditions with the given keys (cells). While values are
// missing, it leaves out the unit or the condition that lacks the largest share of them. left counts the values that
// were left out. The block is empty if a side has no unit left; grids[sideA] is nil for differences, which are on side
// B alone.
func completeBlock(grids [2]grid, cells []string, places conditions) (stratum block, left int) {
	var units []unitCurve
	for side := range grids {
		for _, name := range slices.Sorted(maps.Keys(grids[side])) {
			unit := unitCurve{side, grids[side][name]}
			if n := len(cells) - unit.missing(cells); n > 0 {
				units = append(units, unit)
				left += n
			}
		}
	}

	for {
		unit, cell := mostMissing(units, cells)
		if unit < 0 && cell < 0 {
			break
		}

		if cell >= 0 {
			cells = slices.Delete(slices.Clone(cells), cell, cell+1)
		} else {
			units = slices.Delete(units, unit, unit+1)
		}
	}

	for _, unit := range units {
		var y []float64
		for _, cell := range cells {
			y = append(y, unit.values[cell])
		}

		stratum.side[unit.side] = append(stratum.side[unit.side], y)
		left -= len(cells)
	}

	lacksA := grids[sideA] != nil && len(stratum.side[sideA]) == 0
	if lacksA || len(stratum.side[sideB]) == 0 {
		return block{}, left
	}

	for _, cell := range cells {
		stratum.cells = append(stratum.cells, places[cell])
	}

	return stratum, left
}

// mostMissing returns the unit or the cell that lacks the largest share of values. If both lack the same share, it
// returns the cell. The other result is −1; both are −1 if no value is missing.
func mostMissing(units []unitCurve, cells []string) (unit, cell int) {
	unit = -1
	cell = -1
	most := 0.0
	missing := make([]float64, len(cells))
	for i, u := range units {
		for j, name := range cells {
			if _, ok := u.values[name]; !ok {
				missing[j]++
			}
		}

		if share := float64(u.missing(cells)) / float64(len(cells)); share > most {
			unit = i
			most = share
		}
	}

	for j, n := range missing {
		if share := n / float64(len(units)); share > 0 && share >= most {
			unit = -1
			cell = j
			most = share
		}
	}

	return unit, cell
}
