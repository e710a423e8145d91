package kernel

import (
	"math"
	"sync"
)

// View is a matrix of numbers in a slice: element (i, j) is Data[i·Row + j·Col].
type View struct {
	Data     []float64
	Row, Col int
}

// From is the part of v that begins at element (i, j).
func (v View) From(i, j int) View { return View{v.Data[i*v.Row+j*v.Col:], v.Row, v.Col} }

// T is the transpose of v.
func (v View) T() View { return View{v.Data, v.Col, v.Row} }

// Sizes of the tiles that are held in registers, and of the packed parts of a and
// b, which are held in the caches.
const (
	tileRows, tileColumns = 6, 16
	depth                 = 192
	blockRows             = 16 * tileRows
	blockColumns          = 32 * tileColumns
)

// packed are the packed parts of a and b.
type packed struct {
	a [blockRows * depth]float64
	b [blockColumns * depth]float64
}

// packs are kept for the next product: a sampler makes millions of small ones.
var packs = sync.Pool{New: func() any { return new(packed) }}

// A tile adds to or subtracts from a tile of c the product of one strip of a and one of b.
type tile func(c, a, b []float64, k, ldc int)

var fused, rounded = tiles()

// Subtract computes c −= a·b, where c is m×n with Col 1, a m×k and b k×n. Each
// element goes through k fused multiply-adds in the order of the reduction: the
// bytes are the same on every machine.
func Subtract(m, n, k int, a, b, c View) { fused.product(m, n, k, a, b, c) }

// Add computes c += a·b as Subtract does, but rounds each product before it is added: the
// bytes are those of a loop, and of gonum's routines that add multiples of rows.
func Add(m, n, k int, a, b, c View) { rounded.product(m, n, k, a, b, c) }

func (t tile) product(m, n, k int, a, b, c View) {
	need(c.Col == 1, "the columns of c are not adjacent")

	if m <= 0 || n <= 0 || k <= 0 {
		return
	}

	p := packs.Get().(*packed)
	defer packs.Put(p)

	packedA, packedB := p.a[:], p.b[:]
	for l := 0; l < k; l += depth {
		kc := min(depth, k-l)
		for j := 0; j < n; j += blockColumns {
			nc := min(blockColumns, n-j)
			pack(packedB, b.From(l, j).T(), nc, kc, tileColumns)

			for i := 0; i < m; i += blockRows {
				mc := min(blockRows, m-i)
				pack(packedA, a.From(i, l), mc, kc, tileRows)
				t.all(packedA, packedB, c.From(i, j), mc, nc, kc)
			}
		}
	}
}

// pack writes v (rows×k) in strips of so many rows, column by column, with zeros
// after the last row.
func pack(dst []float64, v View, rows, k, strip int) {
	for i := 0; i < rows; i += strip {
		d := dst[i*k:][:strip*k]
		if v.Row == 1 && i+strip <= rows {
			for l := range k {
				copy(d[l*strip:][:strip], v.Data[i+l*v.Col:])
			}
			continue
		}

		for r := range strip {
			if i+r >= rows {
				for l := range k {
					d[l*strip+r] = 0
				}
				continue
			}

			at := (i + r) * v.Row
			for l := range k {
				d[l*strip+r] = v.Data[at]
				at += v.Col
			}
		}
	}
}

// all goes through the tiles of the product of the packed a (m×k) and b (k×n).
func (t tile) all(a, b []float64, c View, m, n, k int) {
	var edge [tileRows * tileColumns]float64
	for j := 0; j < n; j += tileColumns {
		for i := 0; i < m; i += tileRows {
			rows, columns := min(tileRows, m-i), min(tileColumns, n-j)

			ap, bp := a[i*k:][:tileRows*k], b[j*k:][:tileColumns*k]
			if rows == tileRows && columns == tileColumns {
				t(c.Data[i*c.Row+j:][:(tileRows-1)*c.Row+tileColumns], ap, bp, k, c.Row)
				continue
			}

			for r := range rows {
				copy(edge[r*tileColumns:][:columns], c.Data[(i+r)*c.Row+j:])
			}

			t(edge[:], ap, bp, k, tileColumns)

			for r := range rows {
				copy(c.Data[(i+r)*c.Row+j:][:columns], edge[r*tileColumns:])
			}
		}
	}
}

func fusedPortable(c, a, b []float64, k, ldc int) {
	for l := range k {
		bl := b[l*tileColumns:][:tileColumns]
		for r, x := range a[l*tileRows:][:tileRows] {
			for j, y := range bl {
				p := &c[r*ldc+j]
				*p = math.FMA(-x, y, *p)
			}
		}
	}
}

func roundedPortable(c, a, b []float64, k, ldc int) {
	for l := range k {
		bl := b[l*tileColumns:][:tileColumns]
		for r, x := range a[l*tileRows:][:tileRows] {
			for j, y := range bl {
				c[r*ldc+j] += float64(x * y)
			}
		}
	}
}
