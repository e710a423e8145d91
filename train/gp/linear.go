package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"

	"doubletake/train/kernel"
)

// blockSize is the largest number of rows of a matrix that is factorised or solved at once. Larger matrices are split,
// so that most of the work is matrix products, which package kernel does several times as fast as gonum.
const blockSize = 64

// half returns a multiple of blockSize near n/2, at which a matrix of n rows is split.
func half(n int) int { return (n/blockSize + 1) / 2 * blockSize }

// rowMajor returns a view of the row-major matrix in data with the given number of columns.
func rowMajor(columns int, data []float64) kernel.View {
	return kernel.View{Data: data, Row: columns, Col: 1}
}

// cholesky replaces the lower triangle of the n×n matrix a by its Cholesky factor. Its steps and bytes are the same as
// those of gonum's Dpotrf on amd64, with products by package kernel. Above the diagonal a is not defined afterwards. It
// returns errNotPositive if a is not positive definite.
//
// It computes the factor in blocks of columns, from the left. For each block it subtracts the products of the columns
// to the left, factorises the part on the diagonal, and solves for the part below the diagonal.
func cholesky(n int, a []float64) error {
	for j := 0; j < n; j += blockSize {
		size := min(blockSize, n-j)
		rows := rowMajor(n, a).From(j, 0)
		diagonal := rows.From(0, j)
		below := n - j - size
		kernel.SubtractDots(size, size, j, rows, rows, diagonal)

		if err := factoriseBlock(diagonal, size); err != nil {
			return err
		}

		if below == 0 {
			break
		}

		// gonum sums all products of an element at once, or blockSize at a time if the part below the diagonal has at least
		// four blocks, which it computes in parallel.
		summed := j
		if below > 3*blockSize {
			summed = blockSize
		}

		rowsBelow := rows.From(size, 0)
		for k := 0; k < j; k += summed {
			kernel.SubtractDots(below, size, summed, rowsBelow.From(0, k), rows.From(0, k), rowsBelow.From(0, j))
		}

		solveRight(diagonal, rowsBelow.From(0, j), size, below)
	}

	return nil
}

// factoriseBlock replaces the lower triangle of a (n×n, at most blockSize rows) by its Cholesky factor.
func factoriseBlock(a kernel.View, n int) error {
	_, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: a.Row, Data: a.Data, Uplo: blas.Lower})
	if !ok || math.IsNaN(a.Data[(n-1)*(a.Row+1)]) {
		return errNotPositive
	}

	return nil
}

// lower returns the lower triangle of the n×n matrix in a.
func lower(n int, a []float64) blas64.Triangular {
	return blas64.Triangular{N: n, Stride: n, Data: a, Uplo: blas.Lower, Diag: blas.NonUnit}
}

// Factorise replaces the lower triangle of a (n×n) by its Cholesky factor. Above the diagonal a is not defined
// afterwards. It returns an error if a is not positive definite. It is faster than cholesky, but its bytes are not
// gonum's.
func Factorise(a kernel.View, n int) error {
	if n <= blockSize {
		return factoriseBlock(a, n)
	}

	h := half(n)
	if err := Factorise(a, h); err != nil {
		return err
	}

	lowerLeft := a.From(h, 0)
	lowerRight := a.From(h, h)
	solveRight(a, lowerLeft, h, n-h)
	subtractSquare(n-h, h, lowerLeft, lowerRight)

	return Factorise(lowerRight, n-h)
}

// subtractSquare subtracts a·aᵀ (a is n×k) from c (n×n) on and below the diagonal, and above it only in some
// places.
func subtractSquare(n, k int, a, c kernel.View) {
	const block = 4 * blockSize
	for j := 0; j < n; j += block {
		kernel.Subtract(n-j, min(block, n-j), k, a.From(j, 0), a.From(j, 0).T(), c.From(j, j))
	}
}

// solveRight sets b (rows×n) to b·L⁻ᵀ, where L is the lower triangle of l (n×n).
func solveRight(l, b kernel.View, n, rows int) {
	if n <= blockSize {
		kernel.SolveDots(l, b, n, rows)
		return
	}

	h := half(n)
	solveRight(l, b, h, rows)
	kernel.Subtract(rows, n-h, h, b, l.From(h, 0).T(), b.From(0, h))
	solveRight(l.From(h, h), b.From(0, h), n-h, rows)
}

// SolveLeft sets b (n×columns, Col 1) to L⁻¹·b, where L is the lower triangle of l (n×n).
func SolveLeft(l, b kernel.View, n, columns int) {
	if n <= blockSize {
		kernel.Solve(l, b, n, columns, false)
		return
	}

	h := half(n)
	SolveLeft(l, b, h, columns)
	kernel.Subtract(n-h, columns, h, l.From(h, 0), b, b.From(h, 0))
	SolveLeft(l.From(h, h), b.From(h, 0), n-h, columns)
}

// invert replaces the lower triangle of a, a Cholesky factor L (n×n), by the lower triangle of (L·Lᵀ)⁻¹. Its
// steps and bytes are the same as those of gonum's Dpotri on amd64, with products by package kernel. Above the diagonal
// a is not defined afterwards. r must come from newRoom(n).
func invert(n int, a []float64, r *room) {
	r.invertTriangle(n, a)
	r.squareTriangle(n, a)
}

// invertTriangle replaces the lower triangle L of a (n×n) by L⁻¹, a block of columns after another from the last to
// the first. With the block L_jj on the diagonal and the rows L_bj below it, whose own triangle is inverted already,
// the rows below become −L_bb⁻¹·L_bj·L_jj⁻¹, and the block becomes L_jj⁻¹.
func (r *room) invertTriangle(n int, a []float64) {
	var lapack gonum.Implementation

	for j := lastBlock(n); j >= 0; j -= blockSize {
		size := min(blockSize, n-j)
		end := j + size
		diagonal := rowMajor(n, a).From(j, j)
		if end < n {
			inverted := rowMajor(n, a).From(end, end)
			below := rowMajor(n, a).From(end, j)
			for i := lastBlock(n - end); i >= 0; i -= blockSize {
				r.multiply(inverted, below, i, min(blockSize, n-end-i), blockSize, false)
			}

			r.divide(diagonal, below, n-end)
		}

		lapack.Dtrtri(blas.Lower, blas.NonUnit, size, diagonal.Data, n)
	}
}

// squareTriangle replaces the lower triangle M of a (n×n) by the lower triangle of MᵀM, a block of rows after
// another.
func (r *room) squareTriangle(n int, a []float64) {
	var lapack gonum.Implementation

	for i := 0; i < n; i += blockSize {
		size := min(blockSize, n-i)
		end := i + size
		diagonal := rowMajor(n, a).From(i, i)
		left := rowMajor(n, a).From(i, 0)
		r.multiply(diagonal.T(), left, 0, size, i, true)
		lapack.Dlauum(blas.Lower, size, diagonal.Data, n)

		if end < n {
			below := rowMajor(n, a).From(end, i)
			belowLeft := rowMajor(n, a).From(end, 0)
			kernel.Add(size, i, n-end, below.T(), belowLeft, left)
			kernel.Add(size, size, n-end, below.T(), below, diagonal)
		}
	}
}

// lastBlock returns the first row of the last block of n rows.
func lastBlock(n int) int { return (n - 1) / blockSize * blockSize }

// room holds copies of parts of a matrix that invert overwrites.
type room struct {
	triangle [blockSize * blockSize]float64
	copied   []float64 // up to n × blockSize
}

func newRoom(n int) *room { return &room{copied: make([]float64, n*blockSize)} }

// multiply sets n rows of b, from row first on, to these rows of t·b. t is an upper or a lower triangle, and b has the
// given number of columns. Of the products that make an element, multiply adds the one with the diagonal of t first,
// then the ones with the columns before first, and then the others with the rows' own block of t, as gonum does.
func (r *room) multiply(t, b kernel.View, first, n, columns int, upper bool) {
	rows := b.From(first, 0)
	own := t.From(first, first)
	clear(r.triangle[:])

	for i := range n {
		row := rows.Data[i*rows.Row:][:columns]
		copy(r.copied[i*columns:], row)

		d := own.Data[i*(own.Row+own.Col)]
		for c := range row {
			row[c] *= d
		}

		start := 0
		end := i
		if upper {
			start = i + 1
			end = n
		}

		for k := start; k < end; k++ {
			r.triangle[i*blockSize+k] = own.Data[i*own.Row+k*own.Col]
		}
	}

	kernel.Add(n, columns, first, t.From(first, 0), b, rows)
	kernel.Add(n, columns, n, rowMajor(blockSize, r.triangle[:]), rowMajor(columns, r.copied), rows)
}

// divide sets b (rows×blockSize) to −b·L⁻¹, where L is the lower triangle of l, from its last column to its
// first. It solves the transposed system Lᵀxᵀ = −bᵀ. With the order of columns reversed, Lᵀ is a lower
// triangle, which kernel.Solve takes.
func (r *room) divide(l, b kernel.View, rows int) {
	const last = blockSize - 1
	for k := range blockSize {
		for i := range rows {
			r.copied[k*rows+i] = -b.Data[i*b.Row+last-k]
		}

		for i := range k + 1 {
			r.triangle[k*blockSize+i] = l.Data[(last-i)*l.Row+last-k]
		}
	}

	kernel.Solve(rowMajor(blockSize, r.triangle[:]), rowMajor(rows, r.copied), blockSize, rows, true)

	for k := range blockSize {
		for i := range rows {
			b.Data[i*b.Row+last-k] = r.copied[k*rows+i]
		}
	}
}
