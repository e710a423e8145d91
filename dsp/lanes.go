package dsp

import (
	"math"
	"slices"

	"doubletake/dsp/kernel"
)

// lanePlan transforms complex sequences of n = n1·n2 points by Bailey's four-step method. With
// w_n = exp(−2πi/n), j = j1·n2 + j2 and k = k1 + n1·k2, it takes two steps:
//
//	A[k1][j2] = Σ_j1 x[j1·n2 + j2]·w_n1^(j1·k1)               columns: n2 transforms of n1 points
//	X[k1 + n1·k2] = Σ_j2 w_n^(j2·k1)·A[k1][j2]·w_n2^(j2·k2)   rows: n1 transforms of n2 points
//
// A block is eight of these small transforms, one in each lane of the vector registers. In a
// block of columns, the lanes have eight neighbouring j2; in a block of rows, eight neighbouring k1. A vector
// has the eight real parts, then the eight imaginary parts (package kernel).
//
// A small transform stays in the first-level cache, and the data pass through the second-level cache
// twice. Lanes change places only in the transpose between the steps. The transpose also multiplies
// by w_n^(j2·k1), the product of a factor for the block of j2 and a factor for the lane: two small
// tables (far and near) instead of one as large as the data.
//
// If n1 or n2 is not a multiple of the number of lanes, the last block overlaps the block before it,
// and some transforms are computed twice.
type lanePlan struct {
	k      *kernel.Set
	n      int
	n1, n2 int       // n = n1·n2
	first  smallPlan // transforms columns, n1 points
	second smallPlan // transforms rows, n2 points
	near   []float64 // [block of k1][k1]: a vector w_n^(l·k1), l the lane
	far    []float64 // [block of j2][block of k1][k1]: the number w_n^(j2·k1), j2 the first of the block
	mid    []float64 // the data between the steps, [block of k1][j2]: a vector over k1
	a, b   []float64 // scratch: input and output of one stage of a small transform
	tmp    []float64 // scratch of kernel.Set.Stages
}

const (
	lanes        = kernel.Lanes
	vec          = kernel.Vec
	largestGroup = 25 // vectors of kernel.Set.Stages between two stages: the product of two radices, at most 5·5
	loadVectors  = 64 // vectors loaded at a time: they stay in the first-level cache
)

// smallPlan is a Stockham transform of eight sequences, one in each lane.
type smallPlan []laneStage

// laneStage has the parameters of one call of kernel.Set.Stages, which explains them.
type laneStage struct {
	a, b    int       // radices of the two stages; b is 1 for a single stage
	q, s    int       // number of groups, and number of interleaved sequences
	twiddle []float64 // for each of the q groups equally many
}

// laneSides splits n into n1·n2, both at least the number of lanes. ok is false if that is not
// possible or n has a prime factor above 5. It takes the split with the least work, counting
// overlapping blocks as whole ones. Among equals it takes the most even split, and then the one with
// the larger n2.
func laneSides(n int) (n1, n2 int, ok bool) {
	if n < lanes*lanes || largestPrimeFactor(n) > 5 {
		return 0, 0, false
	}

	best := math.MaxInt
	for a := lanes; a*lanes <= n; a++ {
		if n%a != 0 {
			continue
		}

		b := n / a
		cost := wholeBlocks(b)*a + wholeBlocks(a)*b
		if cost < best || cost == best && max(a, b) < max(n1, n2) {
			best = cost
			n1 = a
			n2 = b
			ok = true
		}
	}

	// The lengths used are 5-smooth and have divisors near their root, so that the loop finds no very uneven split.
	return n1, n2, ok
}

// wholeBlocks rounds n up to a multiple of the lanes.
func wholeBlocks(n int) int { return (n + lanes - 1) / lanes * lanes }

// newLanePlan returns a plan for n points, or nil if laneSides cannot split n.
func newLanePlan(n int) *lanePlan {
	n1, n2, ok := laneSides(n)
	if !ok {
		return nil
	}

	p := &lanePlan{k: kernel.Best(), n: n, n1: n1, n2: n2, first: newSmallPlan(n1), second: newSmallPlan(n2)}
	blocks1 := p.blocks(n1)
	blocks2 := p.blocks(n2)
	p.near = make([]float64, blocks1*lanes*vec)
	p.far = make([]float64, blocks2*blocks1*lanes*2)
	for i := range blocks1 * lanes {
		k1 := p.start(i/lanes, n1) + i%lanes
		for l := range lanes {
			w := unit(l*k1, n)
			p.near[i*vec+l] = real(w)
			p.near[i*vec+lanes+l] = imag(w)
		}

		for b := range blocks2 {
			w := unit(p.start(b, n2)*k1%n, n)
			k := 2 * (b*blocks1*lanes + i)
			p.far[k] = real(w)
			p.far[k+1] = imag(w)
		}
	}

	p.mid = make([]float64, blocks1*n2*vec)

	// a and b lie half a page apart, 256 numbers. Otherwise a load would wait for an earlier store to
	// the same place in another page.
	const aside = 256
	size := max(n1, n2) * vec
	both := make([]float64, 2*size+aside+largestGroup*vec)
	p.a = both[:size:size]
	p.b = both[size+aside : 2*size+aside]
	p.tmp = both[2*size+aside:]

	return p
}

// blocks returns the number of blocks of lanes that cover n.
func (p *lanePlan) blocks(n int) int { return (n + lanes - 1) / lanes }

// start returns the first of the n transforms that block b contains. The last block ends at n.
func (p *lanePlan) start(b, n int) int { return min(b*lanes, n-lanes) }

// newSmallPlan returns the stages of a transform of n points. A stage of the plan takes two radices. If
// their number is odd, the first stage takes one.
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
		radices = slices.Insert(radices, 1, 1) // b = 1 marks a single stage
	}

	l := n // points that are not transformed yet
	s := 1
	for i := 0; i < len(radices); i += 2 {
		st := laneStage{a: radices[i], b: radices[i+1], s: s}
		st.q = l / (st.a * st.b)
		for j := range st.q {
			for b := range st.b {
				st.factors(st.a, j+b*st.q, l)
			}

			if st.q > 1 { // otherwise it is the last radix, whose twiddles are all 1
				st.factors(st.b, j, l/st.a)
			}
		}

		p = append(p, st)
		l = st.q
		s *= st.a * st.b
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

// transform runs the stages of small from number first on. x is the input of that stage, and may be
// p.a or p.b. The result is p.a or p.b, too.
func (p *lanePlan) transform(small smallPlan, first int, x []float64) []float64 {
	y := p.b
	other := p.a
	if &x[0] == &p.b[0] {
		y = p.a
		other = p.b
	}

	// After the first stage, x and other are the same scratch memory. p.mid must not be overwritten.
	for i := first; i < len(small); i++ {
		st := &small[i]
		if st.q == 1 && &x[0] == &other[0] { // the last stage works in place, if x is scratch memory
			y = x
		}

		p.k.Stages(y, x, st.twiddle, p.tmp, st.a, st.b, st.q, st.s, st.q == 1)
		x = y
		y = other
		other = x
	}

	return x
}

// transformInput is the input of a transform. It is either complex numbers as pairs, or two real sequences, the real
// and the imaginary part, from which the means are subtracted under a window. The sequences are float64 (x, y) or
// float32 (x32, y32). Exactly one of complex, x and x32 is not nil.
type transformInput struct {
	complex      []float64
	x, y         []float64
	x32, y32     []float32
	meanX, meanY float64
	window       *hann
}

// load fills dst with vectors of a block of columns. Row j1 has the points j1·n2 + j2. load takes groups of consecutive
// rows, each with the given number of rows. The first group starts at row, and each further group starts jump rows
// after the group before.
func (p *lanePlan) load(dst []float64, s *transformInput, block, row, rows, jump, groups int) {
	first := p.start(block, p.n2) + row*p.n2
	if s.complex != nil {
		p.k.LoadComplex(dst, s.complex[2*first:], p.n2, rows, jump, groups)
		return
	}

	turns := s.window.rows[2*row:]
	angles := s.window.lanes[block*vec:]
	if s.x32 != nil {
		p.k.LoadPair32(dst, s.x32[first:], s.y32[first:], turns, angles, s.meanX, s.meanY, p.n2, rows, jump, groups)
		return
	}

	p.k.LoadPair(dst, s.x[first:], s.y[first:], turns, angles, s.meanX, s.meanY, p.n2, rows, jump, groups)
}

// columns transforms a block of columns and stores the result in mid, transposed and multiplied by
// w_n^(j2·k1).
func (p *lanePlan) columns(block int, s *transformInput) {
	y := p.transformColumns(block, s)
	width := p.blocks(p.n1) * lanes
	n2 := p.n2
	base := p.start(block, n2)
	far := p.far[2*block*width:]
	whole := p.n1 / lanes
	p.k.Twist(p.mid[base*vec:], y, p.near, far, n2*vec, whole)

	if p.n1%lanes != 0 {
		k1 := p.n1 - lanes
		done := whole * lanes
		p.k.Twist(p.mid[(whole*n2+base)*vec:], y[k1*vec:], p.near[done*vec:], far[2*done:], n2*vec, 1)
	}
}

// transformColumns loads and transforms a block of columns. The result is p.a or p.b. If the transform
// has several stages, the first stage takes a few groups as soon as they are loaded.
func (p *lanePlan) transformColumns(block int, s *transformInput) []float64 {
	st := &p.first[0]
	r := st.a * st.b
	q := st.q
	if q == 1 {
		p.load(p.a, s, block, 0, p.n1, p.n1, 1)
		return p.transform(p.first, 0, p.a)
	}

	twiddles := len(st.twiddle) / q // per group
	step := max(1, loadVectors/r)
	for j := 0; j < q; j += step {
		count := min(step, q-j)
		p.load(p.a, s, block, j, count, q, r)
		const isLast = false
		p.k.Stages(p.b[j*r*vec:], p.a, st.twiddle[j*twiddles:], p.tmp, st.a, st.b, count, 1, isLast)
	}

	return p.transform(p.first, 1, p.b)
}

// rows transforms a block of rows from mid. Vector k2 of the result holds X[k1 + n1·k2] for the k1 of
// the block. The result is valid until the next call.
func (p *lanePlan) rows(block int) []float64 {
	return p.transform(p.second, 0, p.mid[block*p.n2*vec:(block+1)*p.n2*vec])
}

// complex transforms src, n complex numbers as pairs, into dst. dst may be src.
func (p *lanePlan) complex(dst, src []float64) {
	s := transformInput{complex: src}
	for b := range p.blocks(p.n2) {
		p.columns(b, &s)
	}

	for b := range p.blocks(p.n1) {
		p.k.StoreComplex(dst[2*p.start(b, p.n1):], p.rows(b), p.n1, p.n2)
	}
}

// hann is the periodic Hann window ½ − ½cos(2πj/n) in two small tables. With j = j1·n2 + j2 the
// angle is 2πj1/n1 (rows) plus 2πj2/n (lanes).
type hann struct {
	rows  []float64 // [j1]: ½cos and ½sin of 2πj1/n1
	lanes []float64 // [block of j2]: a vector of cos and sin of 2πj2/n
}

// hann returns the tables for the plan's length.
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
			h.lanes[b*vec+l] = real(w)
			h.lanes[b*vec+lanes+l] = imag(w)
		}
	}

	return h
}

// pairInput returns the input (x − meanX)·window + i·(y − meanY)·window of a transform, with x and y of n samples.
func pairInput[S kernel.Number](x, y []S, meanX, meanY float64, window *hann) transformInput {
	s := transformInput{meanX: meanX, meanY: meanY, window: window}
	switch x := any(x).(type) {
	case []float64:
		s.x = x
		s.y = any(y).([]float64)
	case []float32:
		s.x32 = x
		s.y32 = any(y).([]float32)
	}

	return s
}

// powers transforms the input s, a pair of sequences, and adds the squared magnitudes |Z_k|² of the transform to sum, k
// = 0 … n−1. It fills low with the first values of Z and high with the last ones, up to Z_(n−1), as pairs. The lengths
// of low and high are equal, a multiple of 2·n1, which may be 0.
//
// For two real sequences |Z_k|² + |Z_(n−k)|² = 2(|X_k|² + |Y_k|²). So the sum of their powers, which
// Welch.fold takes from sum, does not need their single transforms X and Y.
func (p *lanePlan) powers(sum, low, high []float64, s transformInput) {
	for b := range p.blocks(p.n2) {
		p.columns(b, &s)
	}

	lowRows := len(low) / (2 * p.n1)
	for b := range p.blocks(p.n1) {
		first := p.start(b, p.n1)
		z := p.rows(b)
		if done := b*lanes - first; done == 0 {
			p.k.AddPower(sum[first:], z, p.n1, p.n2)
		} else { // the first done lanes were added with the block before
			for k2 := range p.n2 {
				v := z[k2*vec : (k2+1)*vec]
				for l := done; l < lanes; l++ {
					re := v[l]
					im := v[lanes+l]
					sum[first+l+k2*p.n1] += float64(re*re) + float64(im*im)
				}
			}
		}

		if lowRows > 0 {
			p.k.StoreComplex(low[2*first:], z, p.n1, lowRows)
			p.k.StoreComplex(high[2*first:], z[(p.n2-lowRows)*vec:], p.n1, lowRows)
		}
	}
}
