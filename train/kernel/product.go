package kernel

import (
	"math"
	"sync"
)

// View is a matrix in a slice. Element (i, j) is Data[i·Row + j·Col].
type View struct {
	Data     []float64
	Row, Col int
}

// From returns the part of v that begins at element (i, j).
func (v View) From(i, j int) View { return View{v.Data[i*v.Row+j*v.Col:], v.Row, v.Col} }

// T returns the transpose of v.
func (v View) T() View { return View{v.Data, v.Col, v.Row} }

// A product c ± a·b is computed in blocks of c with parts of the reduction. For each block, the part of a is packed
// into strips of tileRows rows, and the part of b into strips of tileColumns columns. A tile of c, tileRows ×
// tileColumns, is then computed from one strip of each, in registers. The packed parts stay in the caches.
const (
	tileRows, tileColumns = 6, 16
	depth                 = 192 // greatest part of the reduction
	blockRows             = 16 * tileRows
	blockColumns          = 32 * tileColumns
)

// packed has the packed parts of a and b.
type packed struct {
	a [blockRows * depth]float64
	b [blockColumns * depth]float64
}

// packs keeps packed parts for later products: a sampler computes millions of small ones.
var packs = sync.Pool{New: func() any { return new(packed) }}

// A tile is a function that adds the product of a strip of a and a strip of b to a tile of c, or subtracts it. k is the
// length of the reduction, and ldc the row stride of c.
type tile func(c, a, b []float64, k, ldc int)

// tileSet holds the two tiles in the instructions of one kind of processor. All sets give the same bits.
type tileSet struct {
	name     string
	subtract tile // by fused multiply-adds
	add      tile // rounds each product before it adds it
}

// portableTiles are tiles in plain Go.
var portableTiles = tileSet{"portable", subtractPortable, addPortable}

// tileSets are the tiles that this processor can run, the fastest first.
var tileSets = newTileSets()

// tiles are the tiles in use. Only tests change them.
var tiles = tileSets[0]

// Subtract computes c −= a·b, with c m×n and c.Col 1, a m×k, and b k×n. Each
// element goes through k fused multiply-adds in the order of the reduction, so that
// the bits are the same on every machine.
func Subtract(m, n, k int, a, b, c View) { tiles.subtract.product(m, n, k, a, b, c) }

// Add computes c += a·b, with the shapes of Subtract. It rounds each product before it is
// added: the bits are the same as with a simple loop, and with gonum's routines that add
// multiples of rows.
func Add(m, n, k int, a, b, c View) { tiles.add.product(m, n, k, a, b, c) }

// product applies t to all tiles of c. It has the parameters of Subtract.
func (t tile) product(m, n, k int, a, b, c View) {
	need(c.Col == 1, "the columns of c are not adjacent")

	if m <= 0 || n <= 0 || k <= 0 {
		return
	}

	p := packs.Get().(*packed)
	defer packs.Put(p)

	packedA := p.a[:]
	packedB := p.b[:]
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

// pack fills dst with v (rows×k), in strips of the given number of rows, each strip column by column. It pads the last
// strip with zeros.
func pack(dst []float64, v View, rows, k, strip int) {
	for i := 0; i < rows; i += strip {
		d := dst[i*k:][:strip*k]
		if v.Row == 1 && i+strip <= rows {
			for l := range k {
				copy(d[l*strip:][:strip], v.Data[i+l*v.Col:])
			}
			continue
		}

		if strip == tileRows && v.Col == 1 && i+strip <= rows {
			packRows(d, v.From(i, 0), k)
			continue
		}

		for r := range strip {
			if i+r >= rows {
				for l := range k {
					d[l*strip+r] = 0
				}
				continue
			}

			offset := (i + r) * v.Row
			for l := range k {
				d[l*strip+r] = v.Data[offset]
				offset += v.Col
			}
		}
	}
}

// packRows fills dst with the first tileRows rows of v, column by column. v.Col is 1, and a row has k numbers. It reads
// all rows at a time, because large factors are packed anew for each product.
func packRows(dst []float64, v View, k int) {
	var rows [tileRows][]float64
	for r := range rows {
		rows[r] = v.Data[r*v.Row:][:k]
	}

	r0, r1, r2, r3, r4, r5 := rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
	for l := range r0 {
		d := dst[l*tileRows:][:tileRows]
		d[0] = r0[l]
		d[1] = r1[l]
		d[2] = r2[l]
		d[3] = r3[l]
		d[4] = r4[l]
		d[5] = r5[l]
	}
}

// all applies t to all tiles of a block c (m×n), with the packed parts a (m×k) and b (k×n). A tile that extends
// beyond the block is computed in edge.
func (t tile) all(a, b []float64, c View, m, n, k int) {
	var edge [tileRows * tileColumns]float64
	for j := 0; j < n; j += tileColumns {
		for i := 0; i < m; i += tileRows {
			rows := min(tileRows, m-i)
			columns := min(tileColumns, n-j)

			ap := a[i*k:][:tileRows*k]
			bp := b[j*k:][:tileColumns*k]
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

// subtractPortable subtracts by fused multiply-adds.
func subtractPortable(c, a, b []float64, k, ldc int) {
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

// addPortable rounds each product before it adds it.
func addPortable(c, a, b []float64, k, ldc int) {
	for l := range k {
		bl := b[l*tileColumns:][:tileColumns]
		for r, x := range a[l*tileRows:][:tileRows] {
			for j, y := range bl {
				c[r*ldc+j] += float64(x * y)
			}
		}
	}
}
