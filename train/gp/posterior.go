package gp

import (
	"context"
	"fmt"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/train/kernel"
)

// Posterior is what a process knows at some conditions, and would know if some of them were
// measured: variances depend on no outcome. Hyperparameters, scales and noise stay.
type Posterior struct {
	conditions, rows int         // rows of the process for each condition: 1, or the harmonics
	cov, noise       [][]float64 // by outcome of the process: covariances of the latent function; what a measurement adds
	nugget, unit     []float64   // by outcome of the process: variance; unit²
}

// Posterior returns what the process knows at conditions x, each of which would be measured by so
// many pairs. level are their levels, see PredictLevels.
func (m *Model) Posterior(ctx context.Context, x []float64, pairs float64, level []int) (*Posterior, error) {
	z, in := m.standardise(x), len(m.Columns)
	n := len(x) / m.Inputs
	p := &Posterior{conditions: n, rows: 1}
	at := func(i int) []float64 { return z[i*in : (i+1)*in] }
	for j := range m.Outcomes {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("posterior of additive gp: %w", err)
		}

		c := newCovariance(m.Hyper[j], m.Others)
		nugget := m.Hyper[j].Nugget * m.Hyper[j].Nugget
		v := m.process[j].whitened(c, m.workers, z)
		cov, noise := make([]float64, n*n), make([]float64, n)
		parallel.Do(m.workers, n, func(i int) {
			c.row(cov[i*n:(i+1)*n], at(i), z)
			noise[i] = m.Noise[j].at(at(i))/(2*pairs) + nugget
		})

		solved := kernel.View{Data: v, Row: n, Col: 1}
		kernel.Subtract(n, n, m.process[j].n, solved.T(), solved, square(n, cov))
		if o := m.process[j].offsets; o != nil {
			o.covary(level, v, n, n, cov)
		}

		p.cov, p.noise = append(p.cov, cov), append(p.noise, noise)
		p.nugget, p.unit = append(p.nugget, nugget), append(p.unit, m.OutputStd[j]*m.OutputStd[j])
	}

	return p, nil
}

// whitened returns L⁻¹K(X, z), a row for each condition of the process.
func (p *process) whitened(c covariance, workers int, z []float64) []float64 {
	in := len(p.x) / p.n
	w := len(z) / in
	v := make([]float64, p.n*w)
	parallel.Do(workers, p.n, func(i int) {
		c.row(v[i*w:(i+1)*w], p.x[i*in:(i+1)*in], z)
	})

	p.solve(v, w, 0)

	return v
}

// Clone returns a copy.
func (p *Posterior) Clone() *Posterior {
	c := *p
	c.cov = lists.Each(p.cov, slices.Clone[[]float64])

	return &c
}

// out is the number of outcomes.
func (p *Posterior) out() int { return max(p.rows, len(p.cov)) }

// row returns where an outcome at a condition is: outcomes are processes, or rows of one.
func (p *Posterior) row(condition, outcome int) (process, row int) {
	if p.rows > 1 {
		return 0, condition*p.rows + outcome
	}
	return outcome, condition
}

// Claims are the claims that Predict would make, conditions × outcomes.
func (p *Posterior) Claims() []float64 {
	claims := make([]float64, 0, p.conditions*p.out())
	for i := range p.conditions {
		for o := range p.out() {
			j, k := p.row(i, o)
			v := p.cov[j][k*p.conditions*p.rows+k]
			claims = append(claims, (max(v, MinVariance)+p.nugget[j])*p.unit[j])
		}
	}

	return claims
}

// Gain is by how much the sum of weight·variance over conditions and outcomes would fall if those
// conditions were measured together.
func (p *Posterior) Gain(conditions []int, weight []float64) (gain float64, err error) {
	defer fault.Catch(&err)
	for j := range p.cov {
		w, n := p.learned(j, conditions), p.conditions*p.rows
		for k, v := range w {
			o := j
			if p.rows > 1 {
				o = k % n % p.rows
			}

			gain += weight[k%n/p.rows*p.out()+o] * p.unit[j] * v * v
		}
	}

	return gain, nil
}

// Measure takes those conditions as measured.
func (p *Posterior) Measure(conditions []int) (err error) {
	defer fault.Catch(&err)
	n := p.conditions * p.rows
	for j := range p.cov {
		w := p.learned(j, conditions)
		v := kernel.View{Data: w, Row: n, Col: 1}
		kernel.Subtract(n, n, len(w)/n, v.T(), v, square(n, p.cov[j]))
	}

	return nil
}

// learned returns L⁻¹S(R, ·) of the rows R of some conditions, with LLᵀ = S(R, R) + noise: the
// squares are by how much each variance falls.
func (p *Posterior) learned(j int, conditions []int) []float64 {
	n, cov := p.conditions*p.rows, p.cov[j]
	var rows []int
	for _, c := range conditions {
		for k := range p.rows {
			rows = append(rows, c*p.rows+k)
		}
	}

	r := len(rows)
	factor, w := make([]float64, r*r), make([]float64, 0, r*n)
	for a, i := range rows {
		for b, k := range rows {
			factor[a*r+b] = cov[i*n+k]
		}

		factor[a*r+a] += p.noise[j][i]
		w = append(w, cov[i*n:(i+1)*n]...)
	}

	if err := Factorise(square(r, factor), r); err != nil {
		fault.Raise(fmt.Errorf("measure %d conditions of additive gp: %w", len(conditions), err))
	}

	SolveLeft(square(r, factor), kernel.View{Data: w, Row: n, Col: 1}, r, n)

	return w
}
