package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/internal/lists"
	"doubletake/internal/parallel"
)

// MaxRows is the default number of conditions above which neighbours are averaged. The cost of a process grows with the
// cube of its conditions.
const MaxRows = 4000

// lloydSteps is the number of times that the centres of cells are moved to the means of their conditions, as in Lloyd's
// algorithm for clusters.
const lloydSteps = 2

// Cells describes a process that is conditioned on cells. A cell is the average of neighbouring conditions of one group
// and of equal levels.
type Cells struct {
	Rows    int     `json:"rows"`    // conditions; in order form, conditions × harmonics
	Cells   int     `json:"cells"`   // number of cells of the outcome that has the most
	Largest float64 `json:"largest"` // mean number of rows of a cell in the largest group
}

// String returns the numbers in words.
func (c Cells) String() string {
	return fmt.Sprintf("%d rows averaged to %d cells, %s rows a cell in the largest group", c.Rows, c.Cells,
		fault.Digits(c.Largest, 3))
}

// TooManyGroupsError reports more groups than cells.
type TooManyGroupsError struct{ Groups, Max int }

func (e *TooManyGroupsError) Error() string {
	return fmt.Sprintf("%d groups are more than %d, the cells for which a process is affordable", e.Groups, e.Max)
}

// average sets Averages and Averaged: the cells of all outcomes, at most limit for each. The cells of an outcome are
// ordered by group and levels, in order of first appearance. It returns a *TooManyGroupsError if there are more groups
// than cells.
func (m *Model) average(ctx context.Context, limit int) error {
	groups := m.groupsOfLevels()
	if len(groups) > limit {
		return &TooManyGroupsError{len(groups), limit}
	}

	sizes := make([]int, len(groups))
	for h, rows := range groups {
		sizes[h] = len(rows)
	}

	share := quota(sizes, limit)
	parts := make([]Averages, m.Outcomes*len(groups))
	err := parallel.Try(m.workers, len(parts), func(k int) error {
		outcome := k / len(groups)
		h := k % len(groups)
		parts[k] = m.averageGroup(outcome, groups[h], share[h])

		return ctx.Err()
	})
	if err != nil {
		return err
	}

	m.Averages = make([]Averages, m.Outcomes)
	m.Averaged = &Cells{Rows: m.n}
	for k, part := range parts {
		outcome := k / len(groups)
		all := &m.Averages[outcome]
		all.group = append(all.group, part.group...)
		all.X = append(all.X, part.X...)
		all.Level = append(all.Level, part.Level...)
		all.Y = append(all.Y, part.Y...)
		all.Variance = append(all.Variance, part.Variance...)
		m.Averaged.Cells = max(m.Averaged.Cells, len(all.Y))
	}

	largest := slices.Index(sizes, slices.Max(sizes))
	m.Averaged.Largest = float64(sizes[largest]) / float64(share[largest])

	return nil
}

// groupsOfLevels returns lists of conditions. The conditions of a list have the same group and the same levels; the
// lists are in order of first appearance.
func (m *Model) groupsOfLevels() [][]int {
	keys := make([]string, m.n)
	for k := range keys {
		keys[k] = fmt.Sprint(m.group[k], m.levels([]int{k}))
	}

	return lists.Alike(keys)
}

// quota divides a number of cells among groups of the given sizes in proportion to the sizes. Each group gets at least
// one cell. The cells that rounding down leaves go to the groups with the largest remainders.
func quota(sizes []int, cells int) []int {
	total := 0
	for _, size := range sizes {
		total += size
	}

	left := cells
	share := make([]int, len(sizes))
	for h, size := range sizes {
		share[h] = max(1, cells*size/total)
		left -= share[h]
	}

	byRemainder := lists.Numbers(len(sizes))
	slices.SortStableFunc(byRemainder, func(a, b int) int { return cells*sizes[b]%total - cells*sizes[a]%total })

	for _, h := range byRemainder {
		if left > 0 && share[h] < sizes[h] {
			share[h]++
			left--
		}
	}

	// Groups that are too small for a cell got one nevertheless. If too many cells were given, the largest shares shrink.
	for ; left < 0; left++ {
		share[slices.Index(share, slices.Max(share))]--
	}

	return share
}

// averageGroup returns at most count cells of outcome j, made from the given conditions, which have one group and equal
// levels. Each condition has the weight 1/(variance of its mean + nugget). Sums are in the order of the conditions.
func (m *Model) averageGroup(j int, conditions []int, count int) Averages {
	columns := len(m.Columns)
	nugget := m.Hyper[j].Nugget * m.Hyper[j].Nugget

	var cellOf []int // by condition
	if count < len(conditions) {
		cellOf = nearestCentres(m.scaled(j, conditions), columns, count)
	} else {
		cellOf = lists.Numbers(len(conditions))
	}

	weight := make([]float64, count)
	sumX := make([]float64, count*columns)
	sumY := make([]float64, count)
	for a, i := range conditions {
		w := 1 / (m.Spread[i*m.Outcomes+j] + nugget)
		c := cellOf[a]
		weight[c] += w
		sumY[c] += float64(w * m.Y[i*m.Outcomes+j])
		for k := range columns {
			sumX[c*columns+k] += float64(w * m.X[i*columns+k])
		}
	}

	var cells Averages
	for c, w := range weight {
		if !(w > 0) { // no condition is in this cell
			continue
		}

		cells.group = append(cells.group, m.group[conditions[0]])
		cells.Y = append(cells.Y, sumY[c]/w)
		cells.Variance = append(cells.Variance, 1/w)
		cells.Level = append(cells.Level, m.levels(conditions[:1])...)
		for _, x := range sumX[c*columns : (c+1)*columns] {
			cells.X = append(cells.X, x/w)
		}
	}

	return cells
}

// scaled returns the inputs of some conditions in units of lengths of outcome j. An input that has a length in both
// kernels takes the smaller one.
func (m *Model) scaled(j int, conditions []int) []float64 {
	h := m.Hyper[j]

	length := slices.Clone(h.Length)
	for i, l := range h.Lengths {
		length[m.Others[i]] = min(length[m.Others[i]], l)
	}

	z := lists.Rows(m.X, len(length), conditions)
	for k := range z {
		z[k] /= length[k%len(length)]
	}

	return z
}

// cloud holds points, the rows of a row-major matrix.
type cloud struct {
	values  []float64
	columns int
}

func (p cloud) count() int          { return len(p.values) / p.columns }
func (p cloud) row(i int) []float64 { return p.values[i*p.columns : (i+1)*p.columns] }

// nearestCentres chooses count centres and returns the number of the nearest centre for each point of z (rows of the
// given number of columns). The centres are spreadCentres, which then move to the means of their points lloydSteps
// times. Among equal distances the lowest number counts.
func nearestCentres(z []float64, columns, count int) []int {
	all := cloud{z, columns}
	centres, nearest := spreadCentres(all, count)

	for range lloydSteps {
		centres = centres.movedTo(all, nearest)
		for i := range nearest {
			nearest[i] = centres.nearest(all.row(i))
		}
	}

	return nearest
}

// nearest returns the number of the point of p that is nearest to a point.
func (p cloud) nearest(point []float64) int {
	nearest := 0
	least := math.Inf(1)
	for i := range p.count() {
		if d := distance(point, p.row(i)); d < least {
			least = d
			nearest = i
		}
	}

	return nearest
}

// spreadCentres returns count of the points as centres, and the number of the nearest centre for each point. The first
// centre is the point nearest to the mean, and each further centre is the point farthest from the centres before it.
func spreadCentres(all cloud, count int) (centres cloud, nearest []int) {
	n := all.count()
	mean := make([]float64, all.columns)
	for i := range n {
		for k, v := range all.row(i) {
			mean[k] += v / float64(n)
		}
	}

	next := 0
	for i := range n {
		if distance(all.row(i), mean) < distance(all.row(next), mean) {
			next = i
		}
	}

	centres = cloud{make([]float64, 0, count*all.columns), all.columns}
	nearest = make([]int, n)
	least := slices.Repeat([]float64{math.Inf(1)}, n) // by point: distance to the nearest centre so far
	for c := range count {
		centre := all.row(next)
		centres.values = append(centres.values, centre...)

		next = 0
		for i := range n {
			if d := distance(all.row(i), centre); d < least[i] {
				least[i] = d
				nearest[i] = c
			}

			if least[i] > least[next] {
				next = i
			}
		}
	}

	return centres, nearest
}

// movedTo returns the centres, each moved to the mean of its points. nearest has the number of the centre of each point
// of all. A centre without points stays where it is.
func (p cloud) movedTo(all cloud, nearest []int) cloud {
	columns := all.columns
	sum := make([]float64, len(p.values))
	size := make([]float64, p.count())
	for i, c := range nearest {
		size[c]++
		for k := range columns {
			sum[c*columns+k] += all.values[i*columns+k]
		}
	}

	moved := cloud{slices.Clone(p.values), columns}
	for k, v := range sum {
		if s := size[k/columns]; s > 0 {
			moved.values[k] = v / s
		}
	}

	return moved
}

// distance returns the squared distance of two points.
func distance(a, b []float64) float64 {
	sum := 0.0
	for k, v := range a {
		d := v - b[k]
		sum += float64(d * d)
	}

	return sum
}
