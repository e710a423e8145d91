package dsp

import (
	"fmt"
	"math"
	"unsafe"

	"doubletake/dsp/kernel"

	"gonum.org/v1/gonum/dsp/fourier"
)

// FFT is a plan for the discrete Fourier transform of real sequences of one
// length. It is reusable, not safe for concurrent use, and with a given dst
// its transforms allocate nothing.
//
// The method follows from the length alone:
//   - even and 5-smooth (2^a·3^b·5^c): n/2 complex points through Stockham
//     autosort transforms of radix 4, 2, 3 and 5, eight at a time in vector
//     registers (lanePlan), short ones singly;
//   - a prime factor above maxGonumFactor: Bluestein's chirp transform over
//     the same Stockham kernels, because the direct method is quadratic in
//     that factor, and gonum's loses digits with it (five seconds at 44.1 kHz
//     make segments of 13 781 points, a prime: 150 ms and 2e-9 against 0.7 ms
//     and 1e-15);
//   - otherwise gonum's dsp/fourier.
type FFT struct {
	n     int
	plain *fourier.FFT // gonum, where neither of the following applies
	half  *complexPlan // n/2 points, even n
	full  *complexPlan // n points, odd n
	twist []complex128 // exp(−2πik/n), k = 0 … n/4, splits the half-length transform
	a, b  []complex128 // scratch of the complex plan
}

// maxGonumFactor is the largest prime factor left to gonum; above it
// Bluestein's detour over a 5-smooth length is faster (BenchmarkFFTFactor).
const maxGonumFactor = 13

// NewFFT returns a plan for sequences of n samples. It panics if n < 1.
func NewFFT(n int) *FFT {
	if n < 1 {
		panic(fmt.Sprintf("dsp: FFT of length %d", n))
	}
	f := &FFT{n: n}
	largest := largestPrimeFactor(n)
	switch {
	case n%2 == 0 && (largest <= 5 || largest > maxGonumFactor):
		f.half = newComplexPlan(n / 2)
		f.twist = make([]complex128, n/4+1)
		for k := range f.twist {
			f.twist[k] = unit(k, n)
		}
		f.a, f.b = make([]complex128, n/2), make([]complex128, n/2)
	case largest > maxGonumFactor:
		f.full = newComplexPlan(n)
		f.a, f.b = make([]complex128, n), make([]complex128, n)
	default:
		f.plain = fourier.NewFFT(n)
	}
	return f
}

// Coefficients computes X_k = Σ_j x_j exp(−2πijk/n) for k = 0 … ⌊n/2⌋ into dst
// and returns it. A nil dst is allocated. It panics unless len(x) is Len and
// len(dst), if given, Len/2+1.
func (f *FFT) Coefficients(dst []complex128, x []float64) []complex128 {
	if len(x) != f.n {
		panic(fmt.Sprintf("dsp: FFT of length %d given %d samples", f.n, len(x)))
	}
	if dst == nil {
		dst = make([]complex128, f.n/2+1)
	} else if len(dst) != f.n/2+1 {
		panic(fmt.Sprintf("dsp: FFT of length %d wants %d coefficients, dst has %d", f.n, f.n/2+1, len(dst)))
	}
	switch {
	case f.plain != nil:
		return f.plain.Coefficients(dst, x)
	case f.full != nil:
		for i, v := range x {
			f.a[i] = complex(v, 0)
		}
		copy(dst, f.full.transform(f.a, f.b))
		return dst
	}
	z := f.a
	if f.half.lanes != nil {
		f.half.lanes.complex(pairs(z), x)
	} else {
		for i := range z {
			z[i] = complex(x[2*i], x[2*i+1])
		}
		z = f.half.transform(z, f.b)
	}
	untangle(dst, z, f.twist)
	return dst
}

// pairs returns the memory of complex numbers: real and imaginary parts in turn.
func pairs(x []complex128) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// untangle turns the transform z of the sequence x_0+ix_1, x_2+ix_3, … into
// that of x: with E = (z_k + z̄_{m−k})/2 the transform of the even samples and
// O = (z_k − z̄_{m−k})/2i that of the odd ones, X_k = E + w^k·O and
// X_{m−k} = conj(E − w^k·O), w = exp(−2πi/n).
func untangle(dst, z, twist []complex128) {
	m := len(z)
	dst = dst[:m+1]
	r0, i0 := real(z[0]), imag(z[0])
	dst[0], dst[m] = complex(r0+i0, 0), complex(r0-i0, 0)
	for k := 1; k <= m/2; k++ {
		a, b := z[k], z[m-k]
		er, ei := 0.5*(real(a)+real(b)), 0.5*(imag(a)-imag(b))
		or, oi := 0.5*(imag(a)+imag(b)), 0.5*(real(b)-real(a))
		tr, ti := mul(or, oi, real(twist[k]), imag(twist[k]))
		dst[k] = complex(er+tr, ei+ti)
		dst[m-k] = complex(er-tr, ti-ei)
	}
}

// unit returns exp(−2πik/n), the angle reduced to one octant first so that
// every twiddle is right to the last place or nearly so.
func unit(k, n int) complex128 {
	k %= n
	if k < 0 {
		k += n
	}
	// Eighths of a turn: 8k = q·n + r, the angle within the octant is r/(8n).
	q, r := 8*k/n, 8*k%n
	if q%2 == 1 {
		r = n - r // count back from the octant's end
	}
	s, c := math.Sincos(2 * math.Pi * float64(r) / float64(8*n))
	switch q {
	case 0:
		return complex(c, -s)
	case 1:
		return complex(s, -c)
	case 2:
		return complex(-s, -c)
	case 3:
		return complex(-c, -s)
	case 4:
		return complex(-c, s)
	case 5:
		return complex(-s, c)
	case 6:
		return complex(s, c)
	default:
		return complex(c, s)
	}
}

// largestPrimeFactor returns the largest prime factor of n ≥ 1 (1 for n = 1).
func largestPrimeFactor(n int) int {
	largest := 1
	for p := 2; p*p <= n; p++ {
		for n%p == 0 {
			largest, n = p, n/p
		}
	}
	return max(largest, n)
}

// nextSmooth returns the smallest 5-smooth number ≥ n that is a multiple of 4.
func nextSmooth(n int) int {
	for m := (n + 3) / 4 * 4; ; m += 4 {
		if largestPrimeFactor(m) <= 5 {
			return m
		}
	}
}

// complexPlan transforms complex sequences of one length: directly if the
// length is 5-smooth, in lanes if it is long enough for them, else by
// Bluestein's chirp.
type complexPlan struct {
	lanes  *lanePlan[float64]
	stages []stage
	chirp  *bluestein
}

// stage is one pass of the Stockham transform: q butterflies of the stage's
// radix, each over s interleaved sub-transforms. The kernel is a field so that
// another implementation can take its place.
type stage struct {
	radix, q, s int
	twiddle     []complex128 // (radix−1) factors for each of the q butterflies
	kernel      func(y, x, twiddle []complex128, q, s int)
}

func newComplexPlan(n int) *complexPlan {
	p := &complexPlan{}
	if largestPrimeFactor(n) > 5 {
		p.chirp = newBluestein(n)
		return p
	}
	if p.lanes = newLanePlan(n, kernel.Best()); p.lanes != nil {
		return p
	}
	for l, s := n, 1; l > 1; {
		st := stage{s: s}
		switch {
		case l%4 == 0 && s == 1:
			st.radix, st.kernel = 4, radix4First
		case l%4 == 0:
			st.radix, st.kernel = 4, radix4
		case l%2 == 0:
			st.radix, st.kernel = 2, radix2
		case l%3 == 0:
			st.radix, st.kernel = 3, radix3
		default:
			st.radix, st.kernel = 5, radix5
		}
		st.q = l / st.radix
		for j := range st.q {
			for k := 1; k < st.radix; k++ {
				st.twiddle = append(st.twiddle, unit(j*k, l))
			}
		}
		p.stages = append(p.stages, st)
		l, s = st.q, s*st.radix
	}
	return p
}

// transform overwrites a and b, both of the plan's length, and returns the one
// that holds the transform of what a held.
func (p *complexPlan) transform(a, b []complex128) []complex128 {
	if p.chirp != nil {
		p.chirp.transform(a)
		return a
	}
	if p.lanes != nil {
		p.lanes.complex(pairs(a), pairs(a))
		return a
	}
	for i := range p.stages {
		st := &p.stages[i]
		st.kernel(b, a, st.twiddle, st.q, st.s)
		a, b = b, a
	}
	return a
}

// bluestein computes a transform of any length as a convolution with a chirp:
// jk = (j² + k² − (k−j)²)/2.
type bluestein struct {
	n      int
	chirp  []complex128 // exp(−iπj²/n), j < n
	filter []complex128 // transform of the conjugate chirp, wrapped, over m
	plan   *complexPlan // 5-smooth m ≥ 2n−1
	a, b   []complex128
}

func newBluestein(n int) *bluestein {
	m := nextSmooth(2*n - 1)
	c := &bluestein{
		n: n, chirp: make([]complex128, n), plan: newComplexPlan(m),
		a: make([]complex128, m), b: make([]complex128, m),
	}
	for j := range n {
		c.chirp[j] = unit(j*j%(2*n), 2*n) // j² modulo 2n first: the angle stays exact
		w := complex(real(c.chirp[j]), -imag(c.chirp[j]))
		w = complex(real(w)/float64(m), imag(w)/float64(m)) // the inverse transform's 1/m
		c.a[j] = w
		if j > 0 {
			c.a[m-j] = w
		}
	}
	c.filter = append([]complex128(nil), c.plan.transform(c.a, c.b)...)
	return c
}

// transform replaces x by its transform.
func (c *bluestein) transform(x []complex128) {
	for j, w := range c.chirp {
		c.a[j] = complex(mul(real(x[j]), imag(x[j]), real(w), imag(w)))
	}
	clear(c.a[c.n:])
	y := c.plan.transform(c.a, c.b)
	other := c.b
	if &y[0] == &c.b[0] {
		other = c.a
	}
	// The inverse transform is the forward one with real and imaginary parts
	// exchanged before and after.
	for k, w := range c.filter {
		r, i := mul(real(y[k]), imag(y[k]), real(w), imag(w))
		y[k] = complex(i, r)
	}
	y = c.plan.transform(y, other)
	for k, w := range c.chirp {
		x[k] = complex(mul(imag(y[k]), real(y[k]), real(w), imag(w)))
	}
}
