package gp

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"doubletake/internal/lists"
	"doubletake/internal/parallel"
	"doubletake/train/kernel"
	"doubletake/train/triplets"
)

// LeaveOut predicts training rows (ascending; nil: all) as Predict does, but each row without any measurement of its
// group. The groups are the ones given to Fit. Hyperparameters and scales stay as learned from all data. If neighbours
// were averaged, the cells of a group are left out, and its conditions are predicted. LeaveOut returns an error
// for a model that was read from a file.
func (m *Model) LeaveOut(ctx context.Context, rows []int) (triplets.Prediction, error) {
	a, err := m.Answer(ctx, Questions{LeaveOut: true, Rows: rows})

	return a.Left, err
}

// leaveOut is LeaveOut by the processes that m keeps.
func (m *Model) leaveOut(ctx context.Context, rows []int) (triplets.Prediction, error) {
	if rows == nil {
		rows = lists.Numbers(len(m.condition))
	}

	var left standardised
	var err error
	if m.Averages == nil {
		left, err = m.leaveOutConditions(ctx)
	} else {
		left, err = m.leaveOutRows(ctx, rows)
	}

	if err != nil {
		return triplets.Prediction{}, fmt.Errorf("leave out groups of additive gp: %w", err)
	}

	columns := len(m.Columns)
	p := triplets.NewPrediction(len(rows) * m.Outcomes)
	for a, i := range rows {
		k := m.condition[i]
		z := m.X[k*columns : (k+1)*columns]
		for j := range m.Outcomes {
			place := k*m.Outcomes + j
			m.unscale(p, a*m.Outcomes+j, j, left.mean[place], left.variance[place], z)
		}
	}

	return p, nil
}

// standardised are standardised predictions of all conditions, conditions × outcomes.
type standardised struct{ mean, variance []float64 }

func (m *Model) newStandardised() standardised {
	size := m.n * m.Outcomes
	return standardised{make([]float64, size), make([]float64, size)}
}

// leaveOutConditions predicts all conditions, each without its group, by processes that are conditioned on the
// conditions.
func (m *Model) leaveOutConditions(ctx context.Context) (standardised, error) {
	left := m.newStandardised()
	groups := lists.Alike(m.group)
	err := m.leaveOutEach(ctx, [][][]int{groups}, func(j int, list leftList, difference, variance []float64) {
		conditions := groups[list.number]
		for a, i := range conditions {
			k := i*m.Outcomes + j
			left.mean[k] = m.Y[k] - difference[a]
			left.variance[k] = max(variance[a]-m.Spread[k], MinVariance) // without the noise of the measured mean
		}
	})

	return left, err
}

// smallGroup is the mean number of conditions of a group below which it is cheaper to invert the process once than to
// solve for each group: to solve for a few columns takes as long as to read the whole factor from memory.
const smallGroup = 8

// leftList is a list of conditions in a set of lists that are left out in turn.
type leftList struct{ set, number int }

// leftReceiver takes a prediction of outcome j at the conditions of a list, by a process without them: y − μ and the
// variance of y. It is called in several goroutines, at most once for an outcome and a list.
type leftReceiver func(j int, list leftList, difference, variance []float64)

// leaveOutEach leaves out each list of conditions of each set, for each outcome, and calls receive with the
// predictions. The lists are not empty, and ascend. leaveOutEach returns the first error.
func (m *Model) leaveOutEach(ctx context.Context, sets [][][]int, receive leftReceiver) error {
	if m.n >= manyRows {
		return m.leaveOutBatches(ctx, sets, receive)
	}

	solved, inverted := m.divideLists(sets)
	if err := m.leaveOutSolved(ctx, sets, solved, receive); err != nil {
		return err
	}

	return m.leaveOutInverted(ctx, sets, inverted, receive)
}

// leaveOutSolved does what leaveOutEach does for the given lists: it solves the process for each of them.
func (m *Model) leaveOutSolved(ctx context.Context, sets [][][]int, solved []leftList, receive leftReceiver) error {
	return parallel.Try(m.workers, m.Outcomes*len(solved), func(k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}

		j := k / len(solved)
		list := solved[k%len(solved)]
		r, err := m.process[j].without(sets[list.set][list.number])
		if err != nil {
			return err
		}

		difference, variance := r.errors()
		receive(j, list, difference, variance)

		return nil
	})
}

// leaveOutInverted does what leaveOutEach does for the given lists: it inverts the process of each outcome once.
func (m *Model) leaveOutInverted(ctx context.Context, sets [][][]int, inverted []leftList, receive leftReceiver) error {
	if inverted == nil {
		return nil
	}

	return parallel.Try(m.workers, m.Outcomes, func(j int) error {
		inv := m.process[j].inverse()
		for _, list := range inverted {
			if err := ctx.Err(); err != nil {
				return err
			}

			r, err := m.process[j].withoutBy(inv, sets[list.set][list.number])
			if err != nil {
				return err
			}

			difference, variance := r.errors()
			receive(j, list, difference, variance)
		}

		return nil
	})
}

// leaveOutBatches is leaveOutEach for a process of many rows.
func (m *Model) leaveOutBatches(ctx context.Context, sets [][][]int, receive leftReceiver) error {
	var all []leftList
	var rows [][]int
	for s, set := range sets {
		for k, list := range set {
			all = append(all, leftList{s, k})
			rows = append(rows, list)
		}
	}

	batches := batchesOf(rows)

	return parallel.Try(m.workers, m.Outcomes*len(batches), func(k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}

		j := k / len(batches)
		batch := batches[k%len(batches)]
		solved, err := m.process[j].withoutEach(lists.Pick(rows, batch))
		if err != nil {
			return err
		}

		for a, r := range solved {
			difference, variance := r.errors()
			receive(j, all[batch[a]], difference, variance)
		}

		return nil
	})
}

// divideLists divides the lists of all sets into two kinds. For each of the lists solved, the process is solved. The
// lists inverted take their blocks from the inverse of the process: they belong to sets whose lists are small, and
// have at least half as many conditions together as the process.
func (m *Model) divideLists(sets [][][]int) (solved, inverted []leftList) {
	for s, set := range sets {
		conditions := 0
		for _, list := range set {
			conditions += len(list)
		}

		areSmall := conditions < smallGroup*len(set)
		for k := range set {
			if areSmall && 2*conditions >= m.n {
				inverted = append(inverted, leftList{s, k})
			} else {
				solved = append(solved, leftList{s, k})
			}
		}
	}

	return solved, inverted
}

// leaveOutRows predicts the conditions of the given training rows, each without the cells of its group, by processes
// that are conditioned on cells. The predictions of other conditions are 0.
func (m *Model) leaveOutRows(ctx context.Context, rows []int) (standardised, error) {
	wanted := make([]bool, m.n) // by condition
	for _, i := range rows {
		wanted[m.condition[i]] = true
	}

	var blocks [][]int // wanted conditions of each group
	for _, conditions := range lists.Alike(m.group) {
		var block []int
		for _, k := range conditions {
			if wanted[k] {
				block = append(block, k)
			}
		}

		if block != nil {
			blocks = append(blocks, block)
		}
	}

	left := m.newStandardised()
	err := m.eachGroup(ctx, blocks, func(j int, conditions []int) error {
		return m.leaveOutCells(ctx, j, conditions, left)
	})

	return left, err
}

// eachGroup calls f for each outcome and each list of conditions, and returns the first error.
func (m *Model) eachGroup(ctx context.Context, blocks [][]int, f func(j int, conditions []int) error) error {
	return parallel.Try(m.workers, m.Outcomes*len(blocks), func(k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}

		outcome := k / len(blocks)

		return f(outcome, blocks[k%len(blocks)])
	})
}

// leaveOutCells writes the predictions of outcome j at conditions of one group into left, by the process without the
// cells of the group. See withoutRows for the formulas.
func (m *Model) leaveOutCells(ctx context.Context, j int, conditions []int, left standardised) error {
	all := m.process[j]
	columns := len(m.Columns)
	group := m.group[conditions[0]]

	var cells []int // of the group
	for c, g := range m.Averages[j].group {
		if g == group {
			cells = append(cells, c)
		}
	}

	without, err := all.without(cells)
	if err != nil {
		return err
	}

	rest := all
	rest.weights = all.weightsWithout(without)

	h := m.Hyper[j]
	c := newCovariance(h, m.Others)
	for b := 0; b < len(conditions); b += predictBlock {
		if err := ctx.Err(); err != nil {
			return err
		}

		block := conditions[b:min(b+predictBlock, len(conditions))]
		level := m.levels(block)
		mean, variance, whitened := rest.latent(c, lists.Rows(m.X, columns, block), m.ownLevels(level, len(block)))
		without.restore(level, whitened, mean, variance)

		for i, condition := range block {
			k := condition*m.Outcomes + j
			left.mean[k] = mean[i]
			left.variance[k] = max(variance[i], MinVariance) + h.Nugget*h.Nugget
		}
	}

	return nil
}

// restore changes predictions of the latent function in place. mean was predicted with the weights without R, and
// becomes the mean with offsets. variance was predicted with the data of R, and becomes the variance without R and with
// offsets. whitened is u = L⁻¹k, process rows × conditions; level are the levels of the conditions.
func (r *withoutRows) restore(level []int, whitened, mean, variance []float64) {
	count := len(r.rows)
	n := len(mean)
	first := r.rows[0]
	rows := len(whitened) / n

	// added is chol(Q)⁻¹Vᵀu with the opposite sign.
	added := make([]float64, count*n)
	kernel.Subtract(count, n, rows-first, rowMajor(count, r.v[first*count:]).T(), rowMajor(n, whitened[first*n:]),
		rowMajor(n, added))
	SolveLeft(rowMajor(count, r.factor), rowMajor(n, added), count, n)

	for i := range n {
		for a := range count {
			variance[i] += float64(added[a*n+i] * added[a*n+i])
		}
	}

	if r.offsets == nil {
		return
	}

	levels := r.offsets.columns()
	shifts := r.offsets.shifts(level, whitened, n)
	kernel.Subtract(levels, n, count, rowMajor(levels, r.offsetPart).T(), rowMajor(n, added), rowMajor(n, shifts))
	r.offsets.add(level, shifts, mean, variance)
}

// weightsWithout returns (K + D)⁻¹y of the process without the rows of r. The weights of these rows are 0.
func (p *process) weightsWithout(r *withoutRows) []float64 {
	count := len(r.rows)
	change := make([]float64, p.n) // V·Q⁻¹w_R, then L⁻ᵀV·Q⁻¹w_R
	for i := r.rows[0]; i < p.n; i++ {
		for a, residual := range r.residual {
			change[i] += float64(r.v[i*count+a] * residual)
		}
	}

	blas64.Trsv(blas.Trans, lower(p.n, p.factor), blas64.Vector{N: p.n, Data: change, Inc: 1})

	weights := make([]float64, p.n)
	for i, w := range p.weights {
		weights[i] = w - change[i]
	}

	for _, i := range r.rows { // exactly, whatever rounding left
		weights[i] = 0
	}

	return weights
}
