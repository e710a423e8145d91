package train

import (
	"cmp"
	"math"
	"slices"

	"doubletake/train/kernel"
)

// points are values of ε at which second answers m(μ+σ∘ε), v(μ+σ∘ε) are wanted,
// the same for every condition, in groups of growing norm: draws, of which the
// mean is looked at, then nodes of a cubature, of which mean and variance.
type points struct {
	groups []pointGroup
	draws  int
	sum    []float64 // Σε over the draws, d
}

// pointGroup is columns of ε that are computed with one rewriting.
type pointGroup struct {
	reach  float32 // no ε of the group is longer
	blocks []pointBlock
}

type pointBlock struct {
	n, pad  int       // columns, and padded with zeros
	nodes   bool      // of a cubature; else draws
	eps     []float32 // base × pad: ε, a row of ones, zeros
	weights []float32 // pad: of the draws one, of the padding zero
}

const (
	blockWidth = 256  // columns of a block at most: its rows stay in the first cache
	groupSize  = 1280 // columns of a group, about
)

// newPoints sorts draws and nodes (rows of d) by norm and cuts them into groups.
// Draws and nodes share none: how a group is rewritten depends on its reach, and
// what follows from the nodes must be the same bytes whatever is drawn.
func newPoints(draws, nodes []float32, weights []float64, d, base int) *points {
	p := &points{draws: len(draws) / d, sum: make([]float64, d)}
	for i, e := range draws {
		p.sum[i%d] += float64(e)
	}

	p.addGroups(draws, nil, d, base)
	p.addGroups(nodes, weights, d, base)

	return p
}

// addGroups adds the groups of nodes with their weights or, without weights, of
// draws.
func (p *points) addGroups(eps []float32, weights []float64, d, base int) {
	n := len(eps) / d
	norm, all := make([]float64, n), make([]int, n)
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

		// The bounds may be out by a rounding: then so is a unit near its kink.
		group := pointGroup{reach: float32(math.Sqrt(norm[part[len(part)-1]]))}
		for len(part) > 0 {
			b := pointBlock{n: min(blockWidth, len(part)), nodes: weights != nil}
			b.pad = kernel.PadLane(b.n)
			b.eps, b.weights = aligned[float32](base*b.pad), aligned[float32](b.pad)
			for s, i := range part[:b.n] {
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

			group.blocks = append(group.blocks, b)
			part = part[b.n:]
		}

		p.groups = append(p.groups, group)
	}
}

// second evaluates second answers at many ε for one condition.
//
// Between two kinks a ReLU network is linear, and for one condition most units
// have no kink within reach of ε: they are on, or off, for all of them. So the
// network is rewritten per condition and group of ε in a basis of rows
//
//	ε, 1, max(0, unit) of every unit that may change sign,
//
// in which the pre-activations of each layer are linear. Units that are off are
// left out, those that are on are multiplied into the next layer's matrix. What
// remains is the same function as the whole network's, for a fraction of the
// work: bounds save computations and never change the result.
//
// The sign of a unit is bounded by Cauchy and Schwarz, |g·ε| ≤ |g|·reach, for
// the first layer exactly; from the second on units that were kept enter by
// their linear relaxation on [l, u], max(0, p) = s·p + τ ± τ with s = u/(u−l),
// τ = −s·l/2 (Zhang et al. 2018, CROWN), so that cancellation between them is
// not lost.
type second struct {
	*net[float32]
	base   int         // rows of ε, 1 and padding
	stride int         // of relaxed and err: rows of the largest basis
	absW   [][]float32 // magnitudes of the hidden layers' weights from the second on

	x        []float32 // the basis at the columns of a block, rows × pad
	q0       []float32 // the condition's first pre-activations, in the basis ε, 1
	q, next  []float32 // pre-activations of a layer in the basis: row of coefficients × unit
	a        []float32 // coefficients of the units that are kept, unit × row
	on       []float32 // coefficients of the units that are on, row × unit
	w        []float32 // the next layer's weights of the units that are on
	form     []float32 // bounds' linear form in ε, 1: (d+1) × unit
	abs      []float32 // magnitudes of the rows of q of kept units
	relaxed  []float32 // linear forms of the kept units: (d+1) × unit
	err      []float32 // and how far off they may be
	norm0    []float32 // lengths of the gradients of q0 along ε
	norm     []float32 // and of form
	rho      []float32 // error of form per unit
	answer   []float32 // outcomes × pad
	zero     []float32 // no bias
	all      []uint16  // no dropout
	kept, is []int     // units that are kept, that are on
	plan     []planLayer
}

// planLayer is a layer's part of the basis: rows from..from+rows are the kept
// units, coefficients a[at:], width a row.
type planLayer struct{ from, rows, at, width int }

func newSecond(n *net[float32]) *second {
	s := &second{net: n, base: kernel.PadK(n.out + 1)}
	basis, widest, coef := s.base, n.headN, 0
	for i, w := range n.pad {
		r := kernel.PadRows(w)
		coef += r * basis
		basis += r
		widest = max(widest, w)

		var abs []float32
		if i > 0 {
			abs = aligned[float32](n.pad[i-1] * w)
			for k, x := range n.p[n.layout.w[i]:][:len(abs)] {
				abs[k] = max(x, -x)
			}
		}

		s.absW = append(s.absW, abs)
	}

	basis = kernel.PadRows(basis)
	coef += kernel.PadRows(2*n.out) * basis
	forms := kernel.PadRows(n.out + 1)
	s.stride = basis
	s.x = aligned[float32](basis * blockWidth)
	for _, f := range []*[]float32{&s.q, &s.next, &s.on, &s.abs} {
		*f = aligned[float32](basis * widest)
	}

	s.q0 = aligned[float32](s.base * n.pad[0])
	s.a = aligned[float32](coef)
	s.w = aligned[float32](widest * widest)
	s.form, s.relaxed = aligned[float32](forms*widest), aligned[float32](forms*basis)
	s.err, s.rho = aligned[float32](kernel.RowStep*basis), aligned[float32](kernel.RowStep*widest)
	s.norm0, s.norm = aligned[float32](n.pad[0]), aligned[float32](widest)
	s.answer = aligned[float32](kernel.PadRows(2*n.out) * blockWidth)
	s.zero = aligned[float32](max(widest, blockWidth))
	s.all = slices.Repeat([]uint16{math.MaxUint16}, max(widest, blockWidth)/kernel.Lane)

	return s
}

// first computes the first layer's pre-activations for y = μ fed back: dst
// rows × pad[0].
func (s *second) first(dst, x []float32, mu []float64) {
	n := len(x) / s.in
	for r := range n {
		z := s.z[r*s.ldIn : (r+1)*s.ldIn]
		copy(z, x[r*s.in:(r+1)*s.in])

		for j := range s.out {
			z[s.in+j] = float32(mu[r*s.out+j])
		}

		if s.flag > 0 {
			z[s.in+s.out] = 1
		}
	}

	padded := kernel.PadRows(n)
	clear(s.z[n*s.ldIn : padded*s.ldIn])
	s.k.Dense(dst, s.z, s.ldIn, s.p[s.layout.w[0]:], s.p[s.b[0]:], padded, s.ldIn, s.pad[0], 1)
}

// condition sets the condition that rewrite works on: c are its first
// pre-activations at ε = 0, sd is σ.
func (s *second) condition(c, sd []float32) {
	w := s.pad[0]
	for j, sj := range sd {
		src, dst := s.p[s.layout.w[0]+(s.in+j)*w:][:w], s.q0[j*w:][:w]
		for u, x := range src {
			dst[u] = sj * x
		}
	}

	copy(s.q0[s.out*w:(s.out+1)*w], c)
	norms(s.norm0, s.q0, s.out, w)
}

// norms writes the lengths of the columns of the first d rows of form.
func norms(dst, form []float32, d, w int) {
	dst = dst[:w]
	clear(dst)

	for j := range d {
		for u, g := range form[j*w:][:w] {
			dst[u] += float32(g * g)
		}
	}

	for u, x := range dst {
		dst[u] = float32(math.Sqrt(float64(x)))
	}
}

// rewrite makes the plan for ε of up to reach. The answers will be m less shift,
// and raw variances.
func (s *second) rewrite(shift []float32, reach float32) {
	d, rows, coef, w := s.out, s.base, 0, s.pad[0]
	q, form, norm := s.q0, s.q0, s.norm0
	clear(s.rho[:w])

	s.plan = s.plan[:0]
	for i := range s.depth() {
		if i > 0 {
			s.bound(q, rows, w)
			form, norm = s.form, s.norm
		}

		s.classify(i, rows-s.base, form, norm, w, reach)
		kept := kernel.PadRows(len(s.kept))

		// The basis must stay a multiple of KStep too.
		next := kernel.PadK(rows + kept)

		if kept > 0 {
			a := s.a[coef : coef+kept*rows]
			gather(a, q, s.kept, rows, w)
			clear(a[len(s.kept)*rows:])
		}

		s.plan = append(s.plan, planLayer{from: rows, rows: kept, at: coef, width: rows})
		coef += kept * rows

		// Into the next layer: active units by their coefficients, kept ones by
		// their own row of the basis.
		n, weights, bias := s.headN, s.head, s.p[s.b[i+1]:]
		if i+1 < s.depth() {
			n, weights = s.pad[i+1], s.p[s.layout.w[i+1]:]
		}

		to := s.next
		if len(s.is) == 0 {
			clear(to[:rows*n])
		} else {
			s.through(to, q, rows, w, n, weights)
		}

		for v, b := range bias[:n] {
			to[d*n+v] += b
		}

		for k, u := range s.kept {
			copy(to[(rows+k)*n:(rows+k+1)*n], weights[u*n:(u+1)*n])
		}

		clear(to[(rows+len(s.kept))*n : next*n])

		if i+1 < s.depth() {
			// Magnitudes for bound, which wants the rows from base on.
			abs := s.abs[:(next-s.base)*n]
			for k, x := range to[s.base*n : rows*n] {
				abs[k] = max(x, -x)
			}

			for k, u := range s.kept {
				copy(abs[(rows-s.base+k)*n:][:n], s.absW[i+1][u*n:])
			}

			clear(abs[(rows-s.base+len(s.kept))*n:])
		}

		s.q, s.next = to, s.q
		q, rows, w = to, next, n
	}

	for j, m := range shift {
		q[d*w+j] -= m
	}

	outs := kernel.PadRows(2 * d)
	a := s.a[coef:][:outs*rows]
	for t := range rows {
		for o, x := range q[t*w:][:2*d] {
			a[o*rows+t] = x
		}
	}

	clear(a[2*d*rows:])
	s.plan = append(s.plan, planLayer{from: rows, rows: outs, at: coef, width: rows})
}

// gather writes columns of q as rows of a.
func gather(a, q []float32, columns []int, rows, w int) {
	for k, u := range columns {
		r := a[k*rows:][:rows]

		at := u
		for t := range r {
			r[t] = q[at]
			at += w
		}
	}
}

// bound computes form, norm and rho of a layer from q: the part linear in ε
// exactly, kept units by their relaxation.
func (s *second) bound(q []float32, rows, w int) {
	linear, kept := (s.out+1)*w, rows-s.base
	if kept == 0 {
		copy(s.form[:linear], q[:linear])
		clear(s.rho[:w])
	} else {
		s.k.Dense(s.form, s.relaxed, s.stride, q[s.base*w:], s.zero, kernel.PadRows(s.out+1), kept, w, 1)

		form := s.form[:linear]
		for i, x := range q[:linear] {
			form[i] += x
		}

		s.k.Dense(s.rho, s.err, s.stride, s.abs, s.zero, kernel.RowStep, kept, w, 1)
	}

	norms(s.norm, s.form, s.out, w)
}

// classify sorts the units of layer i: on, off or kept, and adds the relaxations
// of those kept, from number at on.
func (s *second) classify(i, at int, form, norm []float32, w int, reach float32) {
	d := s.out
	s.is, s.kept = s.is[:0], s.kept[:0]
	c, norm, rho := form[d*w:][:s.width[i]], norm[:s.width[i]], s.rho[:s.width[i]]
	for u, c := range c {
		r := float32(reach*norm[u]) + rho[u]
		switch {
		case c >= r:
			s.is = append(s.is, u)
		case c <= -r:
		default:
			s.kept = append(s.kept, u)
		}
	}

	if i+1 == s.depth() || len(s.kept) == 0 {
		return // nothing is bounded after the last
	}

	end := kernel.PadK(s.base+at+kernel.PadRows(len(s.kept))) - s.base
	for j := range d + 1 {
		clear(s.relaxed[j*s.stride+at+len(s.kept) : j*s.stride+end])
	}

	clear(s.err[at+len(s.kept) : end])

	for k, u := range s.kept {
		r := float32(reach*norm[u]) + rho[u]
		slope := (c[u] + r) / (2 * r)
		tau := float32(float32(0.5*slope) * (r - c[u]))

		to := s.relaxed[at+k:]
		for j := range d {
			to[j*s.stride] = slope * form[j*w+u]
		}

		to[d*s.stride] = float32(slope*c[u]) + tau
		s.err[at+k] = float32(slope*rho[u]) + tau
	}
}

// through multiplies the coefficients q (rows × w) of the units that are on
// with their rows of the next layer's weights: rows × n into dst.
func (s *second) through(dst, q []float32, rows, w, n int, weights []float32) {
	padded := kernel.PadRows(rows)
	if rows > 2*s.base {
		// Cheaper to leave the coefficients where they are and clear weights.
		at := 0
		for _, u := range s.is {
			clear(s.w[at*n : u*n])
			copy(s.w[u*n:(u+1)*n], weights[u*n:])
			at = u + 1
		}

		clear(s.w[at*n : w*n])
		clear(q[rows*w : padded*w])
		s.k.Dense(dst, q, w, s.w, s.zero, padded, w, n, 1)

		return
	}

	k := kernel.PadK(len(s.is))
	for t := range rows {
		q, on := q[t*w:][:w], s.on[t*k:][:k]
		for o, u := range s.is {
			on[o] = q[u]
		}

		clear(on[len(s.is):])
	}

	clear(s.on[rows*k : padded*k])

	for o, u := range s.is {
		copy(s.w[o*n:(o+1)*n], weights[u*n:])
	}

	clear(s.w[len(s.is)*n : k*n])
	s.k.Dense(dst, s.on, k, s.w, s.zero, padded, k, n, 1)
}

// evaluate follows the plan for one block: outs rows of pad columns.
func (s *second) evaluate(b *pointBlock, outs int) []float32 {
	copy(s.x, b.eps)

	for _, l := range s.plan[:len(s.plan)-1] {
		if l.rows > 0 {
			s.k.DenseReLU(s.x[l.from*b.pad:(l.from+l.rows)*b.pad], s.a[l.at:], l.width, s.x, s.zero, s.all, 0, l.rows, l.width,
				b.pad, 1)
		}

		if next := kernel.PadK(l.from + l.rows); next > l.from+l.rows {
			clear(s.x[(l.from+l.rows)*b.pad : next*b.pad])
		}
	}

	l := s.plan[len(s.plan)-1]
	s.k.Dense(s.answer, s.a[l.at:], l.width, s.x, s.zero, kernel.PadRows(outs), l.width, b.pad, 1)

	return s.answer
}

// moments are sums over points of the second answer's mean c = m − μ, about
// which C, δ and κ are centred: Σw·c, Σw·ε·c, Σw·c² and, of nodes, Σw·v, per
// outcome.
type moments struct{ c, ec, cc, v []float64 }

func newMoments(d int) *moments {
	return &moments{make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)}
}

func (m *moments) clear() {
	clear(m.c)
	clear(m.ec)
	clear(m.cc)
	clear(m.v)
}

// add adds a block of answers, rows × b.pad: the means, then, of nodes, the
// variances.
func (m *moments) add(k *kernel.Set[float32], b *pointBlock, answer []float32) {
	for j := range m.c {
		eps := b.eps[j*b.pad : (j+1)*b.pad]
		s := k.Sums(answer[j*b.pad:(j+1)*b.pad], b.weights, eps)
		m.c[j] += s[0]
		m.ec[j] += s[1]
		m.cc[j] += s[2]
		if b.nodes {
			at := (len(m.c) + j) * b.pad
			m.v[j] += k.Sums(answer[at:at+b.pad], b.weights, eps)[0]
		}
	}
}
