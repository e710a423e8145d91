package gp

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/optimize"

	"doubletake/internal/lists"
)

// shape holds what the covariances of some conditions are computed from: squared
// differences and products of their inputs, for each pair of rows i > k, packed
// by rows.
type shape struct {
	n       int
	theta   theta
	others  []int
	x       []float64   // n×in
	square  [][]float64 // per input
	spacing []float64   // of the set points per input, which bounds lengths; nil or 0: none
	labels  labels      // of the rows; none: no offsets
	grid    []deviations
	steps   int // of a search; 0 is maxSteps
}

func newShape(x []float64, in int, others []int) *shape {
	s := &shape{n: len(x) / in, theta: theta{in, len(others)}, others: others, x: x}
	for j := range in {
		q := make([]float64, 0, s.n*(s.n-1)/2)
		for i := range s.n {
			for k := range i {
				d := x[i*in+j] - x[k*in+j]
				q = append(q, d*d)
			}
		}

		s.square = append(s.square, q)
	}

	return s
}

// evidence is the negative logarithm of the evidence and the prior of one
// outcome's hyperparameters, as a function of their logarithms.
type evidence struct {
	*shape
	y, noise []float64

	k, q                       []float64 // n×n
	k1, k2, slope1, slope2, q2 []float64 // packed
	alpha                      []float64
	room                       *room
}

func (e *evidence) allocate() {
	if e.k != nil {
		return
	}

	e.room = newRoom(e.n)
	e.k, e.q, e.alpha = make([]float64, e.n*e.n), make([]float64, e.n*e.n), make([]float64, e.n)
	for _, p := range []*[]float64{&e.k1, &e.k2, &e.slope1, &e.slope2, &e.q2} {
		*p = make([]float64, e.n*(e.n-1)/2)
	}
}

// maternOf fills k and slope with those of the given inputs, times the variance.
func (e *evidence) maternOf(k, slope []float64, variance float64, inputs []int, inverse []float64) {
	q := e.q2
	clear(q)

	for i, j := range inputs {
		for p, s := range e.square[j] {
			q[p] += s * inverse[i]
		}
	}

	for p := range q {
		a, b := matern(q[p])
		k[p], slope[p] = variance*a, variance*b
	}
}

// value returns the objective at v and sets its gradient unless nil. It is +∞
// where the covariance cannot be factorised.
func (e *evidence) value(v, grad []float64) float64 {
	e.allocate()
	n, in, t := e.n, e.theta.in, e.theta
	prior := 0.0
	mean, std, _ := t.prior()
	for i, m := range mean {
		if math.Abs(v[i]) > 30 || math.IsNaN(v[i]) {
			return math.Inf(1)
		}

		d := (v[i] - m) / std[i]
		prior += d * d / 2

		if grad != nil {
			grad[i] = d / std[i]
		}
	}

	for j, s := range e.spacing {
		for _, i := range e.lengths(j) {
			if d := (math.Log(s) - v[i]) / wall; d > 0 {
				prior += d * d / 2
				if grad != nil {
					grad[i] -= d / wall
				}
			}
		}
	}

	c := newCovariance(t.hyper(v), e.others)
	e.maternOf(e.k1, e.slope1, c.amplitude, lists.Numbers(in), c.inverse)

	if t.others > 0 {
		e.maternOf(e.k2, e.slope2, c.shared, e.others, c.inverse2)
	}

	nugget := math.Exp(2 * v[atNugget])

	p := 0
	for i := range n {
		x := e.x[i*in : (i+1)*in]
		for k := range i + 1 {
			s := c.constant
			for j, w := range c.linear {
				s += w * x[j] * e.x[k*in+j]
			}

			if k < i {
				s += e.k1[p]
				if t.others > 0 {
					s += e.k2[p]
				}

				p++
			} else {
				s += (c.amplitude+c.shared)*one + e.noise[i] + nugget
			}

			e.k[i*n+k] = s
		}
	}

	if cholesky(n, e.k) != nil {
		return math.Inf(1)
	}

	f := prior
	for i := range n {
		f += math.Log(e.k[i*n+i])
	}

	copy(e.alpha, e.y)
	l, b := lower(n, e.k), blas64.Vector{N: n, Data: e.alpha, Inc: 1}
	blas64.Trsv(blas.NoTrans, l, b)

	f += blas64.Dot(b, b) / 2
	if grad == nil && e.labels.count == nil {
		return f
	}

	blas64.Trsv(blas.Trans, l, b)
	copy(e.q, e.k)
	invert(n, e.q, e.room)

	if e.labels.count != nil {
		f += e.integrateOffsets(grad != nil)
	}

	if grad == nil {
		return f
	}

	e.gradient(grad, c, nugget)

	return f
}

// wall is the deviation of the prior of a length's logarithm below the spacing of set points.
const wall = 0.05

// lengths lists the places of the lengths of input j.
func (s *shape) lengths(j int) []int {
	at := []int{atLength + j}
	if k := slices.Index(s.others, j); k >= 0 {
		at = append(at, s.theta.shared()+1+k)
	}

	return at
}

// gradient adds ½ tr((Q − ααᵀ)·∂K) to grad for each hyperparameter. q holds the
// lower triangle of Q = K⁻¹.
func (e *evidence) gradient(grad []float64, c covariance, nugget float64) {
	n, in, t := e.n, e.theta.in, e.theta
	var trace, off, sum1, sum2 float64
	w1, w2 := e.k1, e.k2 // are overwritten by g·slope, which the lengths need
	p := 0

	linear := grad[t.linear() : t.linear()+in]
	for i := range n {
		x := e.x[i*in : (i+1)*in]
		for k := range i {
			g := e.q[i*n+k] - e.alpha[i]*e.alpha[k]
			off += g
			sum1 += g * e.k1[p]

			w1[p] = g * e.slope1[p]
			if t.others > 0 {
				sum2 += g * e.k2[p]
				w2[p] = g * e.slope2[p]
			}

			for j, w := range c.linear {
				linear[j] += 2 * w * g * x[j] * e.x[k*in+j]
			}

			p++
		}

		g := e.q[i*n+i] - e.alpha[i]*e.alpha[i]
		trace += g

		for j, w := range c.linear {
			linear[j] += w * g * x[j] * x[j]
		}
	}

	grad[atConstant] += c.constant * (2*off + trace)
	grad[atNugget] += nugget * trace
	grad[atAmplitude] += 2*sum1 + c.amplitude*one*trace
	for j := range in {
		grad[atLength+j] += c.inverse[j] * dot(w1, e.square[j])
	}

	if t.others > 0 {
		grad[t.shared()] += 2*sum2 + c.shared*one*trace
		for i, j := range e.others {
			grad[t.shared()+1+i] += c.inverse2[i] * dot(w2, e.square[j])
		}
	}
}

func dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Data: a, Inc: 1}, blas64.Vector{N: len(b), Data: b, Inc: 1})
}

// maxSteps is the number of L-BFGS iterations at most. The objective is flat
// near its minimum; further steps change predictions by less than the choice of
// conditions does.
const maxSteps = 60

// starts are where the search begins: as the prior has it, and with one of the two
// kernels small. The evidence has a maximum where the groups have nothing in common
// and one where they share what they can; from one start the search may end in the
// lower of them.
func (t theta) starts() [][]float64 {
	_, _, start := t.prior()
	list := [][]float64{start}
	if t.others > 0 {
		for _, k := range []int{atAmplitude, t.shared()} {
			small := slices.Clone(start)
			small[k] = smallStart
			list = append(list, small)
		}
	}

	return list
}

// smallStart is the logarithm of a small amplitude.
const smallStart = -2.5

// best returns the one of starts and of hyperparameters of other outcomes that has the
// largest evidence.
func (e *evidence) best(starts [][]float64, known []Hyper) [][]float64 {
	starts = append(starts, lists.Each(known, e.theta.logarithms)...)

	best, least := 0, math.Inf(1)
	for k, start := range starts {
		if v := e.value(start, nil); v < least {
			best, least = k, v
		}
	}

	return starts[best : best+1]
}

// maximise finds the hyperparameters: those with the largest evidence from any start.
func (e *evidence) maximise(ctx context.Context, starts [][]float64) (Hyper, error) {
	var best Hyper

	var errs []error
	for _, start := range starts {
		h, err := e.climb(ctx, start)

		if ctxErr := ctx.Err(); ctxErr != nil {
			return Hyper{}, ctxErr
		}

		if err != nil {
			errs = append(errs, err)
		} else if best.Linear == nil || h.Objective < best.Objective {
			best = h
		}
	}

	if best.Linear == nil {
		return Hyper{}, errors.Join(errs...)
	}

	return best, nil
}

// climb follows the gradient from a start.
func (e *evidence) climb(ctx context.Context, start []float64) (Hyper, error) {
	var at, grad []float64
	f := 0.0
	eval := func(v []float64) {
		if slices.Equal(at, v) {
			return
		}

		at = append(at[:0], v...)

		if grad == nil {
			grad = make([]float64, len(v))
		}

		f = math.Inf(1)
		if ctx.Err() == nil {
			f = e.value(v, grad)
		}
	}

	problem := optimize.Problem{
		Func: func(v []float64) float64 { eval(v); return f },
		Grad: func(g, v []float64) { eval(v); copy(g, grad) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.RuntimeLimit, err
			}
			return optimize.NotTerminated, nil
		},
	}

	settings := &optimize.Settings{
		MajorIterations: cmp.Or(e.steps, maxSteps), GradientThreshold: 1e-3,
		Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 5},
	}

	res, err := optimize.Minimize(problem, start, settings, &optimize.LBFGS{})

	// A line search that finds nothing better any more is an end, not a failure.
	if res == nil || math.IsInf(res.F, 0) || math.IsNaN(res.F) {
		return Hyper{}, errors.Join(errors.New("maximise the evidence: no start could be evaluated"), err)
	}

	h := e.theta.hyper(res.X)
	h.Objective = res.F

	return h, nil
}
