package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"doubletake/train/kernel"
)

// MaxRows is the number of conditions up to which a process is conditioned on each of
// them by default: its cost grows with the cube.
const MaxRows = 4000

// lloydSteps is the number of times that the centres of cells are moved to the mean of
// their conditions.
const lloydSteps = 2

// Cells describes a process that is conditioned on cells, averages of neighbouring
// conditions of one group.
type Cells struct {
	Rows    int     `json:"rows"`    // conditions; in order form, conditions × harmonics
	Cells   int     `json:"cells"`   // of the outcome that has the most
	Largest float64 `json:"largest"` // rows a cell of the largest group has on average
}

// String states the numbers in words.
func (c Cells) String() string {
	return fmt.Sprintf("%d rows averaged to %d cells, %.3g rows a cell in the largest group", c.Rows, c.Cells, c.Largest)
}

// TooManyGroupsError reports more groups than cells.
type TooManyGroupsError struct{ Groups, Max int }

func (e *TooManyGroupsError) Error() string {
	return fmt.Sprintf("%d groups are more than %d, the cells for which a process is affordable", e.Groups, e.Max)
}

// cells are averages of conditions, for one outcome.
type cells struct {
	group       []int
	x           []float64 // len(group)×inputs, standardised
	y, variance []float64 // the variance includes the nugget
}

// average makes the cells of all outcomes, at most limit for each.
func (m *Model) average(ctx context.Context, limit int) error {
	groups := m.blocks()
	if len(groups) > limit {
		return &TooManyGroupsError{len(groups), limit}
	}

	sizes := make([]int, len(groups))
	for h, rows := range groups {
		sizes[h] = len(rows)
	}

	share := quota(sizes, limit)
	m.cells, m.averaged = make([]cells, m.out), &Cells{Rows: m.n}
	parts := make([]cells, m.out*len(groups))
	parallel(m.workers, len(parts), func(k int) {
		if j, h := k/len(groups), k%len(groups); ctx.Err() == nil {
			parts[k] = m.averageGroup(j, groups[h], share[h])
		}
	})

	if err := ctx.Err(); err != nil {
		return err
	}

	for k, p := range parts {
		c := &m.cells[k/len(groups)]
		c.group, c.x = append(c.group, p.group...), append(c.x, p.x...)
		c.y, c.variance = append(c.y, p.y...), append(c.variance, p.variance...)
		m.averaged.Cells = max(m.averaged.Cells, len(c.y))
	}

	h := slices.Index(sizes, slices.Max(sizes))
	m.averaged.Largest = float64(sizes[h]) / float64(share[h])

	return nil
}

// quota divides cells among groups of the given sizes in proportion, at least one each.
func quota(sizes []int, cells int) []int {
	n, left := 0, cells
	for _, s := range sizes {
		n += s
	}

	share, order := make([]int, len(sizes)), make([]int, len(sizes))
	for h, s := range sizes {
		order[h], share[h] = h, max(1, cells*s/n)
		left -= share[h]
	}

	slices.SortStableFunc(order, func(a, b int) int { return cells*sizes[b]%n - cells*sizes[a]%n })

	for _, h := range order { // largest remainders
		if left > 0 && share[h] < sizes[h] {
			share[h]++
			left--
		}
	}

	for ; left < 0; left++ { // groups too small for a cell have one
		share[slices.Index(share, slices.Max(share))]--
	}

	return share
}

// averageGroup makes at most count cells of the conditions rows, which are one group.
// Sums are in the order of the rows.
func (m *Model) averageGroup(j int, rows []int, count int) cells {
	in, nugget := len(m.columns), m.hyper[j].Nugget*m.hyper[j].Nugget
	of := make([]int, len(rows))
	for a := range of {
		of[a] = a
	}

	if count < len(rows) {
		of = nearestCentres(m.scaled(j, rows), in, count)
	}

	all := cells{make([]int, count), make([]float64, count*in), make([]float64, count), make([]float64, count)}
	weight := make([]float64, count)
	for a, i := range rows {
		w, c := 1/(m.spread[i*m.out+j]+nugget), of[a]
		weight[c] += w
		all.y[c] += float64(w * m.y[i*m.out+j])
		for k := range in {
			all.x[c*in+k] += float64(w * m.x[i*in+k])
		}
	}

	var r cells
	for c, w := range weight {
		if w > 0 {
			r.group, r.y, r.variance = append(r.group, m.group[rows[0]]), append(r.y, all.y[c]/w), append(r.variance, 1/w)
			for _, x := range all.x[c*in : (c+1)*in] {
				r.x = append(r.x, x/w)
			}
		}
	}

	return r
}

// scaled returns the inputs of rows in units of the smaller length that outcome j has in
// each.
func (m *Model) scaled(j int, rows []int) []float64 {
	h := m.hyper[j]

	length := slices.Clone(h.Length)
	for i, l := range h.Lengths {
		length[m.others[i]] = min(length[m.others[i]], l)
	}

	z := m.rows(m.x, len(length), rows)
	for k := range z {
		z[k] /= length[k%len(length)]
	}

	return z
}

// nearestCentres returns which of count centres each point of z (rows of in numbers) is
// nearest to. The first centre is the point nearest the mean, each other the point
// farthest from those before; then each moves to the mean of its points, twice. Of equal
// distances the lowest index counts.
func nearestCentres(z []float64, in, count int) []int {
	n := len(z) / in
	point := func(v []float64, i int) []float64 { return v[i*in : (i+1)*in] }

	mean := make([]float64, in)
	for i := range n {
		for k, v := range point(z, i) {
			mean[k] += v / float64(n)
		}
	}

	first := 0
	for i := range n {
		if distance(point(z, i), mean) < distance(point(z, first), mean) {
			first = i
		}
	}

	centres, of, least := make([]float64, 0, count*in), make([]int, n), slices.Repeat([]float64{math.Inf(1)}, n)
	for next := first; len(centres) < count*in; {
		c := point(z, next)
		centres = append(centres, c...)

		next = 0
		for i := range n {
			if d := distance(point(z, i), c); d < least[i] {
				least[i], of[i] = d, len(centres)/in-1
			}

			if least[i] > least[next] {
				next = i
			}
		}
	}

	for range lloydSteps {
		moveCentres(centres, z, in, of)

		for i := range n {
			p, best := point(z, i), math.Inf(1)
			for c := range count {
				if d := distance(p, point(centres, c)); d < best {
					best, of[i] = d, c
				}
			}
		}
	}

	return of
}

// moveCentres moves each centre to the mean of its points; one without points stays.
func moveCentres(centres, z []float64, in int, of []int) {
	sum, size := make([]float64, len(centres)), make([]float64, len(centres)/in)
	for i, c := range of {
		size[c]++
		for k := range in {
			sum[c*in+k] += z[i*in+k]
		}
	}

	for k, v := range sum {
		if s := size[k/in]; s > 0 {
			centres[k] = v / s
		}
	}
}

func distance(a, b []float64) (d float64) {
	for k, v := range a {
		v -= b[k]
		d += float64(v * v)
	}

	return d
}

// leaveOutCells sets, for outcome j, mean and variance at the conditions rows, which are
// one group, by the process without the group's cells. With L and α of all cells,
// R the group's, V = L⁻¹I_R and Q = VᵀV, the weights without R are
// α − L⁻ᵀV·Q⁻¹α_R, and the variance is that of all cells with |chol(Q)⁻¹Vᵀu|² added, where
// u = L⁻¹k.
func (m *Model) leaveOutCells(ctx context.Context, j int, rows []int, mean, variance []float64) error {
	p, in := m.process[j], len(m.columns)

	var at []int
	for c, g := range m.cells[j].group {
		if g == m.group[rows[0]] {
			at = append(at, c)
		}
	}

	v, factor, err := p.without(at)
	if err != nil {
		return err
	}

	w, from := len(at), at[0]
	weights, solved := make([]float64, w), make([]float64, p.n)
	for a, c := range at {
		weights[a] = p.alpha[c]
	}

	(&process{n: w, chol: factor}).solveVector(weights)

	for i := from; i < p.n; i++ {
		for a, q := range weights {
			solved[i] += float64(v[i*w+a] * q)
		}
	}

	blas64.Trsv(blas.Trans, lower(p.n, p.chol), blas64.Vector{N: p.n, Data: solved, Inc: 1})

	less := p
	less.alpha = make([]float64, p.n)
	for i, a := range p.alpha {
		less.alpha[i] = a - solved[i]
	}

	for _, c := range at {
		less.alpha[c] = 0
	}

	of := kernel.View{Data: v[from*w:], Row: w, Col: 1}
	h := m.hyper[j]
	for b := 0; b < len(rows); b += predictBlock {
		if err := ctx.Err(); err != nil {
			return err
		}

		part := rows[b:min(b+predictBlock, len(rows))]
		mu, s, u := less.latent(m.others, h, m.rows(m.x, in, part))

		n := len(part)
		added := make([]float64, w*n)
		right := kernel.View{Data: added, Row: n, Col: 1}
		kernel.Subtract(w, n, p.n-from, of.T(), kernel.View{Data: u[from*n:], Row: n, Col: 1}, right)
		SolveLeft(square(w, factor), right, w, n)

		for i, row := range part {
			for a := range w {
				s[i] += float64(added[a*n+i] * added[a*n+i])
			}

			k := row*m.out + j
			mean[k], variance[k] = mu[i], max(s[i], MinVariance)+h.Nugget*h.Nugget
		}
	}

	return nil
}
