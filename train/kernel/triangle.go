package kernel

import "sync"

// solveRows is the number of rows that Solve takes.
const solveRows = 64

// solving is room: strips of −l, its diagonal, and columns of b.
type solving struct {
	l        [(solveRows + tileRows) * solveRows]float64
	diagonal [solveRows]float64
	b        [(solveRows + tileRows) * tileColumns]float64

	// Of SolveDots.
	dots    [solveRows * solveRows / dotParts * tileRows]float64
	columns [dotParts][solveRows / dotParts][tileColumns]float64
	sums    [dotParts][tileRows * tileColumns]float64
}

var solvings = sync.Pool{New: func() any { return new(solving) }}

// Solve sets b (n×columns, Col 1) to L⁻¹·b, for the lower triangle L of l with up to 64
// rows. It subtracts rows in their order and then divides, by multiplying with the
// reciprocal unless divide: the bytes are gonum's on amd64.
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
			rounded(tile, strip, s.b[:], i, tileColumns)
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
				rounded(tile, strip[(i+r)*tileRows:], row, 1, tileColumns)
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
// which has up to 64. Rows have k numbers, a multiple of 4. A product is added up in four parts,
// each of every fourth number: the bytes are those of gonum's dot products on amd64.
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

// SolveDots sets b (rows×n, Col 1) to b·L⁻ᵀ, for the lower triangle L of l with up to 64 rows.
// It subtracts products as SubtractDots does and divides: the bytes are gonum's on amd64.
// Where a product has not a multiple of 4 numbers, the last go to the first of the four sums.
func SolveDots(l, b View, n, rows int) {
	need(b.Col == 1 && n <= solveRows, "the columns of b are not adjacent, or of l too many")

	s := solvings.Get().(*solving)
	defer solvings.Put(s)

	// Strips of four rows of l for each of the four sums, and the columns of b likewise.
	const strip = solveRows / dotParts * tileRows
	for j := range n {
		at := j / dotParts * dotParts * strip
		for k := range j / dotParts * dotParts {
			s.dots[at+k%dotParts*strip+k/dotParts*tileRows+j%dotParts] = l.Data[j*l.Row+k*l.Col]
		}
	}

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
					rounded(s.sums[p][:], part, s.columns[p][0][:], j/dotParts, tileColumns)
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

// divide finishes column j+r of b: j is a multiple of 4, r less than 4.
func (s *solving) divide(l View, j, r int) {
	at := r * tileColumns
	s0, s1 := s.sums[0][at:][:tileColumns], s.sums[1][at:][:tileColumns]
	s2, s3 := s.sums[2][at:][:tileColumns], s.sums[3][at:][:tileColumns]
	for k := range r {
		v := l.Data[(j+r)*l.Row+(j+k)*l.Col]
		for c, x := range s.columns[k][j/dotParts] {
			s0[c] += float64(v * x)
		}
	}

	d, x := l.Data[(j+r)*(l.Row+l.Col)], &s.columns[r][j/dotParts]
	for c := range x {
		x[c] = (x[c] - ((s1[c] + s3[c]) + (s0[c] + s2[c]))) / d
	}
}
