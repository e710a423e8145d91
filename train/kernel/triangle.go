package kernel

import "sync"

// solveRows is the number of rows that Solve takes.
const solveRows = 64

// solving is room for Solve: strips of −l, its diagonal, and columns of b.
type solving struct {
	l        [(solveRows + tileRows) * solveRows]float64
	diagonal [solveRows]float64
	b        [(solveRows + tileRows) * tileColumns]float64
}

var solvings = sync.Pool{New: func() any { return new(solving) }}

// Solve sets b (n×columns, Col 1) to L⁻¹·b, for the lower triangle L of l with up to 64
// rows. It subtracts rows in their order and then divides, by multiplying with the
// reciprocal unless divide: the bytes are gonum's.
func Solve(l, b View, n, columns int, divide bool) {
	need(b.Col == 1 && n <= solveRows, "the columns of b are not adjacent, or rows are too many")

	s := solvings.Get().(*solving)
	defer solvings.Put(s)

	for i := 0; i < n; i += tileRows {
		strip := s.l[i*n:][:tileRows*n]
		clear(strip)

		for r := range min(tileRows, n-i) {
			for k := range i + r {
				strip[k*tileRows+r] = -l.Data[(i+r)*l.Row+k*l.Col]
			}

			s.diagonal[i+r] = l.Data[(i+r)*(l.Row+l.Col)]
		}
	}

	for j := 0; j < columns; j += tileColumns {
		width := min(tileColumns, columns-j)
		for i := range n {
			row := s.b[i*tileColumns:][:tileColumns]
			clear(row[copy(row[:width], b.Data[i*b.Row+j:]):])
		}

		s.solve(n, divide)

		for i := range n {
			copy(b.Data[i*b.Row+j:][:width], s.b[i*tileColumns:])
		}
	}
}

// solve solves for the columns in s.b.
func (s *solving) solve(n int, divide bool) {
	for i := 0; i < n; i += tileRows {
		tile, strip := s.b[i*tileColumns:][:tileRows*tileColumns], s.l[i*n:]
		if i > 0 {
			rounded.tile(tile, strip, s.b[:], i, tileColumns)
		}

		rows := min(tileRows, n-i)
		for r := range rows {
			row, d := tile[r*tileColumns:][:tileColumns], s.diagonal[i+r]
			if divide {
				for c := range row {
					row[c] /= d
				}
			} else {
				d = 1 / d
				for c := range row {
					row[c] *= d
				}
			}

			if r+1 < rows { // the others' places in the strip are zero
				rounded.tile(tile, strip[(i+r)*tileRows:], row, 1, tileColumns)
			}
		}
	}
}

// Limits of SubtractDots.
const (
	dotColumns = 64
	dotParts   = 4
)

var dots = sync.Pool{New: func() any { return new([dotParts * blockRows * dotColumns]float64) }}

// SubtractDots subtracts from c (m×n, Col 1) the products of the rows of a with those of b,
// which has up to 64. Each has k numbers, a multiple of 4, and is the sum of four, of every
// fourth number: the bytes are those of gonum's dot products.
func SubtractDots(m, n, k int, a, b, c View) {
	need(c.Col == 1 && n <= dotColumns && k%dotParts == 0, "a shape that is not for dot products")

	room := dots.Get().(*[dotParts * blockRows * dotColumns]float64)
	defer dots.Put(room)

	every := func(v View, part int) View { return View{v.Data[part*v.Col:], v.Row, dotParts * v.Col} }
	for i := 0; i < m && k > 0; i += blockRows {
		rows := min(blockRows, m-i)
		size := rows * n
		sums := room[:dotParts*size]
		clear(sums)

		for p := range dotParts {
			Add(rows, n, k/dotParts, every(a.From(i, 0), p), every(b, p).T(), View{sums[p*size:], n, 1})
		}

		for r := range rows {
			row, at := c.Data[(i+r)*c.Row:][:n], r*n
			s0, s1, s2, s3 := sums[at:][:n], sums[at+size:][:n], sums[at+2*size:][:n], sums[at+3*size:][:n]
			for j := range row {
				row[j] -= (s1[j] + s3[j]) + (s0[j] + s2[j])
			}
		}
	}
}
