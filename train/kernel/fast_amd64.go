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

// The functions below implement the functions of a Set. They check shapes, as the assembly does not, and divide the
// columns into panels of 16, one for each call of the assembly.

func denseFast(z, a []float32, lda int, w, b []float32, rows, k, n int, alpha float32) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	multiply(z, a, w, b, nil, nil, 0, rows, k, lda, n, alpha)
}

func denseReLUFast(z, a []float32, lda int, w, b []float32, keep []uint16, keepStride, rows, k, n int,
	alpha float32,
) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	need(len(keep) >= (rows-1)*keepStride+n/Lane, "keep is too short")
	multiply(z, a, w, b, nil, keep, keepStride, rows, k, lda, n, alpha)
}

func backFast(dx, dy []float32, ldy int, wt, h []float32, rows, k, n int, alpha float32) {
	checkGemm(len(dx), len(dy), ldy, len(wt), rows, k, n)
	need(len(h) >= rows*n, "h is too short")
	multiply(dx, dy, wt, nil, h, nil, 0, rows, k, ldy, n, alpha)
}

// multiply does the work of Dense (b), DenseReLU (b and keep) and Back (h). b, keep and h are nil for a function
// without them. With AVX-512 the assembly computes 12 rows at a time, and multiplyAVX2 computes the last rows.
func multiply(z, a, w, b, h []float32, keep []uint16, keepStride, rows, k, lda, n int, alpha float32) {
	if !isWide || rows < 12 {
		multiplyAVX2(z, a, w, b, h, keep, keepStride, rows, k, lda, n, alpha)
		return
	}

	byTwelve := rows / 12 * 12 // rows that are computed 12 at a time
	for c := 0; c < n; c += 16 {
		gemm12AVX512(&z[c], &a[0], &w[c], pointer(b, c), byTwelve, k, lda, n, alpha, pointer(keep, c/Lane), 2*keepStride,
			pointer(h, c))
	}

	if byTwelve < rows {
		multiplyAVX2(z[byTwelve*n:], a[byTwelve*lda:], w, b, rest(h, byTwelve*n), rest(keep, byTwelve*keepStride),
			keepStride, rows-byTwelve, k, lda, n, alpha)
	}
}

// rest returns x[i:], or nil if x is nil.
func rest[T any](x []T, i int) []T {
	if x == nil {
		return nil
	}
	return x[i:]
}

// multiplyAVX2 does the work of multiply by AVX2. The assembly computes 6 rows at a time, and the last 4 or 8 rows by 4
// if rows, a multiple of 4, is not a multiple of 6.
func multiplyAVX2(z, a, w, b, h []float32, keep []uint16, keepStride, rows, k, lda, n int, alpha float32) {
	bySix := rows // rows that are computed 6 at a time
	switch rows % 6 {
	case 2:
		bySix -= 8
	case 4:
		bySix -= 4
	}

	for c := 0; c < n; c += 16 {
		if bySix > 0 {
			gemm6AVX2(&z[c], &a[0], &w[c], pointer(b, c), bySix, k, lda, n, alpha, pointer(keep, c/Lane), 2*keepStride,
				pointer(h, c))
		}

		if bySix < rows {
			gemm4AVX2(&z[bySix*n+c], &a[bySix*lda], &w[c], pointer(b, c), rows-bySix, k, lda, n, alpha,
				pointer(keep, bySix*keepStride+c/Lane), 2*keepStride, pointer(h, bySix*n+c))
		}
	}
}

// pointer returns &x[i], or nil if x is nil.
func pointer[T any](x []T, i int) *T {
	if x == nil {
		return nil
	}
	return &x[i]
}

func outerFast(g, sum, a []float32, lda int, d []float32, rows, k, n int, alpha float32) {
	checkOuter(len(g), sum, len(a), lda, len(d), rows, k, n)

	byEight := 0 // rows of g that AVX-512 computes, 8 at a time; AVX2 computes the others
	if isWide {
		byEight = k / 8 * 8
	}

	for c := 0; c < n; c += 16 {
		columnSums := pointer(sum, c)
		if byEight > 0 {
			outerAVX512(&g[c], columnSums, &a[0], &d[c], rows, byEight, lda, n, alpha)
			columnSums = nil // they are added once
		}

		if byEight < k {
			outerAVX2(&g[byEight*n+c], columnSums, &a[byEight], &d[c], rows, k-byEight, lda, n, alpha)
		}
	}
}

func transposeFast(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	checkTranspose(len(dst), ldd, len(src), lds, rows, cols)

	if cols%8 != 0 {
		transpose(dst, ldd, src, lds, rows, cols)
		return
	}

	transposeAVX2(&dst[0], ldd, &src[0], lds, rows, cols)
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
		addRowsAVX2(&sum[0], &d[0], rows, n)
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
