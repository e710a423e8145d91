package gp

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

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
// are unknowns beside the latent function.
type Posterior struct {
	conditions int
	rows       int // of a process for each condition: 1, or one for each harmonic

	// By process, standardised:
	cov    [][]float64 // covariances of the unknowns: the latent function at all rows, offsets and curves of new levels
	noise  [][]float64 // by row: variance that a measurement there adds, with the run-to-run variance
	nugget []float64   // run-to-run variance
	fresh  [][]float64 // by label: variance of the offset of a new level
	curve  [][]float64 // new curves × new curves: their covariances before any measurement
	own    []float64   // variance of a curve

	newLevels []newLevel // new levels that several conditions or measurements share
	curved    int        // label whose levels have curves, counted from 1; 0: none has
	newCurves []newCurve // values of curves of new levels that several conditions or measurements share
	asked     [][]int    // by row: the places among the unknowns of the offsets and curves of what is asked for
	measured  [][]int    // by row: the places among the unknowns of the offsets and curves of a measurement
	alone     [][]int    // by row: the labels whose offset and curve only what is asked for there has

	unit []float64 // by process: the variance in the outcome's unit that equals a standardised variance of 1
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

// Posterior returns the covariances at conditions x, each of which would be measured by the given number of pairs.
func (m *Model) Posterior(ctx context.Context, x []float64, pairs float64, levels Levels) (*Posterior, error) {
	if m.process != nil {
		return m.posterior(ctx, x, pairs, levels)
	}

	single := make([]*Posterior, m.Outcomes)
	err := m.eachOutcome(ctx, func(j int, one *Model) error {
		var err error
		single[j], err = one.posterior(ctx, x, pairs, levels)

		return err
	})
	if err != nil {
		return nil, err
	}

	all := single[0]
	for _, p := range single[1:] {
		all.cov = append(all.cov, p.cov...)
		all.noise = append(all.noise, p.noise...)
		all.nugget = append(all.nugget, p.nugget...)
		all.fresh = append(all.fresh, p.fresh...)
		all.unit = append(all.unit, p.unit...)
		all.curve = append(all.curve, p.curve...)
		all.own = append(all.own, p.own...)
	}

	return all, nil
}

// posterior is Posterior by the processes that m keeps.
func (m *Model) posterior(ctx context.Context, x []float64, pairs float64, levels Levels) (*Posterior, error) {
	columns := len(m.Columns)
	z := m.standardise(x)
	n := len(x) / m.Inputs
	p := &Posterior{conditions: n, rows: 1, curved: m.Curves}
	ownNoise := p.setLevels(m.Labels, levels)
	p.setCurves(m.Labels, levels)
	known := knownLevels(m.Labels, levels.Measured, n)
	own := m.knownCurves(known, n)
	all := p.size()
	for j := range m.Outcomes {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("posterior of additive gp: %w", err)
		}

		c := newCovariance(m.Hyper[j], m.Others)
		nugget := m.Hyper[j].Nugget * m.Hyper[j].Nugget
		whitened := m.process[j].whitened(c, m.workers, z, own)
		cov := make([]float64, n*n)
		noise := make([]float64, n)
		parallel.Do(m.workers, n, func(i int) {
			row := z[i*columns : (i+1)*columns]
			dst := cov[i*n : (i+1)*n]
			c.row(dst, row, z)
			c.addCurves(dst, row, z, levelOf(own, i), own)
			noise[i] = m.Noise[j].variance(row)/(2*pairs) + nugget
		})

		u := rowMajor(n, whitened)
		kernel.Subtract(n, n, m.process[j].n, u.T(), u, rowMajor(n, cov))

		var fresh []float64
		if o := m.process[j].offsets; o != nil {
			o.addKnownCovariances(known, whitened, n, n, cov)

			fresh = o.fresh
			for i, labels := range ownNoise {
				for _, label := range labels {
					noise[i] += freshVariance(fresh, c.own, label, m.Curves)
				}
			}
		}

		p.cov = append(p.cov, widened(cov, n, all))
		p.noise = append(p.noise, noise)
		p.nugget = append(p.nugget, nugget)
		p.fresh = append(p.fresh, fresh)
		p.unit = append(p.unit, m.OutputStd[j]*m.OutputStd[j])
		p.own = append(p.own, c.own)
		p.curve = append(p.curve, p.curvePrior(c, z))
		p.renewCurves(j, func(newCurve) bool { return true })
		for k := range p.newLevels {
			p.renew(j, k)
		}
	}

	return p, nil
}

// setLevels sets the new levels and the places of their offsets. counts are the numbers of levels of the labels. It
// returns the labels, by row, whose offsets only one measurement has: for all others they are noise.
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

// widened returns a square matrix with n rows as the upper left part of one with the given number of rows.
func widened(v []float64, n, rows int) []float64 {
	if rows == n {
		return v
	}

	wide := make([]float64, rows*rows)
	for i := range n {
		copy(wide[i*rows:], v[i*n:(i+1)*n])
	}

	return wide
}

// renew makes the offset of new level k of process j independent of everything, as before any measurement.
func (p *Posterior) renew(j, k int) {
	size := p.size()
	place := p.conditions*p.rows + k
	for i := range size {
		p.cov[j][i*size+place] = 0
		p.cov[j][place*size+i] = 0
	}

	p.cov[j][place*size+place] = p.fresh[j][p.newLevels[k].label]
}

// Renew replaces a new level of a label by another new level. After one new thing was measured, later measurements of a
// new thing are then of another thing. What was learned about the latent function stays.
func (p *Posterior) Renew(label, level int) {
	k := slices.Index(p.newLevels, newLevel{label, level})
	if k < 0 {
		return
	}

	for j := range p.cov {
		p.renew(j, k)
		if label == p.curved-1 {
			p.renewCurves(j, func(c newCurve) bool { return c.level == level })
		}
	}
}

// size returns the number of unknowns of a process.
func (p *Posterior) size() int { return p.conditions*p.rows + len(p.newLevels) + len(p.newCurves) }

// whitened returns U = L⁻¹K(X, z), p.n × conditions, for the covariances K of the process's data with the latent
// function at the standardised conditions z. UᵀU is how much the data lower the covariances at z. own has the levels of
// the conditions that have curves; nil: none has.
func (p *process) whitened(c covariance, workers int, z []float64, own []int) []float64 {
	conditions := len(z) / len(c.linear)
	u := make([]float64, p.n*conditions)
	parallel.Do(workers, p.n, func(i int) {
		p.covariances(c, u[i*conditions:(i+1)*conditions], i, z, own)
	})

	p.solve(u, conditions)

	return u
}

// Clone returns a copy, which Measure can change without changing p.
func (p *Posterior) Clone() *Posterior {
	c := *p
	c.cov = slices.Clone(p.cov)
	for j, cov := range c.cov {
		c.cov[j] = slices.Clone(cov)
	}

	return &c
}

// outcomes returns the number of outcomes at each condition.
func (p *Posterior) outcomes() int { return max(p.rows, len(p.cov)) }

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
	size := p.size()
	claims := make([]float64, 0, p.conditions*p.outcomes())
	for i := range p.conditions {
		for o := range p.outcomes() {
			j, row := p.rowOf(i, o)
			v := p.cov[j][row*size+row]
			for _, a := range p.asked[row] {
				v += 2 * p.cov[j][row*size+a]
				for _, b := range p.asked[row] {
					v += p.cov[j][a*size+b]
				}
			}

			v = max(v, MinVariance) + p.nugget[j]
			for _, label := range p.alone[row] {
				if p.fresh[j] != nil {
					v += freshVariance(p.fresh[j], p.own[j], label, p.curved)
				}
			}

			claims = append(claims, v*p.unit[j])
		}
	}

	return claims
}

// Gain returns by how much the weighted sum of variances would fall if the given conditions were measured together.
// weight is the weight of each variance, conditions × outcomes.
func (p *Posterior) Gain(conditions []int, weight []float64) (float64, error) {
	gain := 0.0
	size := p.size()
	for j := range p.cov {
		learned, err := p.learned(j, conditions)
		if err != nil {
			return 0, err
		}

		for first := 0; first < len(learned); first += size {
			byUnknown := learned[first : first+size] // what one measured row teaches about each unknown
			for row := range p.conditions * p.rows {
				v := byUnknown[row]
				for _, offset := range p.asked[row] {
					v += byUnknown[offset]
				}

				condition, outcome := p.outcomeOf(j, row)
				gain += weight[condition*p.outcomes()+outcome] * p.unit[j] * v * v
			}
		}
	}

	return gain, nil
}

// Measure changes p to what it would be after the given conditions were measured. p is not defined after an error.
func (p *Posterior) Measure(conditions []int) error {
	size := p.size()
	for j := range p.cov {
		learned, err := p.learned(j, conditions)
		if err != nil {
			return err
		}

		v := rowMajor(size, learned)
		kernel.Subtract(size, size, len(learned)/size, v.T(), v, rowMajor(size, p.cov[j]))
	}

	return nil
}

// learned returns what process j would learn from measuring the given conditions: L⁻¹HP, a matrix of the measured rows
// by all unknowns, where P are the covariances of the unknowns, H picks the unknowns that add up to each measurement,
// and LLᵀ = HPHᵀ + noise. The variance of each unknown falls by the sum of squares in its column.
func (p *Posterior) learned(j int, conditions []int) ([]float64, error) {
	size := p.size()
	cov := p.cov[j]
	measured := rowsOf(conditions, p.rows)
	count := len(measured)
	learned := make([]float64, 0, count*size)
	for _, row := range measured {
		learned = append(learned, cov[row*size:(row+1)*size]...)
		own := learned[len(learned)-size:]
		for _, offset := range p.measured[row] {
			floats.Add(own, cov[offset*size:(offset+1)*size])
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

		factor[a*count+a] += p.noise[j][measured[a]]
	}

	if err := Factorise(rowMajor(count, factor), count); err != nil {
		return nil, fmt.Errorf("measure %d conditions of additive gp: %w", len(conditions), err)
	}

	SolveLeft(rowMajor(count, factor), rowMajor(size, learned), count, size)

	return learned, nil
}
