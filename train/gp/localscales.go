package gp

import (
	"context"

	"gonum.org/v1/gonum/floats"

	"doubletake/internal/lists"
)

// This file says where a process errs more than it claims. A process is equally uncertain at equal distances from its
// data. But the outcome may jump in one region and be smooth elsewhere. If a condition near a jump is left out, its
// squared error is large, compared with the variance that the process predicts there.

// localPrior is the weight of the mean over all conditions in a local scale. The mean counts as much as this number of
// conditions at the same place.
const localPrior = 2.0

// mostLeftOut is the largest number of rows whose errors make local scales.
const mostLeftOut = 400

// localScales returns, for each of the standardised conditions z, the factor by which the variance of the process of
// the only outcome of m is too small there, relative to its average over the data. q is the squared error of a row that
// is left out, over its predicted variance, and q̄ is the mean of q over the rows. ρ is the correlation of the Matérn
// kernels of the condition with a row. The factor is (w·q̄ + Σρq)/(w + Σρ)/q̄, where w is localPrior.
func (m *Model) localScales(ctx context.Context, z []float64) ([]float64, error) {
	p := &m.process[0]
	rows := lists.Evenly(lists.Numbers(p.n), mostLeftOut)
	ratios, err := m.errorRatios(ctx, rows)
	if err != nil {
		return nil, err
	}

	columns := len(m.Columns)
	c := m.stationary()
	x := lists.Rows(p.x, columns, rows)
	self := c.variance(make([]float64, columns))
	mean := floats.Sum(ratios) / float64(len(rows))
	scales := make([]float64, len(z)/columns)
	correlation := make([]float64, len(rows))
	for i := range scales {
		scales[i] = 1
		if !(mean > 0) {
			continue // no row has an error
		}

		c.row(correlation, z[i*columns:(i+1)*columns], x)
		floats.Scale(1/self, correlation)
		sum := localPrior*mean + floats.Dot(correlation, ratios)
		scales[i] = sum / (localPrior + floats.Sum(correlation)) / mean
	}

	return scales, nil
}

// stationary returns the covariance of the first outcome by the Matérn kernels alone.
func (m *Model) stationary() covariance {
	h := m.Hyper[0]
	h.Constant = 0
	h.Linear = make([]float64, len(h.Linear))
	h.Own = 0

	return newCovariance(h, m.Others)
}

// errorRatios returns, for each of some rows of the process of the only outcome of m, the squared error over its
// variance if the row is left out. The variances are positive, because Q of withoutRows is positive definite. After an
// error only some of the ratios are set.
func (m *Model) errorRatios(ctx context.Context, rows []int) ([]float64, error) {
	var single [][]int
	for _, i := range rows {
		single = append(single, []int{i})
	}

	ratios := make([]float64, len(rows))
	err := m.leaveOutBatches(ctx, [][][]int{single}, func(_ int, row leftList, difference, variance []float64) {
		ratios[row.number] = difference[0] * difference[0] / variance[0]
	})

	return ratios, err
}
