package kernel

import "golang.org/x/sys/cpu"

// avx2 is the set in assembly, or nil if this processor cannot run it. The program docs/research/asm generates the
// assembly.
var avx2 = newAVX2()

// isWide reports whether products use the registers of AVX-512, which have twice the width. The bits are the same. Only
// tests change it.
var isWide = cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA

// newAVX2 returns the set in assembly, or nil if this processor cannot run it.
func newAVX2() *Set[float32] {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}

	return &Set[float32]{
		Name: "avx2", Dense: denseFast, DenseReLU: denseReLUFast, Back: backFast, Outer: outerFast,
		Transpose: transposeFast, LossGrad: lossGradFast, Adam: adamFast, Bits: bitsFast,
		Variance: varianceFast, Sums: sumsFast, AddRows: addRowsFast,
	}
}

// The functions below implement the functions of a Set. They check shapes, as the assembly does not.

func denseFast(z []float32, a Matrix[float32], w, b []float32, size Size, alpha float32) {
	checkGemm(z, a, w, size)
	need(len(b) >= size.N, "bias is too short")
	multiply(z, operand{a.Data, a.Stride, 1}, w, operand{b, 0, 1}, size, alpha)
}

func denseReLUFast(z []float32, a Matrix[float32], w, b []float32, keep Keep, size Size, alpha float32) {
	checkKeep(keep, size)
	denseFast(z, a, w, b, size, alpha)
	keepPositiveAVX2(&z[0], &keep.Bits[0], 2*keep.Stride, size.Rows, size.N)
}

func backFast(dx []float32, dy Matrix[float32], wt, h []float32, size Size, alpha float32) {
	checkGemm(dx, dy, wt, size)
	need(len(h) >= size.Rows*size.N, "h is too short")
	multiply(dx, operand{dy.Data, dy.Stride, 1}, wt, operand{noBias[:], 0, 0}, size, alpha)
	keepWhereAVX2(&dx[0], &h[0], size.Rows*size.N)
}

func outerFast(g, sum []float32, a Matrix[float32], d []float32, size Size, alpha float32) {
	checkOuter(g, sum, a, d, size)
	n := size.N
	transposed := Size{Rows: size.K, K: size.Rows, N: n} // of aᵀ·d
	multiply(g, operand{a.Data, 1, a.Stride}, d, operand{g, n, 1}, transposed, alpha)

	for c := 0; c < n && sum != nil; c += Lane {
		var sums [Lane]float32
		addRowsAVX2(&sums[0], &d[c], size.Rows, Lane, n)

		for i, v := range sums {
			sum[c+i] += v
		}
	}
}

// operand is a matrix. Element (i, j) is data[i·row + j·column].
type operand struct {
	data        []float32
	row, column int
}

// These are the numbers of columns in the panels that the assembly multiplies.
const (
	panelAVX2   = Lane
	panelAVX512 = 2 * Lane
)

// noBias is the bias of a product without one. All panels of columns use it.
var noBias [panelAVX512]float32

// multiply computes z = α·a·w + b. z and w have no gaps between their rows. b may be z.
func multiply(z []float32, a operand, w []float32, b operand, size Size, alpha float32) {
	n := size.N
	for c := 0; c < n; {
		gemm := gemmAVX2
		panel := panelAVX2
		if isWide && c+panelAVX512 <= n {
			gemm = gemmAVX512
			panel = panelAVX512
		}

		gemm(&z[c], &a.data[0], &w[c], &b.data[c*b.column], size.Rows, size.K, a.row, a.column, n, b.row, alpha)
		c += panel
	}
}

func transposeFast(dst, src Matrix[float32], rows, cols int) {
	checkTranspose(dst, src, rows, cols)

	if cols%8 != 0 {
		transpose(dst, src, rows, cols)
		return
	}

	transposeAVX2(&dst.Data[0], dst.Stride, &src.Data[0], src.Stride, rows, cols)
}

func lossGradFast(gmu, graw, mu, raw, t1, t2, c []float32, beta float32) float32 {
	checkEqual(len(mu), len(gmu), len(graw), len(raw), len(t1), len(t2), len(c))

	if len(mu) == 0 {
		return 0
	}

	return lossGradAVX2(&gmu[0], &graw[0], &mu[0], &raw[0], &t1[0], &t2[0], &c[0], len(mu), beta)
}

func adamFast(w, g, m, v []float32, s AdamStep[float32]) {
	checkEqual(len(w), len(g), len(m), len(v))

	if len(w) > 0 {
		c := [8]float32{s.Beta1, s.OneMinusBeta1, s.Beta2, s.OneMinusBeta2, s.Rate, s.RootScale, s.Eps, s.Decay}
		adamAVX2(&w[0], &g[0], &m[0], &v[0], len(w), &c[0])
	}
}

func addRowsFast(sum, d []float32, rows, n int) {
	checkRows(len(sum), len(d), rows, n)

	if rows > 0 && n > 0 {
		addRowsAVX2(&sum[0], &d[0], rows, n, n)
	}
}

func varianceFast(raw []float32) {
	checkEqual(len(raw))

	if len(raw) > 0 {
		varianceAVX2(&raw[0], len(raw))
	}
}

func sumsFast(c, w, e []float32) (totals [3]float64) {
	checkEqual(len(c), len(w), len(e))

	if len(c) > 0 {
		sumsAVX2(&c[0], &w[0], &e[0], len(c), &totals[0])
	}

	return totals
}

// bitsFast implements Set.Bits. The assembly runs four of the eight generators per call.
func bitsFast(dst []uint16, drop uint16, s *Lanes) {
	checkBits(len(dst))

	if len(dst) == 0 {
		return
	}

	var threshold [16]uint64 // for each bit of drop, the lowest first: all bits set, or none
	for i := range threshold {
		threshold[i] = -uint64(drop >> i & 1)
	}

	bitsAVX2(&dst[0], len(dst)/32, &s[0][0], &threshold[0])
	bitsAVX2(&dst[16], len(dst)/32, &s[0][4], &threshold[0])
}

// newTileSets returns the tiles that this processor can run, the fastest first.
func newTileSets() []tileSet {
	list := []tileSet{portableTiles}
	if avx2 != nil {
		list = append([]tileSet{{"avx2", subtractAVX2, addAVX2}}, list...)
	}

	if isWide {
		list = append([]tileSet{{"avx512", subtractAVX512, addAVX512}}, list...)
	}

	return list
}

func subtractAVX512(c, a, b []float64, k, ldc int) { subtractTileAVX512(&c[0], &a[0], &b[0], k, ldc) }
func addAVX512(c, a, b []float64, k, ldc int)      { addTileAVX512(&c[0], &a[0], &b[0], k, ldc) }

// halfTile is the number of columns that a call of the assembly for AVX2 computes.
const halfTile = tileColumns / 2

func subtractAVX2(c, a, b []float64, k, ldc int) {
	subtractTileAVX2(&c[0], &a[0], &b[0], k, ldc)
	subtractTileAVX2(&c[halfTile], &a[0], &b[halfTile], k, ldc)
}

func addAVX2(c, a, b []float64, k, ldc int) {
	addTileAVX2(&c[0], &a[0], &b[0], k, ldc)
	addTileAVX2(&c[halfTile], &a[0], &b[halfTile], k, ldc)
}

// maternFast does the work of Matern for the first distances, and returns their number.
func maternFast(q, correlation, slope []float64) int {
	n := len(q) / maternStep * maternStep
	if avx2 == nil || n == 0 {
		return 0
	}

	return maternAVX2(&q[0], &correlation[0], &slope[0], n, leastDistance)
}
