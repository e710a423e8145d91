package contrast

import (
	"math"
	"slices"

	"doubletake/train/contrast"
)

// This file turns a design into the arms that package train/contrast compares. An arm is the curves of the units of one
// side in one block. A curve has a value at each point, which is the mean over some cells: over all cells, or over the
// cells with one value of a condition.

// points numbers the distinct values of a condition in ascending order. pointOf has the number of each cell's value, by
// block; the number is −1 if the value is NaN. If one value is NaN, all are: then values is nil.
func (d *design) points(axis int) (pointOf [][]int, values []float64) {
	for _, stratum := range d.blocks {
		for _, x := range stratum.cells {
			if v := x[axis]; !math.IsNaN(v) && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}

	slices.Sort(values)
	for _, stratum := range d.blocks {
		numbers := make([]int, len(stratum.cells))
		for j, x := range stratum.cells {
			numbers[j] = slices.Index(values, x[axis])
		}

		pointOf = append(pointOf, numbers)
	}

	return pointOf, values
}

// arms returns the arms of the comparison at n points: for each block and side, the units' means over the cells of each
// point. pointOf contains the number of each cell's point, by block. If it is nil, all cells belong to one point.
func (d *design) arms(pointOf [][]int, n int) []contrast.Arm {
	if pointOf == nil {
		for _, stratum := range d.blocks {
			pointOf = append(pointOf, make([]int, len(stratum.cells)))
		}
	}

	var arms []contrast.Arm
	blocks := make([]float64, n) // number of blocks with cells at each point
	for i, stratum := range d.blocks {
		cells := make([]float64, n) // number of cells of each point
		for _, point := range pointOf[i] {
			cells[point]++
		}

		for point, count := range cells {
			if count > 0 {
				blocks[point]++
			}
		}

		for side, units := range stratum.side {
			if len(units) > 0 { // a block of differences has one side
				sign := -1.0 // the difference is B − A
				if side == sideB {
					sign = 1
				}

				arms = append(arms, newArm(sign, units, pointOf[i], cells))
			}
		}
	}

	for _, arm := range arms {
		for point := range arm.Weight {
			arm.Weight[point] /= blocks[point]
		}
	}

	return arms
}

// newArm returns an arm with the units' means over the cells of each point. count contains the number of cells of each
// point; sign is the weight of the arm at points with cells.
func newArm(sign float64, units [][]float64, pointOf []int, count []float64) contrast.Arm {
	arm := contrast.Arm{Weight: make([]float64, len(count))}
	for point, n := range count {
		if n > 0 {
			arm.Weight[point] = sign
		}
	}

	for _, values := range units {
		curve := make([]float64, len(count))
		for j, point := range pointOf {
			curve[point] += values[j] / count[point]
		}

		arm.Curves = append(arm.Curves, curve)
	}

	return arm
}
