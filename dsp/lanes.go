package dsp

import (
	"math"
	"slices"

	"doubletake/dsp/kernel"
)

// lanePlan transforms complex sequences of n = n1·n2 points in two steps, each
// as many small transforms at a time as there are lanes in the vector registers:
// eight, or sixteen of float32 (Bailey's four-step method):
//
//	A[k1][j2] = Σ_j1 x[j1·n2 + j2]·w_n1^(j1·k1)          columns, a block of j2 at a time
//	X[k1 + n1·k2] = Σ_j2 w_n^(j2·k1)·A[k1][j2]·w_n2^(j2·k2)   rows, a block of k1 at a time
//
// The small transforms stay in the first-level cache; the data pass through
// the second twice. Nothing is shuffled but in the transpose between the steps,
// which also multiplies by w_n^(j2·k1), itself the product of a factor for the
// block of j2 and one for the lane: two small tables instead of one as
// large as the data.
//
// Where n1 or n2 is no multiple of the lanes the last block overlaps the one
// before it and computes some transforms twice.
type lanePlan[T kernel.Number] struct {
	k      *kernel.Set[T]
	n      int
	lanes  int // of a vector
	vec    int // numbers of a vector
	n1, n2 int
	first  smallPlan[T] // n1 points
	second smallPlan[T] // n2 points
	near   []T          // w_n^(l·k1): a vector of lanes l per k1, padded to blocks
	far    []T          // w_n^(base·k1): per block of j2, per k1 as near
	mid    []T          // between the steps: per block of k1, per j2, a vector of k1
	a, b   []T          // of one small transform
	tmp    []T          // of one group of a pair of stages
}

const (
	largestGroup = 25 // vectors in a group of a pair of stages
	loadVectors  = 64 // vectors loaded at a time: they stay in the first-level cache
)

// smallPlan is a Stockham transform over lanes.
type smallPlan[T kernel.Number] struct {
	stages []laneStage[T]
}

// laneStage is one call of kernel.Set.Stages: of radix a and b at once, or of a alone.
type laneStage[T kernel.Number] struct {
	a, b, q, s int
	twiddle    []T // each of the q groups has as many
}

// laneSides splits n into n1·n2, both at least a block of lanes; ok is false where n
// is not 5-smooth or cannot be split so. Of the ways to split the one with the
// least work is taken (blocks that overlap count whole), then the most even,
// then the larger n2.
func laneSides(n, lanes int) (n1, n2 int, ok bool) {
	if n < lanes*lanes || largestPrimeFactor(n) > 5 {
		return 0, 0, false
	}

	up := func(v int) int { return (v + lanes - 1) / lanes * lanes }

	best := math.MaxInt
	for a := lanes; a*lanes <= n; a++ {
		if n%a != 0 {
			continue
		}

		b := n / a
		cost := up(b)*a + up(a)*b
		if cost < best || cost == best && max(a, b) < max(n1, n2) {
			best, n1, n2, ok = cost, a, b, true
		}
	}

	// Very uneven splits (a prime power with one small factor) do not occur:
	// 5-smooth numbers have divisors near their root.
	return n1, n2, ok
}

// newLanePlan returns a plan, or nil where n cannot be split.
func newLanePlan[T kernel.Number](n int, k *kernel.Set[T]) *lanePlan[T] {
	lanes, vec := kernel.Lanes[T](), kernel.Vec[T]()
	n1, n2, ok := laneSides(n, lanes)
	if !ok {
		return nil
	}

	p := &lanePlan[T]{
		k: k, n: n, lanes: lanes, vec: vec, n1: n1, n2: n2, first: newSmallPlan[T](n1), second: newSmallPlan[T](n2),
	}
	blocks1, blocks2 := p.blocks(n1), p.blocks(n2)
	p.near = make([]T, blocks1*lanes*vec)
	p.far = make([]T, blocks2*blocks1*lanes*2)
	for i := range blocks1 * lanes {
		k1 := p.start(i/lanes, n1) + i%lanes
		for l := range lanes {
			w := unit(l*k1, n)
			p.near[i*vec+l], p.near[i*vec+lanes+l] = T(real(w)), T(imag(w))
		}

		for b := range blocks2 {
			w := unit(p.start(b, n2)*k1%n, n)
			at := 2 * (b*blocks1*lanes + i)
			p.far[at], p.far[at+1] = T(real(w)), T(imag(w))
		}
	}

	p.mid = make([]T, blocks1*n2*vec)

	// Half a page off each other: a load that follows a store to the same place
	// of another page waits for it.
	const aside = 256
	size := max(n1, n2) * vec
	both := make([]T, 2*size+aside+largestGroup*vec)
	p.a, p.b = both[:size:size], both[size+aside:2*size+aside]
	p.tmp = both[2*size+aside:]

	return p
}

// blocks is the number of blocks of lanes that cover n.
func (p *lanePlan[T]) blocks(n int) int { return (n + p.lanes - 1) / p.lanes }

// start is where block b of n begins: the last one ends at n.
func (p *lanePlan[T]) start(b, n int) int { return min(b*p.lanes, n-p.lanes) }

// newSmallPlan takes radices two at a time, the first alone if their number is odd.
func newSmallPlan[T kernel.Number](n int) smallPlan[T] {
	var p smallPlan[T]

	var radices []int
	for l := n; l > 1; {
		r := 5
		switch {
		case l%4 == 0:
			r = 4
		case l%2 == 0:
			r = 2
		case l%3 == 0:
			r = 3
		}

		radices = append(radices, r)
		l /= r
	}

	if len(radices)%2 == 1 {
		radices = slices.Insert(radices, 1, 1)
	}

	for l, s, i := n, 1, 0; i < len(radices); i += 2 {
		st := laneStage[T]{a: radices[i], b: radices[i+1], s: s}
		st.q = l / (st.a * st.b)
		for j := range st.q {
			for b := range st.b {
				st.factors(st.a, j+b*st.q, l)
			}

			if st.q > 1 { // those of the last radix are 1
				st.factors(st.b, j, l/st.a)
			}
		}

		p.stages = append(p.stages, st)
		l, s = st.q, s*st.a*st.b
	}

	return p
}

// factors appends the twiddles of butterfly j of a stage over l points.
func (st *laneStage[T]) factors(radix, j, l int) {
	for k := 1; k < radix; k++ {
		w := unit(j*k, l)
		st.twiddle = append(st.twiddle, T(real(w)), T(imag(w)))
	}
}

// transform transforms x from stage number from on and returns where the result
// is: p.a or p.b. x may be one of them.
func (p *lanePlan[T]) transform(small *smallPlan[T], from int, x []T) []T {
	y, other := p.b, p.a
	if &x[0] == &p.b[0] {
		y, other = p.a, p.b
	}

	for i := from; i < len(small.stages); i++ {
		st := &small.stages[i]
		if st.q == 1 && &x[0] == &other[0] { // ours to overwrite
			y = x
		}

		p.k.Stages(y, x, st.twiddle, p.tmp, st.a, st.b, st.q, st.s, st.q == 1)
		x, y, other = y, other, y
	}

	return x
}

// samples are the input of a transform: complex numbers as pairs, or two real
// sequences under a window, float64 or float32.
type samples[T kernel.Number] struct {
	complex      []T
	x, y         []float64
	x32, y32     []float32
	meanX, meanY float64
	window       *hann[T]
}

// load fills dst with the lanes of a block from row on: groups of rows, the first
// rows of groups jump apart.
func (p *lanePlan[T]) load(dst []T, s *samples[T], block, row, rows, jump, groups int) {
	at := p.start(block, p.n2) + row*p.n2
	if s.complex != nil {
		p.k.LoadComplex(dst, s.complex[2*at:], p.n2, rows, jump, groups)
		return
	}

	turns, lanes := s.window.rows[2*row:], s.window.lanes[block*p.vec:]
	if s.x32 != nil {
		p.k.LoadPair32(dst, s.x32[at:], s.y32[at:], turns, lanes, s.meanX, s.meanY, p.n2, rows, jump, groups)
		return
	}

	p.k.LoadPair(dst, s.x[at:], s.y[at:], turns, lanes, s.meanX, s.meanY, p.n2, rows, jump, groups)
}

// columns transforms the columns of a block and puts them between the steps,
// turned. The first stage takes its groups as they are loaded, a few at a time.
func (p *lanePlan[T]) columns(block int, s *samples[T]) {
	st := &p.first.stages[0]
	r, q := st.a*st.b, st.q

	var y []T
	if q == 1 {
		p.load(p.a, s, block, 0, p.n1, p.n1, 1)
		y = p.transform(&p.first, 0, p.a)
	} else {
		per := len(st.twiddle) / q
		for j, step := 0, max(1, loadVectors/r); j < q; j += step {
			some := min(step, q-j)
			p.load(p.a, s, block, j, some, q, r)
			p.k.Stages(p.b[j*r*p.vec:], p.a, st.twiddle[j*per:], p.tmp, st.a, st.b, some, 1, false)
		}

		y = p.transform(&p.first, 1, p.b)
	}

	width := p.blocks(p.n1) * p.lanes
	n2 := p.n2
	base := p.start(block, n2)
	far := p.far[2*block*width:]
	whole := p.n1 / p.lanes
	p.k.Twist(p.mid[base*p.vec:], y, p.near, far, n2*p.vec, whole)

	if p.n1%p.lanes != 0 {
		k1 := p.n1 - p.lanes
		at := whole * p.lanes
		p.k.Twist(p.mid[(whole*n2+base)*p.vec:], y[k1*p.vec:], p.near[at*p.vec:], far[2*at:], n2*p.vec, 1)
	}
}

// rows transforms the rows of a block: vector k2 holds X[k1 + n1·k2] of its k1. The
// vectors are valid until the next call.
func (p *lanePlan[T]) rows(block int) []T {
	x := p.mid[block*p.n2*p.vec : (block+1)*p.n2*p.vec]
	return p.transform(&p.second, 0, x)
}

// complex transforms src, n complex numbers as pairs, into dst, which may be
// src.
func (p *lanePlan[T]) complex(dst, src []T) {
	s := samples[T]{complex: src}
	for b := range p.blocks(p.n2) {
		p.columns(b, &s)
	}

	for b := range p.blocks(p.n1) {
		p.k.StoreComplex(dst[2*p.start(b, p.n1):], p.rows(b), p.n1, p.n2)
	}
}

// hann is the periodic Hann window ½ − ½cos(2πj/n) in two small tables: of j =
// j1·n2 + j2 the angles 2πj1/n1 of the rows and 2πj2/n of the lanes.
type hann[T kernel.Number] struct {
	rows  []T // ½cos, ½sin
	lanes []T // per block a vector of cos and sin
}

func (p *lanePlan[T]) hann() *hann[T] {
	h := &hann[T]{}
	for j1 := range p.n1 {
		w := unit(-j1, p.n1)
		h.rows = append(h.rows, T(0.5*real(w)), T(0.5*imag(w)))
	}

	h.lanes = make([]T, p.blocks(p.n2)*p.vec)
	for b := range p.blocks(p.n2) {
		for l := range p.lanes {
			w := unit(-p.start(b, p.n2)-l, p.n)
			h.lanes[b*p.vec+l], h.lanes[b*p.vec+p.lanes+l] = T(real(w)), T(imag(w))
		}
	}

	return h
}

// powers adds |Z_k|², k = 0 … n−1, to sum, if fresh to zeros, Z the transform of
// (x − mean x)·window + i·(y − mean y)·window, x and y of n samples, and
// stores Z_k of the lowest and highest bins: low holds Z_0 … and high … Z_(n−1),
// as pairs, both a whole number of rows (lowRows).
//
// For two real sequences |Z_k|² + |Z_(n−k)|² = 2(|X_k|² + |Y_k|²): where only
// the sum of their powers is wanted, nothing need be untangled.
func powers[T, S kernel.Number](p *lanePlan[T], sum []float64, low, high []T, x, y []S, meanX, meanY float64,
	window *hann[T], fresh bool,
) {
	if fresh {
		clear(sum)
	}

	s := samples[T]{meanX: meanX, meanY: meanY, window: window}
	switch x := any(x).(type) {
	case []float64:
		s.x, s.y = x, any(y).([]float64)
	case []float32:
		s.x32, s.y32 = x, any(y).([]float32)
	}

	for b := range p.blocks(p.n2) {
		p.columns(b, &s)
	}

	lowRows := len(low) / (2 * p.n1)
	for b := range p.blocks(p.n1) {
		at, z := p.start(b, p.n1), p.rows(b)
		switch done := b*p.lanes - at; {
		case done == 0:
			p.k.AddPower(sum[at:], z, p.n1, p.n2)

		default: // some lanes were added with the block before
			for k2 := range p.n2 {
				v := z[k2*p.vec : (k2+1)*p.vec]
				for l := done; l < p.lanes; l++ {
					re, im := float64(v[l]), float64(v[p.lanes+l])
					sum[at+l+k2*p.n1] += float64(re*re) + float64(im*im)
				}
			}
		}

		if lowRows > 0 {
			p.k.StoreComplex(low[2*at:], z, p.n1, lowRows)
			p.k.StoreComplex(high[2*at:], z[(p.n2-lowRows)*p.vec:], p.n1, lowRows)
		}
	}
}
