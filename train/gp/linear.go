package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"
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

// cholesky replaces the lower triangle of a by its Cholesky factor. Its steps and bytes are
// those of gonum's Dpotrf on amd64, with products by package kernel. Above the diagonal a is not
// defined afterwards.
func cholesky(n int, a []float64) error {
	for j := 0; j < n; j += small {
		size, row := min(small, n-j), square(n, a).From(j, 0)
		own, below := row.From(0, j), n-j-size
		kernel.SubtractDots(size, size, j, row, row, own)

		if err := choleskyOf(own, size); err != nil {
			return err
		}

		if below == 0 {
			break
		}

		part := j // of the products that are summed at once
		if below > 3*small {
			part = small
		}

		left := row.From(size, 0)
		for k := 0; k < j; k += part {
			kernel.SubtractDots(below, size, part, left.From(0, k), row.From(0, k), left.From(0, j))
		}

		solveRight(own, left.From(0, j), size, below)
	}

	return nil
}

func choleskyOf(a kernel.View, n int) error {
	_, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: a.Row, Data: a.Data, Uplo: blas.Lower})
	if !ok || math.IsNaN(a.Data[(n-1)*(a.Row+1)]) {
		return errNotPositive
	}

	return nil
}

func lower(n int, a []float64) blas64.Triangular {
	return blas64.Triangular{N: n, Stride: n, Data: a, Uplo: blas.Lower, Diag: blas.NonUnit}
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
		kernel.SolveDots(l, b, n, rows)
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
		kernel.Solve(l, b, n, columns, false)
		return
	}

	h := half(n)
	SolveLeft(l, b, h, columns)
	kernel.Subtract(n-h, columns, h, l.From(h, 0), b, b.From(h, 0))
	SolveLeft(l.From(h, h), b.From(h, 0), n-h, columns)
}

// invert replaces the lower triangle of a, a Cholesky factor L, by that of (L·Lᵀ)⁻¹. Its
// steps and bytes are those of gonum's Dpotri on amd64, with products by package kernel. Above
// the diagonal a is not defined afterwards.
func invert(n int, a []float64, r *room) {
	var lapack gonum.Implementation

	for j := (n - 1) / small * small; j >= 0; j -= small {
		size := min(small, n-j)
		from := j + size
		l := square(n, a).From(j, j)
		if from < n {
			t, b := square(n, a).From(from, from), square(n, a).From(from, j)
			for i := (n - from - 1) / small * small; i >= 0; i -= small {
				r.multiply(t, b, i, min(small, n-from-i), small, false)
			}

			r.solve(l, b, n-from)
		}

		lapack.Dtrtri(blas.Lower, blas.NonUnit, size, l.Data, n)
	}

	for i := 0; i < n; i += small {
		size := min(small, n-i)
		from := i + size
		l, b := square(n, a).From(i, i), square(n, a).From(i, 0)
		r.multiply(l.T(), b, 0, size, i, true)
		lapack.Dlauum(blas.Lower, size, l.Data, n)

		if from < n {
			c, below := square(n, a).From(from, i), square(n, a).From(from, 0)
			kernel.Add(size, i, n-from, c.T(), below, b)
			kernel.Add(size, size, n-from, c.T(), c, l)
		}
	}
}

// room is for parts of matrices that invert copies.
type room struct {
	triangle [small * small]float64
	copied   []float64
}

func newRoom(n int) *room { return &room{copied: make([]float64, n*small)} }

// multiply sets n rows of b from the first on to those of t·b, where t is a triangle: its
// diagonal, the columns before the first, and then what is left of the rows' own.
func (r *room) multiply(t, b kernel.View, first, n, columns int, upper bool) {
	rows, own := b.From(first, 0), t.From(first, first)
	clear(r.triangle[:])

	for i := range n {
		row := rows.Data[i*rows.Row:][:columns]
		copy(r.copied[i*columns:], row)

		d := own.Data[i*(own.Row+own.Col)]
		for c := range row {
			row[c] *= d
		}

		from, to := 0, i
		if upper {
			from, to = i+1, n
		}

		for k := from; k < to; k++ {
			r.triangle[i*small+k] = own.Data[i*own.Row+k*own.Col]
		}
	}

	kernel.Add(n, columns, first, t.From(first, 0), b, rows)
	kernel.Add(n, columns, n, square(small, r.triangle[:]), kernel.View{Data: r.copied, Row: columns, Col: 1}, rows)
}

// solve sets b (rows×small) to −b·L⁻¹, from its last column to its first: as rows from the
// first to the last.
func (r *room) solve(l, b kernel.View, rows int) {
	const last = small - 1
	for k := range small {
		for i := range rows {
			r.copied[k*rows+i] = -b.Data[i*b.Row+last-k]
		}

		for i := range k + 1 {
			r.triangle[k*small+i] = l.Data[(last-i)*l.Row+last-k]
		}
	}

	kernel.Solve(square(small, r.triangle[:]), kernel.View{Data: r.copied, Row: rows, Col: 1}, small, rows, true)

	for k := range small {
		for i := range rows {
			b.Data[i*b.Row+last-k] = r.copied[k*rows+i]
		}
	}
}
