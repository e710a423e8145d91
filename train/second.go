package train

import (
	"math"
	"slices"

	"doubletake/train/kernel"
)

// second evaluates the second answer of one condition at many points ε. The calls are setCondition for a condition,
// then rewrite for a group of points, then evaluate for each block of the group.
//
// A ReLU network is linear between two kinks. For one condition, most units have no kink at any ε of a group: they are
// active (positive) or off for all of them. The other units are undecided. So rewrite writes the network in a basis of
// rows
//
//	ε, 1, max(0, unit) for every undecided unit,
//
// in which the pre-activations of each layer are linear. It leaves out the units that are off, and multiplies the
// active units into the matrix of the next layer. The result is the same function for a fraction of the work: bad
// bounds would cost time, but never change the result.
//
// A unit is classified by the bounds of its pre-activation. If the pre-activation is c + g·ε, it lies within
// c ± |g|·reach, because |g·ε| ≤ |g|·reach (Cauchy and Schwarz). It has exactly this form in the first layer. In later
// layers, an undecided unit with a pre-activation p in [l, u] enters by its linear relaxation, max(0, p) = s·p + τ ± τ
// with s = u/(u−l) and τ = −s·l/2 (Zhang et al. 2018, CROWN). The relaxation keeps the cancellation between units. So
// the bound of a later unit is its linear form ± |g|·reach ± rho.
type second struct {
	*net[float32]
	base   int         // rows of the basis for ε and 1, with padding
	stride int         // row stride of relaxed and err: rows of the largest basis
	absW   [][]float32 // [hidden layer]: magnitudes of its weights, from layer 1 on

	// The condition.
	q0    []float32 // pre-activations of layer 0 in the basis ε, 1: row × unit
	norm0 []float32 // [unit]: |g| of layer 0

	// The layer that rewrite works on.
	q, next           []float32 // pre-activations of this layer, and of the next one, in the basis: row × unit
	activeCoef        []float32 // coefficients of the active units: row × unit
	w                 []float32 // weights of the next layer for the active units
	undecided, active []int     // numbers of these units

	// Bounds of its units (unitBounds).
	form    []float32
	norm    []float32
	rho     []float32
	abs     []float32 // magnitudes of the coefficients of q for the undecided units: row × unit
	relaxed []float32 // relaxations of the undecided units of all layers: (outcomes+1) × row of the basis
	err     []float32 // [row of the basis]: error of the relaxation

	// The rewritten network.
	plan []planLayer // for each hidden layer, then for the answers
	a    []float32   // coefficients of the plan: unit × row

	// Evaluation of a block.
	x      []float32 // values of the basis: row × column
	answer []float32 // row × column
	zero   []float32 // biases of 0
	all    []uint16  // dropout bits that keep every unit
}

// planLayer is the part of a layer in the rewritten network. Its rows in the basis are start … start+rows−1, one
// for each undecided unit. Each is computed from the width rows before, with coefficients from a[offset] on.
type planLayer struct{ start, rows, offset, width int }

// newSecond returns memory for second answers of a network.
func newSecond(n *net[float32]) *second {
	s := &second{net: n, base: kernel.PadK(n.outcomes + 1)}
	basis := s.base
	widest := n.headN
	coef := 0
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
	coef += kernel.PadRows(2*n.outcomes) * basis
	forms := kernel.PadRows(n.outcomes + 1)
	s.stride = basis
	s.x = aligned[float32](basis * blockWidth)
	for _, f := range []*[]float32{&s.q, &s.next, &s.activeCoef, &s.abs} {
		*f = aligned[float32](basis * widest)
	}

	s.q0 = aligned[float32](s.base * n.pad[0])
	s.a = aligned[float32](coef)
	s.w = aligned[float32](widest * widest)
	s.form = aligned[float32](forms * widest)
	s.relaxed = aligned[float32](forms * basis)
	s.err = aligned[float32](kernel.RowStep * basis)
	s.rho = aligned[float32](kernel.RowStep * widest)
	s.norm0 = aligned[float32](n.pad[0])
	s.norm = aligned[float32](widest)
	s.answer = aligned[float32](kernel.PadRows(2*n.outcomes) * blockWidth)
	s.zero = aligned[float32](max(widest, blockWidth))
	s.all = slices.Repeat([]uint16{math.MaxUint16}, max(widest, blockWidth)/kernel.Lane)

	return s
}

// inputLayer fills dst with the pre-activations of layer 0 if the means mu are fed back, for several conditions x: one
// row of pad[0] numbers per condition.
func (s *second) inputLayer(dst, x []float32, mu []float64) {
	n := len(x) / s.inputs
	for r := range n {
		z := s.z[r*s.ldIn : (r+1)*s.ldIn]
		copy(z, x[r*s.inputs:(r+1)*s.inputs])

		for j := range s.outcomes {
			z[s.inputs+j] = float32(mu[r*s.outcomes+j])
		}

		if s.flag > 0 {
			z[s.inputs+s.outcomes] = 1
		}
	}

	padded := kernel.PadRows(n)
	clear(s.z[n*s.ldIn : padded*s.ldIn])
	size := kernel.Size{Rows: padded, K: s.ldIn, N: s.pad[0]}
	s.k.Dense(dst, kernel.MatrixOf(s.z, s.ldIn), s.p[s.layout.w[0]:], s.p[s.b[0]:], size, 1)
}

// setCondition sets the condition for rewrite. c has its pre-activations of layer 0 at ε = 0 (from inputLayer), and sd
// the standard deviations σ of its first answer.
func (s *second) setCondition(c, sd []float32) {
	w := s.pad[0]
	for j, sj := range sd {
		src := s.p[s.layout.w[0]+(s.inputs+j)*w:][:w]
		dst := s.q0[j*w:][:w]
		for u, x := range src {
			dst[u] = sj * x
		}
	}

	copy(s.q0[s.outcomes*w:(s.outcomes+1)*w], c)
	norms(s.norm0, s.q0, s.outcomes, w)
}

// norms fills dst with the lengths of the columns of form, over its first d rows of w numbers.
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

// rewrite makes the plan for all ε with a length up to reach. evaluate then returns the means of the second answer
// minus shift, and the raw variances.
func (s *second) rewrite(shift []float32, reach float32) {
	d := s.outcomes
	rows := s.base
	coef := 0
	w := s.pad[0]
	q := s.q0
	clear(s.rho[:w])

	bounds := unitBounds{form: s.q0, norm: s.norm0, rho: s.rho, columns: w} // exact in layer 0
	s.plan = s.plan[:0]
	for i := range s.depth() {
		if i > 0 {
			bounds = s.bound(q, rows, w)
		}

		s.classify(i, bounds, reach)
		if i+1 < s.depth() && len(s.undecided) > 0 {
			s.relax(rows-s.base, bounds, reach)
		}

		kept := kernel.PadRows(len(s.undecided)) // rows that the layer adds to the basis

		// The basis must stay a multiple of KStep too.
		next := kernel.PadK(rows + kept)

		if kept > 0 {
			a := s.a[coef : coef+kept*rows]
			gather(a, q, s.undecided, rows, w)
			clear(a[len(s.undecided)*rows:])
		}

		s.plan = append(s.plan, planLayer{start: rows, rows: kept, offset: coef, width: rows})
		coef += kept * rows

		w = s.enterNext(i, q, rows, w, next)
		q = s.q
		rows = next
	}

	for j, m := range shift {
		q[d*w+j] -= m
	}

	s.planAnswers(q, rows, w, coef)
}

// planAnswers adds the answers to the plan, as its last layer. q are the answers in the basis, rows × w, and offset is
// the place of their coefficients in a.
func (s *second) planAnswers(q []float32, rows, w, offset int) {
	answers := 2 * s.outcomes
	outs := kernel.PadRows(answers)
	a := s.a[offset:][:outs*rows]
	for t := range rows {
		for o, x := range q[t*w:][:answers] {
			a[o*rows+t] = x
		}
	}

	clear(a[answers*rows:])
	s.plan = append(s.plan, planLayer{start: rows, rows: outs, offset: offset, width: rows})
}

// enterNext sets s.q to the pre-activations of the layer after layer i, in the basis with nextRows rows. q are the
// pre-activations of layer i, rows × w. The active units of layer i enter by their coefficients, the undecided ones by
// their rows of the basis. It returns the number of columns of s.q.
func (s *second) enterNext(i int, q []float32, rows, w, nextRows int) (columns int) {
	isHead := i+1 == s.depth()
	n := s.headN
	weights := s.head
	if !isHead {
		n = s.pad[i+1]
		weights = s.p[s.layout.w[i+1]:]
	}

	dst := s.next
	if len(s.active) == 0 {
		clear(dst[:rows*n])
	} else {
		s.multiplyActive(dst, q, rows, w, n, weights)
	}

	bias := s.p[s.b[i+1]:][:n]
	for v, b := range bias {
		dst[s.outcomes*n+v] += b // in the row of 1
	}

	for k, u := range s.undecided {
		copy(dst[(rows+k)*n:(rows+k+1)*n], weights[u*n:(u+1)*n])
	}

	clear(dst[(rows+len(s.undecided))*n : nextRows*n])

	if !isHead { // magnitudes for bound, of the rows from base on
		abs := s.abs[:(nextRows-s.base)*n]
		for k, x := range dst[s.base*n : rows*n] {
			abs[k] = max(x, -x)
		}

		for k, u := range s.undecided {
			copy(abs[(rows-s.base+k)*n:][:n], s.absW[i+1][u*n:])
		}

		clear(abs[(rows-s.base+len(s.undecided))*n:])
	}

	s.q, s.next = dst, s.q

	return n
}

// gather fills the rows of a with the given columns of q, which has the given rows of w numbers.
func gather(a, q []float32, columns []int, rows, w int) {
	for k, u := range columns {
		r := a[k*rows:][:rows]

		source := u
		for t := range r {
			r[t] = q[source]
			source += w
		}
	}
}

// unitBounds bounds the pre-activations of the units of a layer, for all ε with a length up to reach: the
// pre-activation of a unit is in c ± radius.
type unitBounds struct {
	form    []float32 // linear forms g, one row for each outcome, and then c: (outcomes+1) × columns
	norm    []float32 // [unit]: |g|
	rho     []float32 // [unit]: error of the linear form
	columns int       // number of units, with padding
}

// radius returns how far the pre-activation of unit u can be from its c.
func (b *unitBounds) radius(u int, reach float32) float32 { return float32(reach*b.norm[u]) + b.rho[u] }

// bound returns the bounds of a layer with the pre-activations q, rows × w. The rows for ε and 1 are taken as they are,
// and the rows of undecided units by their relaxations. The result is valid until the next call.
func (s *second) bound(q []float32, rows, w int) unitBounds {
	linear := (s.outcomes + 1) * w
	kept := rows - s.base
	if kept == 0 {
		copy(s.form[:linear], q[:linear])
		clear(s.rho[:w])
	} else {
		size := kernel.Size{Rows: kernel.PadRows(s.outcomes + 1), K: kept, N: w}
		s.k.Dense(s.form, kernel.MatrixOf(s.relaxed, s.stride), q[s.base*w:], s.zero, size, 1)

		form := s.form[:linear]
		for i, x := range q[:linear] {
			form[i] += x
		}

		size.Rows = kernel.RowStep
		s.k.Dense(s.rho, kernel.MatrixOf(s.err, s.stride), s.abs, s.zero, size, 1)
	}

	norms(s.norm, s.form, s.outcomes, w)

	return unitBounds{form: s.form, norm: s.norm, rho: s.rho, columns: w}
}

// classify fills active and undecided with the units of layer i, by their bounds; the other units are off.
func (s *second) classify(i int, bounds unitBounds, reach float32) {
	s.active = s.active[:0]
	s.undecided = s.undecided[:0]
	for u, c := range bounds.form[s.outcomes*bounds.columns:][:s.width[i]] {
		r := bounds.radius(u, reach)
		isOff := c <= -r
		if c >= r {
			s.active = append(s.active, u)
		} else if !isOff {
			s.undecided = append(s.undecided, u)
		}
	}
}

// relax stores the relaxations of the undecided units in relaxed and err, from index offset on.
func (s *second) relax(offset int, bounds unitBounds, reach float32) {
	d := s.outcomes
	w := bounds.columns
	form := bounds.form
	end := kernel.PadK(s.base+offset+kernel.PadRows(len(s.undecided))) - s.base
	for j := range d + 1 {
		clear(s.relaxed[j*s.stride+offset+len(s.undecided) : j*s.stride+end])
	}

	clear(s.err[offset+len(s.undecided) : end])

	for k, u := range s.undecided {
		c := form[d*w+u]
		r := bounds.radius(u, reach)
		slope := (c + r) / (2 * r)
		tau := float32(float32(0.5*slope) * (r - c))

		column := s.relaxed[offset+k:]
		for j := range d {
			column[j*s.stride] = slope * form[j*w+u]
		}

		column[d*s.stride] = float32(slope*c) + tau
		s.err[offset+k] = float32(slope*bounds.rho[u]) + tau
	}
}

// multiplyActive fills dst (rows × n) with the product of the coefficients q (rows × w) of the active units and their
// rows of the next layer's weights (w × n). It overwrites the padding after the rows of q.
func (s *second) multiplyActive(dst, q []float32, rows, w, n int, weights []float32) {
	padded := kernel.PadRows(rows)
	if rows > 2*s.base {
		// With many rows it is faster to set the weights of the other units to 0 than to gather coefficients.
		cleared := 0
		for _, u := range s.active {
			clear(s.w[cleared*n : u*n])
			copy(s.w[u*n:(u+1)*n], weights[u*n:])
			cleared = u + 1
		}

		clear(s.w[cleared*n : w*n])
		clear(q[rows*w : padded*w])
		s.k.Dense(dst, kernel.MatrixOf(q, w), s.w, s.zero, kernel.Size{Rows: padded, K: w, N: n}, 1)

		return
	}

	k := kernel.PadK(len(s.active))
	for t := range rows {
		q := q[t*w:][:w]
		row := s.activeCoef[t*k:][:k]
		for o, u := range s.active {
			row[o] = q[u]
		}

		clear(row[len(s.active):])
	}

	clear(s.activeCoef[rows*k : padded*k])

	for o, u := range s.active {
		copy(s.w[o*n:(o+1)*n], weights[u*n:])
	}

	clear(s.w[len(s.active)*n : k*n])
	s.k.Dense(dst, kernel.MatrixOf(s.activeCoef, k), s.w, s.zero, kernel.Size{Rows: padded, K: k, N: n}, 1)
}

// evaluate returns the first outs rows of the answers at the points of a block: the means minus shift of each
// outcome, then the raw variances. A row has b.pad columns. The result is valid until the next call.
func (s *second) evaluate(b *pointBlock, outs int) []float32 {
	copy(s.x, b.eps)

	for _, l := range s.plan[:len(s.plan)-1] {
		if l.rows > 0 {
			units := s.x[l.start*b.pad : (l.start+l.rows)*b.pad]
			weights := kernel.MatrixOf(s.a[l.offset:], l.width)
			size := kernel.Size{Rows: l.rows, K: l.width, N: b.pad}
			s.k.DenseReLU(units, weights, s.x, s.zero, kernel.Keep{Bits: s.all}, size, 1)
		}

		if next := kernel.PadK(l.start + l.rows); next > l.start+l.rows {
			clear(s.x[(l.start+l.rows)*b.pad : next*b.pad])
		}
	}

	l := s.plan[len(s.plan)-1]
	size := kernel.Size{Rows: kernel.PadRows(outs), K: l.width, N: b.pad}
	s.k.Dense(s.answer, kernel.MatrixOf(s.a[l.offset:], l.width), s.x, s.zero, size, 1)

	return s.answer
}
