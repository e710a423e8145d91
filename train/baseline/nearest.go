package baseline

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/train/triplets"
)

// NearestGroup predicts the outcomes that were measured in the nearest training group, at its nearest condition. The
// distance of groups is taken over the inputs that are constant within each group, the distance of conditions over the
// other inputs, both in units of the inputs' training deviations. Outcomes of equally near conditions are averaged. If
// no input is constant within the groups, all inputs count for the conditions.
//
// Its variances come from its errors on left-out groups.
type NearestGroup struct{}

// nearestAsked is the largest number of conditions at which the errors on left-out groups are computed.
const nearestAsked = 1000

// nearest is a fitted NearestGroup.
type nearest struct {
	cells
	std        []float64 // training deviations of the inputs
	isConstant []bool    // by input: it is constant within each group
}

// Fit stores the conditions. It does not use the seed.
func (NearestGroup) Fit(ctx context.Context, data triplets.Set, _ uint64) (Predictor, error) {
	if _, err := Learnable(ctx, data); err != nil {
		return nil, fmt.Errorf("fit nearest-group: %w", err)
	}

	c := cellsOf(data)
	n := nearest{cells: c, std: triplets.ScaleOf(data.In, c.x).Std, isConstant: constantInGroups(c, data.In)}

	mu := slices.Repeat([]float64{math.NaN()}, len(c.y)) // learn leaves out the cells that stay NaN
	asked := min(c.n, nearestAsked)
	for i := range asked {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("fit nearest-group: %w", err)
		}

		k := i * c.n / asked
		n.mean(c.at(k), mu[k*data.Out:(k+1)*data.Out], c.group[k])
	}

	p := steady{name: "nearest-group", inputs: data.In, mean: func(x, mu []float64) { n.mean(x, mu, noGroup) }}
	if err := p.learn(data, c, mu); err != nil {
		return nil, fmt.Errorf("fit nearest-group: %w", err)
	}

	return p, nil
}

// constantInGroups reports for each input whether all cells of a group have the same value of the input.
func constantInGroups(c cells, inputs int) []bool {
	isConstant := slices.Repeat([]bool{true}, inputs)
	first := make([][]float64, c.groups) // inputs of the first cell of each group
	for k, g := range c.group {
		if first[g] == nil {
			first[g] = c.at(k)
		}

		for j, value := range c.at(k) {
			isConstant[j] = isConstant[j] && value == first[g][j]
		}
	}

	return isConstant
}

// noGroup is the number of a group without cells.
const noGroup = -1

// mean stores in mu the mean outcomes of the cells nearest to x, without cells of the excluded group, which may be
// noGroup. It leaves mu unchanged if there are no other cells.
func (n nearest) mean(x, mu []float64, excluded int) {
	var least distance
	count := 0.0
	for k, g := range n.group {
		if g == excluded {
			continue
		}

		d := n.distance(x, k)
		order := d.compare(least)
		switch {
		case count == 0 || order < 0:
			least = d
			count = 0
			clear(mu)
		case order > 0:
			continue
		}

		count++
		for j := range mu {
			mu[j] += (n.y[k*len(mu)+j] - mu[j]) / count
		}
	}
}

// distance is the distance of a condition from a cell.
type distance struct {
	group     float64 // squared distance over the inputs that are constant within groups
	condition float64 // squared distance over the other inputs
}

// distance returns the distance of x from a cell, in units of the inputs' training deviations. Inputs without a
// deviation do not count.
func (n nearest) distance(x []float64, cell int) distance {
	var d distance
	for j, v := range n.at(cell) {
		if !(n.std[j] > 0) {
			continue
		}

		z := (x[j] - v) / n.std[j]
		if n.isConstant[j] {
			d.group += float64(z * z)
		} else {
			d.condition += float64(z * z)
		}
	}

	return d
}

// compare returns a negative number if d is nearer than other, a positive one if it is farther, and 0 if they are
// equal. The distance of the group decides before the distance of the condition.
func (d distance) compare(other distance) int {
	return cmp.Or(compareSquares(d.group, other.group), compareSquares(d.condition, other.condition))
}

// sameSquare is the relative difference up to which two squared distances are equal.
const sameSquare = 1e-9

// compareSquares compares two squared distances, which are equal if they differ by rounding.
func compareSquares(a, b float64) int {
	if math.Abs(a-b) <= sameSquare*(b+sameSquare) {
		return 0
	}

	return cmp.Compare(a, b)
}
