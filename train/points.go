package train

import (
	"cmp"
	"math"
	"slices"

	"doubletake/train/kernel"
)

// points are the values of ε at which second answers m(μ+σ∘ε), v(μ+σ∘ε) are computed, the same for every
// condition: first the draws, of whose answers only the mean m counts, then the nodes of a cubature. Both are divided
// into groups of growing norm.
type points struct {
	groups []pointGroup
	sum    []float64 // [outcome]: sum of ε over the draws
}

// pointGroup is the points for which the network is rewritten once (second.rewrite).
type pointGroup struct {
	reach  float32 // length of the longest ε of the group
	blocks []pointBlock
}

// pointBlock is the points that are evaluated together, one in each column.
type pointBlock struct {
	n, pad  int       // number of points, and of columns with padding
	nodes   bool      // nodes of a cubature; otherwise draws
	eps     []float32 // base rows × pad: ε of each outcome, then a row of ones, then zeros
	weights []float32 // of each column: 1 for draws, 0 for padding
}

const (
	blockWidth = 256  // greatest number of points of a block: its rows stay in the first-level cache
	groupSize  = 1280 // approximate number of points of a group
)

// newPoints returns the points for draws and nodes, rows of d numbers each. weights are the weights of the nodes. base
// is the number of rows of pointBlock.eps. A group never has both draws and nodes: the rounding of its answers depends
// on its reach, and the results from the nodes must be the same bits whatever the draws are.
func newPoints(draws, nodes []float32, weights []float64, d, base int) *points {
	p := &points{sum: make([]float64, d)}
	for i, e := range draws {
		p.sum[i%d] += float64(e)
	}

	p.addGroups(draws, nil, d, base)
	p.addGroups(nodes, weights, d, base)

	return p
}

// addGroups sorts nodes or draws by norm and appends their groups. weights are the weights of the nodes, and nil for
// draws.
func (p *points) addGroups(eps []float32, weights []float64, d, base int) {
	n := len(eps) / d
	norm := make([]float64, n)
	all := make([]int, n)
	for i := range n {
		for _, e := range eps[i*d : (i+1)*d] {
			norm[i] += float64(float64(e) * float64(e))
		}
		all[i] = i
	}

	slices.SortFunc(all, func(a, b int) int { return cmp.Or(cmp.Compare(norm[a], norm[b]), a-b) })

	groups := max(1, (n+groupSize/2)/groupSize)
	for g := range groups {
		part := all[g*n/groups : (g+1)*n/groups]
		if len(part) == 0 {
			continue
		}

		// Rounding may make reach too small by a last digit. A unit is then wrong by as little, near its kink.
		group := pointGroup{reach: float32(math.Sqrt(norm[part[len(part)-1]]))}
		for len(part) > 0 {
			b := newPointBlock(part[:min(blockWidth, len(part))], eps, weights, d, base)
			group.blocks = append(group.blocks, b)
			part = part[b.n:]
		}

		p.groups = append(p.groups, group)
	}
}

// newPointBlock returns the block of the points with those numbers in eps and, for nodes, weights.
func newPointBlock(numbers []int, eps []float32, weights []float64, d, base int) pointBlock {
	b := pointBlock{n: len(numbers), pad: kernel.PadLane(len(numbers)), nodes: weights != nil}
	b.eps = aligned[float32](base * b.pad)
	b.weights = aligned[float32](b.pad)
	for s, i := range numbers {
		for j, e := range eps[i*d : (i+1)*d] {
			b.eps[j*b.pad+s] = e
		}

		b.weights[s] = 1
		if weights != nil {
			b.weights[s] = float32(weights[i])
		}
	}

	for s := range b.pad {
		b.eps[d*b.pad+s] = 1
	}

	return b
}

// moments has sums over points for each outcome, from which C, δ and κ follow. w is the weight of a point, c = m
// − μ the difference of the means of the second and the first answer, and v the variance of the second answer.
type moments struct {
	c  []float64 // Σw·c
	ec []float64 // Σw·ε·c
	cc []float64 // Σw·c²
	v  []float64 // Σw·v; 0 for draws
}

// newMoments returns sums of 0 for d outcomes.
func newMoments(d int) *moments {
	return &moments{make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)}
}

// clear sets all sums to 0.
func (m *moments) clear() {
	clear(m.c)
	clear(m.ec)
	clear(m.cc)
	clear(m.v)
}

// add adds the answers at the points of b. answer has one row of b.pad columns for the mean of each outcome and, for
// nodes, then one for the variance of each outcome.
func (m *moments) add(k *kernel.Set[float32], b *pointBlock, answer []float32) {
	for j := range m.c {
		eps := b.eps[j*b.pad : (j+1)*b.pad]
		s := k.Sums(answer[j*b.pad:(j+1)*b.pad], b.weights, eps)
		m.c[j] += s[0]
		m.ec[j] += s[1]
		m.cc[j] += s[2]
		if b.nodes {
			offset := (len(m.c) + j) * b.pad
			m.v[j] += k.Sums(answer[offset:offset+b.pad], b.weights, eps)[0]
		}
	}
}
