package dsp

import (
	"math"
	"slices"

	"doubletake/dsp/kernel"
)

// lanePlan transforms complex sequences of n = n1·n2 points in two steps, each
// eight small transforms at a time, one to a lane of the vector registers
// (Bailey's four-step method):
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
type lanePlan struct {
	k      *kernel.Set
	n      int
	n1, n2 int
	first  smallPlan // n1 points
	second smallPlan // n2 points
	near   []float64 // w_n^(l·k1): a vector of lanes l per k1, padded to blocks
	far    []float64 // w_n^(base·k1): per block of j2, per k1 as near
	mid    []float64 // between the steps: per block of k1, per j2, a vector of k1
	a, b   []float64 // of one small transform
	tmp    []float64 // of one group of a pair of stages
}

const (
	lanes        = kernel.Lanes
	vec          = kernel.Vec
	largestGroup = 25 // vectors in a group of a pair of stages
	loadVectors  = 64 // vectors loaded at a time: they stay in the first-level cache
)

// smallPlan is a Stockham transform over lanes.
type smallPlan []laneStage

// laneStage is one call of kernel.Set.Stages: of radix a and b at once, or of a alone.
type laneStage struct {
	a, b, q, s int
	twiddle    []float64 // each of the q groups has as many
}

// laneSides splits n into n1·n2, both at least a block of lanes; ok is false where n
// is not 5-smooth or cannot be split so. Of the ways to split the one with the
// least work is taken (blocks that overlap count whole), then the most even,
// then the larger n2.
func laneSides(n int) (n1, n2 int, ok bool) {
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
func newLanePlan(n int) *lanePlan {
	n1, n2, ok := laneSides(n)
	if !ok {
		return nil
	}

	p := &lanePlan{k: kernel.Best(), n: n, n1: n1, n2: n2, first: newSmallPlan(n1), second: newSmallPlan(n2)}
	blocks1, blocks2 := p.blocks(n1), p.blocks(n2)
	p.near = make([]float64, blocks1*lanes*vec)
	p.far = make([]float64, blocks2*blocks1*lanes*2)
	for i := range blocks1 * lanes {
		k1 := p.start(i/lanes, n1) + i%lanes
		for l := range lanes {
			w := unit(l*k1, n)
			p.near[i*vec+l], p.near[i*vec+lanes+l] = real(w), imag(w)
		}

		for b := range blocks2 {
			w := unit(p.start(b, n2)*k1%n, n)
			at := 2 * (b*blocks1*lanes + i)
			p.far[at], p.far[at+1] = real(w), imag(w)
		}
	}

	p.mid = make([]float64, blocks1*n2*vec)

	// Half a page off each other: a load that follows a store to the same place
	// of another page waits for it.
	const aside = 256
	size := max(n1, n2) * vec
	both := make([]float64, 2*size+aside+largestGroup*vec)
	p.a, p.b = both[:size:size], both[size+aside:2*size+aside]
	p.tmp = both[2*size+aside:]

	return p
}

// blocks is the number of blocks of lanes that cover n.
func (p *lanePlan) blocks(n int) int { return (n + lanes - 1) / lanes }

// start is where block b of n begins: the last one ends at n.
func (p *lanePlan) start(b, n int) int { return min(b*lanes, n-lanes) }

// newSmallPlan takes radices two at a time, the first alone if their number is odd.
func newSmallPlan(n int) smallPlan {
	var p smallPlan

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
		st := laneStage{a: radices[i], b: radices[i+1], s: s}
		st.q = l / (st.a * st.b)
		for j := range st.q {
			for b := range st.b {
				st.factors(st.a, j+b*st.q, l)
			}

			if st.q > 1 { // those of the last radix are 1
				st.factors(st.b, j, l/st.a)
			}
		}

		p = append(p, st)
		l, s = st.q, s*st.a*st.b
	}

	return p
}

// factors appends the twiddles of butterfly j of a stage over l points.
func (st *laneStage) factors(radix, j, l int) {
	for k := 1; k < radix; k++ {
		w := unit(j*k, l)
		st.twiddle = append(st.twiddle, real(w), imag(w))
	}
}

// transform transforms x from stage number from on and returns where the result
// is: p.a or p.b. x may be one of them.
func (p *lanePlan) transform(small smallPlan, from int, x []float64) []float64 {
	y, other := p.b, p.a
	if &x[0] == &p.b[0] {
		y, other = p.a, p.b
	}

	for i := from; i < len(small); i++ {
		st := &small[i]
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
type samples struct {
	complex      []float64
	x, y         []float64
	x32, y32     []float32
	meanX, meanY float64
	window       *hann
}

// load fills dst with the lanes of a block from row on: groups of rows, the first
// rows of groups jump apart.
func (p *lanePlan) load(dst []float64, s *samples, block, row, rows, jump, groups int) {
	at := p.start(block, p.n2) + row*p.n2
	if s.complex != nil {
		p.k.LoadComplex(dst, s.complex[2*at:], p.n2, rows, jump, groups)
		return
	}

	turns, angles := s.window.rows[2*row:], s.window.lanes[block*vec:]
	if s.x32 != nil {
		p.k.LoadPair32(dst, s.x32[at:], s.y32[at:], turns, angles, s.meanX, s.meanY, p.n2, rows, jump, groups)
		return
	}

	p.k.LoadPair(dst, s.x[at:], s.y[at:], turns, angles, s.meanX, s.meanY, p.n2, rows, jump, groups)
}

// columns transforms the columns of a block and puts them between the steps,
// turned. The first stage takes its groups as they are loaded, a few at a time.
func (p *lanePlan) columns(block int, s *samples) {
	st := &p.first[0]
	r, q := st.a*st.b, st.q

	var y []float64
	if q == 1 {
		p.load(p.a, s, block, 0, p.n1, p.n1, 1)
		y = p.transform(p.first, 0, p.a)
	} else {
		per := len(st.twiddle) / q
		for j, step := 0, max(1, loadVectors/r); j < q; j += step {
			some := min(step, q-j)
			p.load(p.a, s, block, j, some, q, r)
			p.k.Stages(p.b[j*r*vec:], p.a, st.twiddle[j*per:], p.tmp, st.a, st.b, some, 1, false)
		}

		y = p.transform(p.first, 1, p.b)
	}

	width := p.blocks(p.n1) * lanes
	n2 := p.n2
	base := p.start(block, n2)
	far := p.far[2*block*width:]
	whole := p.n1 / lanes
	p.k.Twist(p.mid[base*vec:], y, p.near, far, n2*vec, whole)

	if p.n1%lanes != 0 {
		k1 := p.n1 - lanes
		at := whole * lanes
		p.k.Twist(p.mid[(whole*n2+base)*vec:], y[k1*vec:], p.near[at*vec:], far[2*at:], n2*vec, 1)
	}
}

// rows transforms the rows of a block: vector k2 holds X[k1 + n1·k2] of its k1. The
// vectors are valid until the next call.
func (p *lanePlan) rows(block int) []float64 {
	return p.transform(p.second, 0, p.mid[block*p.n2*vec:(block+1)*p.n2*vec])
}

// complex transforms src, n complex numbers as pairs, into dst, which may be
// src.
func (p *lanePlan) complex(dst, src []float64) {
	s := samples{complex: src}
	for b := range p.blocks(p.n2) {
		p.columns(b, &s)
	}

	for b := range p.blocks(p.n1) {
		p.k.StoreComplex(dst[2*p.start(b, p.n1):], p.rows(b), p.n1, p.n2)
	}
}

// hann is the periodic Hann window ½ − ½cos(2πj/n) in two small tables: of j =
// j1·n2 + j2 the angles 2πj1/n1 of the rows and 2πj2/n of the lanes.
type hann struct {
	rows  []float64 // ½cos, ½sin
	lanes []float64 // per block a vector of cos and sin
}

func (p *lanePlan) hann() *hann {
	h := &hann{}
	for j1 := range p.n1 {
		w := unit(-j1, p.n1)
		h.rows = append(h.rows, 0.5*real(w), 0.5*imag(w))
	}

	h.lanes = make([]float64, p.blocks(p.n2)*vec)
	for b := range p.blocks(p.n2) {
		for l := range lanes {
			w := unit(-p.start(b, p.n2)-l, p.n)
			h.lanes[b*vec+l], h.lanes[b*vec+lanes+l] = real(w), imag(w)
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
func powers[S kernel.Number](p *lanePlan, sum []float64, low, high []float64, x, y []S, meanX, meanY float64,
	window *hann, fresh bool,
) {
	if fresh {
		clear(sum)
	}

	s := samples{meanX: meanX, meanY: meanY, window: window}
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
		switch done := b*lanes - at; {
		case done == 0:
			p.k.AddPower(sum[at:], z, p.n1, p.n2)

		default: // some lanes were added with the block before
			for k2 := range p.n2 {
				v := z[k2*vec : (k2+1)*vec]
				for l := done; l < lanes; l++ {
					re, im := float64(v[l]), float64(v[lanes+l])
					sum[at+l+k2*p.n1] += float64(re*re) + float64(im*im)
				}
			}
		}

		if lowRows > 0 {
			p.k.StoreComplex(low[2*at:], z, p.n1, lowRows)
			p.k.StoreComplex(high[2*at:], z[(p.n2-lowRows)*vec:], p.n1, lowRows)
		}
	}
}
