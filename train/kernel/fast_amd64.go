package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go -C asm run . -out ../kernel_amd64.s -stubs ../stubs_amd64.go -pkg kernel
//go:generate sed -i -E "/^func.{117}/s/, (rows|c) /,\\n\\t\\1 /" stubs_amd64.go

func fast() []*Set[float32] { return fastSets }

var fastSets = detect()

func detect() (sets []*Set[float32]) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX2 && x.HasFMA {
		sets = append(sets, &Set[float32]{
			Name: "avx512", Dense: denseAVX512, DenseReLU: denseReLUAVX512, Back: backAVX512, Outer: outerAVX512,
			Transpose: transpose512, LossGrad: lossGradFast(lossGradAVX512, 1),
			JointGrad: lossGradFast(jointGradAVX512, 2), Adam: adamFast(adamAVX512),
			Bits: bitsFast512, Variance: varianceFast(varianceAVX512), Sums: sumsFast512,
			AddRows: addRowsFast(addRowsAVX512), Gather: gatherFast, Run: runFast(runAVX512, Group),
		})
	}
	if x.HasAVX2 && x.HasFMA {
		sets = append(sets, &Set[float32]{
			Name: "avx2", Dense: denseAVX2, DenseReLU: denseReLUAVX2, Back: backAVX2, Outer: outerAVX2,
			Transpose: transposeFast, LossGrad: lossGradFast(lossGradAVX2, 1),
			JointGrad: lossGradFast(jointGradAVX2, 2), Adam: adamFast(adamAVX2),
			Bits: bitsFast2, Variance: varianceFast(varianceAVX2), Sums: sumsFast2,
			AddRows: addRowsFast(addRowsAVX2), Gather: gatherFast, Run: runFast(runAVX2, Group/2),
		})
	}
	return sets
}

// The wrappers check shapes and split columns into the panels that the
// assembly knows: 64 and 16 wide for AVX-512, 16 for AVX2.

func denseAVX512(z, a []float32, lda int, w, b []float32, rows, k, n int, alpha float32) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	c := 0
	for ; c+64 <= n; c += 64 {
		dense64AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha)
	}
	switch n - c {
	case 48:
		dense48AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha)
		return
	case 32:
		dense32AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha)
		return
	}
	for ; c < n; c += 16 {
		dense16AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha)
	}
}

// sixes is how many of the rows AVX2's tiles of 6 take, so that tiles of 4 take the rest.
func sixes(rows int) int { return rows - [...]int{0, 0, 8, 0, 4}[rows%6] }

func denseAVX2(z, a []float32, lda int, w, b []float32, rows, k, n int, alpha float32) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	most := sixes(rows)
	for c := 0; c < n; c += 16 {
		if most > 0 {
			dense16AVX2(&z[c], &a[0], &w[c], &b[c], most, k, lda, n, alpha)
		}
		if most < rows {
			dense16x4AVX2(&z[most*n+c], &a[most*lda], &w[c], &b[c], rows-most, k, lda, n, alpha)
		}
	}
}

func denseReLUAVX512(z, a []float32, lda int, w, b []float32, keep []uint16, keepStride int, rows, k, n int,
	alpha float32,
) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	need(len(keep) >= (rows-1)*keepStride+n/Lane, "keep is too short")
	c := 0
	for ; c+64 <= n; c += 64 {
		relu64AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha, &keep[c/Lane], keepStride)
	}
	for ; c < n; c += 16 {
		relu16AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha, &keep[c/Lane], keepStride)
	}
}

func denseReLUAVX2(z, a []float32, lda int, w, b []float32, keep []uint16, keepStride int, rows, k, n int,
	alpha float32,
) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	need(len(keep) >= (rows-1)*keepStride+n/Lane, "keep is too short")
	most := sixes(rows)
	for c := 0; c < n; c += 16 {
		if most > 0 {
			relu16AVX2(&z[c], &a[0], &w[c], &b[c], most, k, lda, n, alpha, &keep[c/Lane], keepStride)
		}
		if most < rows {
			relu16x4AVX2(&z[most*n+c], &a[most*lda], &w[c], &b[c], rows-most, k, lda, n, alpha,
				&keep[most*keepStride+c/Lane], keepStride)
		}
	}
}

func backAVX512(dx, dy []float32, ldy int, wt, h []float32, rows, k, n int, alpha float32) {
	checkGemm(len(dx), len(dy), ldy, len(wt), rows, k, n)
	need(len(h) >= rows*n, "h is too short")
	c := 0
	for ; c+64 <= n; c += 64 {
		back64AVX512(&dx[c], &dy[0], &wt[c], &h[c], rows, k, ldy, n, alpha)
	}
	for ; c < n; c += 16 {
		back16AVX512(&dx[c], &dy[0], &wt[c], &h[c], rows, k, ldy, n, alpha)
	}
}

func backAVX2(dx, dy []float32, ldy int, wt, h []float32, rows, k, n int, alpha float32) {
	checkGemm(len(dx), len(dy), ldy, len(wt), rows, k, n)
	need(len(h) >= rows*n, "h is too short")
	most := sixes(rows)
	for c := 0; c < n; c += 16 {
		if most > 0 {
			back16AVX2(&dx[c], &dy[0], &wt[c], &h[c], most, k, ldy, n, alpha)
		}
		if most < rows {
			back16x4AVX2(&dx[most*n+c], &dy[most*ldy], &wt[c], &h[most*n+c], rows-most, k, ldy, n, alpha)
		}
	}
}

func outerAVX512(g, sum, a []float32, lda int, d []float32, rows, k, n int, alpha float32) {
	checkOuter(len(g), sum, len(a), lda, len(d), rows, k, n)
	c := 0
	for ; c+64 <= n; c += 64 {
		from := 0
		if sum != nil {
			outerSum64AVX512(&g[c], &sum[c], &a[0], &d[c], rows, lda, n, alpha)
			from = 4
		}
		if from < k {
			outer64AVX512(&g[from*n+c], &a[from], &d[c], rows, k-from, lda, n, alpha)
		}
	}
	for ; c < n; c += 16 {
		from := 0
		if sum != nil {
			outerSum16AVX512(&g[c], &sum[c], &a[0], &d[c], rows, lda, n, alpha)
			from = 4
		}
		if from < k {
			outer16AVX512(&g[from*n+c], &a[from], &d[c], rows, k-from, lda, n, alpha)
		}
	}
}

func outerAVX2(g, sum, a []float32, lda int, d []float32, rows, k, n int, alpha float32) {
	checkOuter(len(g), sum, len(a), lda, len(d), rows, k, n)
	for c := 0; c < n; c += 16 {
		from := 0
		if sum != nil {
			outerSum16AVX2(&g[c], &sum[c], &a[0], &d[c], rows, lda, n, alpha)
			from = 4
		}
		if from < k {
			outer16AVX2(&g[from*n+c], &a[from], &d[c], rows, k-from, lda, n, alpha)
		}
	}
}

func transpose512(dst []float32, ldd int, src []float32, lds, rows, cols int) {
	checkTranspose(len(dst), ldd, len(src), lds, rows, cols)
	most := rows / 16 * 16
	if cols%16 != 0 || most == 0 {
		transposeFast(dst, ldd, src, lds, rows, cols)
		return
	}
	transposeAVX512(&dst[0], ldd, &src[0], lds, most, cols)
	if most < rows {
		transposeFast(dst[most:], ldd, src[most*lds:], lds, rows-most, cols)
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

func lossGradFast(f func(gmu, graw, mu, raw, t1, t2, c *float32, n int, beta float32) float32,
	raws int,
) func(gmu, graw, mu, raw, t1, t2, c []float32, beta float32) float32 {
	return func(gmu, graw, mu, raw, t1, t2, c []float32, beta float32) float32 {
		n := len(mu)
		checkLoss(n, raws, len(gmu), len(graw), len(raw), len(t1), len(t2), len(c))
		if n == 0 {
			return 0
		}
		return f(&gmu[0], &graw[0], &mu[0], &raw[0], &t1[0], &t2[0], &c[0], n, beta)
	}
}

func adamFast(f func(w, g, m, v *float32, n int, c *float32)) func(w, g, m, v []float32, s AdamStep[float32]) {
	return func(w, g, m, v []float32, s AdamStep[float32]) {
		checkAdam(len(w), len(g), len(m), len(v))
		if len(w) == 0 {
			return
		}
		c := [8]float32{s.Beta1, s.OneMinusBeta1, s.Beta2, s.OneMinusBeta2, s.Rate, s.RootScale, s.Eps, s.Decay}
		f(&w[0], &g[0], &m[0], &v[0], len(w), &c[0])
	}
}

func addRowsFast(f func(sum, d *float32, rows, n int)) func(sum, d []float32, rows, n int) {
	return func(sum, d []float32, rows, n int) {
		checkRows(len(sum), len(d), rows, n)
		if rows > 0 && n > 0 {
			f(&sum[0], &d[0], rows, n)
		}
	}
}

func gatherFast(dst []float32, ldd int, src []float32, lds int, idx []int32, n int) {
	checkGather(len(dst), ldd, len(src), lds, idx, n)
	if len(idx) > 0 {
		gatherAVX2(&dst[0], ldd, &src[0], lds, &idx[0], len(idx), n)
	}
}

// runFast runs a program for some lanes at a time.
func runFast(f func(room *float32, steps *int32, n int), lanes int) func(p *Program, room []float32) {
	return func(p *Program, room []float32) {
		p.check(len(room))
		if len(p.steps) == 0 {
			return
		}
		for from := 0; from < Group; from += lanes {
			f(&room[from], &p.steps[0].Count, len(p.steps))
		}
	}
}

func varianceFast(f func(raw *float32, n int)) func(raw []float32) {
	return func(raw []float32) {
		checkVariance(len(raw))
		if len(raw) > 0 {
			f(&raw[0], len(raw))
		}
	}
}

func sumsFast512(c, w, e []float32) (out [3]float64) {
	checkSums(len(c), len(w), len(e))
	if len(c) > 0 {
		sumsAVX512(&c[0], &w[0], &e[0], len(c), &out[0])
	}
	return out
}

func sumsFast2(c, w, e []float32) (out [3]float64) {
	checkSums(len(c), len(w), len(e))
	if len(c) > 0 {
		sumsAVX2(&c[0], &w[0], &e[0], len(c), &out[0])
	}
	return out
}

// threshold spreads the bits of drop to masks, least significant first.
func threshold(drop uint16) (t [16]uint64) {
	for i := range t {
		t[i] = -uint64(drop >> i & 1)
	}
	return t
}

func bitsFast512(dst []uint16, drop uint16, s *Lanes) {
	checkBits(len(dst))
	if len(dst) == 0 {
		return
	}
	t := threshold(drop)
	bitsAVX512(&dst[0], len(dst)/32, (*uint64)(unsafe.Pointer(s)), &t[0])
}

func bitsFast2(dst []uint16, drop uint16, s *Lanes) {
	checkBits(len(dst))
	if len(dst) == 0 {
		return
	}
	t := threshold(drop)
	bitsAVX2(&dst[0], len(dst)/32, &s[0][0], &t[0])
	bitsAVX2(&dst[16], len(dst)/32, &s[0][4], &t[0])
}

// products are the processor's tiles, fastest first.
func products() (list []func(c, a, b *float64, k, ldc int)) {
	for _, s := range fast() {
		if s.Name == "avx512" {
			list = append(list, productAVX512)
			continue
		}
		list = append(list, func(c, a, b *float64, k, ldc int) { // half the columns at a time
			productAVX2(c, a, b, k, ldc)
			next := func(p *float64) *float64 { return (*float64)(unsafe.Add(unsafe.Pointer(p), tileColumns/2*8)) }
			productAVX2(next(c), a, next(b), k, ldc)
		})
	}
	return list
}
