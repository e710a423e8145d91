// Package honest calibrates the epistemic variance of any model on groups of
// conditions that the model has not seen: a blade count, a speed, a propeller.
//
// Each training group is left out in turn. Its pairs measure the squared error there, and
// package scale learns by how much it exceeds what the model claims, and how much that
// differs between groups. The interval at a new group is a quantile of that law.
//
// Learner does all of that for one split; Model is what honest.json holds. The package
// does no input or output but reading that file. docs/honest.md has the formulas and
// states the limits of the intervals.
package honest

import (
	"fmt"
	"math"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/triplets"
)

// checked panics when a slice does not have the stated length. Without runs every row
// is one.
func checked(d triplets.Set) triplets.Set {
	if len(d.X) != d.N*d.In || len(d.Y1) != d.N*d.Out || len(d.Y2) != d.N*d.Out || d.Run != nil && len(d.Run) != d.N {
		panic(fmt.Sprintf("honest: data of %d rows, %d inputs, %d outcomes have slices of %d, %d, %d and %d numbers",
			d.N, d.In, d.Out, len(d.X), len(d.Y1), len(d.Y2), len(d.Run)))
	}

	if d.Run == nil {
		d.Run = lists.Numbers(d.N)
	}

	return d
}

// spread returns, per outcome, the mean and the population standard deviation of y1 and
// y2 together over the given rows, which count weight[i] times; nil: once. A constant
// outcome has deviation 0. Without rows both are NaN.
func spread(d triplets.Set, rows []int, weight []float64) (mean, std []float64) {
	w := func(i int) float64 { return triplets.WeightAt(weight, i) }
	mean, std = make([]float64, d.Out), make([]float64, d.Out)
	for j := range d.Out {
		if len(rows) == 0 {
			mean[j], std[j] = math.NaN(), math.NaN()
			continue
		}

		// Sums about the first value: levels far from zero lose no digits.
		origin, n, sum := d.Y1[rows[0]*d.Out+j], 0.0, 0.0
		for _, i := range rows {
			n += 2 * w(i)
			sum += w(i) * ((d.Y1[i*d.Out+j] - origin) + (d.Y2[i*d.Out+j] - origin))
		}

		m, ss := origin+sum/n, 0.0
		for _, i := range rows {
			a, b := d.Y1[i*d.Out+j]-m, d.Y2[i*d.Out+j]-m
			ss += w(i) * (a*a + b*b)
		}

		mean[j], std[j] = m, math.Sqrt(ss/n)
	}

	return mean, std
}

// VaryingInputs returns the columns of x (row-major, in columns) that take at
// least two values in the given rows, in order. The others must be dropped from
// a training on these rows: a scale learned from a constant is meaningless.
func VaryingInputs(x []float64, in int, rows []int) []int {
	return lists.Where(in, func(j int) bool {
		return slices.ContainsFunc(rows, func(i int) bool { return x[i*in+j] != x[rows[0]*in+j] })
	})
}
