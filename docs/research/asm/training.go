package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The assembly of training. Tiles of products hold their sums in registers over the whole reduction: 4 rows of two
// registers in float32, and 6 rows in float64. Every sum is added in the same order with AVX2 and AVX-512, so that the
// bits are the same.
func training(ctx *build.Context) {
	s := set{Context: ctx, name: "AVX2", single: true}
	s.gemm()
	s.keepPositive()
	s.keepWhere()
	s.transpose()
	s.adam()
	s.lossGrad()
	s.variance()
	s.addRows()
	s.sums()
	s.product("subtractTile")
	s.product("addTile")
	wide := set{Context: ctx, name: "AVX512", single: true, wide: true}
	wide.gemm()
	wide.product("subtractTile")
	wide.product("addTile")
	s.matern()
	s.bits()
}

// bases returns pointers to every third row: with an index register of scale 0,
// 1 or 2 they reach all rows.
func (s set) bases(first, stride GPVirtual, rows int) []GPVirtual {
	p := []GPVirtual{first}
	for r := 3; r < rows; r += 3 {
		q := s.GP64()
		s.LEAQ(Mem{Base: p[len(p)-1], Index: stride, Scale: 2}, q)
		s.ADDQ(stride, q)
		p = append(p, q)
	}
	return p
}

// rowAt is a place of row r of bases.
func rowAt(p []GPVirtual, stride GPVirtual, r, disp int) Mem {
	m := at(p[r/3], disp)
	if r%3 > 0 {
		m.Index, m.Scale = stride, uint8(r%3)
	}
	return m
}

// gemm generates z = α·a·w + b for one panel of columns, two registers wide. The numbers of a row of a are step apart,
// so that the same function multiplies by the transpose of a matrix.
func (s set) gemm() {
	const tileRows, vecs = 4, 2
	s.begin("gemm", "z, a, w, b *float32, rows, k, row, step, n, rowOfB int, alpha float32")
	z, a, b, left := s.param("z"), s.param("a"), s.param("b"), s.param("rows")
	row, step, ldn, ldb := s.stride("row", 4), s.stride("step", 4), s.stride("n", 4), s.stride("rowOfB", 4)

	s.repeat("gemm"+s.name+"_rows", left, tileRows, func() {
		acc, ap := s.zeros(tileRows*vecs), s.bases(s.copyOf(a), row, tileRows)
		w, k := s.param("w"), s.param("k")
		wv, x := s.vecs(vecs), s.vec()
		s.repeat("gemm"+s.name+"_k", k, 1, func() {
			for c, v := range wv {
				s.VMOVUPS(at(w, c*s.bytes()), v)
			}
			for r := range tileRows {
				s.VBROADCASTSS(rowAt(ap, row, r, 0), x)
				for c, v := range wv {
					s.VFMADD231PS(v, x, acc[r*vecs+c])
				}
			}
			s.ADDQ(ldn, w)
			for _, p := range ap {
				s.ADDQ(step, p)
			}
		})

		alpha := s.broadcastParam("alpha")
		for i, v := range acc {
			s.VFMADD213PS(at(b, i%vecs*s.bytes()), alpha, v)
			s.VMOVUPS(v, at(z, i%vecs*s.bytes()))
			if i%vecs == vecs-1 {
				s.ADDQ(ldn, z)
				s.ADDQ(ldb, b)
				s.ADDQ(row, a)
			}
		}
	})
	s.end()
}

// keepPositive generates the replacement of numbers by 0 that are negative or whose bit of keep is not set: rows of
// columns numbers.
func (s set) keepPositive() {
	s.begin("keepPositive", "z *float32, keep *uint16, keepBytes, rows, columns int")
	z, keep, left := s.param("z"), s.param("keep"), s.param("rows")
	zero, bits := s.zeros(1)[0], s.vec()
	// 1<<i in each byte of lane i picks bit i of a byte that is in all of them.
	s.VMOVDQU(s.table("laneBits", 0x0202020201010101, 0x0808080804040404, 0x2020202010101010, 0x8080808040404040), bits)
	s.repeat("keepPositive_rows", left, 1, func() {
		p, columns := s.copyOf(keep), s.param("columns")
		s.repeat("keepPositive_columns", columns, s.lanes(), func() {
			v, b := s.load(at(z, 0)), s.vec()
			s.VMAXPS(v, zero, v) // the NaN of the second operand (first here) survives
			s.VPBROADCASTB(at(p, 0), b)
			s.VPAND(bits, b, b)
			s.VPCMPEQD(bits, b, b)
			s.VANDPS(b, v, v)
			s.VMOVUPS(v, at(z, 0))
			s.advance(registerBytes, z)
			s.INCQ(p)
		})
		s.ADDQ(s.addr("keepBytes"), keep)
	})
	s.end()
}

// keepWhere generates the replacement of numbers by 0 where h is not positive.
func (s set) keepWhere() {
	s.begin("keepWhere", "z, h *float32, n int")
	z, h, n, zero := s.param("z"), s.param("h"), s.param("n"), s.zeros(1)[0]
	s.elements("keepWhere", n, func(place func(GPVirtual) Mem) {
		v := s.vec()
		s.VCMPPS(Imm(1), place(h), zero, v)
		s.VANDPS(place(z), v, v)
		s.VMOVUPS(v, place(z))
	})
	s.end()
}

// addRows adds rows to sum, a register of columns after the other.
func (s set) addRows() {
	s.begin("addRows", "sum, d *float32, rows, columns, n int")
	sum, d, left, ldn := s.param("sum"), s.param("d"), s.param("columns"), s.stride("n", 4)
	s.repeat("addRows"+s.name+"_columns", left, s.lanes(), func() {
		p, rows := s.copyOf(d), s.param("rows")
		v := s.load(at(sum, 0))
		s.repeat("addRows"+s.name+"_rows", rows, 1, func() {
			s.VADDPS(at(p, 0), v, v)
			s.ADDQ(ldn, p)
		})
		s.VMOVUPS(v, at(sum, 0))
		s.advance(registerBytes, sum, d)
	})
	s.end()
}

// product generates subtractTile or addTile. subtractTile subtracts a·b from a tile of c, in float64: 6 rows of two
// registers. a and b are packed, 6 and 16 numbers for each step of the reduction. addTile adds it, and rounds each
// product first.
func (s set) product(name string) {
	s.single = false
	s.begin(name, "c, a, b *float64, k, ldc int")
	first, a, b, k, ldc := s.param("c"), s.param("a"), s.param("b"), s.param("k"), s.stride("ldc", 8)
	c, acc := s.bases(first, ldc, 6), s.vecs(12)
	for i, v := range acc {
		s.VMOVUPD(rowAt(c, ldc, i/2, i%2*s.bytes()), v)
	}
	s.repeat(name+s.name+"_k", k, 1, func() {
		bv, x := []VecVirtual{s.load(at(b, 0)), s.load(at(b, s.bytes()))}, s.vec()
		for i, v := range acc {
			if i%2 == 0 {
				s.VBROADCASTSD(at(a, 4*i), x)
			}
			if name == "subtractTile" {
				s.VFNMADD231PD(bv[i%2], x, v)
			} else {
				s.VADDPD(s.mul(x, bv[i%2]), v, v)
			}
		}
		s.advance(48, a)
		s.advance(128, b)
	})
	for i, v := range acc {
		s.VMOVUPD(v, rowAt(c, ldc, i/2, i%2*s.bytes()))
	}
	s.end()
}

// bits fills halves of 64-byte blocks with Bernoulli bits from four of the eight xoshiro256++
// lanes: dst and state point at them. majority(res, u, bit) is res|u for a one bit of the
// threshold and res&u for a zero bit.
func (s set) bits() {
	s.begin("bits", "dst *uint16, blocks int, state, threshold *uint64")
	dst, n, state, threshold := s.param("dst"), s.param("blocks"), s.param("state"), s.param("threshold")
	st, ones := s.vecs(4), s.vec()
	for i, v := range st {
		s.VMOVUPS(at(state, 64*i), v)
	}
	s.VPCMPEQD(ones, ones, ones)
	res, u, t, b := s.vec(), s.vec(), s.vec(), s.vec()
	rotate := func(k uint64, v VecVirtual) {
		s.VPSLLQ(Imm(k), v, t)
		s.VPSRLQ(Imm(64-k), v, v)
		s.VPOR(t, v, v)
	}

	s.repeat("bits"+s.name+"_block", n, 1, func() {
		s.zero(res)
		bit, left := s.copyOf(threshold), s.copyOf(U32(16))
		s.repeat("bits"+s.name+"_bit", left, 1, func() {
			s.VPADDQ(st[3], st[0], u)
			rotate(23, u)
			s.VPADDQ(st[0], u, u)
			s.VPBROADCASTQ(at(bit, 0), b)
			s.VPOR(u, res, t)
			s.VPAND(u, res, res)
			s.VPAND(b, t, t)
			s.VPOR(t, res, res)
			s.VPSLLQ(Imm(17), st[1], u)
			s.VPXOR(st[0], st[2], st[2])
			s.VPXOR(st[1], st[3], st[3])
			s.VPXOR(st[2], st[1], st[1])
			s.VPXOR(st[3], st[0], st[0])
			s.VPXOR(u, st[2], st[2])
			rotate(45, st[3])
			s.advance(8, bit)
		})
		s.VPXOR(ones, res, res)
		s.VMOVUPS(res, at(dst, 0))
		s.advance(64, dst)
	})
	for i, v := range st {
		s.VMOVUPS(v, at(state, 64*i))
	}
	s.end()
}

// transpose goes through blocks of 4 rows × 8 columns.
func (s set) transpose() {
	s.begin("transpose", "dst *float32, ldd int, src *float32, lds, rows, cols int")
	dst, src, ldd, lds := s.param("dst"), s.param("src"), s.stride("ldd", 4), s.stride("lds", 4)
	left := s.param("rows")
	s.repeat("transpose_rows", left, 4, func() {
		from, to, cols := s.copyOf(src), s.copyOf(dst), s.param("cols")
		s.repeat("transpose_cols", cols, 8, func() {
			a, p := s.vecs(4), s.bases(from, lds, 4)
			for i, v := range a {
				s.VMOVUPS(rowAt(p, lds, i, 0), v)
			}
			a = s.transposeQuarters(a) // columns 0 and 4, 1 and 5 …
			for half := range 2 {
				for _, v := range a {
					s.storeQuarter(v, half, at(to, 0))
					s.ADDQ(ldd, to)
				}
			}
			s.advance(32, from)
		})
		s.LEAQ(Mem{Base: src, Index: lds, Scale: 4}, src)
		s.advance(16, dst)
	})
	s.end()
}

// The numbers of math.Exp in Go's assembly for amd64, from which matern must not differ: ln 2 in two parts, and the
// coefficients 1/8! to 1/2!, 1 of the series of (exp(x) − 1)/x.
const (
	log2OfE  = 1.4426950408889634073599246810018920
	ln2Upper = 0.69314718055966295651160180568695068359375
	ln2Lower = 0.28235290563031577122588448175013436025525412068e-12
)

var expSeries = []float64{
	2.4801587301587301587e-5, 1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3,
	4.1666666666666666667e-2, 1.6666666666666666667e-1, 0.5, 1,
}

// smallestNormal is the exponent below which exp is not a normal number.
const smallestNormal = -708

// matern generates the Matérn-5/2 correlations at four squared distances q for each turn, and −2 times their
// derivatives:
//
//	r = √(5·(q + tiny)), correlation = (1 + r + r²/3)·exp(−r), slope = 5/3·(1 + r)·exp(−r)
//
// exp is computed by the steps of math.Exp, so that both give the same bits. The function stops before four distances
// for which exp would not be a normal number, and returns the number of distances before these.
func (s set) matern() {
	s.single = false
	s.begin("matern", "q, correlation, slope *float64, n int, tiny float64", "done int")
	q, correlation, slope, n := s.param("q"), s.param("correlation"), s.param("slope"), s.param("n")
	tiny, done := s.broadcastParam("tiny"), s.GP64()
	number := s.numbers("maternNumbers", append([]float64{
		1.0 / 16, 5.0 / 3, 2, 3, 5, smallestNormal, log2OfE, ln2Upper, ln2Lower,
	}, expSeries...)...)
	s.XORQ(done, done)

	one, two, sixteenth := number(1), number(2), number(1.0/16) // these stay in registers
	log2, upper, lower, least := number(log2OfE), number(ln2Upper), number(ln2Lower), number(smallestNormal)

	s.Label("matern_loop")
	s.CMPQ(done, n)
	s.JGE(LabelRef("matern_end"))

	r := s.add(s.load(Mem{Base: q, Index: done, Scale: 8}), tiny)
	s.VMULPD(number(5), r, r)
	s.VSQRTPD(r, r)

	x := s.sub(s.zeros(1)[0], r)
	inside, mask := s.vec(), s.GP32()
	s.VCMPPD(Imm(0x1D), least, x, inside) // not less, and a number
	s.VMOVMSKPD(inside, mask)
	s.CMPL(mask, Imm(15))
	s.JNE(LabelRef("matern_end"))

	// exp(x) = 2ᵉ·(exp(y/16))¹⁶ with y = x − e·ln 2
	exponent, whole, y := s.XMM(), s.vec(), s.vec()
	s.VMULPD(log2, x, y)
	s.VCVTPD2DQY(y, exponent)
	s.VCVTDQ2PD(exponent, whole)
	s.VFNMADD231PD(upper, whole, x)
	s.VFNMADD231PD(lower, whole, x)
	s.VMULPD(sixteenth, x, x)

	sum := number(expSeries[0])
	for _, coefficient := range expSeries[1 : len(expSeries)-1] {
		s.VFMADD213PD(number(coefficient), x, sum)
	}
	s.VFMADD213PD(one, x, sum)

	s.VMULPD(sum, x, x) // exp(y/16) − 1, which four steps square
	for step := range 4 {
		plus2 := s.vec()
		s.VADDPD(two, x, plus2)
		if step < 3 {
			s.VMULPD(plus2, x, x)
		} else {
			s.VFMADD213PD(one, plus2, x)
		}
	}

	power := s.vec() // 2ᵉ
	s.VPMOVSXDQ(exponent, power)
	s.VPSLLQ(Imm(52), power, power)
	s.VPADDQ(one, power, power) // 0x3FF<<52 is the 1 of float64
	s.VMULPD(power, x, x)

	square := s.mul(r, r)
	s.VDIVPD(number(3), square, square)
	s.VADDPD(one, r, r)
	sum = s.mul(s.add(r, square), x)
	s.VMOVUPD(sum, Mem{Base: correlation, Index: done, Scale: 8})
	s.VMULPD(number(5.0/3), r, r)
	s.VMULPD(x, r, r)
	s.VMOVUPD(r, Mem{Base: slope, Index: done, Scale: 8})
	s.ADDQ(Imm(4), done)
	s.JMP(LabelRef("matern_loop"))

	s.Label("matern_end")
	s.Store(done, s.ReturnIndex(0))
	s.end()
}
