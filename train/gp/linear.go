package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"doubletake/train/kernel"
)

// small is the size from which matrices are halved: most of the work is then matrix
// products, which package kernel does several times as fast as gonum.
const small = 64

// half splits a size at a multiple of small.
func half(n int) int { return (n/small + 1) / 2 * small }

// square is the n×n matrix in a.
func square(n int, a []float64) kernel.View { return kernel.View{Data: a, Row: n, Col: 1} }

// cholesky factorises the lower triangle of a in place; the rest is not touched.
func cholesky(n int, a []float64) error { return choleskyOf(square(n, a), n) }

func choleskyOf(a kernel.View, n int) error {
	_, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: a.Row, Data: a.Data, Uplo: blas.Lower})
	if !ok || math.IsNaN(a.Data[(n-1)*(a.Row+1)]) {
		return errNotPositive
	}

	return nil
}

func lower(n int, a []float64) blas64.Triangular { return lowerOf(square(n, a), n) }

func lowerOf(a kernel.View, n int) blas64.Triangular {
	return blas64.Triangular{N: n, Stride: a.Row, Data: a.Data, Uplo: blas.Lower, Diag: blas.NonUnit}
}

func general(a kernel.View, rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: a.Row, Data: a.Data}
}

// Factorise replaces the lower triangle of a (n×n) by its Cholesky factor L. Above the
// diagonal a is not defined afterwards.
func Factorise(a kernel.View, n int) error {
	if n <= small {
		return choleskyOf(a, n)
	}

	h := half(n)
	if err := Factorise(a, h); err != nil {
		return err
	}

	left, rest := a.From(h, 0), a.From(h, h)
	solveRight(a, left, h, n-h)
	subtractSquare(n-h, h, left, rest)

	return Factorise(rest, n-h)
}

// subtractSquare subtracts a·aᵀ (a n×k) from c, at least on and below its diagonal.
func subtractSquare(n, k int, a, c kernel.View) {
	const block = 4 * small
	for j := 0; j < n; j += block {
		kernel.Subtract(n-j, min(block, n-j), k, a.From(j, 0), a.From(j, 0).T(), c.From(j, j))
	}
}

// solveRight sets b (rows×n) to b·L⁻ᵀ.
func solveRight(l, b kernel.View, n, rows int) {
	if n <= small {
		blas64.Trsm(blas.Right, blas.Trans, 1, lowerOf(l, n), general(b, rows, n))
		return
	}

	h := half(n)
	solveRight(l, b, h, rows)
	kernel.Subtract(rows, n-h, h, b, l.From(h, 0).T(), b.From(0, h))
	solveRight(l.From(h, h), b.From(0, h), n-h, rows)
}

// SolveLeft sets b (n×columns, Col 1) to L⁻¹·b.
func SolveLeft(l, b kernel.View, n, columns int) {
	if n <= small {
		blas64.Trsm(blas.Left, blas.NoTrans, 1, lowerOf(l, n), general(b, n, columns))
		return
	}

	h := half(n)
	SolveLeft(l, b, h, columns)
	kernel.Subtract(n-h, columns, h, l.From(h, 0), b, b.From(h, 0))
	SolveLeft(l.From(h, h), b.From(h, 0), n-h, columns)
}
