package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"doubletake/internal/lists"
	"doubletake/internal/parallel"
)

// predictBlock is the number of conditions that are predicted together. It bounds the memory of a prediction.
const predictBlock = 512

// MinVariance is the smallest variance of the latent function, standardised.
const MinVariance = 1e-9

var errNotPositive = errors.New("the covariance of the conditions is not positive definite")

// process is the process of one outcome, given n measured means y: of conditions, or of cells. Their covariance is
// K + D, with the covariance K of the latent function and the variances D of the means and from run to run. All numbers
// are standardised.
type process struct {
	n       int
	x       []float64 // inputs, n × inputs
	factor  []float64 // L, the Cholesky factor of K + D: lower triangle of an n×n matrix, row-major
	weights []float64 // (K + D)⁻¹y
	own     []int     // by row: level of the label whose levels have curves; nil: none has

	offsets *offsetLaw // nil without labels
}

// factorise conditions the processes of all outcomes on the training data. If the factors have more than the given
// number of elements, it only checks that they exist.
func (m *Model) factorise(ctx context.Context, kept int) error {
	numbers := 0
	for j := range m.Outcomes {
		n := len(m.given(j).y)
		numbers += n * n
	}

	if numbers > kept {
		return m.checkFactors(ctx)
	}

	m.process = make([]process, m.Outcomes)
	for j := range m.Outcomes {
		if err := ctx.Err(); err != nil {
			return err
		}

		n := len(m.given(j).y)
		p, err := m.factorised(j, make([]float64, n*n))
		if err != nil {
			return err
		}

		m.process[j] = p
	}

	return nil
}

// checkFactors returns an error if a covariance cannot be factorised. It tries to factorise the covariances whose
// factor is not certain to exist.
func (m *Model) checkFactors(ctx context.Context) error {
	for j := range m.Outcomes {
		if m.isCertain(j) {
			continue
		}

		err := m.outcome(j).eachOutcome(ctx, func(int, *Model) error { return nil })
		if err != nil {
			return err
		}
	}

	return nil
}

// certainShare is the share of the largest diagonal element that the variances of the means must have at least for the
// factor to exist for certain. In floating point a Cholesky factor of n rows exists if the smallest eigenvalue is
// larger than about n²·2⁻⁵³ times the largest diagonal element (Higham 2002, theorem 10.7), which is 2·10⁻⁹ for 4000
// rows.
const certainShare = 1e-7

// isCertain reports whether the covariance of outcome j can be factorised for certain: K has no negative eigenvalue,
// and D is large enough.
func (m *Model) isCertain(j int) bool {
	data := m.given(j)
	c := newCovariance(m.Hyper[j], m.Others)
	nugget := m.nugget(j)
	least := math.Inf(1)
	largest := 0.0
	for i, v := range data.variance {
		least = min(least, v+nugget)
		largest = max(largest, v+nugget+c.variance(data.x[i*len(m.Columns):(i+1)*len(m.Columns)]))
	}

	return least > certainShare*largest && !math.IsInf(largest, 1)
}

// factorised returns the process of outcome j, conditioned on the training data. factor is room for the factor.
func (m *Model) factorised(j int, factor []float64) (process, error) {
	data := m.given(j)
	n := len(data.y)
	if err := m.factoriseCovariance(j, data, factor); err != nil {
		return process{}, fmt.Errorf("outcome column %d, %d conditions: %w", m.first+j, n, err)
	}

	p := process{n: n, x: data.x, factor: factor, weights: slices.Clone(data.y), own: m.ownLevels(data.level, n)}
	solveVector(p.factor, p.weights)
	if len(m.Labels) > 0 {
		var err error
		p.offsets, err = m.newOffsetLaw(&p, labels{m.Labels, data.level})
		if err != nil {
			return process{}, fmt.Errorf("outcome column %d, offsets of %d labels: %w", m.first+j, len(m.Labels), err)
		}
	}

	return p, nil
}

// measured holds the means that the process of one outcome is conditioned on.
type measured struct {
	x        []float64 // inputs, means × inputs
	y        []float64 // means
	variance []float64 // variances of the means: of conditions without the nugget, of cells with it
	level    []int     // levels of the labels, means × labels
}

// given returns the cells of outcome j, or its conditions if neighbours are not averaged. The result shares slices of
// the model.
func (m *Model) given(j int) measured {
	if m.Averages != nil {
		cells := m.Averages[j]
		return measured{x: cells.X, y: cells.Y, variance: cells.Variance, level: cells.Level}
	}

	y := column(m.Y, m.Outcomes, j)

	return measured{x: m.X, y: y, variance: column(m.Spread, m.Outcomes, j), level: m.Level}
}

// jitters are added to the diagonal one after another until the matrix can be factorised.
var jitters = []float64{0, 1e-10, 1e-8, 1e-6}

// factoriseCovariance sets factor to the Cholesky factor of K + D for outcome j and the given means. It adds a jitter
// to the diagonal only if rounding leaves the matrix indefinite. It returns errNotPositive if the largest jitter does
// not help.
func (m *Model) factoriseCovariance(j int, data measured, factor []float64) error {
	n := len(data.y)
	for _, jitter := range jitters {
		m.fillCovariance(j, data, jitter, factor)
		if err := Factorise(rowMajor(n, factor), n); err == nil {
			return nil
		}
	}

	return errNotPositive
}

// nugget returns the run-to-run variance that the variances of the means of outcome j do not include.
func (m *Model) nugget(j int) float64 {
	if m.Averages != nil {
		return 0 // the variances of cells include it
	}
	return m.Hyper[j].Nugget * m.Hyper[j].Nugget
}

// fillCovariance sets the lower triangle of matrix to K + D for outcome j and the given means, plus a jitter on the
// diagonal.
func (m *Model) fillCovariance(j int, data measured, jitter float64, matrix []float64) {
	n := len(data.y)
	columns := len(m.Columns)
	c := newCovariance(m.Hyper[j], m.Others)
	nugget := m.nugget(j)
	own := m.ownLevels(data.level, n)
	parallel.Do(m.workers, n, func(i int) {
		row := data.x[i*columns : (i+1)*columns]
		dst := matrix[i*n : i*n+i+1]
		c.row(dst, row, data.x[:(i+1)*columns])
		c.addCurves(dst, row, data.x, levelOf(own, i), own)
		matrix[i*n+i] = matrix[i*n+i] + data.variance[i] + nugget + jitter
	})
}

// solveVector replaces b by (L·Lᵀ)⁻¹b, where L is the lower triangle of factor.
func solveVector(factor, b []float64) {
	n := len(b)
	l := lower(n, factor)
	v := blas64.Vector{N: n, Data: b, Inc: 1}
	blas64.Trsv(blas.NoTrans, l, v)
	blas64.Trsv(blas.Trans, l, v)
}

// solve replaces b (p.n rows × columns) by L⁻¹b.
func (p *process) solve(b []float64, columns int) {
	SolveLeft(rowMajor(p.n, p.factor), rowMajor(columns, b), p.n, columns)
}

// predictRows returns mean and variance of outcome j, nugget included, at the standardised conditions z of the given
// levels. If level is nil, all conditions are of one new thing.
func (m *Model) predictRows(j int, z []float64, level []int) (mean, variance []float64) {
	p := &m.process[j]
	h := m.Hyper[j]
	own := m.ownLevels(level, len(z)/len(m.Columns))
	mean, variance, whitened := p.latent(newCovariance(h, m.Others), z, own)
	if p.offsets != nil {
		p.offsets.add(level, p.offsets.shifts(level, whitened, len(mean)), mean, variance)
	}

	for b, v := range variance {
		variance[b] = max(v, MinVariance) + h.Nugget*h.Nugget
	}

	return mean, variance
}

// latent returns the mean and the variance of the latent function at the standardised conditions z without offsets, and
// whitened, L⁻¹k (p.n × conditions), for the covariances k of the data with the latent function at z. The mean is
// kᵀ(K + D)⁻¹y, the variance is k(z, z) − |L⁻¹k|². own has the levels of the conditions that have curves; nil: none
// has.
func (p *process) latent(c covariance, z []float64, own []int) (mean, variance, whitened []float64) {
	n := len(z) / len(c.linear)
	k := make([]float64, p.n*n)
	for i := range p.n {
		p.covariancesOfRow(c, k[i*n:(i+1)*n], i, z, own)
	}

	mean = make([]float64, n)
	for i, weight := range p.weights {
		for b := range n {
			mean[b] += weight * k[i*n+b]
		}
	}

	p.solve(k, n)
	whitened = k

	return mean, p.variances(c, z, whitened), whitened
}

// variances returns the variance of the latent function given the data at each of the standardised conditions z,
// without offsets. whitened is L⁻¹k (p.n × conditions) for the covariances k of the data with z.
func (p *process) variances(c covariance, z, whitened []float64) []float64 {
	columns := len(c.linear)
	n := len(z) / columns
	variance := make([]float64, n)
	for b := range n {
		variance[b] = c.variance(z[b*columns : (b+1)*columns])
	}

	for i := range p.n {
		for b := range n {
			variance[b] -= whitened[i*n+b] * whitened[i*n+b]
		}
	}

	return variance
}

// covariancesOfRow sets dst to the covariances of row i of the data with the latent function at the standardised
// conditions z. own has the levels of these conditions that have curves; nil: none has.
func (p *process) covariancesOfRow(c covariance, dst []float64, i int, z []float64, own []int) {
	columns := len(c.linear)
	row := p.x[i*columns : (i+1)*columns]
	c.row(dst, row, z)
	c.addCurves(dst, row, z, levelOf(p.own, i), own)
}

// withoutRows holds what a process without some of its rows, conditions or cells, needs beside the process with them.
//
// Let R be the rows, I_R their columns of the identity, V = L⁻¹I_R, and Q = VᵀV the block of (K + D)⁻¹ that
// belongs to R. At a row of R, y − μ is Q⁻¹w_R with the variance Q⁻¹, where μ is predicted without R, and w =
// (K + D)⁻¹y (Rasmussen & Williams 2006, section 5.4.2, for blocks). At other conditions with u = L⁻¹k, the
// weights without R are w − L⁻ᵀV·Q⁻¹w_R, and the variance without R is larger by |chol(Q)⁻¹Vᵀu|².
type withoutRows struct {
	rows     []int     // R, ascending
	v        []float64 // V, process rows × R; zero in the rows above the first one of R, as L is a lower triangle
	factor   []float64 // Cholesky factor of Q, R × R
	residual []float64 // Q⁻¹w_R, by row of R

	// The law of the offsets without R, and chol(Q)⁻¹W_R (R × levels) for the rows W_R of (K + D)⁻¹Z; nil without
	// labels.
	offsets    *offsetLaw
	offsetPart []float64
}

// without returns the numbers with which the process predicts without the given rows. The rows must ascend.
func (p *process) without(rows []int) (*withoutRows, error) {
	count := len(rows)
	first := rows[0]
	v := make([]float64, p.n*count)
	for a, i := range rows {
		v[i*count+a] = 1
	}

	lowerRight := rowMajor(p.n, p.factor).From(first, first)
	nonzero := rowMajor(count, v[first*count:]) // V from the first row of R on
	SolveLeft(lowerRight, nonzero, p.n-first, count)

	r, err := p.withoutSolved(rows, nonzero, first)
	if err != nil {
		return nil, err
	}

	r.v = v

	return r, nil
}

// covarianceInverse holds (K + D)⁻¹. If many small lists of rows are left out, their blocks are taken from the
// inverse: to solve for the block of one list would read the whole factor, for each list again.
type covarianceInverse struct {
	matrix []float64 // lower triangle, process rows × process rows
	w      []float64 // W = (K + D)⁻¹Z, process rows × levels; nil without labels
}

// inverse returns (K + D)⁻¹.
func (p *process) inverse() *covarianceInverse {
	matrix := slices.Clone(p.factor)
	invert(p.n, matrix, newRoom(p.n))
	inv := &covarianceInverse{matrix: matrix}
	if p.offsets != nil {
		columns := p.offsets.columns()
		inv.w = slices.Clone(p.offsets.whitenedIndicators)
		blas64.Trsm(blas.Left, blas.Trans, 1, lower(p.n, p.factor),
			blas64.General{Rows: p.n, Cols: columns, Stride: columns, Data: inv.w})
	}

	return inv
}

// withoutBy returns the same as without, except for V, which it does not set. inv is the inverse of the process.
func (p *process) withoutBy(inv *covarianceInverse, rows []int) (*withoutRows, error) {
	count := len(rows)
	q := make([]float64, count*count)
	for a, i := range rows {
		for b, k := range rows[:a+1] {
			q[a*count+b] = inv.matrix[i*p.n+k]
		}
	}

	if err := Factorise(rowMajor(count, q), count); err != nil {
		return nil, err
	}

	residual := lists.Pick(p.weights, rows)
	solveVector(q, residual)

	r := &withoutRows{rows: rows, factor: q, residual: residual}
	if p.offsets == nil {
		return r, nil
	}

	if err := r.setOffsets(p.offsets, lists.Rows(inv.w, p.offsets.columns(), rows)); err != nil {
		return nil, err
	}

	return r, nil
}

// setOffsets sets the fields of the offsets. all is the law of the offsets with the rows, and part is W_R, which
// setOffsets overwrites.
func (r *withoutRows) setOffsets(all *offsetLaw, part []float64) error {
	count := len(r.rows)
	columns := all.columns()
	less := transposedTimes(part, r.residual, columns)
	SolveLeft(rowMajor(count, r.factor), rowMajor(columns, part), count, columns)

	rest, err := all.without(mat.NewDense(count, columns, part), less)
	if err != nil {
		return err
	}

	r.offsets = rest
	r.offsetPart = part

	return nil
}

// errors returns y − μ and the variance of y at the rows of r, where μ is predicted without them.
func (r *withoutRows) errors() (difference, variance []float64) {
	n := len(r.rows)
	inverted := make([]float64, n*n) // of the factor of Q: the sums of its squared columns are the diagonal of Q⁻¹
	for a := range n {
		inverted[a*n+a] = 1
	}

	SolveLeft(rowMajor(n, r.factor), rowMajor(n, inverted), n, n)

	variance = make([]float64, n)
	for i := range n {
		for a := range i + 1 {
			variance[a] += inverted[i*n+a] * inverted[i*n+a]
		}
	}

	difference = slices.Clone(r.residual)
	if r.offsets == nil {
		return difference, variance
	}

	var shifts mat.Dense // of the rows by the offsets of all levels, (chol(Q)⁻¹W_R)ᵀ·chol(Q)⁻¹
	shifts.Mul(mat.NewDense(n, r.offsets.columns(), r.offsetPart).T(), mat.NewDense(n, n, inverted))

	// The shifts contain the offsets of all levels of the rows, also of the rows that are left out. So no level is new,
	// and add needs to know only this: level 0 stands for any known level.
	mean := make([]float64, n)
	level := make([]int, n*len(r.offsets.count))
	r.offsets.add(level, shifts.RawMatrix().Data, mean, variance)
	for a, m := range mean {
		difference[a] -= m
	}

	return difference, variance
}
