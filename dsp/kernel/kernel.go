// Package kernel holds the inner loops of spectra: butterflies, loads, transposes
// and power sums of the Fourier transform, and the counts that find medians.
//
// A Set is one implementation of the transform: "portable" in plain Go, "avx2"
// in assembly for amd64. They do the same operations in the same
// order, every product rounded (no fused multiply-add), so that both give
// the same bits on every machine; only the speed differs. Cache keys therefore
// do not contain the set.
//
// # Layout
//
// Transforms run eight at a time, one to a lane. A complex vector is the lanes'
// real parts, then their imaginary parts. Arrays of vectors are slices of their
// numbers. Twiddles are complex numbers as pairs.
// Shapes are the caller's responsibility to a point: each function checks that its
// slices are long enough, and panics if not. Which lengths there are, and in which
// steps, is package dsp's to plan.
package kernel

import "os"

// Number is a sample.
type Number interface{ float32 | float64 }

const (
	Lanes = 8         // transforms side by side
	Vec   = 2 * Lanes // numbers of a complex vector
)

// Set is one implementation. All functions are safe for concurrent use on
// different data and allocate nothing.
type Set struct {
	Name string

	// Stages runs two stages of the Stockham transform (decimation in frequency) at
	// once, of radix a, then of radix b, both 2 to 5; with b = 1 the first of a
	// transform alone, where s is 1. x
	// holds s interleaved sequences of a·b·q vectors, y receives s·a·b interleaved
	// sequences of q vectors. What passes between the stages stays in tmp, a·b
	// vectors. tw holds for each of the q groups the (a−1)·b twiddles of the first
	// stage, of its butterflies j, j+q, j+2q …, then the b−1 of the second. The
	// last radix of a transform has none, as they are all 1: q is 1, and y may be x.
	Stages func(y, x, tw, tmp []float64, a, b, q, s int, last bool)

	// Twist multiplies groups of eight vectors by twiddles and transposes them: row k
	// of x, times far[k] and lane by lane near[k], becomes lane k%8 of the eight
	// vectors that start at y[k/8·stride].
	Twist func(y, x, near, far []float64, stride, groups int)

	// LoadPair fills vectors from two real sequences under a Hann window: row r
	// has (a−meanA)·w as real and (b−meanB)·w as imaginary part, lanes from
	// r·stride on. Rows come in groups, of rows each, the first rows of
	// groups jump apart. The window w = ½ − ½cos(φ_r + ψ_l) is made from
	// row, ½cos φ and ½sin φ as a pair per row, and lane, a vector of cos ψ and
	// sin ψ: a table of the whole window would crowd the samples out of the
	// cache. LoadPair32 takes float32 samples.
	LoadPair   func(dst, a, b, row, lane []float64, meanA, meanB float64, stride, rows, jump, groups int)
	LoadPair32 func(dst []float64, a, b []float32, row, lane []float64, meanA, meanB float64, stride, rows, jump,
		groups int)

	// LoadComplex fills vectors from complex numbers (pairs), rows stride
	// numbers apart, in groups as LoadPair has them; StoreComplex is the inverse
	// for one group.
	LoadComplex  func(dst, src []float64, stride, rows, jump, groups int)
	StoreComplex func(dst, src []float64, stride, rows int)

	// AddPower adds the squared magnitudes of row r of x to sum from r·stride on.
	AddPower func(sum, x []float64, stride, rows int)

	// Untangle fills x and y, of one length, with scale times the squared magnitudes
	// of the sums and the differences of the pairs of low, from the first on, and the
	// conjugate pairs of high, from the last down. If y is x, it keeps those of the sums.
	Untangle func(x, y []float32, low, high []float64, scale float64)
}

// EnvVar names the environment variable that forces the portable set.
const EnvVar = "DOUBLETAKE_KERNELS"

// Best returns the fastest set that this machine runs, or the portable one if the
// environment variable DOUBLETAKE_KERNELS is "portable".
func Best() *Set {
	if s := fast(); s != nil && os.Getenv(EnvVar) != "portable" {
		return s
	}
	return Portable()
}

func need(ok bool) {
	if !ok {
		panic("kernel: slice is too short for its shape")
	}
}

func checkStages(y, x, tw, tmp []float64, a, b, q, s int, last bool) {
	n, group, factors := a*b*q*s*Vec, a*b*Vec, a*b-1
	if last {
		factors -= b - 1
	}

	need(q > 0 && s > 0 && (b > 1 && len(tmp) >= group || b == 1 && s == 1 && !last) && (!last || q == 1))
	need(len(y) >= n && len(x) >= n && len(tw) >= 2*factors*q)
}

func checkTwist(y, x, near, far []float64, stride, groups int) {
	const block = Lanes * Vec
	need(groups > 0 && stride >= 0 && len(y) >= (groups-1)*stride+block && len(x) >= groups*block &&
		len(near) >= groups*block && len(far) >= 2*groups*Lanes)
}

func checkPair[S Number](dst []float64, a, b []S, row, lane []float64, stride, rows, jump, groups int) {
	last := (groups-1)*jump + rows - 1
	n := last*stride + Lanes
	need(rows > 0 && groups > 0 && jump >= 0 && stride >= 0 && len(dst) >= rows*groups*Vec && len(a) >= n &&
		len(b) >= n && len(row) >= 2*(last+1) && len(lane) >= Vec)
}

func checkLoad(vectors, numbers []float64, stride, rows, jump, groups int) {
	last := (groups-1)*jump + rows - 1
	need(rows > 0 && groups > 0 && jump >= 0 && stride >= 0 && len(vectors) >= rows*groups*Vec &&
		len(numbers) >= 2*(last*stride+Lanes))
}

func checkComplex(vectors, numbers []float64, stride, rows int) {
	need(rows > 0 && stride >= 0 && len(vectors) >= rows*Vec && len(numbers) >= 2*((rows-1)*stride+Lanes))
}

func checkPower(sum, x []float64, stride, rows int) {
	need(rows > 0 && stride >= 0 && len(x) >= rows*Vec && len(sum) >= (rows-1)*stride+Lanes)
}

func checkUntangle(x, y []float32, low, high []float64) {
	need(len(x) == len(y) && len(low) >= 2*len(x) && len(high) >= 2*len(x))
}

// finish joins the eight sums of the whole blocks of 32 and adds the rest.
func finish[T Number](s *[8]float64, rest []T) float64 {
	sum := ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
	for _, v := range rest {
		sum += float64(v)
	}

	return sum
}
