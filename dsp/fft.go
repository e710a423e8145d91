package dsp

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/dsp/fourier"
)

// FFT is a plan for the discrete Fourier transform of real sequences of one
// length. It is reusable, not safe for concurrent use, and with a given dst
// its transforms allocate nothing.
//
// The method follows from the length alone:
//   - even and 5-smooth (2^a·3^b·5^c): n/2 complex points through Stockham
//     autosort transforms of radix 4, 2, 3 and 5, eight at a time in vector
//     registers (lanePlan), if they are enough for that;
//   - a prime factor above maxGonumFactor: Bluestein's chirp transform over
//     the same, because the direct method is quadratic in
//     that factor, and gonum's loses digits with it (five seconds at 44.1 kHz
//     make segments of 13 781 points, a prime: 150 ms and 2e-9 against 0.7 ms
//     and 1e-15);
//   - otherwise gonum's dsp/fourier.
type FFT struct {
	n     int
	plain *fourier.FFT // gonum, where neither of the following applies
	lanes *lanePlan    // n/2 points
	chirp *bluestein   // n/2 points of even n, else n
	twist []complex128 // exp(−2πik/n), k = 0 … n/4, splits the half-length transform
	z     []complex128 // scratch
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

	points := n
	if n%2 == 0 {
		points = n / 2
		f.lanes = newLanePlan(points)
	}

	switch {
	case f.lanes != nil:
	case largestPrimeFactor(n) > maxGonumFactor:
		f.chirp = newBluestein(points)
	default:
		f.plain = fourier.NewFFT(n)
		return f
	}

	f.z = make([]complex128, points)
	if n%2 == 0 {
		f.twist = make([]complex128, n/4+1)
		for k := range f.twist {
			f.twist[k] = unit(k, n)
		}
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

	if f.plain != nil {
		return f.plain.Coefficients(dst, x)
	}

	if f.twist == nil {
		for i, v := range x {
			f.z[i] = complex(v, 0)
		}

		f.chirp.transform(f.z)
		copy(dst, f.z)

		return dst
	}

	if f.lanes != nil {
		f.lanes.complex(pairs(f.z), x)
	} else {
		for i := range f.z {
			f.z[i] = complex(x[2*i], x[2*i+1])
		}
		f.chirp.transform(f.z)
	}

	untangle(dst, f.z, f.twist)

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

// bluestein computes a transform of any length as a convolution with a chirp:
// jk = (j² + k² − (k−j)²)/2.
type bluestein struct {
	n      int
	chirp  []complex128 // exp(−iπj²/n), j < n
	filter []complex128 // transform of the conjugate chirp, wrapped, over m
	plan   *lanePlan
	z      []complex128 // m points
}

func newBluestein(n int) *bluestein {
	c := &bluestein{n: n, chirp: make([]complex128, n)}

	m := nextSmooth(max(64, 2*n-1)) // the least with a plan
	for c.plan = newLanePlan(m); c.plan == nil; c.plan = newLanePlan(m) {
		m = nextSmooth(m + 1)
	}

	c.z = make([]complex128, m)
	for j := range n {
		c.chirp[j] = unit(j*j%(2*n), 2*n) // j² modulo 2n first: the angle stays exact
		w := complex(real(c.chirp[j]), -imag(c.chirp[j]))
		w = complex(real(w)/float64(m), imag(w)/float64(m)) // the inverse transform's 1/m
		c.z[j] = w
		if j > 0 {
			c.z[m-j] = w
		}
	}

	c.plan.complex(pairs(c.z), pairs(c.z))
	c.filter = slices.Clone(c.z)

	return c
}

// transform replaces x by its transform.
func (c *bluestein) transform(x []complex128) {
	for j, w := range c.chirp {
		c.z[j] = complex(mul(real(x[j]), imag(x[j]), real(w), imag(w)))
	}

	clear(c.z[c.n:])
	c.plan.complex(pairs(c.z), pairs(c.z))

	// The inverse transform is the forward one with real and imaginary parts
	// exchanged before and after.
	for k, w := range c.filter {
		r, i := mul(real(c.z[k]), imag(c.z[k]), real(w), imag(w))
		c.z[k] = complex(i, r)
	}

	c.plan.complex(pairs(c.z), pairs(c.z))

	for k, w := range c.chirp {
		x[k] = complex(mul(imag(c.z[k]), real(c.z[k]), real(w), imag(w)))
	}
}

// mul is the complex product, each partial product rounded by an explicit conversion, so
// that no architecture fuses it into an addition.
func mul(ar, ai, br, bi float64) (re, im float64) {
	return float64(ar*br) - float64(ai*bi), float64(ar*bi) + float64(ai*br)
}
