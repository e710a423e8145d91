// Package kernel contains the inner loops of training: dense layers, their gradients, the β-NLL and Adam, for networks
// of a few thousand weights. It also has products and triangular solves of float64 matrices (product.go, triangle.go),
// and Matérn correlations (matern.go).
//
// A Set is one implementation of the loops for networks. "portable" is plain Go and gives the same bits on every
// machine: it uses no fused multiply-add, and has exp and log of its own. "avx2" is assembly for amd64. It uses fused
// multiply-add, so that its last bits differ from the portable set's; they are the same on every machine that runs it.
// The functions for float64 matrices do not belong to a set. Their bits are the same everywhere. On processors with
// AVX-512, products of both kinds use its registers, with the same bits.
//
// # Layout
//
// Matrices are row-major. In all functions, the number of columns (n) is padded to a multiple of Lane, the length of a
// reduction (k) to a multiple of KStep, and the number of rows to a multiple of RowStep. The caller fills the padding
// with zeros, and the functions keep it zero. They panic if a slice is too short or a size is not padded.
package kernel

import (
	"errors"
	"fmt"
	"os"
)

// Float is the element type: networks are trained in float32; float64 checks them.
type Float interface{ ~float32 | ~float64 }

// The padding of matrices.
const (
	Lane    = 16 // columns are padded to a multiple of this
	KStep   = 4  // reductions are padded to a multiple of this
	RowStep = 4  // rows are padded to a multiple of this
)

// PadLane rounds a number of columns up to a multiple of Lane.
func PadLane(n int) int { return (n + Lane - 1) / Lane * Lane }

// PadK rounds a reduction length up to a multiple of KStep.
func PadK(k int) int { return (k + KStep - 1) / KStep * KStep }

// PadRows rounds a number of rows up to a multiple of RowStep.
func PadRows(r int) int { return (r + RowStep - 1) / RowStep * RowStep }

// Matrix is a matrix whose rows begin Stride numbers apart. Other matrices have no gaps between their rows.
type Matrix[T Float] struct {
	Data   []T
	Stride int
}

// MatrixOf returns the matrix in data whose rows begin stride numbers apart.
func MatrixOf[T Float](data []T, stride int) Matrix[T] { return Matrix[T]{data, stride} }

// Size is the size of the product of a matrix of Rows×K and a matrix of K×N.
type Size struct{ Rows, K, N int }

// Keep has a bit for each element of a matrix: column c is bit c%16 of word c/16 of a row. Rows begin Stride words
// apart; with 0, all rows have the same bits.
type Keep struct {
	Bits   []uint16
	Stride int
}

// AdamStep has the numbers of one Adam update, with ε outside the root:
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

	// Dense computes z = α·a·w + b: z Rows×N, a Rows×K, w K×N, b N.
	Dense func(z []T, a Matrix[T], w, b []T, size Size, alpha T)

	// DenseReLU computes z = keep ∘ max(0, α·a·w + b), with the shapes of Dense.
	DenseReLU func(z []T, a Matrix[T], w, b []T, keep Keep, size Size, alpha T)

	// Back computes dx = α·dy·wt for the elements with h > 0, and 0 for the others: dx and h Rows×N, dy Rows×K, wt K×N.
	// h is the result of DenseReLU: it is 0 where ReLU or dropout have set an element to 0.
	Back func(dx []T, dy Matrix[T], wt, h []T, size Size, alpha T)

	// Outer adds α·aᵀ·d to g: g K×N, a Rows×K, d Rows×N. If sum (N) is not nil, Outer adds the column sums of d to it,
	// without α.
	Outer func(g, sum []T, a Matrix[T], d []T, size Size, alpha T)

	// Transpose writes the transpose of src (rows×cols) to dst (cols×rows). It does not change the rest of dst. rows and
	// cols are multiples of KStep.
	Transpose func(dst, src Matrix[T], rows, cols int)

	// LossGrad computes for each element half the sum of the β-NLL of two targets, with the
	// weight c (docs/method.md#model-and-training):
	//
	//	v = softplus(raw) + 1e-6
	//	l = c·v^β·½·(log v + ½(q1²+q2²)/v), q1 = t1 − μ, q2 = t2 − μ
	//
	// It returns Σl, and fills gmu with ∂l/∂μ and graw with ∂l/∂raw. The derivatives take
	// v^β as constant (the stop gradient of the β-NLL). The caller passes a single target
	// twice. Lengths are equal and a multiple of Lane.
	LossGrad func(gmu, graw, mu, raw, t1, t2, c []T, beta T) T

	// AddRows adds the rows of d (rows×n) to sum (n), one after the other. n is a
	// multiple of Lane.
	AddRows func(sum, d []T, rows, n int)

	// Adam updates the weights w and the moments m and v by the gradient g, and sets g to
	// zero. Lengths are equal and a multiple of Lane.
	Adam func(w, g, m, v []T, s AdamStep[T])

	// Bits fills dst with independent bits that are 0 with the probability
	// drop/65536. len(dst) is a multiple of 32. Every set gives the same bits.
	Bits func(dst []uint16, drop uint16, s *Lanes)

	// Variance replaces raw by softplus(raw) + 1e-6, in place. The length is a multiple
	// of Lane.
	Variance func(raw []T)

	// Sums returns Σw·c, Σw·e·c and Σw·c², summed in float64. Lengths are
	// equal and a multiple of Lane.
	Sums func(c, w, e []T) [3]float64
}

// Lanes is the state of eight xoshiro256++ generators: word i of generator j is Lanes[i][j].
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

// ErrUnavailable is the error, wrapped by Resolve, that this CPU cannot run a set.
var ErrUnavailable = errors.New("not available on this CPU")

// Names returns the names of the sets that run on this machine, the fastest first.
func Names() []string {
	if avx2 == nil {
		return []string{"portable"}
	}
	return []string{"avx2", "portable"}
}

// Resolve returns the set with that name. "auto" and "" stand for the set in the environment variable
// DOUBLETAKE_KERNELS or, without it, for the fastest set that this machine runs.
func Resolve(name string) (*Set[float32], error) {
	if name != "" && name != "auto" {
		return named(name)
	}

	set, err := named(os.Getenv(EnvVar))
	if err != nil {
		return nil, fmt.Errorf("read the environment variable %s: %w", EnvVar, err)
	}

	return set, nil
}

// named returns the set with that name, and the fastest set that this machine runs for "auto" and "".
func named(name string) (*Set[float32], error) {
	switch name {
	case "portable":
		return portable32, nil

	case "", "auto":
		if avx2 == nil {
			return portable32, nil
		}

		return avx2, nil

	case "avx2":
		if avx2 == nil {
			return nil, fmt.Errorf("choose kernels %q: %w; here: portable", name, ErrUnavailable)
		}

		return avx2, nil
	}

	return nil, fmt.Errorf("choose kernels %q: expected auto, portable or avx2", name)
}

// portable32 is the portable set.
var portable32 = Portable[float32]()

// need panics with a text if ok is false.
func need(ok bool, what string) {
	if !ok {
		panic("kernel: " + what)
	}
}

// isPadded reports whether a size is a positive multiple of step.
func isPadded(size, step int) bool { return size > 0 && size%step == 0 }

// needPadded panics unless the sizes of a product are padded.
func needPadded(s Size) {
	need(isPadded(s.Rows, RowStep) && isPadded(s.K, KStep) && isPadded(s.N, Lane), "size is not padded")
}

// needRoom panics if m has no room for the given numbers of rows and columns.
func (m Matrix[T]) needRoom(rows, columns int) { needLength(len(m.Data), rows, columns, m.Stride) }

// needLength panics if a slice of the given length has no room for rows of size numbers that lie stride apart.
func needLength(length, rows, size, stride int) {
	need(stride >= size && length >= (rows-1)*stride+size, "slice is too short for its shape")
}

// checkGemm checks the shapes of Dense, DenseReLU and Back.
func checkGemm[T Float](z []T, a Matrix[T], w []T, s Size) {
	needPadded(s)
	needLength(len(z), s.Rows, s.N, s.N)
	a.needRoom(s.Rows, s.K)
	needLength(len(w), s.K, s.N, s.N)
}

// checkKeep checks that keep has bits for a result of the given size.
func checkKeep(keep Keep, s Size) {
	need(len(keep.Bits) >= (s.Rows-1)*keep.Stride+s.N/Lane, "keep is too short")
}

// checkOuter checks the shapes of Outer.
func checkOuter[T Float](g, sum []T, a Matrix[T], d []T, s Size) {
	needPadded(s)
	needLength(len(g), s.K, s.N, s.N)
	a.needRoom(s.Rows, s.K)
	needLength(len(d), s.Rows, s.N, s.N)
	need(sum == nil || len(sum) >= s.N, "sum is too short")
}

// checkRows checks the shapes of AddRows. sum and d are lengths of slices.
func checkRows(sum, d, rows, n int) {
	need(n%Lane == 0 && rows >= 0, "size is not padded")
	need(sum >= n && d >= rows*n, "slice is too short for its shape")
}

// checkTranspose checks the shapes of Transpose.
func checkTranspose[T Float](dst, src Matrix[T], rows, cols int) {
	need(isPadded(rows, KStep) && isPadded(cols, KStep), "size is not padded")
	src.needRoom(rows, cols)
	dst.needRoom(cols, rows)
}

// checkEqual panics unless n is a multiple of Lane and all other lengths equal n.
func checkEqual(n int, others ...int) {
	need(n%Lane == 0, "length is not padded")
	for _, o := range others {
		need(o == n, "lengths differ")
	}
}

// checkBits checks the number of words of Bits.
func checkBits(n int) { need(n%32 == 0, "number of bit words is not a multiple of 32") }
