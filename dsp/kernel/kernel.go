// Package kernel holds the inner loops of the Fourier transform: butterflies,
// loads, transposes and power sums, for float64.
//
// A Set is one implementation of all of them: "portable" in plain Go, "avx2"
// and "avx512" in assembly for amd64. They do the same operations in the same
// order, every product rounded (no fused multiply-add), so that all sets give
// the same bits on every machine; only the speed differs. Cache keys therefore
// do not contain the set.
//
// # Layout
//
// Transforms run eight at a time, one to a lane. A complex vector is 16
// numbers: the eight lanes' real parts, then their imaginary parts. Arrays of
// vectors are slices of float64, 16 numbers to the vector. Twiddles are
// complex numbers as pairs. Shapes are the caller's responsibility to a point:
// each function checks that its slices are long enough, and panics if not. Which
// lengths there are, and in which steps, is package dsp's to plan.
package kernel

import (
	"os"
	"slices"
)

const (
	Lanes = 8         // transforms side by side
	Vec   = 2 * Lanes // numbers in a complex vector
)

// Set is one implementation. All functions are safe for concurrent use on
// different data and allocate nothing.
type Set struct {
	Name string

	// Radix holds, by radix 2 to 5, a stage of the Stockham transform
	// (decimation in frequency): x holds s interleaved sequences of radix·q
	// vectors, y receives s·radix interleaved sequences of q vectors, tw holds
	// radix−1 twiddles for each of the q butterflies.
	Radix [6]func(y, x, tw []float64, q, s int)

	// Last is Radix for q = 1, where all twiddles are 1.
	Last [6]func(y, x []float64, s int)

	// Pair holds, by two radices that follow each other, both their stages at
	// once: Radix[a] of q·b butterflies, then Radix[b] of q, with the same bits,
	// but what passes between them stays in tmp, a·b vectors. tw holds for each
	// of the q groups the (a−1)·b twiddles of the first stage, of its
	// butterflies j, j+q, j+2q …, then the b−1 of the second. LastPair is Pair
	// for q = 1, where the second stage has none; y may be x. Nil where there is
	// no such function: two stages do the same.
	Pair     [6][6]func(y, x, tw, tmp []float64, q, s int)
	LastPair [6][6]func(y, x, tw, tmp []float64, s int)

	// Twist multiplies groups of eight vectors by twiddles and transposes
	// them: row k of x, times far[k] and lane by lane near[k], becomes lane
	// k%8 of the eight vectors that start at y[k/8·stride].
	Twist func(y, x, near, far []float64, stride, groups int)

	// LoadPair fills vectors from two real sequences under a Hann window: row r
	// has (a−meanA)·w as real and (b−meanB)·w as imaginary part, lanes at
	// r·stride … r·stride+7. Rows come in groups, of rows each, the first rows of
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

	// SetPower writes the squared magnitudes of row r of x to
	// sum[r·stride … r·stride+7]; AddPower adds them.
	SetPower func(sum, x []float64, stride, rows int)
	AddPower func(sum, x []float64, stride, rows int)

	// Sum and Sum32 add a sequence in 32 lanes.
	Sum   func(x []float64) float64
	Sum32 func(x []float32) float64
}

// EnvVar names the environment variable that overrides the choice.
const EnvVar = "DOUBLETAKE_KERNELS"

// Sets returns the sets that run on this machine, fastest first.
func Sets() []*Set { return append(slices.Clone(fast()), Portable) }

// Best returns the fastest set this machine runs, or the one the environment
// variable DOUBLETAKE_KERNELS names, if it runs here.
func Best() *Set {
	sets := Sets()
	if name := os.Getenv(EnvVar); name != "" {
		for _, s := range sets {
			if s.Name == name {
				return s
			}
		}
	}
	return sets[0]
}

func need(ok bool) {
	if !ok {
		panic("kernel: slice is too short for its shape")
	}
}

func checkRadix(y, x, tw, r, q, s int) {
	need(q > 0 && s > 0 && y >= r*q*s*Vec && x >= r*q*s*Vec && tw >= 2*(r-1)*q)
}

func checkTwist(y, x, near, far, stride, groups int) {
	need(groups > 0 && stride >= 0 && y >= (groups-1)*stride+Lanes*Vec && x >= groups*Lanes*Vec &&
		near >= groups*Lanes*Vec && far >= 2*groups*Lanes)
}

func checkStages(y, x, tw, tmp, a, b, q, s int) {
	need(q > 0 && s > 0 && y >= a*b*q*s*Vec && x >= a*b*q*s*Vec && tw >= 2*(a*b-1)*q && tmp >= a*b*Vec)
}

func checkLastStages(y, x, tw, tmp, a, b, s int) {
	need(s > 0 && y >= a*b*s*Vec && x >= a*b*s*Vec && tw >= 2*(a-1)*b && tmp >= a*b*Vec)
}

func checkPair(dst, a, b, row, lane, stride, rows, jump, groups int) {
	last := (groups-1)*jump + rows - 1
	n := last*stride + Lanes
	need(rows > 0 && groups > 0 && jump >= 0 && stride >= 0 && dst >= rows*groups*Vec && a >= n && b >= n &&
		row >= 2*(last+1) && lane >= Vec)
}

func checkLoad(vectors, numbers, stride, rows, jump, groups int) {
	last := (groups-1)*jump + rows - 1
	need(rows > 0 && groups > 0 && jump >= 0 && stride >= 0 && vectors >= rows*groups*Vec &&
		numbers >= 2*(last*stride+Lanes))
}

func checkComplex(vectors, numbers, stride, rows int) {
	need(rows > 0 && stride >= 0 && vectors >= rows*Vec && numbers >= 2*((rows-1)*stride+Lanes))
}

func checkPower(sum, x, stride, rows int) {
	need(rows > 0 && stride >= 0 && x >= rows*Vec && sum >= (rows-1)*stride+Lanes)
}

// finish joins the eight sums of the whole blocks of 32 and adds the rest.
func finish[T float32 | float64](s *[8]float64, rest []T) float64 {
	sum := ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
	for _, v := range rest {
		sum += float64(v)
	}
	return sum
}
