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
// The length alone decides the method. Exactly one of lanes, chirp and plain is set:
//   - lanes, if the length is even, has no prime factor above 5, and is long enough: a complex
//     transform of n/2 points, eight small transforms at a time in vector registers (lanePlan).
//   - chirp, if the length has a prime factor above maxGonumFactor: Bluestein's chirp transform,
//     by a longer lanePlan. Gonum's time is quadratic in that factor, and it loses digits: 13 781
//     points, a prime (five seconds at 44.1 kHz in 16 segments), take 150 ms with an error of
//     2e-9, instead of 0.7 ms and 1e-15.
//   - plain otherwise: gonum's dsp/fourier.
//
// An even length is transformed as n/2 complex numbers x_0+ix_1, x_2+ix_3, …, except by plain;
// untangle then finds the transform of x.
type FFT struct {
	n     int
	plain *fourier.FFT
	lanes *lanePlan    // of n/2 points
	chirp *bluestein   // of n/2 points if n is even, otherwise of n points
	twist []complex128 // exp(−2πik/n), k = 0 … n/4, for untangle; nil if n is odd or plain is set
	z     []complex128 // scratch: the complex points
}

// maxGonumFactor is the largest prime factor of a length that gonum transforms. For
// larger factors Bluestein's transform is faster (BenchmarkFFTFactor).
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

// Coefficients computes X_k = Σ_j x_j exp(−2πijk/n) for k = 0 … ⌊n/2⌋, with n the
// length of the plan, into dst and returns it. If dst is nil, Coefficients allocates
// it. It panics unless x has n values and dst, if it is not nil, ⌊n/2⌋+1 values.
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

// pairs returns x as real numbers in the same memory: real and imaginary parts in turn.
func pairs(x []complex128) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// untangle fills dst with the transform X of x from z, the transform of the m = n/2 numbers
// x_0+ix_1, x_2+ix_3, …. twist has the powers of w = exp(−2πi/n).
//
// E = (z_k + z̄_{m−k})/2 is the transform of the samples with even numbers, and
// O = (z_k − z̄_{m−k})/2i the transform of the others. Then X_k = E + w^k·O and X_{m−k} = conj(E − w^k·O).
// The code calls the parts of E er and ei, of O or and oi, and of w^k·O tr and ti.
func untangle(dst, z, twist []complex128) {
	m := len(z)
	dst = dst[:m+1]
	r0, i0 := real(z[0]), imag(z[0])
	dst[0] = complex(r0+i0, 0)
	dst[m] = complex(r0-i0, 0)
	for k := 1; k <= m/2; k++ {
		a, b := z[k], z[m-k]
		er, ei := 0.5*(real(a)+real(b)), 0.5*(imag(a)-imag(b))
		or, oi := 0.5*(imag(a)+imag(b)), 0.5*(real(b)-real(a))
		tr, ti := mul(or, oi, real(twist[k]), imag(twist[k]))
		dst[k] = complex(er+tr, ei+ti)
		dst[m-k] = complex(er-tr, ti-ei)
	}
}

// unit returns exp(−2πik/n). It reduces the angle to one octant first, so that the result is
// exact to the last digit or nearly so.
func unit(k, n int) complex128 {
	k %= n
	if k < 0 {
		k += n
	}

	// q counts eighths of a turn: 8k = q·n + r. The angle within octant q is r/(8n) of a turn.
	q := 8 * k / n
	r := 8 * k % n
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
			largest = p
			n /= p
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

// bluestein computes a transform of any length n as a convolution with a chirp, because
// jk = (j² + k² − (k−j)²)/2. It computes the convolution by transforms of m points, m ≥ 2n−1.
type bluestein struct {
	n      int
	chirp  []complex128 // exp(−iπj²/n), j < n
	filter []complex128 // transform of the conjugate chirp, wrapped around, over m
	plan   *lanePlan    // of m points
	z      []complex128 // scratch of m points
}

// newBluestein returns the transform of n points.
func newBluestein(n int) *bluestein {
	c := &bluestein{n: n, chirp: make([]complex128, n)}

	// m is the smallest length that has a lanePlan.
	m := nextSmooth(max(lanes*lanes, 2*n-1))
	for c.plan = newLanePlan(m); c.plan == nil; c.plan = newLanePlan(m) {
		m = nextSmooth(m + 1)
	}

	c.z = make([]complex128, m)
	for j := range n {
		c.chirp[j] = unit(j*j%(2*n), 2*n) // j² modulo 2n first keeps the angle exact
		w := complex(real(c.chirp[j]), -imag(c.chirp[j]))
		w = complex(real(w)/float64(m), imag(w)/float64(m)) // the factor 1/m of the inverse transform
		c.z[j] = w
		if j > 0 {
			c.z[m-j] = w
		}
	}

	c.plan.complex(pairs(c.z), pairs(c.z))
	c.filter = slices.Clone(c.z)

	return c
}

// transform replaces x by its transform, in place.
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

// mul returns the product of the complex numbers a and b. The conversions round each partial product,
// so that no architecture fuses it with the addition: all machines give the same bits.
func mul(ar, ai, br, bi float64) (re, im float64) {
	return float64(ar*br) - float64(ai*bi), float64(ar*bi) + float64(ai*br)
}
