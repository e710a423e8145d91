package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
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

// average makes the cells of all outcomes, at most limit for each.
func (m *Model) average(ctx context.Context, limit int) {
	same := func(k int) string { return fmt.Sprint(m.group[k], m.levels([]int{k})) }
	groups := lists.Alike(lists.Make(m.n, same)) // of equal levels
	if len(groups) > limit {
		fault.Raise(&TooManyGroupsError{len(groups), limit})
	}

	sizes := lists.Each(groups, func(rows []int) int { return len(rows) })
	share := quota(sizes, limit)
	m.Averages, m.Averaged = make([]Averages, m.Outcomes), &Cells{Rows: m.n}
	parts := make([]Averages, m.Outcomes*len(groups))
	parallel.Do(m.workers, len(parts), func(k int) {
		if j, h := k/len(groups), k%len(groups); ctx.Err() == nil {
			parts[k] = m.averageGroup(j, groups[h], share[h])
		}
	})

	fault.Raise(ctx.Err())
	for k, p := range parts {
		c := &m.Averages[k/len(groups)]
		c.group, c.X, c.Level = append(c.group, p.group...), append(c.X, p.X...), append(c.Level, p.Level...)
		c.Y, c.Variance = append(c.Y, p.Y...), append(c.Variance, p.Variance...)
		m.Averaged.Cells = max(m.Averaged.Cells, len(c.Y))
	}

	h := slices.Index(sizes, slices.Max(sizes))
	m.Averaged.Largest = float64(sizes[h]) / float64(share[h])
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
func (m *Model) averageGroup(j int, rows []int, count int) Averages {
	in, nugget := len(m.Columns), m.Hyper[j].Nugget*m.Hyper[j].Nugget
	of := lists.Numbers(len(rows))
	if count < len(rows) {
		of = nearestCentres(m.scaled(j, rows), in, count)
	}

	all := Averages{X: make([]float64, count*in), Y: make([]float64, count)}
	weight := make([]float64, count)
	for a, i := range rows {
		w, c := 1/(m.Spread[i*m.Outcomes+j]+nugget), of[a]
		weight[c] += w
		all.Y[c] += float64(w * m.Y[i*m.Outcomes+j])
		for k := range in {
			all.X[c*in+k] += float64(w * m.X[i*in+k])
		}
	}

	var r Averages
	for c, w := range weight {
		if w > 0 {
			r.group, r.Y, r.Variance = append(r.group, m.group[rows[0]]), append(r.Y, all.Y[c]/w), append(r.Variance, 1/w)
			r.Level = append(r.Level, m.levels(rows[:1])...)
			r.X = append(r.X, lists.Each(all.X[c*in:(c+1)*in], func(x float64) float64 { return x / w })...)
		}
	}

	return r
}

// scaled returns the inputs of rows in units of the smaller length that outcome j has in
// each.
func (m *Model) scaled(j int, rows []int) []float64 {
	h := m.Hyper[j]

	length := slices.Clone(h.Length)
	for i, l := range h.Lengths {
		length[m.Others[i]] = min(length[m.Others[i]], l)
	}

	z := lists.Rows(m.X, len(length), rows)
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
func (m *Model) leaveOutCells(ctx context.Context, j int, rows []int, mean, variance []float64) {
	p, in := m.process[j], len(m.Columns)

	group := m.Averages[j].group
	at := lists.Where(len(group), func(c int) bool { return group[c] == m.group[rows[0]] })

	v, factor := p.without(at)
	w, from := len(at), at[0]
	weights, solved := lists.Rows(p.alpha, 1, at), make([]float64, p.n)
	(&process{n: w, chol: factor}).solveVector(weights)

	var (
		offset *offsets
		left   []float64 // chol(Q)⁻¹W
	)
	if p.offsets != nil {
		offset, left = p.offsetsWithout(at, v, factor, weights)
	}

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
	h := m.Hyper[j]
	for b := 0; b < len(rows); b += predictBlock {
		fault.Raise(ctx.Err())
		part := rows[b:min(b+predictBlock, len(rows))]
		mu, s, u := less.latent(m.Others, h, lists.Rows(m.X, in, part))

		n := len(part)
		added := make([]float64, w*n)
		right := kernel.View{Data: added, Row: n, Col: 1}
		kernel.Subtract(w, n, p.n-from, of.T(), kernel.View{Data: u[from*n:], Row: n, Col: 1}, right)
		SolveLeft(square(w, factor), right, w, n)

		for i := range n {
			for a := range w {
				s[i] += float64(added[a*n+i] * added[a*n+i])
			}
		}

		if offset != nil {
			level, l := m.levels(part), offset.columns()
			t := offset.shifts(level, u, n)
			kernel.Subtract(l, n, w, kernel.View{Data: left, Row: l, Col: 1}.T(), right, kernel.View{Data: t, Row: n, Col: 1})
			offset.add(level, t, mu, s)
		}

		for i, row := range part {

			k := row*m.Outcomes + j
			mean[k], variance[k] = mu[i], max(s[i], MinVariance)+h.Nugget*h.Nugget
		}
	}
}
