// Package gp is a Gaussian process with an additive kernel for measured pairs,
// one process per outcome: a constant, linear terms, a Matérn-5/2 kernel on all
// inputs and one on the inputs that do not depend on the group that is to be
// predicted. What the second learns holds for groups that were not measured.
//
// The noise of a condition comes from its pairs, not from the residuals.
// Hyperparameters maximise the evidence on some hundred conditions; the process
// is exact up to some thousand, and exact on averages of neighbours above. Groups can be
// left out in closed form.
//
// The package does no input or output. Intervals are train/honest's.
package gp

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/train/triplets"
)

// Options are the settings of Fit.
type Options struct {
	// GroupInputs are the inputs, by column, that are functions of the groups'
	// coordinate. The second Matérn kernel leaves them out.
	GroupInputs []int
	// SlopeOnly are inputs that enter with a slope and in no Matérn kernel.
	SlopeOnly []int
	HyperRows int    // conditions on which hyperparameters are learned; 0 is 320
	MaxRows   int    // conditions above which neighbours are averaged to so many cells; 0 is 4000
	Seed      uint64 // of the choice of those conditions
	Workers   int    // goroutines; 0 is 1. The result does not depend on it
	Steps     int    // of each search at most; 0 is 60

	// Group numbers the group of each row. Rows of different groups are different
	// conditions. nil: one group.
	Group []int

	// Labels are the numbers of levels of labels (a propeller, a day) whose levels have offsets of their own, of a
	// deviation that is integrated over; Level the level of each row, rows × labels. Rows of different levels are
	// different conditions.
	Labels, Level []int
}

// Model is a fitted process. It is safe for concurrent use.
type Model struct {
	Data
	n       int       // conditions
	slopes  []int     // columns of X that no kernel uses; needed to fit only
	spacing []float64 // of the set points of each column of X, 0 where it has none; needed to fit only
	steps   int
	process []process // per outcome
	workers int

	condition []int // of each training row; nil after reading a stored model
	group     []int // of each condition

	grid []deviations // of the labels
}

// Fit learns from pairs. A row's weight is how many pairs it counts for. Measurements of
// one condition (equal set points within a
// group) are collapsed to their mean. Inputs that are constant are dropped.
//
// Where measured values scatter about set points, lengths below their spacing are refused: the
// evidence would find the function that the scatter draws.
//
// Errors: numbers that are not finite, fewer than two conditions, no input that
// varies, an outcome that is constant, a *TooManyGroupsError.
func Fit(ctx context.Context, d triplets.Set, o Options) (m *Model, err error) {
	if err = fault.Try(func() { m = fit(ctx, d, o) }); err != nil {
		return nil, fmt.Errorf("fit additive gp: %w", err)
	}

	return m, nil
}

func fit(ctx context.Context, d triplets.Set, o Options) *Model {
	o.HyperRows, o.MaxRows = cmp.Or(o.HyperRows, 320), cmp.Or(o.MaxRows, MaxRows)
	fault.Raise(d.Check())
	if o.Group != nil && len(o.Group) != d.N {
		panic(fmt.Sprintf("gp: %d groups for %d rows", len(o.Group), d.N))
	}

	fault.Raise(checkLabels(o.Labels, o.Level, d.N))

	m := newModel(d, o)
	subset := rand.New(rand.NewPCG(o.Seed, 0x6770)).Perm(m.n)[:min(m.n, o.HyperRows)]
	slices.Sort(subset)
	m.search(ctx, subset)

	if m.n > o.MaxRows {
		m.average(ctx, o.MaxRows)
	}

	m.factorise(ctx)

	return m
}

// Outcomes from which hyperparameters are sought in full of each eighth alone. The others,
// such as bands of a spectrum, start where an outcome that was searched has the largest
// evidence for them.
const (
	manyOutcomes = 12
	fullSearch   = 8
)

// search finds the hyperparameters on a subset of the conditions.
func (m *Model) search(ctx context.Context, subset []int) {
	shape := newShape(lists.Rows(m.X, len(m.Columns), subset), len(m.Columns), m.Others)
	shape.steps, shape.spacing = m.steps, m.spacing
	if m.Labels != nil {
		shape.labels, shape.grid = labels{m.Labels, m.Level}.rows(subset), m.grid
	}

	for _, j := range m.slopes {
		clear(shape.square[j])
	}

	m.Hyper = make([]Hyper, m.Outcomes)
	errs := make([]error, m.Outcomes)
	find := func(j int, known []Hyper) {
		y, v := make([]float64, len(subset)), make([]float64, len(subset))
		for k, i := range subset {
			y[k], v[k] = m.Y[i*m.Outcomes+j], m.Spread[i*m.Outcomes+j]
		}

		e := &evidence{shape: shape, y: y, noise: v}
		starts := e.theta.starts()
		if known != nil {
			starts = e.best(starts, known)
		}

		m.Hyper[j], errs[j] = e.maximise(ctx, starts)
	}

	each := 1
	if m.Outcomes >= manyOutcomes {
		each = fullSearch
	}

	parallel.Do(m.workers, (m.Outcomes+each-1)/each, func(k int) { find(k*each, nil) })

	var known []Hyper
	for j := 0; j < m.Outcomes; j += each {
		if errs[j] == nil {
			known = append(known, m.Hyper[j])
		}
	}

	parallel.Do(m.workers, m.Outcomes, func(j int) {
		if j%each != 0 {
			find(j, known)
		}
	})

	for j, err := range errs {
		if err != nil {
			fault.Raise(fmt.Errorf("outcome column %d: %w", j, err))
		}

		for _, k := range m.slopes {
			m.Hyper[j].Length[k] = noKernel
		}
	}
}

// noKernel is a length so large that an input has no part in a kernel.
const noKernel = 1e6

// newModel standardises the data, finds their noise and their conditions.
func newModel(d triplets.Set, o Options) *Model {
	m := &Model{
		Data:    Data{Inputs: d.In, Outcomes: d.Out, Labels: o.Labels},
		workers: max(1, o.Workers), steps: o.Steps,
	}
	m.grid = offsetGrid(len(o.Labels))
	for j := range d.In {
		mean, std := moments(d.X, d.In, j)
		if std <= 1e-9*max(1, math.Abs(mean)) {
			continue
		}

		if slices.Contains(o.SlopeOnly, j) {
			m.slopes = append(m.slopes, len(m.Columns))
		} else if !slices.Contains(o.GroupInputs, j) {
			m.Others = append(m.Others, len(m.Columns))
		}

		m.Columns = append(m.Columns, j)
		m.spacing = append(m.spacing, spacing(d, j)/std)
		m.InputMean, m.InputStd = append(m.InputMean, mean), append(m.InputStd, std)
	}

	if len(m.Columns) == 0 {
		fault.Raise(fmt.Errorf("no input varies over the %d training rows", d.N))
	}

	both := append(slices.Clone(d.Y1), d.Y2...)
	for j := range d.Out {
		mean, std := moments(both, d.Out, j)
		if !(std > 0) {
			fault.Raise(fmt.Errorf("outcome column %d is constant (%g): there is nothing to learn", j, mean))
		}

		m.OutputMean, m.OutputStd = append(m.OutputMean, mean), append(m.OutputStd, std)
	}

	x := m.standardise(d.X)
	pairs := d.Pairs()
	at := lists.Rows(x, len(m.Columns), pairs)
	m.Noise = make([]Noise, d.Out)
	parallel.Do(m.workers, d.Out, func(j int) {
		u := make([]float64, len(pairs))
		for k, i := range pairs {
			a := (d.Y1[i*d.Out+j] - d.Y2[i*d.Out+j]) / m.OutputStd[j]
			u[k] = a * a / 2
		}

		m.Noise[j] = fitNoise(at, len(m.Columns), u)
	})

	m.collapse(d, x, o)

	if m.n < 2 {
		fault.Raise(fmt.Errorf("expected at least 2 distinct conditions, found %d", m.n))
	}

	return m
}

// spacing is the smallest gap between set points of input j; 0 where values do not scatter
// about them.
func spacing(d triplets.Set, j int) float64 {
	var points []float64
	scatters := false
	for i := j; i < len(d.SetPoints); i += d.In {
		points = append(points, d.SetPoints[i])
		scatters = scatters || d.SetPoints[i] != d.X[i]
	}

	slices.Sort(points)
	points = slices.Compact(points)
	if !scatters || len(points) < 2 {
		return 0
	}

	least := math.Inf(1)
	for i := 1; i < len(points); i++ {
		least = min(least, points[i]-points[i-1])
	}

	return least
}

// collapse finds the distinct conditions, in the order of their first rows.
func (m *Model) collapse(d triplets.Set, x []float64, o Options) {
	in, groups := len(m.Columns), o.Group
	index := map[string]int{}
	var count []float64 // pairs
	var off []float64   // sums of x less the first row's, where values scatter about set points

	m.condition = make([]int, d.N)
	for i := range d.N {
		group := 0
		if groups != nil {
			group = groups[i]
		}

		level := o.Level[i*len(o.Labels) : (i+1)*len(o.Labels)]
		key := binary.LittleEndian.AppendUint64(nil, uint64(group))
		for _, v := range level {
			key = binary.LittleEndian.AppendUint64(key, uint64(v))
		}

		for _, v := range d.AtSetPoints()[i*d.In : (i+1)*d.In] {
			key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v+0)) // −0 is 0
		}

		k, known := index[string(key)]
		if !known {
			k = m.n
			index[string(key)] = k
			m.n++
			m.X, m.group = append(m.X, x[i*in:(i+1)*in]...), append(m.group, group)
			m.Level = append(m.Level, level...)
			off = append(off, make([]float64, in)...)
			m.Y, count = append(m.Y, make([]float64, d.Out)...), append(count, 0)
		}

		m.condition[i] = k

		w := 1.0
		if d.Weight != nil {
			w = d.Weight[i]
		}

		count[k] += w
		for a, v := range x[i*in : (i+1)*in] {
			off[k*in+a] += float64(w * (v - m.X[k*in+a]))
		}

		for j := range d.Out {
			y := (d.Y1[i*d.Out+j]+d.Y2[i*d.Out+j])/2 - m.OutputMean[j]
			m.Y[k*d.Out+j] += float64(w * (y / m.OutputStd[j]))
		}
	}

	m.Spread = make([]float64, len(m.Y))
	for k, n := range count {
		for a := range in {
			m.X[k*in+a] += off[k*in+a] / n
		}

		for j := range d.Out {
			m.Y[k*d.Out+j] /= n
			m.Spread[k*d.Out+j] = m.Noise[j].at(m.X[k*in:(k+1)*in]) / (2 * n)
		}
	}
}

// standardise returns the varying columns of x.
func (m *Model) standardise(x []float64) []float64 {
	n := len(x) / m.Inputs
	z := make([]float64, 0, n*len(m.Columns))
	for i := range n {
		for k, j := range m.Columns {
			z = append(z, (x[i*m.Inputs+j]-m.InputMean[k])/m.InputStd[k])
		}
	}

	return z
}

// Conditions is the number of distinct conditions the model was trained on.
func (m *Model) Conditions() int { return m.n }

// Pairs is the median number of pairs that a condition was measured by; 1 where the conditions are
// averaged to cells.
func (m *Model) Pairs() float64 {
	in := len(m.Columns)
	var pairs []float64
	for k := 0; k*m.Outcomes < len(m.Spread); k++ {
		pairs = append(pairs, m.Noise[0].at(m.X[k*in:(k+1)*in])/(2*m.Spread[k*m.Outcomes]))
	}

	if len(pairs) == 0 {
		return 1
	}

	slices.Sort(pairs)

	return math.Round(pairs[len(pairs)/2])
}

// Cells describes the averages of neighbouring conditions that the processes are
// conditioned on; nil where they are conditioned on all conditions.
func (m *Model) Cells() *Cells { return m.Averaged }

// Predict returns, at conditions x (rows of all inputs, own units), the mean of
// each outcome, the variance of the latent function with the run-to-run
// deviation, and the noise variance of one measurement (unit²), row-major.
// It panics if x is not rows of the model's inputs. All conditions are of one new thing.
func (m *Model) Predict(ctx context.Context, x []float64) (mu, claim, noise []float64, err error) {
	return m.PredictLevels(ctx, x, nil)
}

// PredictLevels is Predict at conditions whose labels have the given levels, conditions × labels. A level that is not
// below the number of its label is one of a new thing; nil: all are.
func (m *Model) PredictLevels(ctx context.Context, x []float64, level []int) (mu, claim, noise []float64, err error) {
	if len(x)%m.Inputs != 0 {
		panic(fmt.Sprintf("gp: %d numbers are not rows of %d inputs", len(x), m.Inputs))
	}

	n := len(x) / m.Inputs
	z := m.standardise(x)
	mu, claim, noise = make([]float64, n*m.Outcomes), make([]float64, n*m.Outcomes), make([]float64, n*m.Outcomes)

	in, labels := len(m.Columns), len(m.Labels)
	blocks := (n + predictBlock - 1) / predictBlock
	parallel.Do(m.workers, m.Outcomes*blocks, func(k int) {
		if ctx.Err() != nil {
			return
		}

		j, s := k/blocks, k%blocks*predictBlock
		e := min(s+predictBlock, n)
		var of []int
		if level != nil {
			of = level[s*labels : e*labels]
		}

		a, v := m.process[j].at(m.Others, m.Hyper[j], z[s*in:e*in], of)
		for i := range a {
			m.unscale(j, (s+i)*m.Outcomes+j, a[i], v[i], z[(s+i)*in:(s+i+1)*in], mu, claim, noise)
		}
	})

	if err := ctx.Err(); err != nil {
		return nil, nil, nil, fmt.Errorf("predict with additive gp: %w", err)
	}

	return mu, claim, noise, nil
}

// unscale writes a standardised mean and variance into place k of the results.
func (m *Model) unscale(j, k int, mean, variance float64, z, mu, claim, noise []float64) {
	s := m.OutputStd[j]
	mu[k] = mean*s + m.OutputMean[j]
	claim[k] = variance * s * s
	noise[k] = m.Noise[j].at(z) * s * s
}

// LeaveOut returns the same as Predict for training rows (ascending; nil: all), each
// group predicted without any measurement of it, hyperparameters and
// scales kept: with Q = (K + D)⁻¹ it is y_h − μ₋ₕ = Q_hh⁻¹(Qy)_h with variance
// Q_hh⁻¹ (Rasmussen & Williams 2006, section 5.4.2, for blocks). The groups are
// those of the data. Where neighbours were averaged a group's cells are left out, and
// its rows predicted. It panics on a model that was read from a file.
func (m *Model) LeaveOut(ctx context.Context, rows []int) (mu, claim, noise []float64, err error) {
	if m.condition == nil {
		panic("gp: a stored model has no training rows to leave out")
	}

	if rows == nil {
		rows = lists.Numbers(len(m.condition))
	}

	n, in := len(rows), len(m.Columns)
	mean, variance := make([]float64, m.n*m.Outcomes), make([]float64, m.n*m.Outcomes)
	err = fault.Try(func() {
		if m.Averages == nil {
			m.leaveOutConditions(ctx, mean, variance)
		} else {
			m.leaveOutRows(ctx, rows, mean, variance)
		}
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("leave out groups of additive gp: %w", err)
	}

	mu, claim, noise = make([]float64, n*m.Outcomes), make([]float64, n*m.Outcomes), make([]float64, n*m.Outcomes)
	for a, i := range rows {
		k := m.condition[i]
		for j := range m.Outcomes {
			m.unscale(j, a*m.Outcomes+j, mean[k*m.Outcomes+j], variance[k*m.Outcomes+j], m.X[k*in:(k+1)*in], mu, claim, noise)
		}
	}

	return mu, claim, noise, nil
}

// levels are those of some conditions.
func (m *Model) levels(rows []int) []int { return lists.Rows(m.Level, len(m.Labels), rows) }

// leaveOutConditions leaves out the groups of a process that is conditioned on the
// conditions, and sets mean and variance there.
func (m *Model) leaveOutConditions(ctx context.Context, mean, variance []float64) {
	m.eachGroup(ctx, lists.Alike(m.group), func(j int, rows []int) {
		diff, v := m.process[j].leaveOut(rows)
		for a, i := range rows {
			mean[i*m.Outcomes+j] = m.Y[i*m.Outcomes+j] - diff[a]
			variance[i*m.Outcomes+j] = max(v[a]-m.Spread[i*m.Outcomes+j], MinVariance)
		}
	})
}

// leaveOutRows leaves out the groups' cells, and sets mean and variance at the conditions
// of the given rows.
func (m *Model) leaveOutRows(ctx context.Context, rows []int, mean, variance []float64) {
	wanted := make([]bool, m.n)
	for _, i := range rows {
		wanted[m.condition[i]] = true
	}

	var blocks [][]int
	for _, b := range lists.Alike(m.group) {
		if b = slices.DeleteFunc(b, func(k int) bool { return !wanted[k] }); len(b) > 0 {
			blocks = append(blocks, b)
		}
	}

	m.eachGroup(ctx, blocks, func(j int, rows []int) { m.leaveOutCells(ctx, j, rows, mean, variance) })
}

// eachGroup calls f for each outcome and group, and raises the first error.
func (m *Model) eachGroup(ctx context.Context, blocks [][]int, f func(j int, rows []int)) {
	errs := make([]error, m.Outcomes*len(blocks))
	parallel.Do(m.workers, len(errs), func(k int) {
		errs[k] = fault.Try(func() {
			fault.Raise(ctx.Err())
			f(k/len(blocks), blocks[k%len(blocks)])
		})
	})

	fault.Raise(cmp.Or(errs...))
}

// moments returns mean and population deviation of column j of rows of n.
func moments(v []float64, n, j int) (mean, std float64) {
	rows := float64(len(v) / n)
	for i := j; i < len(v); i += n {
		mean += (v[i] - v[j]) / rows
	}

	mean += v[j]
	for i := j; i < len(v); i += n {
		d := v[i] - mean
		std += d * d / rows
	}

	return mean, math.Sqrt(std)
}
