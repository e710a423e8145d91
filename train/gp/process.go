package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

const (
	predictBlock = 256 // conditions predicted together
	solveBlock   = 64  // rows of a triangular solve between matrix products
)

// MinVariance is the smallest variance of the latent function, standardised.
const MinVariance = 1e-9

var errNotPositive = errors.New("the covariance of the conditions is not positive definite")

// process is one outcome's process given the training data: the Cholesky factor
// of K + D (lower, row-major n×n) and (K + D)⁻¹y.
type process struct {
	n     int
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
		p := process{n: m.n, alpha: make([]float64, m.n)}
		for i := range p.alpha {
			p.alpha[i] = m.y[i*m.out+j]
		}
		// A jitter is tried only where rounding leaves the matrix indefinite.
		err := errNotPositive
		for _, jitter := range []float64{0, 1e-10, 1e-8, 1e-6} {
			p.chol = m.kernelMatrix(j, jitter)
			if err = cholesky(p.n, p.chol); err == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("outcome column %d, %d conditions: %w", j, m.n, err)
		}
		l := lower(p.n, p.chol)
		b := blas64.Vector{N: p.n, Data: p.alpha, Inc: 1}
		blas64.Trsv(blas.NoTrans, l, b)
		blas64.Trsv(blas.Trans, l, b)
		m.process[j] = p
	}
	return nil
}

// kernelMatrix returns the lower triangle of K + D for outcome j.
func (m *Model) kernelMatrix(j int, jitter float64) []float64 {
	n, in := m.n, len(m.columns)
	k := make([]float64, n*n)
	c := newCovariance(m.hyper[j], m.others)
	nugget := m.hyper[j].Nugget * m.hyper[j].Nugget
	parallel(m.workers, n, func(i int) {
		x := m.x[i*in : (i+1)*in]
		for b := range i {
			k[i*n+b] = c.at(x, m.x[b*in:(b+1)*in])
		}
		k[i*n+i] = c.at(x, x) + m.spread[i*m.out+j] + nugget + jitter
	})
	return k
}

// cholesky factorises the lower triangle of a in place; the rest is not touched.
func cholesky(n int, a []float64) error {
	_, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: n, Data: a, Uplo: blas.Lower})
	if !ok || math.IsNaN(a[n*n-1]) {
		return errNotPositive
	}
	return nil
}

func lower(n int, a []float64) blas64.Triangular {
	return blas64.Triangular{N: n, Stride: n, Data: a, Uplo: blas.Lower, Diag: blas.NonUnit}
}

// solve sets b (n rows of w) to L⁻¹b. Rows before from must be zero. Most of the
// work is matrix products of blocks.
func (p *process) solve(b []float64, w, from int) {
	view := func(a []float64, row, rows, col, cols, stride int) blas64.General {
		return blas64.General{Rows: rows, Cols: cols, Stride: stride, Data: a[row*stride+col:]}
	}
	start := from / solveBlock * solveBlock
	for s := start; s < p.n; s += solveBlock {
		r := min(solveBlock, p.n-s)
		x := view(b, s, r, 0, w, w)
		if s > start {
			l, done := view(p.chol, s, r, start, s-start, p.n), view(b, start, s-start, 0, w, w)
			blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, l, done, 1, x)
		}
		d := blas64.Triangular{N: r, Stride: p.n, Data: p.chol[s*p.n+s:], Uplo: blas.Lower, Diag: blas.NonUnit}
		blas64.Trsm(blas.Left, blas.NoTrans, 1, d, x)
	}
}

// at returns mean and variance, nugget included, at standardised conditions z.
func (p *process) at(m *Model, h Hyper, z []float64) (mean, variance []float64) {
	in := len(m.columns)
	w := len(z) / in
	c := newCovariance(h, m.others)
	k := make([]float64, p.n*w)
	parallel(m.workers, p.n, func(i int) {
		x := m.x[i*in : (i+1)*in]
		for b := range w {
			k[i*w+b] = c.at(x, z[b*in:(b+1)*in])
		}
	})
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
	for b := range w {
		variance[b] = max(variance[b], MinVariance) + h.Nugget*h.Nugget
	}
	return mean, variance
}

// leaveOut returns y − μ and the variance of y at the given rows (ascending)
// without them.
func (p *process) leaveOut(rows []int) (diff, variance []float64, err error) {
	w := len(rows)
	v := make([]float64, p.n*w)
	for a, i := range rows {
		v[i*w+a] = 1
	}
	p.solve(v, w, rows[0])
	q := make([]float64, w*w) // Q_hh = VᵀV with V = L⁻¹ at the columns h
	blas64.Syrk(blas.Trans, 1, blas64.General{Rows: p.n, Cols: w, Stride: w, Data: v}, 0,
		blas64.Symmetric{N: w, Stride: w, Data: q, Uplo: blas.Lower})
	if err := cholesky(w, q); err != nil {
		return nil, nil, err
	}
	diff, variance = make([]float64, w), make([]float64, w)
	for a, i := range rows {
		diff[a] = p.alpha[i]
	}
	part := process{n: w, chol: q}
	b := blas64.Vector{N: w, Data: diff, Inc: 1}
	blas64.Trsv(blas.NoTrans, lower(w, q), b)
	blas64.Trsv(blas.Trans, lower(w, q), b)
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
