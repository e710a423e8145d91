package gp

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"doubletake/internal/lists"
	"doubletake/train/kernel"
)

// This file and offsetlaw.go add offsets to a process. A label (a propeller, a day) has levels (propeller 1, 2, …),
// and each level has an offset of its own, a normal number with a deviation s that all levels of the label share.
//
//  1. integrate takes s of each label from a grid of a few values with a prior, instead of estimating it, and finds the
//     posterior probability of each point of the grid.
//  2. offsetLaw (offsetlaw.go) holds the mean and the covariance of the offsets given the data, averaged over the grid.
//  3. offsetLaw.add and offsetLaw.addCovariances change predictions without offsets to predictions with them.
//
// The symbols are: y the outcomes, K + D the covariance of their means without offsets, L its Cholesky factor, Z the
// indicators of the levels (rows × levels of all labels), W = (K + D)⁻¹Z, G = ZᵀW, and β = Zᵀ(K + D)⁻¹y.

// MaxLabels is the number of labels whose levels may have offsets.
const MaxLabels = 3

// Grids of s, the deviation of the offsets of one label, in standard deviations of the outcome. Three labels take
// the coarse grid, because the points of the grids are multiplied.
var (
	fineOffsets   = []float64{0, 0.01, 0.02, 0.035, 0.06, 0.1, 0.16, 0.25, 0.4, 0.63, 1, 1.6, 2.5}
	coarseOffsets = []float64{0, 0.06, 0.16, 0.4, 1}
)

// The prior of s: with probability noOffsets s is 0, so that levels do not differ. Otherwise s has a half-t law.
const (
	noOffsets     = 0.05
	offsetScale   = 0.35 // scale of the law
	offsetFreedom = 4    // degrees of freedom of the law
)

// leastWeight is the posterior probability below which a point of the grid is dropped.
const leastWeight = 1e-10

// deviations is a point of the grid.
type deviations struct {
	s   []float64 // by label: deviation of its offsets
	log float64   // ln of the prior probability
}

// offsetGrid returns the grid of the given number of labels: the product of the grids of each.
func offsetGrid(labelCount int) []deviations {
	s := fineOffsets
	if labelCount == MaxLabels {
		s = coarseOffsets
	}

	logPrior := logOffsetPrior(s)
	grid := []deviations{{}}
	for range labelCount {
		var next []deviations
		for _, d := range grid {
			for i := range s {
				combined := slices.Concat(d.s, s[i:i+1])
				next = append(next, deviations{combined, d.log + logPrior[i]})
			}
		}

		grid = next
	}

	return grid
}

// logOffsetPrior returns ln of the prior probability of each deviation s, of which the first is 0. A positive deviation
// has the density of the half-t law times its width: s times half the difference of ln s of its neighbours. The
// smallest and the largest positive deviation have one neighbour each, and the width is s times the difference of ln s
// to it.
func logOffsetPrior(s []float64) []float64 {
	prior := make([]float64, len(s)) // not normalised
	sum := 0.0                       // over positive deviations
	last := len(s) - 1
	for i := 1; i <= last; i++ {
		before := max(i-1, 1)
		after := min(i+1, last)
		width := math.Log(s[after]/s[before]) / float64(after-before)
		density := math.Pow(1+s[i]*s[i]/(offsetScale*offsetScale*offsetFreedom), -(offsetFreedom+1)/2.0)
		prior[i] = s[i] * density * width
		sum += prior[i]
	}

	prior[0] = noOffsets / (1 - noOffsets) * sum
	logs := make([]float64, len(s))
	for i, p := range prior {
		logs[i] = math.Log(p / (sum + prior[0]))
	}

	return logs
}

// labels are the levels of some rows. A level that is not below the count of its label was not measured, and belongs to
// a new thing. Equal numbers are the same new thing.
type labels struct {
	count  []int // by label: number of its levels
	levels []int // rows × labels, numbered from 0
}

// columns returns the number of levels of all labels together.
func (l labels) columns() int {
	sum := 0
	for _, n := range l.count {
		sum += n
	}

	return sum
}

// indicators returns Z, rows × columns: 1 for the levels of a row, otherwise 0. New levels have no column.
func (l labels) indicators() []float64 {
	columns := l.columns()
	labelCount := len(l.count)
	rows := len(l.levels) / labelCount
	z := make([]float64, rows*columns)
	for i := range rows {
		first := i * columns // place of the first level of a label in row i
		for c, n := range l.count {
			if v := l.levels[i*labelCount+c]; v < n {
				z[first+v] = 1
			}

			first += n
		}
	}

	return z
}

// columnsOfLevels returns the column of Z of each level, rows × labels. All levels must have been measured.
func (l labels) columnsOfLevels() []int {
	place := slices.Clone(l.levels)
	for i := range place {
		for _, n := range l.count[:i%len(l.count)] {
			place[i] += n
		}
	}

	return place
}

// rows returns the labels of some rows. The levels that these rows have are numbered anew, and the others are dropped.
func (l labels) rows(rows []int) labels {
	labelCount := len(l.count)
	selected := lists.Rows(l.levels, labelCount, rows)
	own := labels{make([]int, labelCount), make([]int, len(selected))}
	for c := range labelCount {
		index, distinct := lists.Index(lists.Column(selected, labelCount, c))
		own.count[c] = len(distinct)
		for a, v := range index {
			own.levels[a*labelCount+c] = v
		}
	}

	return own
}

// checkLabels returns an error if there are more than MaxLabels labels. It panics if the levels do not fit the labels
// or the rows. count is the number of levels of each label, level the level of each row, rows × labels.
func checkLabels(count, level []int, rows int) error {
	if len(level) != rows*len(count) {
		panic(fmt.Sprintf("gp: %d levels of %d labels for %d rows", len(level), len(count), rows))
	}

	if len(count) > MaxLabels {
		return fmt.Errorf("expected at most %d labels whose names have offsets, found %d", MaxLabels, len(count))
	}

	for i, v := range level {
		if n := count[i%len(count)]; v < 0 || v >= n {
			panic(fmt.Sprintf("gp: level %d of a label with %d", v, n))
		}
	}

	return nil
}

// point is a point of the grid given the data.
type point struct {
	weight float64       // posterior probability
	s      []float64     // by label: deviation of its offsets
	r      *mat.SymDense // R = (diag(s⁻²) + G)⁻¹, the covariance of the offsets of all levels; Rβ is their mean
}

// factor returns the deviations s of all levels, each equal to the deviation of its label, and the Cholesky factor of
// M = I + diag(s)·G·diag(s). With M, R = diag(s)·M⁻¹·diag(s) can be computed even if s is 0.
func (d deviations) factor(count []int, g *mat.SymDense) (s, chol []float64, err error) {
	for c, n := range count {
		s = append(s, slices.Repeat(d.s[c:c+1], n)...)
	}

	levels := len(s)
	raw := g.RawSymmetric()
	chol = make([]float64, levels*levels)
	for i := range levels {
		for j := range i + 1 {
			chol[i*levels+j] = s[i] * raw.Data[j*raw.Stride+i] * s[j]
		}

		chol[i*levels+i]++
	}

	return s, chol, Factorise(rowMajor(levels, chol), levels)
}

// posterior returns R, the covariance of the offsets given the data. It fails if M is not positive definite.
func (d deviations) posterior(count []int, g *mat.SymDense) (*mat.SymDense, error) {
	s, chol, err := d.factor(count, g)
	if err != nil {
		return nil, err
	}

	levels := len(s)
	solved := mat.DenseCopyOf(mat.NewDiagDense(levels, s)) // chol(M)⁻¹·diag(s)
	SolveLeft(rowMajor(levels, chol), rowMajor(levels, solved.RawMatrix().Data), levels, levels)

	var r mat.SymDense
	r.SymOuterK(1, solved.T())

	return &r, nil
}

// logEvidence returns ln of the prior probability of d times the evidence relative to a process without offsets:
// −½ ln|M| + ½βᵀRβ. It returns −∞ if M is not positive definite.
func (d deviations) logEvidence(count []int, g *mat.SymDense, beta *mat.VecDense) float64 {
	s, chol, err := d.factor(count, g)
	if err != nil {
		return math.Inf(-1)
	}

	levels := len(s)
	solved := make([]float64, levels) // chol(M)⁻¹·diag(s)·β
	floats.MulTo(solved, s, beta.RawVector().Data)
	blas64.Trsv(blas.NoTrans, lower(levels, chol), blas64.Vector{N: levels, Data: solved, Inc: 1})

	log := d.log + floats.Dot(solved, solved)/2
	for i := range levels {
		log -= math.Log(chol[i*levels+i])
	}

	return log
}

// integrate returns ln of the evidence relative to a process without offsets, integrated over the grid, and the points
// of the grid with their posterior probabilities. Points of negligible probability are dropped. A point at which M is
// not positive definite has the probability 0, so that integrate returns no error for it.
func integrate(grid []deviations, count []int, g *mat.SymDense, beta *mat.VecDense) (
	log float64, points []point, err error,
) {
	logs := make([]float64, len(grid))
	for k, d := range grid {
		logs[k] = d.logEvidence(count, g, beta)
	}

	log = floats.LogSumExp(logs)
	sum := 0.0
	for k, d := range grid {
		weight := math.Exp(logs[k] - log)
		if !(weight > leastWeight) {
			continue
		}

		r, err := d.posterior(count, g)
		if err != nil {
			return 0, nil, err
		}

		points = append(points, point{weight, d.s, r})
		sum += weight
	}

	for k := range points {
		points[k].weight /= sum
	}

	return log, points, nil
}

// offsetMoments returns the mean of the offsets of all levels, and the mean of their products (levels × levels).
func offsetMoments(points []point, beta *mat.VecDense) (mean *mat.VecDense, second *mat.SymDense) {
	levels := beta.Len()
	mean = mat.NewVecDense(levels, nil)
	second = mat.NewSymDense(levels, nil)
	var pointMean mat.VecDense
	var r mat.SymDense
	for _, p := range points {
		pointMean.MulVec(p.r, beta)
		mean.AddScaledVec(mean, p.weight, &pointMean)
		second.SymRankOne(second, p.weight, &pointMean)
		r.ScaleSym(p.weight, p.r)
		second.AddSym(second, &r)
	}

	return mean, second
}

// gram returns aᵀb for two matrices of the given rows and columns. The product must be symmetric.
func gram(a, b []float64, rows, columns int) *mat.SymDense {
	g := make([]float64, columns*columns)
	kernel.Add(columns, columns, rows, rowMajor(columns, a).T(), rowMajor(columns, b), rowMajor(columns, g))
	return mat.NewSymDense(columns, g)
}

// transposedTimes returns aᵀv for a matrix a of len(v) rows and the given number of columns.
func transposedTimes(a, v []float64, columns int) *mat.VecDense {
	product := mat.NewVecDense(columns, nil)
	blas64.Gemv(blas.Trans, 1, blas64.General{Rows: len(v), Cols: columns, Stride: columns, Data: a},
		blas64.Vector{N: len(v), Data: v, Inc: 1}, 0, product.RawVector())

	return product
}

// offsetEvidence is the evidence that offsets add, and what its gradient needs.
type offsetEvidence struct {
	log    float64       // ln of the evidence, relative to the one without offsets
	points []point       // of the grid, with their posterior probabilities
	w      []float64     // W = (K + D)⁻¹Z, rows × levels of all labels
	beta   *mat.VecDense // β = Zᵀ(K + D)⁻¹y, by level
}

// integrateOffsets returns the evidence that offsets add, from the inverse and the weights without offsets.
func (e *evidence) integrateOffsets() (offsetEvidence, error) {
	columns := e.labels.columns()
	z := e.labels.indicators()
	o := offsetEvidence{w: e.inverseTimesIndicators(), beta: transposedTimes(z, e.weights, columns)}

	var err error
	o.log, o.points, err = integrate(e.grid, e.labels.count, gram(z, o.w, e.n, columns), o.beta)

	return o, err
}

// replaceInverse changes e.inverse, the lower triangle of (K + D)⁻¹, so that addGradient adds the gradient with
// offsets.
//
// Let v = (K + D)⁻¹y be e.weights, the weights without offsets. At a point of the grid the inverse with offsets is
// Q = (K + D)⁻¹ − WRWᵀ, and the weights are α = v − WRβ. The gradient needs the mean of Q − ααᵀ over the grid. As
// addGradient subtracts vvᵀ, replaceInverse sets the inverse to this mean plus vvᵀ: (K + D)⁻¹ − W·E[bbᵀ]·Wᵀ +
// v·(W·E[b])ᵀ + (W·E[b])·vᵀ, where b are the offsets given the data. This needs no factor besides the one of K + D.
func (e *evidence) replaceInverse(o offsetEvidence) {
	n := e.n
	columns := e.labels.columns()
	mean, second := offsetMoments(o.points, o.beta)
	product := make([]float64, n*columns) // W·E[bbᵀ]
	kernel.Add(n, columns, columns, rowMajor(columns, o.w),
		rowMajor(columns, mat.DenseCopyOf(second).RawMatrix().Data), rowMajor(columns, product))
	kernel.Subtract(n, n, columns, rowMajor(columns, product), rowMajor(columns, o.w).T(), rowMajor(n, e.inverse))

	var shift mat.VecDense // W·E[b]
	shift.MulVec(mat.NewDense(n, columns, o.w), mean)
	for i := range n {
		for k := range i + 1 {
			e.inverse[i*n+k] += float64(e.weights[i]*shift.AtVec(k)) + float64(shift.AtVec(i)*e.weights[k])
		}
	}
}

// inverseTimesIndicators returns W = (K + D)⁻¹Z (rows × levels of all labels), from the lower triangle of the
// inverse. A row of Z is 1 in the column of each of its levels and otherwise 0, so that elements of the inverse are
// only added.
func (e *evidence) inverseTimesIndicators() []float64 {
	n := e.n
	columns := e.labels.columns()
	labelCount := len(e.labels.count)
	place := e.labels.columnsOfLevels()
	product := make([]float64, n*columns)
	for i := range n {
		row := product[i*columns : (i+1)*columns]
		own := place[i*labelCount : (i+1)*labelCount]
		for k, q := range e.inverse[i*n : i*n+i] {
			for c, p := range own {
				row[place[k*labelCount+c]] += q
				product[k*columns+p] += q
			}
		}

		for _, p := range own {
			row[p] += e.inverse[i*n+i]
		}
	}

	return product
}
