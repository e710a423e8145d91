// Package kernel contains the inner loops of spectra: butterflies, loads, transposes
// and power sums of the Fourier transform, sums of samples, and the counts that find medians.
//
// A Set is one implementation of the transform: "portable" in plain Go, or "avx2"
// in assembly for amd64. Both do the same operations in the same order and round every
// product (no fused multiply-add), so that they give the same numbers on every machine. In a
// last stage, zeros may differ in their sign, which no power shows. Only the speed differs.
// Cache keys therefore do not contain the set.
//
// # Layout
//
// Eight transforms run side by side, one in each lane. A complex vector is the real parts
// of the eight lanes, then their imaginary parts: Vec numbers. A slice of vectors has their
// numbers one after the other. Other complex numbers, such as twiddles, are pairs of real
// and imaginary part.
//
// Package dsp plans the lengths and the steps. Each function of a Set panics if its arguments do not fit together.
package kernel

import "os"

// Number is a sample.
type Number interface{ float32 | float64 }

// The shape of vectors.
const (
	Lanes = 8         // transforms side by side
	Vec   = 2 * Lanes // numbers of a complex vector
)

// Set is one implementation. All functions are safe for concurrent use on
// different data and allocate nothing.
type Set struct {
	Name string

	// Stages runs two stages of the Stockham transform (decimation in frequency) at once,
	// of radix a and then of radix b, both 2 to 5. x has s interleaved sequences of a·b·q
	// vectors, and y gets s·a·b interleaved sequences of q vectors. Between the stages the
	// data of a group, a·b vectors, are in tmp.
	//
	// tw has for each of the q groups the twiddles of the first stage, then those of the second.
	// The first stage has (a−1)·b, because the first output of each of its b butterflies needs
	// none. The second stage has b−1. If last is true, these are the last stages of a transform:
	// q is 1, tw has no twiddles of the second stage, as they are all 1, and y may be x.
	//
	// With b = 1, Stages runs a single stage of radix a, which is the first of a transform: s
	// is 1, last is false, and tmp is not used.
	Stages func(y, x, tw, tmp []float64, a, b, q, s int, last bool)

	// Twist multiplies groups of eight vectors by twiddles and transposes them. It multiplies
	// vector k of x by the number k of far and, lane by lane, by the vector k of near. The
	// product becomes lane k%8 of the eight vectors that start at y[k/8·stride].
	Twist func(y, x, near, far []float64, stride, groups int)

	// LoadPair fills vectors from two real sequences under a Hann window. The vector of row r
	// has the real parts (a−meanA)·w and the imaginary parts (b−meanB)·w for the eight samples
	// from r·stride on. LoadPair takes groups of consecutive rows: each group has the given
	// number of rows and starts jump rows after the group before.
	//
	// The window is w = ½ − ½cos(φ_r + ψ_l) for row r and lane l. row has ½cos φ and ½sin φ
	// for each row, and lane is a vector of cos ψ and sin ψ. A table of the whole window
	// would displace the samples from the cache. LoadPair32 takes float32 samples.
	LoadPair   func(dst, a, b, row, lane []float64, meanA, meanB float64, stride, rows, jump, groups int)
	LoadPair32 func(dst []float64, a, b []float32, row, lane []float64, meanA, meanB float64, stride, rows, jump,
		groups int)

	// LoadComplex fills vectors from complex numbers. Rows lie stride complex numbers apart,
	// and come in groups as with LoadPair. StoreComplex does the inverse for one group.
	LoadComplex  func(dst, src []float64, stride, rows, jump, groups int)
	StoreComplex func(dst, src []float64, stride, rows int)

	// AddPower adds the squared magnitudes of vector r of x to the eight numbers of sum from
	// r·stride on.
	AddPower func(sum, x []float64, stride, rows int)

	// Untangle fills x and y, which are equally long, with squared magnitudes times scale.
	// With z_k the k-th complex number of low, and w_k the k-th of high counted from its end,
	// x[k] gets |z_k + conj(w_k)|² and y[k] gets |z_k − conj(w_k)|². If y is x, it gets
	// |z_k + conj(w_k)|².
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

// need panics if ok is false.
func need(ok bool) {
	if !ok {
		panic("kernel: the arguments do not fit together, such as a slice that is too short for its shape")
	}
}

// The check functions panic unless the arguments of a function of a Set fit together, because the assembly does not
// check them.

// checkStages checks the arguments of Stages.
func checkStages(y, x, tw, tmp []float64, a, b, q, s int, last bool) {
	n := a * b * q * s * Vec
	factors := a*b - 1 // of a group
	if last {
		factors -= b - 1
	}

	need(q > 0 && s > 0)
	need(hasButterfly(a))
	if b == 1 { // the first stage of a transform alone
		need(s == 1 && !last)
	} else {
		need(hasButterfly(b) && len(tmp) >= a*b*Vec)
	}

	need(!last || q == 1)
	need(len(y) >= n && len(x) >= n && len(tw) >= 2*factors*q)
}

// hasButterfly reports whether a stage may have the radix.
func hasButterfly(radix int) bool { return radix >= 2 && radix <= 5 }

// checkTwist checks the arguments of Twist.
func checkTwist(y, x, near, far []float64, stride, groups int) {
	const block = Lanes * Vec
	need(groups > 0 && stride >= 0)
	need(len(y) >= (groups-1)*stride+block && len(x) >= groups*block)
	need(len(near) >= groups*block && len(far) >= 2*groups*Lanes)
}

// checkPair checks the arguments of LoadPair and LoadPair32.
func checkPair[S Number](dst []float64, a, b []S, row, lane []float64, stride, rows, jump, groups int) {
	last := (groups-1)*jump + rows - 1
	n := last*stride + Lanes
	checkRows(dst, stride, rows, jump, groups)
	need(len(a) >= n && len(b) >= n)
	need(len(row) >= 2*(last+1) && len(lane) >= Vec)
}

// checkLoad checks the arguments of LoadComplex.
func checkLoad(vectors, numbers []float64, stride, rows, jump, groups int) {
	last := (groups-1)*jump + rows - 1
	checkRows(vectors, stride, rows, jump, groups)
	need(len(numbers) >= 2*(last*stride+Lanes))
}

// checkRows checks the vectors that LoadPair, LoadPair32 and LoadComplex fill: groups of rows, one vector each.
func checkRows(vectors []float64, stride, rows, jump, groups int) {
	need(rows > 0 && groups > 0)
	need(jump >= 0 && stride >= 0)
	need(len(vectors) >= rows*groups*Vec)
}

// checkComplex checks the arguments of StoreComplex.
func checkComplex(vectors, numbers []float64, stride, rows int) {
	need(rows > 0 && stride >= 0)
	need(len(vectors) >= rows*Vec && len(numbers) >= 2*((rows-1)*stride+Lanes))
}

// checkPower checks the arguments of AddPower.
func checkPower(sum, x []float64, stride, rows int) {
	need(rows > 0 && stride >= 0)
	need(len(x) >= rows*Vec && len(sum) >= (rows-1)*stride+Lanes)
}

// checkUntangle checks the arguments of Untangle.
func checkUntangle(x, y []float32, low, high []float64) {
	need(len(x) == len(y) && len(low) >= 2*len(x) && len(high) >= 2*len(x))
}
