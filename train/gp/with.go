package gp

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"

	"doubletake/train/kernel"
)

// ClaimWith returns the claims that Predict would make at x if the conditions added had
// been measured as well, by so many pairs each: one slice for each of counts, with the
// first counts[i] of them. Hyperparameters, scales and noise stay. Claims depend on no
// outcome, so that none is asked for. level are the levels of the labels of added and x, see PredictLevels.
//
// With L and D of the n conditions, V = L⁻¹K(X, A) and v = L⁻¹k(X, x), the covariances that
// remain are S = K(A, A) + D_A − VᵀV and s = k(A, x) − Vᵀv, and the variance falls by
// |chol(S)⁻¹s|². The leading rows of chol(S) are those of fewer conditions. It panics where
// slices do not fit.
func (m *Model) ClaimWith(ctx context.Context, added, pairs []float64, counts []int, x []float64, level []int,
) ([][]float64, error) {
	a, w, in := len(pairs), len(x)/m.Inputs, len(m.Columns)
	if len(added) != a*m.Inputs || len(x)%m.Inputs != 0 {
		panic(fmt.Sprintf("gp: %d and %d numbers are not rows of %d inputs, or not %d rows", len(added), len(x), m.Inputs, a))
	}

	claims := make([][]float64, len(counts))
	for i, n := range counts {
		if n < 0 || n > a {
			panic(fmt.Sprintf("gp: %d of %d added conditions", n, a))
		}

		claims[i] = make([]float64, w*m.Outcomes)
	}

	z := m.standardise(append(append(make([]float64, 0, len(added)+len(x)), added...), x...))
	for j := range m.Outcomes {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("add conditions to additive gp: %w", err)
		}

		left, right, err := m.remaining(j, z[:a*in], z[a*in:], pairs, level)
		if err != nil {
			return nil, fmt.Errorf("add %d conditions to additive gp, outcome column %d: %w", a, j, err)
		}

		SolveLeft(square(a, left), kernel.View{Data: right, Row: w, Col: 1}, a, w)

		s2, nugget := m.OutputStd[j]*m.OutputStd[j], m.Hyper[j].Nugget*m.Hyper[j].Nugget
		for b := range w {
			for i, n := range counts {
				v := right[a*w+b]
				for k := range n {
					v -= right[k*w+b] * right[k*w+b]
				}

				claims[i][b*m.Outcomes+j] = (max(v, MinVariance) + nugget) * s2
			}
		}
	}

	return claims, nil
}

// remaining returns, given the training data, the Cholesky factor of the covariance of
// measurements at a, and the covariances of the latent function there with that at x, of
// which the variances at x are the last row.
func (m *Model) remaining(j int, a, x, pairs []float64, level []int) (factor, cross []float64, err error) {
	p, h, in := &m.process[j], m.Hyper[j], len(m.Columns)
	n, w := len(pairs), len(x)/in
	both := n + w
	z := append(append(make([]float64, 0, both*in), a...), x...)

	c := newCovariance(h, m.Others)
	at := func(rows []float64, i int) []float64 { return rows[i*in : (i+1)*in] }
	v := p.whitened(c, m.workers, z)
	k := make([]float64, n*both) // rows of a, columns of a and x
	for i := range n {
		c.row(k[i*both:(i+1)*both], at(z, i), z)
		k[i*both+i] += m.Noise[j].at(at(z, i))/(2*pairs[i]) + h.Nugget*h.Nugget
	}

	solved := kernel.View{Data: v, Row: both, Col: 1}
	kernel.Subtract(n, both, p.n, solved.T(), solved, kernel.View{Data: k, Row: both, Col: 1})
	if p.offsets != nil {
		p.offsets.covary(level, v, n, both, k)
	}

	factor, cross = make([]float64, n*n), make([]float64, (n+1)*w)
	for i := range n {
		copy(factor[i*n:(i+1)*n], k[i*both:])
		copy(cross[i*w:(i+1)*w], k[i*both+n:])
	}

	last := cross[n*w:]
	for b := range w {
		last[b] = c.at(at(x, b), at(x, b))
	}

	for i := range p.n {
		for b := range w {
			last[b] -= v[i*both+n+b] * v[i*both+n+b]
		}
	}

	if p.offsets != nil {
		own := make([]float64, both)
		p.offsets.add(level, p.offsets.shifts(level, v, both), make([]float64, both), own)
		floats.Add(last, own[n:])
	}

	return factor, cross, Factorise(square(n, factor), n)
}
