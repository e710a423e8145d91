package gp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"doubletake/train/kernel"
)

const predictBlock = 512 // conditions predicted together

// MinVariance is the smallest variance of the latent function, standardised.
const MinVariance = 1e-9

var errNotPositive = errors.New("the covariance of the conditions is not positive definite")

// process is one outcome's process given the training data: the Cholesky factor
// of K + D (lower, row-major n×n) and (K + D)⁻¹y.
type process struct {
	n     int
	x     []float64 // n×inputs, standardised: what it is conditioned on
	chol  []float64
	alpha []float64
}

// parallel calls f(0), …, f(n−1) on so many goroutines.
func parallel(workers, n int, f func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}

	var next atomic.Int64

	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}

	wg.Wait()
}

// factorise conditions the processes on the training data.
func (m *Model) factorise(ctx context.Context) error {
	m.process = make([]process, m.out)
	for j := range m.out {
		if err := ctx.Err(); err != nil {
			return err
		}

		p, spread := m.given(j)

		// A jitter is tried only where rounding leaves the matrix indefinite.
		err := errNotPositive
		for _, jitter := range []float64{0, 1e-10, 1e-8, 1e-6} {
			p.chol = m.kernelMatrix(j, p.x, spread, jitter)
			if err = Factorise(square(p.n, p.chol), p.n); err == nil {
				break
			}
		}

		if err != nil {
			return fmt.Errorf("outcome column %d, %d conditions: %w", j, p.n, err)
		}

		p.solveVector(p.alpha)
		m.process[j] = p
	}

	return nil
}

// given returns what the process of outcome j is conditioned on, with y in the place of
// alpha, and the variances of y without those that kernelMatrix adds.
func (m *Model) given(j int) (p process, spread []float64) {
	if m.cells != nil {
		c := m.cells[j]
		return process{n: len(c.y), x: c.x, alpha: slices.Clone(c.y)}, c.variance
	}

	p = process{n: m.n, x: m.x, alpha: make([]float64, m.n)}
	spread = make([]float64, m.n)
	for i := range m.n {
		p.alpha[i], spread[i] = m.y[i*m.out+j], m.spread[i*m.out+j]
	}

	return p, spread
}

// kernelMatrix returns the lower triangle of K + D for outcome j at x.
func (m *Model) kernelMatrix(j int, x, spread []float64, jitter float64) []float64 {
	n, in := len(spread), len(m.columns)
	k := make([]float64, n*n)
	c := newCovariance(m.hyper[j], m.others)

	nugget := m.hyper[j].Nugget * m.hyper[j].Nugget
	if m.cells != nil {
		nugget = 0 // the variances of cells include it
	}

	parallel(m.workers, n, func(i int) {
		a := x[i*in : (i+1)*in]
		c.row(k[i*n:i*n+i+1], a, x[:(i+1)*in])
		k[i*n+i] = k[i*n+i] + spread[i] + nugget + jitter
	})

	return k
}

// solveVector sets b to (L·Lᵀ)⁻¹b.
func (p *process) solveVector(b []float64) {
	l, v := lower(p.n, p.chol), blas64.Vector{N: p.n, Data: b, Inc: 1}
	blas64.Trsv(blas.NoTrans, l, v)
	blas64.Trsv(blas.Trans, l, v)
}

// solve sets b (n rows of w) to L⁻¹b. Rows before from must be zero.
func (p *process) solve(b []float64, w, from int) {
	l := square(p.n, p.chol).From(from, from)
	SolveLeft(l, kernel.View{Data: b[from*w:], Row: w, Col: 1}, p.n-from, w)
}

// at returns mean and variance, nugget included, at standardised conditions z.
func (p *process) at(others []int, h Hyper, z []float64) (mean, variance []float64) {
	mean, variance, _ = p.latent(others, h, z)
	for b, v := range variance {
		variance[b] = max(v, MinVariance) + h.Nugget*h.Nugget
	}

	return mean, variance
}

// latent returns the mean and the variance of the latent function at standardised
// conditions z, and L⁻¹k (n×conditions).
func (p *process) latent(others []int, h Hyper, z []float64) (mean, variance, k []float64) {
	in := len(h.Length)
	w := len(z) / in
	c := newCovariance(h, others)
	k = make([]float64, p.n*w)
	for i := range p.n {
		c.row(k[i*w:(i+1)*w], p.x[i*in:(i+1)*in], z)
	}

	mean, variance = make([]float64, w), make([]float64, w)
	for i, a := range p.alpha {
		for b := range w {
			mean[b] += a * k[i*w+b]
		}
	}

	p.solve(k, w, 0)

	for b := range w {
		variance[b] = c.at(z[b*in:(b+1)*in], z[b*in:(b+1)*in])
	}

	for i := range p.n {
		for b := range w {
			variance[b] -= k[i*w+b] * k[i*w+b]
		}
	}

	return mean, variance, k
}

// without returns V = L⁻¹ at the columns rows (ascending), n×len(rows), and the Cholesky
// factor of Q = VᵀV, the block of (K + D)⁻¹ that belongs to them.
func (p *process) without(rows []int) (v, factor []float64, err error) {
	w := len(rows)
	v = make([]float64, p.n*w)
	for a, i := range rows {
		v[i*w+a] = 1
	}

	p.solve(v, w, rows[0])
	q := make([]float64, w*w)
	view := kernel.View{Data: v[rows[0]*w:], Row: w, Col: 1}
	subtractSquare(w, p.n-rows[0], view.T(), square(w, q))

	for i := range q {
		q[i] = -q[i]
	}

	return v, q, Factorise(square(w, q), w)
}

// leaveOut returns y − μ and the variance of y at the given rows (ascending)
// without them.
func (p *process) leaveOut(rows []int) (diff, variance []float64, err error) {
	_, q, err := p.without(rows)
	if err != nil {
		return nil, nil, err
	}

	w := len(rows)
	diff, variance = make([]float64, w), make([]float64, w)
	for a, i := range rows {
		diff[a] = p.alpha[i]
	}

	part := process{n: w, chol: q}
	part.solveVector(diff)

	inverse := make([]float64, w*w) // of the factor: its squared columns sum to the diagonal
	for a := range w {
		inverse[a*w+a] = 1
	}

	part.solve(inverse, w, 0)

	for i := range w {
		for a := range i + 1 {
			variance[a] += inverse[i*w+a] * inverse[i*w+a]
		}
	}

	return diff, variance, nil
}
