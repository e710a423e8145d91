package dsp

import (
	"math"

	"doubletake/dsp/kernel"
)

// lanePlan transforms complex sequences of n = n1·n2 points in two steps, each
// eight small transforms at a time, one to a lane of the vector registers
// (Bailey's four-step method):
//
//	A[k1][j2] = Σ_j1 x[j1·n2 + j2]·w_n1^(j1·k1)          columns, eight j2 at a time
//	X[k1 + n1·k2] = Σ_j2 w_n^(j2·k1)·A[k1][j2]·w_n2^(j2·k2)   rows, eight k1 at a time
//
// The small transforms stay in the first-level cache; the data pass through
// the second twice. Nothing is shuffled but in the transpose between the steps,
// which also multiplies by w_n^(j2·k1), itself the product of a factor for the
// block of eight j2 and one for the lane: two small tables instead of one as
// large as the data.
//
// Where n1 or n2 is no multiple of eight the last block overlaps the one
// before it and computes some transforms twice.
type lanePlan struct {
	k      *kernel.Set
	n      int
	n1, n2 int
	first  smallPlan // n1 points
	second smallPlan // n2 points
	near   []float64 // w_n^(l·k1): a vector of lanes l per k1, padded to blocks of eight
	far    []float64 // w_n^(base·k1): per block of j2, per k1 as near
	mid    []float64 // between the steps: per block of k1, per j2, a vector of eight k1
	a, b   []float64 // of one small transform
	tmp    []float64 // of one group of a pair of stages
}

const (
	largestGroup = 25 // vectors in a group of a pair of stages
	loadVectors  = 64 // vectors loaded at a time: they stay in the first-level cache
)

// smallPlan is a Stockham transform over lanes.
type smallPlan struct {
	stages []laneStage
}

// laneStage is one stage of radix first or, where second is not 0, two at once
// (kernel.Set.Pair), of radix first and second.
type laneStage struct {
	first, second, q, s int
	twiddle             []float64 // each of the q groups has as many
}

// radix is the number of vectors in a group.
func (st *laneStage) radix() int { return st.first * max(st.second, 1) }

// minSide is the fewest points of a small transform: a block of lanes.
const minSide = kernel.Lanes

// laneSides splits n into n1·n2, both at least minSide; ok is false where n is
// not 5-smooth or cannot be split so. Of the ways to split the one with the
// least work is taken (blocks that overlap count whole), then the most even,
// then the larger n2.
func laneSides(n int) (n1, n2 int, ok bool) {
	if n < minSide*minSide || largestPrimeFactor(n) > 5 {
		return 0, 0, false
	}
	up := func(v int) int { return (v + kernel.Lanes - 1) / kernel.Lanes * kernel.Lanes }
	best := math.MaxInt
	for a := minSide; a*minSide <= n; a++ {
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
func newLanePlan(n int, k *kernel.Set) *lanePlan {
	n1, n2, ok := laneSides(n)
	if !ok {
		return nil
	}
	p := &lanePlan{k: k, n: n, n1: n1, n2: n2, first: newSmallPlan(n1, k), second: newSmallPlan(n2, k)}
	blocks1, blocks2 := p.blocks(n1), p.blocks(n2)
	p.near = make([]float64, blocks1*kernel.Lanes*kernel.Vec)
	p.far = make([]float64, blocks2*blocks1*kernel.Lanes*2)
	for i := range blocks1 * kernel.Lanes {
		k1 := p.start(i/kernel.Lanes, n1) + i%kernel.Lanes
		for l := range kernel.Lanes {
			w := unit(l*k1, n)
			p.near[i*kernel.Vec+l], p.near[i*kernel.Vec+kernel.Lanes+l] = real(w), imag(w)
		}
		for b := range blocks2 {
			w := unit(p.start(b, n2)*k1%n, n)
			at := 2 * (b*blocks1*kernel.Lanes + i)
			p.far[at], p.far[at+1] = real(w), imag(w)
		}
	}
	p.mid = make([]float64, blocks1*n2*kernel.Vec)
	// Half a page off each other: a load that follows a store to the same place
	// of another page waits for it.
	const aside = 256
	size := max(n1, n2) * kernel.Vec
	both := make([]float64, 2*size+aside+largestGroup*kernel.Vec)
	p.a, p.b = both[:size:size], both[size+aside:2*size+aside]
	p.tmp = both[2*size+aside:]
	return p
}

// blocks is the number of blocks of eight that cover n.
func (p *lanePlan) blocks(n int) int { return (n + kernel.Lanes - 1) / kernel.Lanes }

// start is where block b of n begins: the last one ends at n.
func (p *lanePlan) start(b, n int) int { return min(b*kernel.Lanes, n-kernel.Lanes) }

// newSmallPlan takes stages two at a time where the set can, the first alone if
// their number is odd.
func newSmallPlan(n int, k *kernel.Set) smallPlan {
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
	for l, s, i := n, 1, 0; i < len(radices); i++ {
		st := laneStage{first: radices[i], s: s}
		if (len(radices)-i)%2 == 0 && k.Pair[st.first][radices[i+1]] != nil {
			i++
			st.second = radices[i]
		}
		st.q = l / st.radix()
		for j := range st.q {
			if st.second > 0 {
				for b := range st.second {
					st.factors(st.first, j+b*st.q, l)
				}
			}
			switch {
			case st.q == 1: // the last stage has none
			case st.second > 0:
				st.factors(st.second, j, l/st.first)
			default:
				st.factors(st.first, j, l)
			}
		}
		p.stages = append(p.stages, st)
		l, s = st.q, s*st.radix()
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
func (p *lanePlan) transform(small *smallPlan, from int, x []float64) []float64 {
	y, other := p.b, p.a
	if &x[0] == &p.b[0] {
		y, other = p.a, p.b
	}
	for i := from; i < len(small.stages); i++ {
		st := &small.stages[i]
		switch {
		case st.second > 0 && st.q > 1:
			p.k.Pair[st.first][st.second](y, x, st.twiddle, p.tmp, st.q, st.s)
		case st.second > 0:
			if &x[0] == &other[0] { // ours to overwrite
				y = x
			}
			p.k.LastPair[st.first][st.second](y, x, st.twiddle, p.tmp, st.s)
		case st.q > 1:
			p.k.Radix[st.first](y, x, st.twiddle, st.q, st.s)
		default:
			p.k.Last[st.first](y, x, st.s)
		}
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
	turns, lanes := s.window.rows[2*row:], s.window.lanes[block*kernel.Vec:]
	if s.x32 != nil {
		p.k.LoadPair32(dst, s.x32[at:], s.y32[at:], turns, lanes, s.meanX, s.meanY, p.n2, rows, jump, groups)
		return
	}
	p.k.LoadPair(dst, s.x[at:], s.y[at:], turns, lanes, s.meanX, s.meanY, p.n2, rows, jump, groups)
}

// columns transforms the columns of a block and puts them between the steps,
// turned. The first stage takes its groups as they are loaded, a few at a time.
func (p *lanePlan) columns(block int, s *samples) {
	st := &p.first.stages[0]
	r, q := st.radix(), st.q
	var y []float64
	if q == 1 {
		p.load(p.a, s, block, 0, p.n1, p.n1, 1)
		y = p.transform(&p.first, 0, p.a)
	} else {
		per := len(st.twiddle) / q
		for j, step := 0, max(1, loadVectors/r); j < q; j += step {
			some := min(step, q-j)
			p.load(p.a, s, block, j, some, q, r)
			if y, tw := p.b[j*r*kernel.Vec:], st.twiddle[j*per:]; st.second > 0 {
				p.k.Pair[st.first][st.second](y, p.a, tw, p.tmp, some, 1)
			} else {
				p.k.Radix[st.first](y, p.a, tw, some, 1)
			}
		}
		y = p.transform(&p.first, 1, p.b)
	}
	width := p.blocks(p.n1) * kernel.Lanes
	n2 := p.n2
	base := p.start(block, n2)
	far := p.far[2*block*width:]
	whole := p.n1 / kernel.Lanes
	p.k.Twist(p.mid[base*kernel.Vec:], y, p.near, far, n2*kernel.Vec, whole)
	if p.n1%kernel.Lanes != 0 {
		k1 := p.n1 - kernel.Lanes
		at := whole * kernel.Lanes
		p.k.Twist(p.mid[(whole*n2+base)*kernel.Vec:], y[k1*kernel.Vec:], p.near[at*kernel.Vec:], far[2*at:], n2*kernel.Vec, 1)
	}
}

// rows transforms the rows of a block: vector k2 holds X[k1 + n1·k2] of eight
// k1. The vectors are valid until the next call.
func (p *lanePlan) rows(block int) []float64 {
	x := p.mid[block*p.n2*kernel.Vec : (block+1)*p.n2*kernel.Vec]
	return p.transform(&p.second, 0, x)
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
	h.lanes = make([]float64, p.blocks(p.n2)*kernel.Vec)
	for b := range p.blocks(p.n2) {
		for l := range kernel.Lanes {
			w := unit(-p.start(b, p.n2)-l, p.n)
			h.lanes[b*kernel.Vec+l], h.lanes[b*kernel.Vec+kernel.Lanes+l] = real(w), imag(w)
		}
	}
	return h
}

// float is a sample as it is stored.
type float interface{ float32 | float64 }

// powers adds |Z_k|², k = 0 … n−1, to sum (or, if fresh, writes it there), Z the
// transform of
// (x − mean x)·window + i·(y − mean y)·window, x and y of n samples, and
// stores Z_k of the lowest and highest bins: low holds Z_0 … and high … Z_(n−1),
// as pairs, both a whole number of rows (lowRows).
//
// For two real sequences |Z_k|² + |Z_(n−k)|² = 2(|X_k|² + |Y_k|²): where only
// the sum of their powers is wanted, nothing need be untangled.
func powers[T float](p *lanePlan, sum, low, high []float64, x, y []T, meanX, meanY float64, window *hann, fresh bool) {
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
		switch done := b*kernel.Lanes - at; {
		case fresh:
			p.k.SetPower(sum[at:], z, p.n1, p.n2)
		case done == 0:
			p.k.AddPower(sum[at:], z, p.n1, p.n2)
		default: // some lanes were added with the block before
			for k2 := range p.n2 {
				v := z[k2*kernel.Vec : (k2+1)*kernel.Vec]
				for l := done; l < kernel.Lanes; l++ {
					re, im := v[l], v[kernel.Lanes+l]
					sum[at+l+k2*p.n1] += float64(re*re) + float64(im*im)
				}
			}
		}
		if lowRows > 0 {
			p.k.StoreComplex(low[2*at:], z, p.n1, lowRows)
			p.k.StoreComplex(high[2*at:], z[(p.n2-lowRows)*kernel.Vec:], p.n1, lowRows)
		}
	}
}
