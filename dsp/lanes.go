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
}

// smallPlan is a Stockham transform over lanes.
type smallPlan struct {
	n      int
	stages []laneStage
}

type laneStage struct {
	radix, q, s int
	twiddle     []float64
}

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
	p := &lanePlan{k: k, n: n, n1: n1, n2: n2, first: newSmallPlan(n1), second: newSmallPlan(n2)}
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
	both := make([]float64, 2*size+aside)
	p.a, p.b = both[:size:size], both[size+aside:]
	return p
}

// blocks is the number of blocks of eight that cover n.
func (p *lanePlan) blocks(n int) int { return (n + kernel.Lanes - 1) / kernel.Lanes }

// start is where block b of n begins: the last one ends at n.
func (p *lanePlan) start(b, n int) int { return min(b*kernel.Lanes, n-kernel.Lanes) }

func newSmallPlan(n int) smallPlan {
	p := smallPlan{n: n}
	for l, s := n, 1; l > 1; {
		st := laneStage{s: s, radix: 5}
		switch {
		case l%4 == 0:
			st.radix = 4
		case l%2 == 0:
			st.radix = 2
		case l%3 == 0:
			st.radix = 3
		}
		st.q = l / st.radix
		if st.q > 1 {
			for j := range st.q {
				for k := 1; k < st.radix; k++ {
					w := unit(j*k, l)
					st.twiddle = append(st.twiddle, real(w), imag(w))
				}
			}
		}
		p.stages = append(p.stages, st)
		l, s = st.q, s*st.radix
	}
	return p
}

// transform transforms x, using a and b, and returns the one that holds the
// result. x may be a but not b.
func (p *smallPlan) transform(k *kernel.Set, x, a, b []float64) []float64 {
	for i := range p.stages {
		st := &p.stages[i]
		if st.q > 1 {
			k.Radix[st.radix](b, x, st.twiddle, st.q, st.s)
		} else {
			k.Last[st.radix](b, x, st.s)
		}
		x, a, b = b, b, a
	}
	return x
}

// columns transforms the columns of a block, whose n1 vectors were loaded, and
// puts them between the steps, turned.
func (p *lanePlan) columns(block int, loaded []float64) {
	y := p.first.transform(p.k, loaded, loaded, p.b)
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
	return p.second.transform(p.k, x, p.a, p.b)
}

// complex transforms src, n complex numbers as pairs, into dst, which may be
// src.
func (p *lanePlan) complex(dst, src []float64) {
	for b := range p.blocks(p.n2) {
		p.k.LoadComplex(p.a, src[2*p.start(b, p.n2):], p.n2, p.n1)
		p.columns(b, p.a)
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
	for b := range p.blocks(p.n2) {
		at := p.start(b, p.n2)
		switch x := any(x).(type) {
		case []float64:
			p.k.LoadPair(p.a, x[at:], any(y).([]float64)[at:], window.rows, window.lanes[b*kernel.Vec:], meanX, meanY, p.n2, p.n1)
		case []float32:
			p.k.LoadPair32(p.a, x[at:], any(y).([]float32)[at:], window.rows, window.lanes[b*kernel.Vec:], meanX, meanY, p.n2, p.n1)
		}
		p.columns(b, p.a)
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
