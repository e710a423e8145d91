// Package gp fits a Gaussian process with an additive kernel to measured pairs, one process per outcome. The kernel is
// the sum of a constant, linear terms, a Matérn-5/2 kernel on all inputs, and a Matérn-5/2 kernel on the inputs that
// do not depend on the group that is to be predicted. What the last one learns carries over to groups that were not
// measured.
//
// Fit takes these steps:
//
//  1. Standardise inputs and outcomes, and learn the noise of a measurement from the pairs (not from residuals).
//  2. Collapse the rows of each condition to their mean.
//  3. Search the hyperparameters with the largest evidence on some hundred conditions (search.go, evidence.go).
//  4. If there are more than some thousand conditions, average neighbours to cells (cells.go).
//  5. Factorise the covariance of the conditions or cells (process.go), or do so each time it is needed if the factors
//     of all outcomes are large (answers.go).
//
// Predict and LeaveOut then evaluate the process in closed form, LeaveOut without the group of each row. ClaimWith and
// Posterior tell what further measurements would change. Levels of labels can have offsets (offsets.go), and levels of
// one label curves (curves.go).
//
// CONTRIBUTING.md says why some products are converted, float64(a*b), before they are added.
//
// The package does no input or output. Package train/honest makes intervals from its predictions.
package gp

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/train/triplets"
)

// Options are the settings of Fit.
type Options struct {
	// GroupInputs are the columns of the inputs that depend on the group, such as the number of blades if the groups
	// are rotors. The shared Matérn kernel leaves them out.
	GroupInputs []int
	// SlopeOnly are the columns of inputs that enter with a slope and in no Matérn kernel.
	SlopeOnly []int

	HyperRows int    // conditions on which hyperparameters are learned; 0 is 320
	Seed      uint64 // of the random choice of these conditions
	Steps     int    // largest number of iterations of each search; 0 is 60
	MaxRows   int    // conditions above which neighbours are averaged, and the largest number of averages; 0 is 4000
	Workers   int    // goroutines; 0 is 1. The result does not depend on it

	// Group is the number of the group of each row. Rows of different groups are different conditions. nil: all rows
	// are of one group.
	Group []int

	// Labels has the number of levels of each label (such as a propeller or a day). Each level has an offset of its
	// own.
	Labels []int
	// Level is the level of each row, rows × labels, numbered from 0. Rows of different levels are different
	// conditions.
	Level []int
	// Curves is the label whose levels have curves of their own, counted from 1. 0: none has.
	Curves int
}

// Model is a fitted process. It is safe for concurrent use.
type Model struct {
	Data
	n       int          // conditions
	process []process    // by outcome; nil if their factors are too large to be kept
	first   int          // number of the first outcome: larger than 0 in a model of one of several outcomes
	workers int          // goroutines
	grid    []deviations // grid of the deviations of the labels' offsets

	// Needed only to fit:
	slopes  []int     // columns of X that enter with a slope and in no Matérn kernel
	spacing []float64 // by column of X: smallest gap between set points, standardised; 0 if it has none
	steps   int       // Options.Steps

	// Unknown (nil) after reading a stored model:
	condition []int // condition of each training row
	group     []int // group of each condition
}

// Fit learns from pairs. The weight of a row is the number of pairs that it counts for. Rows of one condition (equal
// set points, group and levels) are collapsed to their mean. Inputs that are constant are dropped.
//
// If measured values scatter about set points, Fit refuses lengths below the spacing of the set points: otherwise the
// evidence would take the scatter for a function of the input.
//
// Fit returns an error if numbers are not finite, if there are fewer than two conditions, if no input varies or an
// outcome is constant, and if there are more labels than MaxLabels or (*TooManyGroupsError) more groups than MaxRows.
// It panics if the slices of the options do not fit the rows.
func Fit(ctx context.Context, d triplets.Set, o Options) (*Model, error) {
	m, err := fit(ctx, d, o)
	if err != nil {
		return nil, fmt.Errorf("fit additive gp: %w", err)
	}

	return m, nil
}

// defaultHyperRows is the default number of conditions on which hyperparameters are learned.
const defaultHyperRows = 320

// subsetStream separates the random numbers that choose these conditions from other random numbers of the same seed.
const subsetStream = 0x6770

// fit does what Fit does. Its errors do not say that a process was fitted.
func fit(ctx context.Context, d triplets.Set, o Options) (*Model, error) {
	o.HyperRows = cmp.Or(o.HyperRows, defaultHyperRows)
	o.MaxRows = cmp.Or(o.MaxRows, MaxRows)

	if err := d.Check(); err != nil {
		return nil, err
	}

	if o.Group != nil && len(o.Group) != d.N {
		panic(fmt.Sprintf("gp: %d groups for %d rows", len(o.Group), d.N))
	}

	if err := checkLabels(o.Labels, o.Level, d.N); err != nil {
		return nil, err
	}

	m, err := newModel(d, o)
	if err != nil {
		return nil, err
	}

	subset := rand.New(rand.NewPCG(o.Seed, subsetStream)).Perm(m.n)[:min(m.n, o.HyperRows)]
	slices.Sort(subset)
	if err := m.search(ctx, subset); err != nil {
		return nil, err
	}

	if m.n > o.MaxRows {
		if err := m.average(ctx, o.MaxRows); err != nil {
			return nil, err
		}
	}

	if err := m.factorise(ctx, keptFitted); err != nil {
		return nil, err
	}

	return m, nil
}

// newModel returns a model without hyperparameters: with the scales, the noise and the conditions of the data.
func newModel(d triplets.Set, o Options) (*Model, error) {
	m := &Model{
		Data:    Data{Inputs: d.In, Outcomes: d.Out, Labels: o.Labels, Curves: o.Curves},
		workers: max(1, o.Workers),
		steps:   o.Steps,
		grid:    offsetGrid(len(o.Labels)),
	}

	if err := m.scaleInputs(d, o); err != nil {
		return nil, err
	}

	if err := m.scaleOutcomes(d); err != nil {
		return nil, err
	}

	if len(m.Others) == 0 {
		m.Curves = 0 // no input is left over which curves could differ
	}

	x := m.standardise(d.X)
	m.fitNoise(d, x)
	m.collapse(d, x, o)
	if m.n < 2 {
		return nil, fmt.Errorf("expected at least 2 distinct conditions, found %d", m.n)
	}

	return m, nil
}

// constantInput is the deviation, relative to the largest absolute value, up to which an input counts as constant.
const constantInput = 1e-9

// scaleInputs sets the columns that vary, their scales, and which kernels use them.
func (m *Model) scaleInputs(d triplets.Set, o Options) error {
	for j := range d.In {
		mean, std := moments(d.X, d.In, j)
		if std <= constantInput*largest(d.X, d.In, j) {
			continue
		}

		column := len(m.Columns)
		if slices.Contains(o.SlopeOnly, j) {
			m.slopes = append(m.slopes, column)
		} else if !slices.Contains(o.GroupInputs, j) {
			m.Others = append(m.Others, column)
		}

		m.Columns = append(m.Columns, j)
		m.spacing = append(m.spacing, spacing(d, j)/std)
		m.InputMean = append(m.InputMean, mean)
		m.InputStd = append(m.InputStd, std)
	}

	if len(m.Columns) == 0 {
		return fmt.Errorf("no input varies over the %d training rows", d.N)
	}

	return nil
}

// scaleOutcomes sets the scales of the outcomes, over both values of the pairs.
func (m *Model) scaleOutcomes(d triplets.Set) error {
	both := slices.Concat(d.Y1, d.Y2)
	for j := range d.Out {
		mean, std := moments(both, d.Out, j)
		if !(std > 0) {
			return fmt.Errorf("outcome column %d is constant (%g): there is nothing to learn", j, mean)
		}

		m.OutputMean = append(m.OutputMean, mean)
		m.OutputStd = append(m.OutputStd, std)
	}

	return nil
}

// fitNoise sets the noise of all outcomes from the pairs. x are the standardised inputs of the rows.
func (m *Model) fitNoise(d triplets.Set, x []float64) {
	pairs := d.Pairs()
	paired := lists.Rows(x, len(m.Columns), pairs)
	m.Noise = make([]Noise, d.Out)
	parallel.Do(m.workers, d.Out, func(j int) {
		u := make([]float64, len(pairs)) // ½(y1−y2)² of each pair
		for k, i := range pairs {
			difference := (d.Y1[i*d.Out+j] - d.Y2[i*d.Out+j]) / m.OutputStd[j]
			u[k] = difference * difference / 2
		}

		m.Noise[j] = fitNoise(paired, len(m.Columns), u)
	})
}

// spacing returns the smallest gap between set points of input j in its own unit, or 0 if its values do not scatter
// about set points.
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

// collapse sets the distinct conditions, in the order of their first rows: their inputs, levels and groups, the means
// of their outcomes, and the variances of these means. x are the standardised inputs of the rows.
func (m *Model) collapse(d triplets.Set, x []float64, o Options) {
	columns := len(m.Columns)
	setPoints := d.AtSetPoints()
	index := map[string]int{} // condition of each key
	var pairs []float64       // by condition: number of pairs, which need not be whole
	var scatter []float64     // conditions × columns: weighted sum of the rows' inputs less the first row's

	m.condition = make([]int, d.N)
	for i := range d.N {
		group := 0
		if o.Group != nil {
			group = o.Group[i]
		}

		level := o.Level[i*len(o.Labels) : (i+1)*len(o.Labels)]
		row := x[i*columns : (i+1)*columns]
		key := conditionKey(group, level, setPoints[i*d.In:(i+1)*d.In])
		k, known := index[key]
		if !known {
			k = m.n
			index[key] = k
			m.n++
			m.X = append(m.X, row...)
			m.group = append(m.group, group)
			m.Level = append(m.Level, level...)
			m.Y = append(m.Y, make([]float64, d.Out)...)
			scatter = append(scatter, make([]float64, columns)...)
			pairs = append(pairs, 0)
		}

		m.condition[i] = k

		weight := triplets.WeightAt(d.Weight, i)
		pairs[k] += weight
		for a, v := range row {
			scatter[k*columns+a] += float64(weight * (v - m.X[k*columns+a]))
		}

		for j := range d.Out {
			y := (d.Y1[i*d.Out+j]+d.Y2[i*d.Out+j])/2 - m.OutputMean[j]
			m.Y[k*d.Out+j] += float64(weight * (y / m.OutputStd[j]))
		}
	}

	m.divideSums(pairs, scatter)
}

// divideSums makes means of the sums that collapse left in Y, and sets the variances of the means. It moves each
// condition to the mean of its rows' inputs. pairs and scatter are the sums of collapse.
func (m *Model) divideSums(pairs, scatter []float64) {
	columns := len(m.Columns)
	m.Spread = make([]float64, len(m.Y))
	for k, n := range pairs {
		for a := range columns {
			m.X[k*columns+a] += scatter[k*columns+a] / n
		}

		for j := range m.Outcomes {
			m.Y[k*m.Outcomes+j] /= n
			noise := m.Noise[j].variance(m.X[k*columns : (k+1)*columns])
			m.Spread[k*m.Outcomes+j] = noise / (2 * n) // n pairs are 2n measurements
		}
	}
}

// conditionKey returns a key that equal conditions, and only these, have in common.
func conditionKey(group int, level []int, setPoint []float64) string {
	key := binary.LittleEndian.AppendUint64(nil, uint64(group))
	for _, v := range level {
		key = binary.LittleEndian.AppendUint64(key, uint64(v))
	}

	for _, v := range setPoint {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v+0)) // −0 is 0
	}

	return string(key)
}

// standardise returns the varying columns of conditions x (rows of all inputs), standardised.
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

// Conditions returns the number of distinct conditions that the model was trained on.
func (m *Model) Conditions() int { return m.n }

// Pairs returns the median number of pairs by which a condition was measured, or 1 if the conditions are averaged to
// cells. The median of an even number of conditions is the upper of the two in the middle.
func (m *Model) Pairs() float64 {
	if m.Averages != nil {
		return 1
	}

	columns := len(m.Columns)
	var pairs []float64
	for k := range len(m.Spread) / m.Outcomes {
		noise := m.Noise[0].variance(m.X[k*columns : (k+1)*columns])
		pairs = append(pairs, noise/(2*m.Spread[k*m.Outcomes]))
	}

	slices.Sort(pairs)

	return math.Round(pairs[len(pairs)/2])
}

// Cells returns a description of the cells that the processes are conditioned on, or nil if they are conditioned on the
// conditions themselves.
func (m *Model) Cells() *Cells { return m.Averaged }

// levels returns the levels of some conditions, conditions × labels.
func (m *Model) levels(conditions []int) []int { return lists.Rows(m.Level, len(m.Labels), conditions) }

// largest returns the largest absolute value of column j of v, a row-major matrix with the given number of columns.
func largest(v []float64, columns, j int) float64 {
	most := 0.0
	for i := j; i < len(v); i += columns {
		most = max(most, math.Abs(v[i]))
	}

	return most
}

// moments returns the mean and the population standard deviation of column j of v, a row-major matrix with the given
// number of columns.
func moments(v []float64, columns, j int) (mean, std float64) {
	rows := float64(len(v) / columns)
	for i := j; i < len(v); i += columns {
		mean += (v[i] - v[j]) / rows // less the first number, so that large values lose no digits
	}

	mean += v[j]
	variance := 0.0
	for i := j; i < len(v); i += columns {
		d := v[i] - mean
		variance += d * d / rows
	}

	return mean, math.Sqrt(variance)
}
