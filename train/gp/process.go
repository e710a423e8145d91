package gp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
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

	offsets *offsets // nil without labels
}

// factorise conditions the processes on the training data.
func (m *Model) factorise(ctx context.Context) {
	m.process = make([]process, m.Outcomes)
	for j := range m.Outcomes {
		fault.Raise(ctx.Err())
		p, level, spread := m.given(j)

		// A jitter is tried only where rounding leaves the matrix indefinite.
		err := errNotPositive
		for _, jitter := range []float64{0, 1e-10, 1e-8, 1e-6} {
			p.chol = m.kernelMatrix(j, p.x, spread, jitter)
			if err = Factorise(square(p.n, p.chol), p.n); err == nil {
				break
			}
		}

		if err != nil {
			fault.Raise(fmt.Errorf("outcome column %d, %d conditions: %w", j, p.n, err))
		}

		p.solveVector(p.alpha)
		if m.Labels != nil {
			p.offsets = m.offsets(&p, labels{m.Labels, level})
		}

		m.process[j] = p
	}
}

// given returns what the process of outcome j is conditioned on, with y in the place of
// alpha, the levels of the labels, and the variances of y without those that kernelMatrix adds.
func (m *Model) given(j int) (p process, level []int, spread []float64) {
	if m.Averages != nil {
		c := m.Averages[j]
		return process{n: len(c.Y), x: c.X, alpha: slices.Clone(c.Y)}, c.Level, c.Variance
	}

	p = process{n: m.n, x: m.X, alpha: lists.Column(m.Y, m.Outcomes, j)}

	return p, m.Level, lists.Column(m.Spread, m.Outcomes, j)
}

// kernelMatrix returns the lower triangle of K + D for outcome j at x.
func (m *Model) kernelMatrix(j int, x, spread []float64, jitter float64) []float64 {
	n, in := len(spread), len(m.Columns)
	k := make([]float64, n*n)
	c := newCovariance(m.Hyper[j], m.Others)

	nugget := m.Hyper[j].Nugget * m.Hyper[j].Nugget
	if m.Averages != nil {
		nugget = 0 // the variances of cells include it
	}

	parallel.Do(m.workers, n, func(i int) {
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

// at returns mean and variance, nugget included, at standardised conditions z of the given levels.
func (p *process) at(others []int, h Hyper, z []float64, level []int) (mean, variance []float64) {
	mean, variance, k := p.latent(others, h, z)
	if p.offsets != nil {
		p.offsets.add(level, p.offsets.shifts(level, k, len(mean)), mean, variance)
	}

	for b, v := range variance {
		variance[b] = max(v, MinVariance) + h.Nugget*h.Nugget
	}

	return mean, variance
}

// latent returns the mean and the variance of the latent function at standardised
// conditions z, without offsets, and L⁻¹k (n×conditions).
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
func (p *process) without(rows []int) (v, factor []float64) {
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

	fault.Raise(Factorise(square(w, q), w))

	return v, q
}

// offsetsWithout is the law of the offsets without the given rows, and chol(Q)⁻¹W of them. v and factor are those of
// without, diff is Q⁻¹α there.
func (p *process) offsetsWithout(rows []int, v, factor, diff []float64) (*offsets, []float64) {
	n, w, from := len(rows), p.offsets.columns(), rows[0]
	x := make([]float64, n*w) // W
	kernel.Add(n, w, p.n-from, kernel.View{Data: v[from*n:], Row: n, Col: 1}.T(),
		kernel.View{Data: p.offsets.white[from*w:], Row: w, Col: 1}, kernel.View{Data: x, Row: w, Col: 1})
	less := transposed(x, diff, w)
	SolveLeft(square(n, factor), kernel.View{Data: x, Row: w, Col: 1}, n, w)

	return p.offsets.without(mat.NewDense(n, w, x), less), x
}

// leaveOut returns y − μ and the variance of y at the given rows (ascending)
// without them.
func (p *process) leaveOut(rows []int) (diff, variance []float64) {
	v, q := p.without(rows)
	w := len(rows)
	diff, variance = lists.Rows(p.alpha, 1, rows), make([]float64, w)
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

	if p.offsets == nil {
		return diff, variance
	}

	o, x := p.offsetsWithout(rows, v, q, diff)
	var t mat.Dense // xᵀL⁻¹: the shifts of the rows
	t.Mul(mat.NewDense(w, o.columns(), x).T(), mat.NewDense(w, w, inverse))
	mean := make([]float64, w)
	level := slices.Repeat([]int{0}, w*len(o.count)) // shifts have those of all levels
	o.add(level, t.RawMatrix().Data, mean, variance)
	for a, m := range mean {
		diff[a] -= m
	}

	return diff, variance
}
