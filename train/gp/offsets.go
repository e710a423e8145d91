package gp

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/train/kernel"
)

// MaxLabels is the number of labels whose levels may have offsets.
const MaxLabels = 3

// Grids of s, the deviation of the offsets of one label, in deviations of the outcome. Of three labels the
// coarse one is taken.
var (
	fineOffsets   = []float64{0, 0.01, 0.02, 0.035, 0.06, 0.1, 0.16, 0.25, 0.4, 0.63, 1, 1.6, 2.5}
	coarseOffsets = []float64{0, 0.06, 0.16, 0.4, 1}
)

// Prior of s: one in twenty that things do not differ, else a half-t law.
const (
	noOffsets     = 0.05
	offsetScale   = 0.35
	offsetFreedom = 4
)

// leastWeight is the posterior probability below which a point of the grid is dropped.
const leastWeight = 1e-10

// deviations is a point of the grid: s of each label.
type deviations struct {
	s   []float64
	log float64 // of the prior probability
}

// offsetGrid is the grid of so many labels: the product of their grids.
func offsetGrid(labels int) []deviations {
	s := fineOffsets
	if labels == MaxLabels {
		s = coarseOffsets
	}

	p, sum, last := make([]float64, len(s)), 0.0, len(s)-1
	for i, v := range s[1:] {
		lo, hi := max(i, 1), min(i+2, last)
		step := math.Log(s[hi]/s[lo]) / float64(hi-lo)
		p[i+1] = v * math.Pow(1+v*v/(offsetScale*offsetScale*offsetFreedom), -(offsetFreedom+1)/2.0) * step
		sum += p[i+1]
	}

	p[0] = noOffsets / (1 - noOffsets) * sum
	grid := []deviations{{}}
	for range labels {
		var next []deviations
		for _, d := range grid {
			for i, v := range s {
				next = append(next, deviations{append(slices.Clone(d.s), v), d.log + math.Log(p[i]/(sum+p[0]))})
			}
		}

		grid = next
	}

	return grid
}

// labels are the levels that rows have: rows × labels, numbered from 0. A level that is not below the count of its
// label was not measured; equal numbers are one new thing.
type labels struct {
	count []int // levels of each label
	of    []int
}

func (l labels) columns() (n int) {
	for _, c := range l.count {
		n += c
	}
	return n
}

// indicators returns Z, rows×columns.
func (l labels) indicators() []float64 {
	w, k := l.columns(), len(l.count)
	z := make([]float64, len(l.of)/k*w)
	for i := range len(l.of) / k {
		at := i * w
		for c, n := range l.count {
			if v := l.of[i*k+c]; v < n {
				z[at+v] = 1
			}

			at += n
		}
	}

	return z
}

// rows are the labels of some rows, with their levels alone.
func (l labels) rows(rows []int) labels {
	k := len(l.count)
	out := labels{make([]int, k), make([]int, len(rows)*k)}
	for c := range l.count {
		index, distinct := lists.Index(lists.Each(rows, func(i int) int { return l.of[i*k+c] }))
		out.count[c] = len(distinct)
		for a, v := range index {
			out.of[a*k+c] = v
		}
	}

	return out
}

// point is a point of the grid given the data: the posterior covariance R of the offsets of all levels is
// (diag(s⁻²) + G)⁻¹ with G = Zᵀ(K + D)⁻¹Z, their mean Rβ with β = Zᵀ(K + D)⁻¹y.
type point struct {
	weight float64
	s      []float64
	r      *mat.SymDense
}

// factor returns the deviations s of all levels, and the Cholesky factor of 1 + sGs.
func (d deviations) factor(count []int, g *mat.SymDense) (s, chol []float64, err error) {
	for c, n := range count {
		s = append(s, slices.Repeat(d.s[c:c+1], n)...)
	}

	w, of := len(s), g.RawSymmetric()
	chol = make([]float64, w*w)
	for i := range w {
		for j := range i + 1 {
			chol[i*w+j] = s[i] * of.Data[j*of.Stride+i] * s[j]
		}

		chol[i*w+i]++
	}

	return s, chol, Factorise(square(w, chol), w)
}

// posterior returns R, the covariance of the offsets; nil where it is not positive definite.
func (d deviations) posterior(count []int, g *mat.SymDense) *mat.SymDense {
	s, chol, err := d.factor(count, g)
	if err != nil {
		return nil
	}

	w := len(s)
	x := mat.DenseCopyOf(mat.NewDiagDense(w, s))
	SolveLeft(square(w, chol), square(w, x.RawMatrix().Data), w, w)

	var r mat.SymDense
	r.SymOuterK(1, x.T())

	return &r
}

// integrate returns ln of the evidence relative to a process without offsets, and the points of the grid
// with their posterior weights.
func integrate(grid []deviations, count []int, g *mat.SymDense, beta *mat.VecDense) (log float64, points []point) {
	logs := make([]float64, len(grid))
	for k, d := range grid {
		s, chol, err := d.factor(count, g)
		if logs[k] = math.Inf(-1); err != nil {
			continue
		}

		w := len(s)
		floats.Mul(s, beta.RawVector().Data)
		blas64.Trsv(blas.NoTrans, lower(w, chol), blas64.Vector{N: w, Data: s, Inc: 1})
		logs[k] = d.log + floats.Dot(s, s)/2
		for i := range w {
			logs[k] -= math.Log(chol[i*w+i])
		}
	}

	log = floats.LogSumExp(logs)
	sum := 0.0
	for k, d := range grid {
		weight := math.Exp(logs[k] - log)
		if !(weight > leastWeight) {
			continue
		}

		if r := d.posterior(count, g); r != nil {
			points, sum = append(points, point{weight, d.s, r}), sum+weight
		}
	}

	for k := range points {
		points[k].weight /= sum
	}

	return log, points
}

// offsetMoments are the mean of the offsets and their mean square.
func offsetMoments(points []point, beta *mat.VecDense) (mean *mat.VecDense, square *mat.SymDense) {
	w := beta.Len()
	mean, square = mat.NewVecDense(w, nil), mat.NewSymDense(w, nil)
	var c mat.VecDense
	var r mat.SymDense
	for _, p := range points {
		c.MulVec(p.r, beta)
		mean.AddScaledVec(mean, p.weight, &c)
		square.SymRankOne(square, p.weight, &c)
		r.ScaleSym(p.weight, p.r)
		square.AddSym(square, &r)
	}

	return mean, square
}

// gram returns aᵀb of n×w matrices as the symmetric matrix that it is.
func gram(a, b []float64, n, w int) *mat.SymDense {
	g := make([]float64, w*w)
	kernel.Add(w, w, n, kernel.View{Data: a, Row: w, Col: 1}.T(), kernel.View{Data: b, Row: w, Col: 1}, square(w, g))
	return mat.NewSymDense(w, g)
}

// transposed returns aᵀv of an n×w matrix.
func transposed(a, v []float64, w int) *mat.VecDense {
	b := mat.NewVecDense(w, nil)
	blas64.Gemv(blas.Trans, 1, blas64.General{Rows: len(v), Cols: w, Stride: w, Data: a},
		blas64.Vector{N: len(v), Data: v, Inc: 1}, 0, b.RawVector())

	return b
}

// integrateOffsets returns −ln of the evidence that offsets add, and makes of q, the lower triangle of Q = K⁻¹, what
// the gradient takes for it: the mean of Q − ααᵀ over the grid, plus ααᵀ of the process without offsets. With W = QZ
// that needs no other factor.
func (e *evidence) integrateOffsets(grad bool) float64 {
	n, w, z := e.n, e.labels.columns(), e.labels.indicators()
	solved := make([]float64, n*w) // W
	for i := range n {
		for k := range i {
			q := e.q[i*n+k]
			for c := range w {
				solved[i*w+c] += float64(q * z[k*w+c])
				solved[k*w+c] += float64(q * z[i*w+c])
			}
		}

		for c := range w {
			solved[i*w+c] += float64(e.q[i*n+i] * z[i*w+c])
		}
	}

	beta := transposed(z, e.alpha, w)
	log, points := integrate(e.grid, e.labels.count, gram(z, solved, n, w), beta)
	if !grad {
		return -log
	}

	mean, second := offsetMoments(points, beta)
	right := make([]float64, n*w)
	of := kernel.View{Data: solved, Row: w, Col: 1}
	kernel.Add(n, w, w, of, square(w, mat.DenseCopyOf(second).RawMatrix().Data), kernel.View{Data: right, Row: w, Col: 1})
	kernel.Subtract(n, n, w, kernel.View{Data: right, Row: w, Col: 1}, of.T(), square(n, e.q))

	var shift mat.VecDense
	shift.MulVec(mat.NewDense(n, w, solved), mean)
	for i := range n {
		for k := range i + 1 {
			e.q[i*n+k] += float64(e.alpha[i]*shift.AtVec(k)) + float64(shift.AtVec(i)*e.alpha[k])
		}
	}

	return -log
}

// offsets is the law of the offsets of all levels given the data, integrated over their deviations.
type offsets struct {
	labels
	white  []float64     // L⁻¹Z
	beta   *mat.VecDense // Zᵀ(K + D)⁻¹y
	points []point
	mean   *mat.VecDense
	cov    []float64 // columns×columns
	fresh  []float64 // per label: variance of the offset of a level that was not measured
}

func (m *Model) offsets(p *process, l labels) *offsets {
	w := l.columns()
	o := &offsets{labels: l, white: l.indicators()}
	o.beta = transposed(o.white, p.alpha, w)
	p.solve(o.white, w, 0)
	_, o.points = integrate(m.grid, l.count, gram(o.white, o.white, p.n, w), o.beta)
	o.collapse()

	return o
}

// collapse sets the mean and the covariances.
func (o *offsets) collapse() {
	mean, second := offsetMoments(o.points, o.beta)
	second.SymRankOne(second, -1, mean)
	o.mean, o.cov = mean, mat.DenseCopyOf(second).RawMatrix().Data
	o.fresh = make([]float64, len(o.count))
	for _, p := range o.points {
		for c, s := range p.s {
			o.fresh[c] += float64(p.weight * s * s)
		}
	}
}

// without is the law without some rows, where x is chol(Q)⁻¹W and less is WᵀQ⁻¹α there, with the block Q of
// (K + D)⁻¹ and its rows W of (K + D)⁻¹Z: G becomes G − XᵀX. The weights of the grid stay.
func (o *offsets) without(x *mat.Dense, less *mat.VecDense) *offsets {
	out, w := *o, less.Len()
	out.points, out.beta = nil, mat.NewVecDense(w, nil)
	out.beta.SubVec(o.beta, less)

	var g mat.SymDense
	g.SymOuterK(-1, x.T())
	g.AddSym(&g, gram(o.white, o.white, len(o.white)/w, w))

	for _, p := range o.points {
		r := deviations{s: p.s}.posterior(o.count, &g)
		if r == nil {
			fault.Raise(errNotPositive)
		}

		out.points = append(out.points, point{p.weight, p.s, r})
	}

	out.collapse()

	return &out
}

// Spread is a variance in units of an outcome's training variance, with the ends of its central 95 %.
type Spread struct{ Mean, Low, High float64 }

// Variances are, of outcome j, those of the offsets of each label, that from run to run, and the noise.
func (m *Model) Variances(j int) (labels []Spread, runs, noise float64) {
	in, n := len(m.Columns), 0
	for k := range m.Labels {
		o := m.process[j].offsets
		s := Spread{Mean: o.fresh[k]}
		points := slices.Clone(o.points)
		slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.s[k], b.s[k]) })
		below := 0.0
		for _, p := range points {
			if v := p.s[k] * p.s[k]; below <= 0.975 {
				if s.High = v; below <= 0.025 {
					s.Low = v
				}
			}

			below += p.weight
		}

		labels = append(labels, s)
	}

	for i := 0; i < len(m.X); i += in {
		noise += m.Noise[j].at(m.X[i : i+in])
		n++
	}

	return labels, m.Hyper[j].Nugget * m.Hyper[j].Nugget, noise / float64(n)
}

// shifts returns T = Z*ᵀ − Wᵀk*, columns×conditions, for conditions of the given levels (nil: all of one new thing),
// where k is L⁻¹k*: given the offsets b of the levels, the mean is Tᵀb more than without offsets.
func (o *offsets) shifts(level []int, k []float64, n int) []float64 {
	w := o.columns()
	t := make([]float64, w*n)
	if level != nil {
		z := labels{o.count, level}.indicators()
		for i := range t {
			t[i] = z[i%n*w+i/n]
		}
	}

	kernel.Subtract(w, n, len(k)/n, kernel.View{Data: o.white, Row: w, Col: 1}.T(), kernel.View{Data: k, Row: n, Col: 1},
		kernel.View{Data: t, Row: n, Col: 1})

	return t
}

// spread returns the covariances of the offsets times T, columns×conditions.
func (o *offsets) spread(t []float64, n int) []float64 {
	w := o.columns()
	s := make([]float64, w*n)
	kernel.Add(w, n, w, square(w, o.cov), kernel.View{Data: t, Row: n, Col: 1}, kernel.View{Data: s, Row: n, Col: 1})

	return s
}

// add adds the offsets to means and variances at n conditions with the shifts t.
func (o *offsets) add(level []int, t, mean, variance []float64) {
	n := len(mean)
	s := o.spread(t, n)
	for i, v := range t {
		mean[i%n] += float64(v * o.mean.AtVec(i/n))
		variance[i%n] += float64(v * s[i])
	}

	for b := range n {
		variance[b] += o.common(level, b, b)
	}
}

// common is the variance that two conditions share because they are of new levels, the same ones.
func (o *offsets) common(level []int, a, b int) (v float64) {
	for c, n := range o.count {
		k := len(o.count)
		if level == nil || level[a*k+c] >= n && level[a*k+c] == level[b*k+c] {
			v += o.fresh[c]
		}
	}

	return v
}

// covary adds the covariances of the offsets of the first rows of n conditions with all of them to cov (rows×n).
// k is L⁻¹k*.
func (o *offsets) covary(level []int, k []float64, rows, n int, cov []float64) {
	t := o.shifts(level, k, n)
	of := kernel.View{Data: t, Row: n, Col: 1}
	kernel.Add(rows, n, o.columns(), of.T(), kernel.View{Data: o.spread(t, n), Row: n, Col: 1},
		kernel.View{Data: cov, Row: n, Col: 1})

	for a := range rows {
		for b := range n {
			cov[a*n+b] += o.common(level, a, b)
		}
	}
}

// checkLabels reports labels that no grid is made for. It panics where slices do not fit.
func checkLabels(count, of []int, rows int) error {
	if len(of) != rows*len(count) {
		panic(fmt.Sprintf("gp: %d levels of %d labels for %d rows", len(of), len(count), rows))
	}

	if len(count) > MaxLabels {
		return fmt.Errorf("expected at most %d labels whose names have offsets, found %d", MaxLabels, len(count))
	}

	for i, v := range of {
		if n := count[i%len(count)]; v < 0 || v >= n {
			panic(fmt.Sprintf("gp: level %d of a label with %d", v, n))
		}
	}

	return nil
}
