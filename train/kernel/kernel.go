// Package kernel holds the inner loops of training: dense layers, their
// gradients, the β-NLL and Adam, for networks of a few thousand weights.
//
// A Set is one implementation of all of them. There are two: "portable" in
// plain Go, which gives the same bytes on every machine (no fused
// multiply-add, own exp and log), and "avx2" in assembly for amd64, which uses
// fused multiply-add and therefore differs from it in the last bits, and gives the
// same bytes on every such machine. Subtract, products of float64 matrices, belongs
// to no set: its bytes are the same everywhere.
//
// # Layout
//
// Matrices are row-major. Widths that are written as vectors (the n of every
// function) are padded to a multiple of Lane columns, reductions (k) to a
// multiple of KStep, rows to a multiple of RowStep; the caller keeps the
// padding zero, and zero padding stays zero through every function here. Shape
// misuse panics. Which layers there are, and in which order, is package train's.
package kernel

import (
	"errors"
	"fmt"
	"os"
)

// Float is the element type: networks are trained in float32; float64 checks them.
type Float interface{ ~float32 | ~float64 }

const (
	Lane    = 16 // columns are padded to a multiple of this
	KStep   = 4  // reductions are padded to a multiple of this
	RowStep = 4  // rows are padded to a multiple of this
)

// PadLane, PadK and PadRows round a size up to the padding of its kind.
func PadLane(n int) int { return (n + Lane - 1) / Lane * Lane }

// PadK rounds a reduction length up to a multiple of KStep.
func PadK(k int) int { return (k + KStep - 1) / KStep * KStep }

// PadRows rounds a number of rows up to a multiple of RowStep.
func PadRows(r int) int { return (r + RowStep - 1) / RowStep * RowStep }

// AdamStep are the scalars of one Adam update, with ε outside the root:
//
//	m ← β1·m + (1−β1)·g
//	v ← β2·v + (1−β2)·g²
//	w ← Decay·w − Rate·m/(√v·RootScale + Eps)
//
// with Rate = lr/(1−β1^t), RootScale = 1/√(1−β2^t), Decay = 1−lr·weightDecay.
// Moments below 1e-35 are taken as zero.
type AdamStep[T Float] struct {
	Beta1, OneMinusBeta1 T
	Beta2, OneMinusBeta2 T
	Rate, RootScale, Eps T
	Decay                T
}

// Set is one implementation of the inner loops. All functions are safe for
// concurrent use on different data and allocate nothing.
type Set[T Float] struct {
	Name string

	// Dense computes z = α·a·w + b: z rows×n, a rows×k with row stride lda,
	// w k×n, b n.
	Dense func(z, a []T, lda int, w, b []T, rows, k, n int, alpha T)

	// DenseReLU computes z = keep ∘ max(0, α·a·w + b). keep holds one bit per
	// element, 16 columns a word (bit c%16 of word c/16), keepStride words a
	// row; stride 0 uses one row for all.
	DenseReLU func(z, a []T, lda int, w, b []T, keep []uint16, keepStride int, rows, k, n int, alpha T)

	// Back computes dx = α·dy·wt where h > 0, else 0: dx and h rows×n, dy
	// rows×k with row stride ldy, wt k×n. h is what DenseReLU returned, so the
	// condition is ReLU and dropout in one.
	Back func(dx, dy []T, ldy int, wt, h []T, rows, k, n int, alpha T)

	// Outer adds α·aᵀ·d to g: g k×n, a rows×k with row stride lda, d rows×n;
	// unless nil, sum (n) is increased by the column sums of d (without α).
	Outer func(g, sum, a []T, lda int, d []T, rows, k, n int, alpha T)

	// Transpose writes src (rows×cols, row stride lds) to dst (cols×rows, row
	// stride ldd), leaving the rest of dst alone. rows and cols are multiples
	// of KStep.
	Transpose func(dst []T, ldd int, src []T, lds, rows, cols int)

	// LossGrad evaluates, element by element, half the sum of the β-NLL of two
	// targets with weight c (docs/method.md#model-and-training),
	//
	//	v = softplus(raw) + 1e-6
	//	l = c·v^β·½·(log v + ½(q1²+q2²)/v), q = t − μ
	//
	// returns Σl and writes ∂l/∂μ and ∂l/∂raw with v^β held constant (the stop
	// gradient of the β-NLL). A single target is given twice. Lengths are
	// equal and a multiple of Lane.
	LossGrad func(gmu, graw, mu, raw, t1, t2, c []T, beta T) T

	// AddRows adds the rows of d (rows×n) to sum (n), one after the other. n is a
	// multiple of Lane.
	AddRows func(sum, d []T, rows, n int)

	// Adam updates w, m, v from g and sets g to zero. Lengths are equal and a
	// multiple of Lane.
	Adam func(w, g, m, v []T, s AdamStep[T])

	// Bits fills dst with independent bits that are zero with probability
	// drop/65536; len(dst) is a multiple of 32. The bits are the same for
	// every set.
	Bits func(dst []uint16, drop uint16, s *Lanes)

	// Variance writes softplus(raw) + 1e-6 in place; the length is a multiple
	// of Lane.
	Variance func(raw []T)

	// Sums returns Σw·c, Σw·e·c and Σw·c², added up in float64. Lengths are
	// equal and a multiple of Lane.
	Sums func(c, w, e []T) [3]float64
}

// Lanes is the state of eight interleaved xoshiro256++ generators.
type Lanes [4][8]uint64

// NewLanes seeds the eight generators from one number by splitmix64.
func NewLanes(seed uint64) *Lanes {
	var s Lanes
	for j := range 8 {
		for i := range 4 {
			seed += 0x9E3779B97F4A7C15
			z := seed
			z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
			z = (z ^ z>>27) * 0x94D049BB133111EB
			s[i][j] = z ^ z>>31
		}
	}

	return &s
}

// EnvVar names the environment variable that overrides the choice of "auto".
const EnvVar = "DOUBLETAKE_KERNELS"

// ErrUnavailable is wrapped by Resolve when this CPU lacks the set asked for.
var ErrUnavailable = errors.New("not available on this CPU")

// Names returns the sets that run on this machine, fastest first.
func Names() []string {
	if avx2 == nil {
		return []string{"portable"}
	}
	return []string{"avx2", "portable"}
}

// Resolve returns the set of that name; "auto" and "" take the fastest this
// machine runs, or what DOUBLETAKE_KERNELS names.
func Resolve(name string) (*Set[float32], error) {
	if name == "" || name == "auto" {
		name = os.Getenv(EnvVar)
	}

	switch {
	case name == "portable", (name == "" || name == "auto") && avx2 == nil:
		return portable32, nil
	case name == "avx2" && avx2 == nil:
		return nil, fmt.Errorf("choose kernels %q: %w; here: portable", name, ErrUnavailable)
	case name == "", name == "auto", name == "avx2":
		return avx2, nil
	case name == "avx512":
		return nil, fmt.Errorf("choose kernels %q: it went in 0.2.0; avx2 gives the same bytes on every x86 machine", name)
	}

	return nil, fmt.Errorf("choose kernels %q: expected auto, portable or avx2", name)
}

var portable32 = Portable[float32]()

func need(ok bool, what string) {
	if !ok {
		panic("kernel: " + what)
	}
}

func checkGemm(z, a, lda, w, rows, k, n int) {
	need(rows%RowStep == 0 && k%KStep == 0 && n%Lane == 0 && rows > 0 && k > 0 && n > 0, "size is not padded")
	need(lda >= k && z >= rows*n && a >= (rows-1)*lda+k && w >= k*n, "slice is too short for its shape")
}

func checkOuter[T Float](g int, sum []T, a, lda, d, rows, k, n int) {
	need(rows%RowStep == 0 && k%KStep == 0 && n%Lane == 0 && rows > 0 && k > 0 && n > 0, "size is not padded")
	need(lda >= k && g >= k*n && a >= (rows-1)*lda+k && d >= rows*n, "slice is too short for its shape")
	need(sum == nil || len(sum) >= n, "sum is too short")
}

func checkRows(sum, d, rows, n int) {
	need(n%Lane == 0 && rows >= 0, "size is not padded")
	need(sum >= n && d >= rows*n, "slice is too short for its shape")
}

func checkTranspose(dst, ldd, src, lds, rows, cols int) {
	need(rows%KStep == 0 && cols%KStep == 0 && rows > 0 && cols > 0, "size is not padded")
	need(lds >= cols && ldd >= rows && src >= (rows-1)*lds+cols && dst >= (cols-1)*ldd+rows,
		"slice is too short for its shape")
}

// checkEqual panics unless the lengths are one, and a multiple of Lane.
func checkEqual(n int, others ...int) {
	need(n%Lane == 0, "length is not padded")
	for _, o := range others {
		need(o == n, "lengths differ")
	}
}

func checkBits(n int) { need(n%32 == 0, "number of bit words is not a multiple of 32") }
