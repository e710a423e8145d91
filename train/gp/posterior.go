package gp

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/floats"

	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/train/kernel"
)

// EachNew is the level of a label that no other condition and no other measurement shares: each time it is a new one.
const EachNew = -1

// Posterior holds the covariances of a model's predictions at some conditions, which are candidates for measurements.
// It tells how much the variances would fall if some of them were measured: this does not depend on what would be
// measured. Hyperparameters, scales and noise stay as they are.
//
// At a condition, the outcome that is asked for and the measurement that would be made may have offsets of different
// levels: the question may be about any new thing, but one new thing would be measured. So the offsets of new levels
// are unknowns beside the latent function. The unknowns are the latent function at all rows, then the offsets of the
// new levels, then the new curves. Before any measurement these three are independent of each other, so that Posterior
// keeps the covariances of each by itself, and only half of each symmetric matrix.
type Posterior struct {
	conditions int
	rows       int // of a process for each condition: 1, or one for each harmonic

	processes []posteriorProcess

	newLevels []newLevel // new levels that several conditions or measurements share
	curved    int        // label whose levels have curves, counted from 1; 0: none has
	newCurves []newCurve // values of curves of new levels that several conditions or measurements share
	asked     [][]int    // by row: the places among the unknowns of the offsets and curves of what is asked for
	measured  [][]int    // by row: the places among the unknowns of the offsets and curves of a measurement
	alone     [][]int    // by row: the labels whose offset and curve only what is asked for there has
}

// posteriorProcess holds the covariances of one process. All but unit is standardised.
type posteriorProcess struct {
	latent  []float64 // covariances of the latent function at all rows: lower triangle, row after row
	curve   []float64 // covariances of the new curves before any measurement: likewise
	noise   []float64 // by row: variance that a measurement there adds, with the run-to-run variance
	nugget  float64   // run-to-run variance
	fresh   []float64 // by label: variance of the offset of a new level; nil without labels
	own     float64   // variance of a curve
	local   []float64 // by row: local scale of the errors, see localScales
	learned []float64 // what measurements have taught, see learn: measured rows × unknowns
	unit    float64   // the variance in the outcome's unit that equals a standardised variance of 1
}

// newLevel is a level that the data do not have.
type newLevel struct{ label, level int }

// newCurve is the value at a condition of the curve of a level that the data do not have.
type newCurve struct{ level, condition int }

// Levels are the levels of the labels at some conditions, conditions × labels. nil: all are EachNew. A level of the
// data must be the same in both lists.
type Levels struct {
	Asked    []int // levels of what is asked for
	Measured []int // levels that measurements would have
}

// Posterior returns the covariances at conditions x, each of which would be measured by the given number of pairs. They
// take 4·n² bytes for n conditions and each outcome, and 4·c² more for c values of the curves of new levels.
func (m *Model) Posterior(ctx context.Context, x []float64, pairs float64, levels Levels) (*Posterior, error) {
	var all *Posterior
	err := m.EachPosterior(ctx, x, pairs, levels, func(_ int, p *Posterior) error {
		if all == nil {
			all = p
			return nil
		}

		all.processes = append(all.processes, p.processes...)

		return nil
	})

	return all, err
}

// EachPosterior calls receive with the result of Posterior for each outcome j alone, in the order of the outcomes. It
// keeps the covariances of a few outcomes at a time. It returns the first error of receive.
func (m *Model) EachPosterior(ctx context.Context, x []float64, pairs float64, levels Levels,
	receive func(j int, p *Posterior) error,
) error {
	together := min(m.workers, m.Outcomes)
	single := make([]*Posterior, together)
	for first := 0; first < m.Outcomes; first += together {
		count := min(together, m.Outcomes-first)
		err := m.eachOf(ctx, first, count, func(j int, one *Model) error {
			p, err := one.posterior(ctx, x, pairs, levels)
			single[j-first] = p

			return err
		})
		if err != nil {
			return fmt.Errorf("posterior of additive gp: %w", err)
		}

		for k, p := range single[:count] {
			if err := receive(first+k, p); err != nil {
				return err
			}

			single[k] = nil
		}
	}

	return nil
}

// posterior is Posterior by the process of the only outcome of m.
func (m *Model) posterior(ctx context.Context, x []float64, pairs float64, levels Levels) (*Posterior, error) {
	columns := len(m.Columns)
	z := m.standardise(x)
	local, err := m.localScales(ctx, z)
	if err != nil {
		return nil, err
	}

	n := len(x) / m.Inputs
	p := &Posterior{conditions: n, rows: 1, curved: m.Curves}
	ownNoise := p.setLevels(m.Labels, levels)
	p.setCurves(m.Labels, levels)
	known := knownLevels(m.Labels, levels.Measured, n)
	own := m.knownCurves(known, n)
	c := newCovariance(m.Hyper[0], m.Others)
	nugget := m.Hyper[0].Nugget * m.Hyper[0].Nugget
	whitened := m.process[0].whitenedCovariances(c, m.workers, z, own)
	cov := make([]float64, n*n)
	noise := make([]float64, n)
	parallel.Do(m.workers, n, func(i int) {
		row := z[i*columns : (i+1)*columns]
		dst := cov[i*n : (i+1)*n]
		c.row(dst, row, z)
		c.addCurves(dst, row, z, levelOf(own, i), own)
		noise[i] = m.Noise[0].variance(row)/(2*pairs) + nugget
	})

	subtractSquare(n, m.process[0].n, rowMajor(n, whitened).T(), rowMajor(n, cov))

	var fresh []float64
	if o := m.process[0].offsets; o != nil {
		o.addKnownCovariances(known, whitened, n, n, cov)

		fresh = o.fresh
		for i, labels := range ownNoise {
			for _, label := range labels {
				noise[i] += freshVariance(fresh, c.own, label, m.Curves)
			}
		}
	}

	p.processes = []posteriorProcess{{
		latent: packed(cov, n),
		curve:  p.curvePrior(c, z),
		noise:  noise,
		nugget: nugget,
		fresh:  fresh,
		own:    c.own,
		local:  local,
		unit:   m.OutputStd[0] * m.OutputStd[0],
	}}

	return p, nil
}

// setLevels sets the new levels and the places of their offsets. counts are the numbers of levels of the labels. It
// returns, by row, the labels whose level is new at the measurement there alone: its offset is noise of this
// measurement.
func (p *Posterior) setLevels(counts []int, levels Levels) (ownNoise [][]int) {
	labelCount := len(counts)
	ownNoise = make([][]int, p.conditions)
	p.asked = make([][]int, p.conditions)
	p.measured = make([][]int, p.conditions)
	p.alone = make([][]int, p.conditions)
	for i := range p.conditions {
		for c := range labelCount {
			asked := levelAt(levels.Asked, i*labelCount+c)
			if asked == EachNew {
				p.alone[i] = append(p.alone[i], c)
			} else if asked >= counts[c] {
				p.asked[i] = append(p.asked[i], p.placeOf(newLevel{c, asked}))
			}

			measured := levelAt(levels.Measured, i*labelCount+c)
			if measured == EachNew {
				ownNoise[i] = append(ownNoise[i], c)
			} else if measured >= counts[c] {
				p.measured[i] = append(p.measured[i], p.placeOf(newLevel{c, measured}))
			}
		}
	}

	return ownNoise
}

// levelAt returns number k of a list of levels, or EachNew if the list is nil.
func levelAt(levels []int, k int) int {
	if levels == nil {
		return EachNew
	}
	return levels[k]
}

// placeOf returns the place of the offset of a new level among the unknowns. It adds the level if it is not listed.
func (p *Posterior) placeOf(l newLevel) int {
	k := slices.Index(p.newLevels, l)
	if k < 0 {
		k = len(p.newLevels)
		p.newLevels = append(p.newLevels, l)
	}

	return p.conditions + k
}

// knownLevels returns the levels of n conditions with one number for all levels that the data do not have.
func knownLevels(counts, level []int, n int) []int {
	var known []int
	for i := range n {
		for c, count := range counts {
			v := levelAt(level, i*len(counts)+c)
			if v == EachNew {
				v = count
			}

			known = append(known, min(v, count))
		}
	}

	return known
}

// packed returns the lower triangle of a square matrix of n rows, row after row.
func packed(v []float64, n int) []float64 {
	list := make([]float64, 0, n*(n+1)/2)
	for i := range n {
		list = append(list, v[i*n:i*n+i+1]...)
	}

	return list
}

// packedAt returns element (i, k) of a symmetric matrix whose lower triangle is packed.
func packedAt(lower []float64, i, k int) float64 {
	if k > i {
		i, k = k, i
	}
	return lower[i*(i+1)/2+k]
}

// Renew replaces a new level of a label by another new level. After one new thing was measured, later measurements of a
// new thing are then of another thing. What was learned about the latent function stays.
func (p *Posterior) Renew(label, level int) {
	k := slices.Index(p.newLevels, newLevel{label, level})
	if k < 0 {
		return
	}

	p.forget(p.latentRows() + k)
	if label != p.curved-1 {
		return
	}

	for a, c := range p.newCurves {
		if c.level == level {
			p.forget(p.latentRows() + len(p.newLevels) + a)
		}
	}
}

// forget makes an unknown independent of all that was measured.
func (p *Posterior) forget(unknown int) {
	size := p.size()
	for _, process := range p.processes {
		for k := unknown; k < len(process.learned); k += size {
			process.learned[k] = 0
		}
	}
}

// size returns the number of unknowns of a process.
func (p *Posterior) size() int { return p.latentRows() + len(p.newLevels) + len(p.newCurves) }

// latentRows returns the number of rows of a process.
func (p *Posterior) latentRows() int { return p.conditions * p.rows }

// whitenedCovariances returns U = L⁻¹K(X, z), p.n × conditions, for the covariances K of the process's data with the
// latent function at the standardised conditions z. UᵀU is how much the data lower the covariances at z. own has the
// levels of the conditions that have curves; nil: none has.
func (p *process) whitenedCovariances(c covariance, workers int, z []float64, own []int) []float64 {
	conditions := len(z) / len(c.linear)
	u := make([]float64, p.n*conditions)
	parallel.Do(workers, p.n, func(i int) {
		p.covariancesOfRow(c, u[i*conditions:(i+1)*conditions], i, z, own)
	})

	p.solve(u, conditions)

	return u
}

// Clone returns a copy, which Measure and Renew can change without changing p. The copy shares what they do not change.
func (p *Posterior) Clone() *Posterior {
	c := *p
	c.processes = slices.Clone(p.processes)
	for j := range c.processes {
		c.processes[j].learned = slices.Clone(c.processes[j].learned)
	}

	return &c
}

// outcomes returns the number of outcomes at each condition.
func (p *Posterior) outcomes() int { return max(p.rows, len(p.processes)) }

// rowOf returns the process and its row that predict an outcome at a condition. Each outcome has a process of its own,
// unless a single process predicts all outcomes of a condition in separate rows.
func (p *Posterior) rowOf(condition, outcome int) (process, row int) {
	if p.rows > 1 {
		return 0, condition*p.rows + outcome
	}
	return outcome, condition
}

// outcomeOf returns the condition and the outcome that a row of a process predicts: it is the inverse of rowOf.
func (p *Posterior) outcomeOf(process, row int) (condition, outcome int) {
	if p.rows > 1 {
		return row / p.rows, row % p.rows
	}
	return row, process
}

// Claims returns the variances that Model.Predict would return as its claims, conditions × outcomes.
func (p *Posterior) Claims() []float64 {
	claims := make([]float64, 0, p.conditions*p.outcomes())
	for i := range p.conditions {
		for o := range p.outcomes() {
			j, row := p.rowOf(i, o)
			v := p.covariance(j, row, row)
			for _, a := range p.asked[row] {
				v += 2 * p.covariance(j, row, a)
				for _, b := range p.asked[row] {
					v += p.covariance(j, a, b)
				}
			}

			v = max(v, MinVariance) + p.processes[j].nugget
			for _, label := range p.alone[row] {
				if p.processes[j].fresh != nil {
					v += freshVariance(p.processes[j].fresh, p.processes[j].own, label, p.curved)
				}
			}

			claims = append(claims, v*p.processes[j].unit)
		}
	}

	return claims
}

// LocalScales returns by how much the squared errors are larger than on average at each condition, conditions ×
// outcomes. Measure and Renew do not change it.
func (p *Posterior) LocalScales() []float64 {
	var scales []float64
	for i := range p.conditions {
		for o := range p.outcomes() {
			j, row := p.rowOf(i, o)
			scales = append(scales, p.processes[j].local[row])
		}
	}

	return scales
}

// Gains returns, for each list of conditions, by how much the weighted sum of variances would fall if the conditions of
// this list were measured together. weight is the weight of each variance, conditions × outcomes.
func (p *Posterior) Gains(lists [][]int, weight []float64) ([]float64, error) {
	gains := make([]float64, len(lists))

	return gains, p.AddGains(lists, weight, gains)
}

// AddGains adds to gains what Gains returns.
func (p *Posterior) AddGains(lists [][]int, weight, gains []float64) error {
	parts := p.together(lists)
	workers := runtime.GOMAXPROCS(0)
	for j := range p.processes {
		err := parallel.Try(workers, len(parts), func(k int) error {
			own := parts[k]
			return p.addGains(j, lists[own.first:own.end], weight, gains[own.first:own.end])
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// part is a part of a list: the elements from number first up to, but not including, number end.
type part struct{ first, end int }

// rowsTogether is the number of rows of the covariance that a goroutine computes together, unless a single list has
// more.
const rowsTogether = 64

// together divides lists of conditions into parts of about rowsTogether rows.
func (p *Posterior) together(lists [][]int) []part {
	var parts []part
	rows := rowsTogether // of the last part
	for k, conditions := range lists {
		if rows >= rowsTogether {
			parts = append(parts, part{k, k})
			rows = 0
		}

		parts[len(parts)-1].end = k + 1
		rows += len(conditions) * p.rows
	}

	return parts
}

// addGains adds to gains what process j contributes to the gain of each list of conditions.
func (p *Posterior) addGains(j int, lists [][]int, weight, gains []float64) error {
	size := p.size()
	known := p.covariancesNow(j, slices.Concat(lists...))
	for k, conditions := range lists {
		learned, err := p.learn(j, known, conditions)
		if err != nil {
			return err
		}

		for first := 0; first < len(learned); first += size {
			byUnknown := learned[first : first+size] // what one measured row teaches about each unknown
			for row := range p.latentRows() {
				v := byUnknown[row]
				for _, offset := range p.asked[row] {
					v += byUnknown[offset]
				}

				condition, outcome := p.outcomeOf(j, row)
				gains[k] += weight[condition*p.outcomes()+outcome] * p.processes[j].unit * v * v
			}
		}
	}

	return nil
}

// Measure changes p to what it would be after the given conditions were measured. p is not defined after an error.
func (p *Posterior) Measure(conditions []int) error {
	return parallel.Try(runtime.GOMAXPROCS(0), len(p.processes), func(j int) error {
		learned, err := p.learn(j, p.covariancesNow(j, conditions), conditions)
		if err != nil {
			return err
		}

		p.processes[j].learned = append(p.processes[j].learned, learned...)

		return nil
	})
}

// covarianceRows are some rows of the covariance of all unknowns, by the number of the unknown.
type covarianceRows map[int][]float64

// covariancesNow returns the rows of the covariance of process j that measurements of the given conditions depend on,
// after what was measured.
func (p *Posterior) covariancesNow(j int, conditions []int) covarianceRows {
	var unknowns []int
	for _, row := range rowsOf(conditions, p.rows) {
		unknowns = append(unknowns, row)
		unknowns = append(unknowns, p.measured[row]...)
	}

	slices.Sort(unknowns)
	unknowns = slices.Compact(unknowns)

	size := p.size()
	values := p.covariancesBefore(j, unknowns)
	count := len(p.processes[j].learned) / size
	learned := rowMajor(size, p.processes[j].learned)
	own := make([]float64, 0, count*len(unknowns)) // what was learned about the unknowns
	for k := range count {
		own = append(own, lists.Pick(p.processes[j].learned[k*size:(k+1)*size], unknowns)...)
	}

	kernel.Subtract(len(unknowns), size, count, rowMajor(len(unknowns), own).T(), learned, rowMajor(size, values))

	rows := covarianceRows{}
	for a, unknown := range unknowns {
		rows[unknown] = values[a*size : (a+1)*size]
	}

	return rows
}

// covariancesBefore returns the covariances of the given unknowns of process j, ascending, with all unknowns before any
// measurement, row-major.
func (p *Posterior) covariancesBefore(j int, unknowns []int) []float64 {
	size := p.size()
	rows := p.latentRows()
	values := make([]float64, len(unknowns)*size)

	// Unknown after unknown, because neighbours in the triangle are then read together.
	latent, _ := slices.BinarySearch(unknowns, rows)
	for k := range rows {
		for a, unknown := range unknowns[:latent] {
			values[a*size+k] = packedAt(p.processes[j].latent, unknown, k)
		}
	}

	for a := latent; a < len(unknowns); a++ {
		firstCurve := rows + len(p.newLevels)
		unknown := unknowns[a]
		if unknown < firstCurve {
			values[a*size+unknown] = p.before(j, unknown, unknown)
			continue
		}

		for k := firstCurve; k < size; k++ {
			values[a*size+k] = p.before(j, unknown, k)
		}
	}

	return values
}

// before returns the covariance of two unknowns of process j before any measurement.
func (p *Posterior) before(j, a, b int) float64 {
	if a > b {
		a, b = b, a
	}

	rows := p.latentRows()
	firstCurve := rows + len(p.newLevels)
	switch {
	case b < rows:
		return packedAt(p.processes[j].latent, a, b)
	case a >= firstCurve:
		return packedAt(p.processes[j].curve, a-firstCurve, b-firstCurve)
	case a == b:
		return p.processes[j].fresh[p.newLevels[a-rows].label]
	default:
		return 0
	}
}

// covariance returns the covariance of two unknowns of process j after what was measured. It rounds as
// covariancesNow does.
func (p *Posterior) covariance(j, a, b int) float64 {
	v := p.before(j, a, b)
	size := p.size()
	for first := 0; first < len(p.processes[j].learned); first += size {
		v = math.FMA(-p.processes[j].learned[first+a], p.processes[j].learned[first+b], v)
	}

	return v
}

// learn returns what process j would learn from measuring the given conditions: L⁻¹HP, a matrix of the measured rows
// by all unknowns, where P are the covariances of the unknowns, of which known has the rows, H picks the unknowns that
// add up to each measurement, and LLᵀ = HPHᵀ + noise. The variance of each unknown falls by the sum of squares in its
// column.
func (p *Posterior) learn(j int, known covarianceRows, conditions []int) ([]float64, error) {
	size := p.size()
	measured := rowsOf(conditions, p.rows)
	count := len(measured)
	learned := make([]float64, 0, count*size)
	for _, row := range measured {
		learned = append(learned, known[row]...)
		own := learned[len(learned)-size:]
		for _, offset := range p.measured[row] {
			floats.Add(own, known[offset])
		}
	}

	factor := make([]float64, count*count)
	for a := range measured {
		own := learned[a*size : (a+1)*size]
		for b, row := range measured {
			factor[a*count+b] = own[row]
			for _, offset := range p.measured[row] {
				factor[a*count+b] += own[offset]
			}
		}

		factor[a*count+a] += p.processes[j].noise[measured[a]]
	}

	if err := Factorise(rowMajor(count, factor), count); err != nil {
		return nil, fmt.Errorf("measure %d conditions of additive gp: %w", len(conditions), err)
	}

	SolveLeft(rowMajor(count, factor), rowMajor(size, learned), count, size)

	return learned, nil
}
