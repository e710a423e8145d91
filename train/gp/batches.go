package gp

import (
	"cmp"
	"slices"

	"doubletake/internal/lists"
	"doubletake/train/kernel"
)

// This file leaves out many small lists of rows of a large process. The block of (K + D)⁻¹ that belongs to a list R is
// VᵀV with V = L⁻¹I_R (withoutRows). To solve for V reads the whole factor L from memory, for each list again, and to
// invert the process takes n³ operations. A batch solves for the columns of several lists together. The factor is then
// read once for each batch, and the columns of a batch are zero above its first row, so that the batches of all single
// rows take n³/3 operations.

const (
	// manyRows is the number of rows of a process from which on lists are left out in batches: its factor of 8 MB is
	// larger than a processor's own cache.
	manyRows = 1024
	// batchColumns is the largest number of rows of the lists of a batch, unless one list has more.
	batchColumns = 128
)

// batchesOf divides lists of rows into batches, as their numbers. Lists whose first rows are close share a batch. The
// rows of a list must ascend.
func batchesOf(rows [][]int) [][]int {
	order := lists.Numbers(len(rows))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rows[a][0], rows[b][0]) })

	var batches [][]int
	columns := batchColumns // of the last batch
	for _, k := range order {
		if columns+len(rows[k]) > batchColumns {
			batches = append(batches, nil)
			columns = 0
		}

		last := len(batches) - 1
		batches[last] = append(batches[last], k)
		columns += len(rows[k])
	}

	return batches
}

// withoutEach returns the same as without for each list of a batch, except for V, which it does not set.
func (p *process) withoutEach(batch [][]int) ([]*withoutRows, error) {
	first := p.n
	columns := 0
	for _, rows := range batch {
		first = min(first, rows[0])
		columns += len(rows)
	}

	v := make([]float64, (p.n-first)*columns) // V of all lists from the first row on
	column := 0
	for _, rows := range batch {
		for _, i := range rows {
			v[(i-first)*columns+column] = 1
			column++
		}
	}

	SolveLeft(rowMajor(p.n, p.factor).From(first, first), rowMajor(columns, v), p.n-first, columns)

	var list []*withoutRows
	column = 0
	for _, rows := range batch {
		r, err := p.withoutSolved(rows, rowMajor(columns, v).From(0, column), first)
		if err != nil {
			return nil, err
		}

		list = append(list, r)
		column += len(rows)
	}

	return list, nil
}

// withoutSolved returns the same as without, except for V, which it does not set. v is V from the given first row on.
func (p *process) withoutSolved(rows []int, v kernel.View, first int) (*withoutRows, error) {
	count := len(rows)
	q := make([]float64, count*count)
	subtractSquare(count, p.n-first, v.T(), rowMajor(count, q))

	for i := range q {
		q[i] = -q[i]
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

	columns := p.offsets.columns()
	part := make([]float64, count*columns) // W_R
	kernel.Add(count, columns, p.n-first, v.T(), rowMajor(columns, p.offsets.whitenedIndicators[first*columns:]),
		rowMajor(columns, part))
	if err := r.setOffsets(p.offsets, part); err != nil {
		return nil, err
	}

	return r, nil
}
