package kernel

import "sync"

// The functions in this file solve triangular systems by the tiles of product.go. Their results have the same bits as
// gonum's functions on amd64, which they replace because they are faster. So the order of all operations is gonum's.

// solveRows is the greatest number of rows of a triangle.
const solveRows = 64

// solving is scratch memory.
type solving struct {
	// For Solve.
	l        [(solveRows + tileRows) * solveRows]float64   // −l in strips of tileRows rows, column by column
	diagonal [solveRows]float64                            // of l
	b        [(solveRows + tileRows) * tileColumns]float64 // up to tileColumns columns of b, row by row

	// For SolveDots. A product is the sum of dotParts sums; part p has the terms whose index is p modulo dotParts.
	dots    [solveRows * solveRows / dotParts * tileRows]float64 // l in strips of dotParts rows, one per part
	columns [dotParts][solveRows / dotParts][tileColumns]float64 // up to tileColumns rows of b, by part and column
	sums    [dotParts][tileRows * tileColumns]float64            // the sums of a strip
}

// solvings keeps scratch memory for later calls.
var solvings = sync.Pool{New: func() any { return new(solving) }}

// Solve replaces b (n×columns, b.Col 1) by L⁻¹·b. L is the lower triangle of l, with n rows, at most solveRows.
// Solve subtracts multiples of the rows of b in order, and then divides each row by the diagonal. If divide is false,
// it multiplies by the reciprocal instead.
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

// solve does the work of Solve for the columns in s.b.
func (s *solving) solve(n int, divide bool) {
	for i := 0; i < n; i += tileRows {
		tile := s.b[i*tileColumns:][:tileRows*tileColumns]
		strip := s.l[i*n:]
		if i > 0 {
			tiles.add(tile, strip, s.b[:], i, tileColumns)
		}

		rows := min(tileRows, n-i)
		for r := range rows {
			row := tile[r*tileColumns:][:tileColumns]
			d := s.diagonal[i+r]
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

			if r+1 < rows { // subtract it from the later rows; for the others the strip has zeros
				tiles.add(tile, strip[(i+r)*tileRows:], row, 1, tileColumns)
			}
		}
	}
}

const (
	dotColumns = 64 // greatest number of rows of b in SubtractDots
	dotParts   = 4  // number of sums that gonum adds a dot product in
)

// dotSums has the partial sums of a block in SubtractDots: [part][row][column].
type dotSums [dotParts * blockRows * dotColumns]float64

// dots keeps scratch memory for later calls.
var dots = sync.Pool{New: func() any { return new(dotSums) }}

// SubtractDots subtracts from each element (i, j) of c (m×n, c.Col 1) the dot product of row i of a and row j of b. n
// is at most dotColumns. The rows have k numbers, a multiple of dotParts. A dot product is added in dotParts sums, as
// gonum does: sum p has the terms whose index is p modulo dotParts.
func SubtractDots(m, n, k int, a, b, c View) {
	need(c.Col == 1 && n <= dotColumns && k%dotParts == 0, "the columns of c are not adjacent, or a size does not fit")

	room := dots.Get().(*dotSums)
	defer dots.Put(room)

	for i := 0; i < m && k > 0; i += blockRows {
		rows := min(blockRows, m-i)
		size := rows * n
		sums := room[:dotParts*size]
		clear(sums)

		for p := range dotParts {
			Add(rows, n, k/dotParts, a.From(i, 0).part(p), b.part(p).T(), View{sums[p*size:], n, 1})
		}

		for r := range rows {
			row := c.Data[(i+r)*c.Row:][:n]
			offset := r * n
			s0 := sums[offset:][:n]
			s1 := sums[offset+size:][:n]
			s2 := sums[offset+2*size:][:n]
			s3 := sums[offset+3*size:][:n]
			for j := range row {
				row[j] -= (s1[j] + s3[j]) + (s0[j] + s2[j])
			}
		}
	}
}

// part returns the columns of v whose index is p modulo dotParts.
func (v View) part(p int) View { return View{v.Data[p*v.Col:], v.Row, dotParts * v.Col} }

// SolveDots replaces b (rows×n, b.Col 1) by b·L⁻ᵀ. L is the lower triangle of l, with n rows, at most
// solveRows. For each column of b it subtracts dot products with the columns before, as SubtractDots does, and
// divides by the diagonal. If a dot product has not a multiple of dotParts terms, the last ones go to the first sum.
func SolveDots(l, b View, n, rows int) {
	need(b.Col == 1 && n <= solveRows, "the columns of b are not adjacent, or of l too many")

	s := solvings.Get().(*solving)
	defer solvings.Put(s)

	const strip = solveRows / dotParts * tileRows // numbers of a strip of s.dots
	s.packDots(l, n, strip)

	for i := 0; i < rows; i += tileColumns {
		width := min(tileColumns, rows-i)
		for r := range width {
			for k, v := range b.Data[(i+r)*b.Row:][:n] {
				s.columns[k%dotParts][k/dotParts][r] = v
			}
		}

		for j := 0; j < n; j += dotParts {
			for p := range dotParts {
				clear(s.sums[p][:])
				if j > 0 {
					part := s.dots[(j+p)*strip:]
					tiles.add(s.sums[p][:], part, s.columns[p][0][:], j/dotParts, tileColumns)
				}
			}

			for r := range min(dotParts, n-j) {
				s.divide(l, j, r)
			}
		}

		for r := range width {
			row := b.Data[(i+r)*b.Row:][:n]
			for k := range row {
				row[k] = s.columns[k%dotParts][k/dotParts][r]
			}
		}
	}
}

// packDots packs the first n rows of l into s.dots. The strip of the rows j … j+dotParts−1 for part p is number
// j+p.
func (s *solving) packDots(l View, n, strip int) {
	for j := range n {
		whole := j / dotParts * dotParts // the terms of the dot product that divide evenly into parts
		for k := range whole {
			s.dots[(whole+k%dotParts)*strip+k/dotParts*tileRows+j%dotParts] = l.Data[j*l.Row+k*l.Col]
		}
	}
}

// divide finishes column j+r of b, with j a multiple of dotParts and r < dotParts: it adds the last r terms of the dot
// product to the first sum, subtracts the dot product, and divides by the diagonal.
func (s *solving) divide(l View, j, r int) {
	offset := r * tileColumns
	s0 := s.sums[0][offset:][:tileColumns]
	s1 := s.sums[1][offset:][:tileColumns]
	s2 := s.sums[2][offset:][:tileColumns]
	s3 := s.sums[3][offset:][:tileColumns]
	for k := range r {
		v := l.Data[(j+r)*l.Row+(j+k)*l.Col]
		for c, x := range s.columns[k][j/dotParts] {
			s0[c] += float64(v * x)
		}
	}

	d := l.Data[(j+r)*(l.Row+l.Col)]
	x := &s.columns[r][j/dotParts]
	for c := range x {
		x[c] = (x[c] - ((s1[c] + s3[c]) + (s0[c] + s2[c]))) / d
	}
}
