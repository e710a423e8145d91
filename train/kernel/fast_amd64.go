package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go run doubletake/cmd/asm train

func fast() []*Set[float32] { return fastSets }

var fastSets = detect()

func detect() (sets []*Set[float32]) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX2 && x.HasFMA {
		sets = append(sets, &Set[float32]{
			Name: "avx512", Dense: product512.dense, DenseReLU: product512.relu, Back: product512.back, Outer: outer512,
			Transpose: transpose512, LossGrad: lossGradFast(lossGradAVX512, 1),
			JointGrad: lossGradFast(jointGradAVX512, 2), Adam: adamFast(adamAVX512),
			Bits: bitsFast512, Variance: varianceFast(varianceAVX512), Sums: sumsFast512,
			AddRows: addRowsFast(addRowsAVX512), Gather: gatherFast, Run: runFast(runAVX512, Group),
		})
	}

	if x.HasAVX2 && x.HasFMA {
		sets = append(sets, &Set[float32]{
			Name: "avx2", Dense: product2.dense, DenseReLU: product2.relu, Back: product2.back, Outer: outer2,
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

// product is a product of matrices by panels: with b, and keep or none, or with h alone.
type product func(z, a, w, b, h []float32, keep []uint16, keepStride, rows, k, lda, n int, alpha float32)

func (f product) dense(z, a []float32, lda int, w, b []float32, rows, k, n int, alpha float32) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	f(z, a, w, b, nil, nil, 0, rows, k, lda, n, alpha)
}

func (f product) relu(z, a []float32, lda int, w, b []float32, keep []uint16, keepStride, rows, k, n int,
	alpha float32,
) {
	checkGemm(len(z), len(a), lda, len(w), rows, k, n)
	need(len(b) >= n, "bias is too short")
	need(len(keep) >= (rows-1)*keepStride+n/Lane, "keep is too short")
	f(z, a, w, b, nil, keep, keepStride, rows, k, lda, n, alpha)
}

func (f product) back(dx, dy []float32, ldy int, wt, h []float32, rows, k, n int, alpha float32) {
	checkGemm(len(dx), len(dy), ldy, len(wt), rows, k, n)
	need(len(h) >= rows*n, "h is too short")
	f(dx, dy, wt, nil, h, nil, 0, rows, k, ldy, n, alpha)
}

// from is a pointer to number i of x, nil if x is.
func from[T any](x []T, i int) *T {
	if x == nil {
		return nil
	}
	return &x[i]
}

var product512 = product(func(z, a, w, b, h []float32, keep []uint16, keepStride, rows, k, lda, n int,
	alpha float32,
) {
	for c := 0; c < n; {
		wide := n - c
		switch {
		case wide >= 64:
			gemm64AVX512(&z[c], &a[0], &w[c], from(b, c), rows, k, lda, n, alpha, from(keep, c/Lane), 2*keepStride, from(h, c))
			wide = 64
		case wide == 48 && keep == nil && h == nil:
			gemm48AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha)
		case wide == 32 && keep == nil && h == nil:
			gemm32AVX512(&z[c], &a[0], &w[c], &b[c], rows, k, lda, n, alpha)
		default:
			gemm16AVX512(&z[c], &a[0], &w[c], from(b, c), rows, k, lda, n, alpha, from(keep, c/Lane), 2*keepStride, from(h, c))
			wide = 16
		}

		c += wide
	}
})

// Tiles of 6 rows take as many as leave a multiple of 4 for the others.
var product2 = product(func(z, a, w, b, h []float32, keep []uint16, keepStride, rows, k, lda, n int,
	alpha float32,
) {
	most := rows - [...]int{0, 0, 8, 0, 4}[rows%6]
	for c := 0; c < n; c += 16 {
		if most > 0 {
			gemm16AVX2(&z[c], &a[0], &w[c], from(b, c), most, k, lda, n, alpha, from(keep, c/Lane), 2*keepStride, from(h, c))
		}

		if most < rows {
			gemm16x4AVX2(&z[most*n+c], &a[most*lda], &w[c], from(b, c), rows-most, k, lda, n, alpha,
				from(keep, most*keepStride+c/Lane), 2*keepStride, from(h, most*n+c))
		}
	}
})

func outer512(g, sum, a []float32, lda int, d []float32, rows, k, n int, alpha float32) {
	checkOuter(len(g), sum, len(a), lda, len(d), rows, k, n)

	c := 0
	for ; c+64 <= n; c += 64 {
		outer64AVX512(&g[c], from(sum, c), &a[0], &d[c], rows, k, lda, n, alpha)
	}

	for ; c < n; c += 16 {
		outer16AVX512(&g[c], from(sum, c), &a[0], &d[c], rows, k, lda, n, alpha)
	}
}

func outer2(g, sum, a []float32, lda int, d []float32, rows, k, n int, alpha float32) {
	checkOuter(len(g), sum, len(a), lda, len(d), rows, k, n)
	for c := 0; c < n; c += 16 {
		outer16AVX2(&g[c], from(sum, c), &a[0], &d[c], rows, k, lda, n, alpha)
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
func products() (list []pair) {
	type tile = func(c, a, b *float64, k, ldc int)
	halves := func(f tile) tile { // half the columns at a time
		return func(c, a, b *float64, k, ldc int) {
			f(c, a, b, k, ldc)
			next := func(p *float64) *float64 { return (*float64)(unsafe.Add(unsafe.Pointer(p), tileColumns/2*8)) }
			f(next(c), a, next(b), k, ldc)
		}
	}

	for _, s := range fast() {
		if s.Name == "avx512" {
			list = append(list, pair{productAVX512, roundedAVX512})
		} else {
			list = append(list, pair{halves(productAVX2), halves(roundedAVX2)})
		}
	}

	return list
}

var has512 = len(fastSets) > 0 && fastSets[0].Name == "avx512"

// maternFast does what Matern does, and returns how many it has done.
func maternFast(k, slope, q []float64, variance float64) int {
	n := len(q) &^ 7
	if !has512 || n == 0 || maternAVX512(&k[0], &slope[0], &q[0], n, variance) != 0 {
		return 0
	}

	return n
}

// tailsFast does what Tails does, and returns how many it has done.
func tailsFast(erfc, gauss, x []float64) int {
	n := len(x) &^ 7
	if !has512 || n == 0 || tailsAVX512(&erfc[0], &gauss[0], &x[0], n) != 0 {
		return 0
	}

	return n
}
