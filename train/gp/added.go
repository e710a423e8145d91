package gp

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"doubletake/train/kernel"
)

// ClaimWith returns the variances that Predict would return as its claims at conditions o.At if the first o.Counts[i]
// of the conditions o.X had been measured as well. Result i has rows of o.At by outcomes. Variances do not depend on
// measured outcomes, so ClaimWith needs none. Hyperparameters, scales and noise stay as they are.
//
// With the Cholesky factor L of the conditions' covariance, V = L⁻¹K(X, A) and v = L⁻¹k(X, x), the covariances
// given the data are S = K(A, A) + D_A − VᵀV and s = k(A, x) − Vᵀv, and the variance at x falls by
// |chol(S)⁻¹s|². The leading rows of chol(S) are the factor for fewer added conditions, so that one factor answers
// all counts. ClaimWith panics if slices do not fit.
func (m *Model) ClaimWith(ctx context.Context, o Added) ([][]float64, error) {
	a, err := m.Answer(ctx, Questions{Added: &o})

	return a.Claims, err
}

// claimWith is ClaimWith by the processes that m keeps.
func (m *Model) claimWith(ctx context.Context, o Added) ([][]float64, error) {
	conditions := len(o.At) / m.Inputs
	if len(o.X) != len(o.Pairs)*m.Inputs || len(o.At)%m.Inputs != 0 {
		panic(fmt.Sprintf("gp: %d and %d numbers are not rows of %d inputs, or not %d rows",
			len(o.X), len(o.At), m.Inputs, len(o.Pairs)))
	}

	variances := make([][]float64, len(o.Counts))
	for i, n := range o.Counts {
		if n < 0 || n > len(o.Pairs) {
			panic(fmt.Sprintf("gp: %d of %d added conditions", n, len(o.Pairs)))
		}

		variances[i] = make([]float64, conditions*m.Outcomes)
	}

	z := m.standardise(slices.Concat(o.X, o.At))
	for j := range m.Outcomes {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("add conditions to additive gp: %w", err)
		}

		law, err := m.addedLaw(j, z, o.Pairs, o.Level)
		if err != nil {
			return nil, fmt.Errorf("add %d conditions to additive gp, outcome column %d: %w", len(o.Pairs), m.first+j, err)
		}

		unit := m.OutputStd[j] * m.OutputStd[j]
		nugget := m.Hyper[j].Nugget * m.Hyper[j].Nugget
		for i, n := range o.Counts {
			for b, v := range law.with(n) {
				variances[i][b*m.Outcomes+j] = (max(v, MinVariance) + nugget) * unit
			}
		}
	}

	return variances, nil
}

// addedLaw holds by how much measurements at the added conditions A would lower the variances at the conditions x.
type addedLaw struct {
	learned  []float64 // chol(S)⁻¹s, A × x
	variance []float64 // by condition of x: variance of the latent function given the data
}

// with returns the variance of the latent function at each condition of x, given the data and the first n conditions of
// A.
func (a addedLaw) with(n int) []float64 {
	conditions := len(a.variance)
	variance := slices.Clone(a.variance)
	for b := range variance {
		for k := range n {
			variance[b] -= a.learned[k*conditions+b] * a.learned[k*conditions+b]
		}
	}

	return variance
}

// addedLaw returns the law of outcome j. z are the standardised conditions A, one for each of pairs, and then x; level
// are their levels.
func (m *Model) addedLaw(j int, z, pairs []float64, level []int) (addedLaw, error) {
	p := &m.process[j]
	all := len(z) / len(m.Columns)
	added := len(pairs)
	conditions := all - added
	c := newCovariance(m.Hyper[j], m.Others)
	whitened := p.whitenedCovariances(c, m.workers, z, m.ownLevels(level, all))

	covariance := m.addedCovariance(j, z, pairs, level)
	u := rowMajor(all, whitened)
	kernel.Subtract(added, all, p.n, u.T(), u, rowMajor(all, covariance))
	if p.offsets != nil {
		p.offsets.addCovariances(level, whitened, added, all, covariance)
	}

	factor := make([]float64, added*added)       // S, then chol(S)
	learned := make([]float64, added*conditions) // s, then chol(S)⁻¹s
	for i := range added {
		copy(factor[i*added:(i+1)*added], covariance[i*all:])
		copy(learned[i*conditions:(i+1)*conditions], covariance[i*all+added:])
	}

	if err := Factorise(rowMajor(added, factor), added); err != nil {
		return addedLaw{}, err
	}

	SolveLeft(rowMajor(added, factor), rowMajor(conditions, learned), added, conditions)

	variance := p.variances(c, z, whitened)
	if p.offsets != nil {
		mean := make([]float64, all) // is not needed
		offsetVariance := make([]float64, all)
		p.offsets.add(level, p.offsets.shifts(level, whitened, all), mean, offsetVariance)
		floats.Add(variance, offsetVariance)
	}

	return addedLaw{learned, variance[added:]}, nil
}

// addedCovariance returns the covariances of measurements of outcome j at the conditions A, one for each of pairs, with
// the latent function at all conditions z, before any data: A × z. A measurement has its own noise and its own
// deviation from run to run. level are the levels of z.
func (m *Model) addedCovariance(j int, z, pairs []float64, level []int) []float64 {
	columns := len(m.Columns)
	all := len(z) / columns
	h := m.Hyper[j]
	c := newCovariance(h, m.Others)
	own := m.ownLevels(level, all)
	covariance := make([]float64, len(pairs)*all)
	for i, n := range pairs {
		row := z[i*columns : (i+1)*columns]
		dst := covariance[i*all : (i+1)*all]
		c.row(dst, row, z)
		c.addCurves(dst, row, z, levelOf(own, i), own)
		dst[i] += m.Noise[j].variance(row)/(2*n) + h.Nugget*h.Nugget
	}

	return covariance
}
