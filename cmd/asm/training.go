package main

import (
	"math"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The assembly of training. One description serves both instruction sets. Tiles of products
// hold their sums in registers over the whole reduction: 4 rows × 64 columns (16
// registers) or 8 × 16 with AVX-512, 6 × 16 (12 registers) and for the last rows 4 × 16
// with AVX2.
func training(ctx *build.Context) {
	for _, s := range []set{{ctx, "AVX2", false, true}, {ctx, "AVX512", true, true}} {
		if s.wide {
			s.gemm("64", 4, 4, true)
			s.gemm("16", 8, 1, true)
			s.gemm("48", 8, 3, false) // the widths of heads
			s.gemm("32", 8, 2, false)
			s.outer("64", 4, 1)
			s.outer("16", 1, 2)
			s.transpose512()
			s.matern()
			s.tails()
		} else {
			s.gemm("16", 6, 2, true)
			s.gemm("16x4", 4, 2, true)
			s.outer("16", 2, 1)
			s.transpose()
			s.gather()
		}
		s.adam()
		s.lossGrad()
		s.jointGrad()
		s.variance()
		s.run()
		s.addRows()
		s.sums()
		s.product("product")
		s.product("rounded")
		s.bits()
	}
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

// unrolled is how many steps of a reduction a turn of the loop has.
const unrolled = 2

// gemm generates z = epilogue(a·w) over all rows of one panel of columns, of so many
// registers:
//
//	α·acc + b                       or, where there is keep,
//	max(0, α·acc + b)               where its bit is set, 0 elsewhere, or, where there is h,
//	α·acc                           where h > 0, 0 elsewhere
//
// Panels without conditions have the first only.
func (s set) gemm(name string, rows, vecs int, conditions bool) {
	name = "gemm" + name
	args := "z, a, w, b *float32, rows, k, lda, n int, alpha float32"
	if conditions {
		args += ", keep *uint16, keepBytes int, h *float32"
	}
	s.begin(name, args)
	label := func(l string) string { return name + s.name + "_" + l }
	z, a, left := s.param("z"), s.param("a"), s.param("rows")
	lda, ldn := s.stride("lda", 4), s.stride("n", 4)
	var keep, h GPVirtual
	if conditions {
		keep, h = s.param("keep"), s.param("h")
	}

	s.repeat(label("rows"), left, rows, func() {
		acc := s.zeros(rows * vecs)
		ap := s.bases(s.copyOf(a), lda, rows)
		w, k := s.param("w"), s.param("k")
		wv, x := s.vecs(vecs), s.vec()
		s.repeat(label("k"), k, unrolled, func() {
			for u := range unrolled {
				for c, v := range wv {
					s.VMOVUPS(at(w, c*s.bytes()), v)
				}
				s.ADDQ(ldn, w)
				for r := range rows {
					s.addProducts(acc[r*vecs:][:vecs], rowAt(ap, lda, r, 4*u), wv, x)
				}
			}
			s.advance(4*unrolled, ap...)
		})

		alpha := s.broadcastParam("alpha")
		if conditions {
			s.TESTQ(h, h)
			s.JZ(LabelRef(label("bias")))
			zero := s.zeros(1)[0]
			for i, v := range acc {
				s.keepWhere(v, zero, alpha, at(h, i%vecs*s.bytes()))
				if i%vecs == vecs-1 {
					s.ADDQ(ldn, h)
				}
			}
			s.JMP(LabelRef(label("store")))
			s.Label(label("bias"))
		}
		b := s.param("b")
		for c, v := range wv {
			s.VMOVUPS(at(b, c*s.bytes()), v)
		}
		for i, v := range acc {
			s.VFMADD213PS(wv[i%vecs], alpha, v)
		}
		if conditions {
			s.TESTQ(keep, keep)
			s.JZ(LabelRef(label("store")))
			keepPositive := s.keepPositive()
			for i, v := range acc {
				keepPositive(v, at(keep, i%vecs*s.lanes()/8))
				if i%vecs == vecs-1 {
					s.ADDQ(s.addr("keepBytes"), keep)
				}
			}
			s.Label(label("store"))
		}
		for i, v := range acc {
			s.VMOVUPS(v, at(z, i%vecs*s.bytes()))
			if i%vecs == vecs-1 {
				s.ADDQ(ldn, z)
			}
		}
		t := s.GP64()
		s.IMUL3Q(U32(rows), lda, t)
		s.ADDQ(t, a)
	})
	s.end()
}

// addProducts adds the number at m times each of w to acc; x is for scratch.
func (s set) addProducts(acc []VecVirtual, m Mem, w []VecVirtual, x VecVirtual) {
	if s.wide && len(w) == 1 {
		s.VFMADD231PS_BCST(m, w[0], acc[0])
		return
	}
	s.VBROADCASTSS(m, x)
	for c := range w {
		s.VFMADD231PS(w[c], x, acc[c])
	}
}

// keepPositive returns what sets the lanes of v to zero that are negative or whose bit at
// m is not set.
func (s set) keepPositive() func(v VecVirtual, m Mem) {
	zero := s.zeros(1)[0]
	if s.wide {
		return func(v VecVirtual, m Mem) {
			k := s.K()
			s.KMOVW(m, k)
			// The NaN of the second operand (first here) survives.
			s.VMAXPS_Z(v, zero, k, v)
		}
	}

	// 1<<i in each byte of lane i picks bit i of a byte that is in all of them.
	bits := s.vec()
	s.VMOVDQU(s.table("laneBits", 0x0202020201010101, 0x0808080804040404, 0x2020202010101010, 0x8080808040404040), bits)
	return func(v VecVirtual, m Mem) {
		s.VMAXPS(v, zero, v)
		b := s.vec()
		s.VPBROADCASTB(m, b)
		s.VPAND(bits, b, b)
		s.VPCMPEQD(bits, b, b)
		s.VANDPS(b, v, v)
	}
}

// keepWhere multiplies v by alpha where m is positive, and sets the other lanes to zero.
func (s set) keepWhere(v, zero, alpha VecVirtual, m Mem) {
	if s.wide {
		k := s.K()
		s.VCMPPS(Imm(1), m, zero, k)
		s.VMULPS_Z(alpha, v, k, v)
		return
	}
	b := s.vec()
	s.VCMPPS(Imm(1), m, zero, b)
	s.VMULPS(alpha, v, v)
	s.VANDPS(b, v, v)
}

// outer generates g += α·aᵀ·d for one panel of columns, of so many registers, four rows of
// g at a time; with several partial sums, where few are needed to fill the registers.
// Where there is sum, it gets the column sums of d.
func (s set) outer(name string, vecs, partial int) {
	const kr = 4
	name = "outer" + name
	s.begin(name, "grad, sum, a, d *float32, rows, k, lda, n int, alpha float32")
	label := func(l string) string { return name + s.name + "_" + l }
	g, a, k, sum := s.param("grad"), s.param("a"), s.param("k"), s.param("sum")
	lda, ldn := s.stride("lda", 4), s.stride("n", 4)
	s.repeat(label("k"), k, kr, func() {
		acc, sums := s.zeros(partial*kr*vecs), s.zeros(vecs)
		ap, d, rows := s.copyOf(a), s.param("d"), s.param("rows")
		dv, x := s.vecs(vecs), s.vec()
		loop := func(label string, withSums bool) {
			s.repeat(label, rows, partial, func() {
				for u := range partial {
					for c, v := range dv {
						s.VMOVUPS(at(d, c*s.bytes()), v)
						if withSums {
							s.VADDPS(v, sums[c], sums[c])
						}
					}
					for i := range kr {
						s.VBROADCASTSS(at(ap, 4*i), x)
						for c := range dv {
							s.VFMADD231PS(dv[c], x, acc[(u*kr+i)*vecs+c])
						}
					}
					s.ADDQ(ldn, d)
					s.ADDQ(lda, ap)
				}
			})
		}
		s.TESTQ(sum, sum)
		s.JZ(LabelRef(label("rows")))
		loop(label("summed"), true)
		for c, v := range sums {
			m := at(sum, c*s.bytes())
			s.VADDPS(m, v, v)
			s.VMOVUPS(v, m)
		}
		s.XORQ(sum, sum) // once is enough
		s.JMP(LabelRef(label("store")))
		loop(label("rows"), false)

		s.Label(label("store"))
		alpha := s.broadcastParam("alpha")
		for i, v := range acc[:kr*vecs] {
			for u := 1; u < partial; u++ {
				s.VADDPS(acc[u*kr*vecs+i], v, v)
			}
			m := at(g, i%vecs*s.bytes())
			s.VFMADD213PS(m, alpha, v)
			s.VMOVUPS(v, m)
			if i%vecs == vecs-1 {
				s.ADDQ(ldn, g)
			}
		}
		s.advance(4*kr, a)
	})
	s.end()
}

// addRows adds rows to sum, a register of columns after the other.
func (s set) addRows() {
	s.begin("addRows", "sum, d *float32, rows, n int")
	sum, d, left, ldn := s.param("sum"), s.param("d"), s.param("n"), s.stride("n", 4)
	s.repeat("addRows"+s.name+"_columns", left, s.lanes(), func() {
		p, rows := s.copyOf(d), s.param("rows")
		v := s.load(at(sum, 0))
		s.repeat("addRows"+s.name+"_rows", rows, 1, func() {
			s.VADDPS(at(p, 0), v, v)
			s.ADDQ(ldn, p)
		})
		s.VMOVUPS(v, at(sum, 0))
		s.advance(s.bytes(), sum, d)
	})
	s.end()
}

// product subtracts a·b from a tile of c, in float64: 6 rows of two registers. a
// and b are packed, 6 and 16 numbers for each step of the reduction. rounded adds it, and
// rounds each product first.
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
			if name == "product" {
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

// matern sets k and slope to what gp.matern finds at squared distances q, times the
// variance. It has the instructions of math.Exp, and returns bits where a distance is
// beyond its range.
func (s set) matern() {
	s.single = false
	s.begin("matern", "k, slope, q *float64, n int, variance float64", "uint32")
	k, slope, q, n, variance := s.param("k"), s.param("slope"), s.param("q"), s.param("n"), s.broadcastParam("variance")
	beyond, far, i := s.K(), s.K(), s.GP64()
	s.KXORW(beyond, beyond, beyond)
	s.XORQ(i, i)
	place := func(p GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 8} }
	number := func(x float64) VecVirtual { return s.number(s.constant(x)) }
	one, three, minus := number(1), number(3), number(-1)

	s.Label("matern" + s.name + "_loop")
	r := s.mul(s.add(s.load(place(q)), number(1e-12)), number(5))
	s.VSQRTPD(r, r)
	s.VCMPPD_BCST(Imm(6), s.constant(700), r, far) // not at most
	s.KORW(far, beyond, beyond)

	x := s.mathExp(s.mul(r, minus))
	ratio, linear := s.vec(), s.add(r, one)
	s.VDIVPD(three, s.mul(r, r), ratio)
	s.move(s.mul(s.mul(s.add(linear, ratio), x), variance), place(k))
	s.move(s.mul(s.mul(s.mul(linear, number(5.0/3)), x), variance), place(slope))
	s.advance(s.lanes(), i)
	s.CMPQ(i, n)
	s.JLT(LabelRef("matern" + s.name + "_loop"))
	result := s.GP32()
	s.KMOVW(beyond, result)
	s.Store(result, s.ReturnIndex(0))
	s.end()
}

// mathExp is math.Exp, where the result is a normal number.
func (s set) mathExp(x VecVirtual) VecVirtual {
	number := func(x float64) VecVirtual { return s.number(s.constant(x)) }
	power, y, two := s.vec(), number(2.4801587301587301587e-5), number(2)
	s.VRNDSCALEPD(Imm(0), s.mul(x, number(math.Log2E)), power)
	s.VFNMADD231PD_BCST(s.constant(0.69314718055966295651160180568695068359375), power, x)
	s.VFNMADD231PD_BCST(s.constant(0.28235290563031577122588448175013436025525412068e-12), power, x)
	s.VMULPD_BCST(s.constant(0.0625), x, x)
	for _, c := range []float64{
		1.9841269841269841270e-4, 1.3888888888888888889e-3, 8.3333333333333333333e-3, 4.1666666666666666667e-2,
		1.6666666666666666667e-1, 0.5, 1,
	} {
		s.VFMADD213PD_BCST(s.constant(c), x, y)
	}
	x = s.mul(x, y)
	for range 3 {
		x = s.mul(x, s.add(x, two))
	}
	s.VFMADD213PD(number(1), s.add(x, two), x)
	s.VSCALEFPD(power, x, x)
	return x
}

// tails sets erfc to math.Erfc of x and gauss to exp(−x²), and returns bits where a number is
// not between 0 and 6.5. The coefficients are those of math.
func (s set) tails() {
	s.single = false
	s.begin("tails", "erfc, gauss, x *float64, n int", "uint32")
	erfc, gauss, p, n := s.param("erfc"), s.param("gauss"), s.param("x"), s.param("n")
	beyond, k, i := s.K(), s.K(), s.GP64()
	s.KXORW(beyond, beyond, beyond)
	s.XORQ(i, i)
	place := func(p GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 8} }
	number := func(x float64) VecVirtual { return s.number(s.constant(x)) }
	ratio := func(x VecVirtual, above, below []float64) VecVirtual {
		var of [2]VecVirtual
		for i, list := range [][]float64{above, below} {
			y := number(list[len(list)-1])
			for j := len(list) - 2; j >= 0; j-- {
				s.VMULPD(x, y, y)
				s.VADDPD_BCST(s.constant(list[j]), y, y)
			}
			of[i] = y
		}
		s.VDIVPD(of[1], of[0], of[0])
		return of[0]
	}

	s.Label("tails" + s.name + "_loop")
	x := s.load(place(p))
	for _, limit := range [][2]float64{{6, 6.5}, {9, 0}} { // not at most, not at least
		s.VCMPPD_BCST(Imm(uint64(limit[0])), s.constant(limit[1]), x, k)
		s.KORW(k, beyond, beyond)
	}
	z, minus, one := s.mul(x, x), number(-1), number(1)
	s.move(s.mathExp(s.mul(z, minus)), place(gauss))

	w := s.vec()
	s.VDIVPD(z, one, w)
	far := ratio(w, []float64{
		-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e+01,
		-1.60636384855821916062e+02, -6.37566443368389627722e+02, -1.02509513161107724954e+03,
		-4.83519191608651397019e+02,
	}, []float64{
		1, 3.03380607434824582924e+01, 3.25792512996573918826e+02, 1.53672958608443695994e+03,
		3.19985821950859553908e+03, 2.55305040643316442583e+03, 4.74528541206955367215e+02,
		-2.24409524465858183362e+01,
	})
	near := ratio(w, []float64{
		-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e+01,
		-6.23753324503260060396e+01, -1.62396669462573470355e+02, -1.84605092906711035994e+02,
		-8.12874355063065934246e+01, -9.81432934416914548592e+00,
	}, []float64{
		1, 1.96512716674392571292e+01, 1.37657754143519042600e+02, 4.34565877475229228821e+02,
		6.45387271733267880336e+02, 4.29008140027567833386e+02, 1.08635005541779435134e+02,
		6.57024977031928170135e+00, -6.04244152148580987438e-02,
	})
	below := func(limit float64, v, to VecVirtual) {
		s.VCMPPD_BCST(Imm(1), s.constant(limit), x, k)
		s.VMOVAPD(v, k, to)
	}
	below(1/0.35, near, far)
	high := s.vec()
	s.VPANDQ_BCST(s.constBits(0xffffffff00000000), x, high)
	first := s.mathExp(s.sub(s.mul(s.mul(high, high), minus), number(0.5625)))
	result := s.mul(first, s.mathExp(s.add(s.mul(s.sub(high, x), s.add(high, x)), far)))
	s.VDIVPD(x, result, result)

	middle := s.sub(number(1-8.45062911510467529297e-01), ratio(s.sub(x, one), []float64{
		-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01,
		3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02,
		-2.16637559486879084300e-03,
	}, []float64{
		1, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
		1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02,
	}))
	below(1.25, middle, result)
	y := s.mul(x, ratio(z, []float64{
		1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02,
		-5.77027029648944159157e-03, -2.37630166566501626084e-05,
	}, []float64{
		1, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
		1.32494738004321644526e-04, -3.96022827877536812320e-06,
	}))
	half := number(0.5)
	below(0.84375, s.sub(one, s.add(half, s.add(y, s.sub(x, half)))), result)
	below(0.25, s.sub(one, s.add(x, y)), result)
	s.move(result, place(erfc))
	s.advance(s.lanes(), i)
	s.CMPQ(i, n)
	s.JLT(LabelRef("tails" + s.name + "_loop"))
	bits := s.GP32()
	s.KMOVW(beyond, bits)
	s.Store(bits, s.ReturnIndex(0))
	s.end()
}

// bits fills 64-byte blocks with Bernoulli bits from eight xoshiro256++ lanes:
// majority(res, u, bit) is res|u for a one bit of the threshold and res&u for a zero bit.
// With AVX2 it has four of the eight lanes: dst and state point at them.
func (s set) bits() {
	s.begin("bits", "dst *uint16, blocks int, state, threshold *uint64")
	dst, n, state, threshold := s.param("dst"), s.param("blocks"), s.param("state"), s.param("threshold")
	st, ones := s.vecs(4), s.vec()
	for i, v := range st {
		s.VMOVUPS(at(state, 64*i), v)
	}
	if s.wide {
		s.VPTERNLOGD(Imm(0xff), ones, ones, ones)
	} else {
		s.VPCMPEQD(ones, ones, ones)
	}
	res, u, t, b := s.vec(), s.vec(), s.vec(), s.vec()
	rotate := func(k uint64, v VecVirtual) {
		if s.wide {
			s.VPROLQ(Imm(k), v, v)
			return
		}
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
			if s.wide {
				s.VPTERNLOGQ(Imm(0xE8), b, u, res)
			} else {
				s.VPOR(u, res, t)
				s.VPAND(u, res, res)
				s.VPAND(b, t, t)
				s.VPOR(t, res, res)
			}
			s.VPSLLQ(Imm(17), st[1], u)
			s.xor(st[0], st[2])
			s.xor(st[1], st[3])
			s.xor(st[2], st[1])
			s.xor(st[3], st[0])
			s.xor(u, st[2])
			rotate(45, st[3])
			s.advance(8, bit)
		})
		s.xor(ones, res)
		s.VMOVUPS(res, at(dst, 0))
		s.advance(64, dst)
	})
	for i, v := range st {
		s.VMOVUPS(v, at(state, 64*i))
	}
	s.end()
}

func (s set) xor(a, to VecVirtual) {
	if s.wide {
		s.VPXORQ(a, to, to)
	} else {
		s.VPXOR(a, to, to)
	}
}

// gather copies rows in parts of 4 numbers; the last part is loaded where n allows.
func (s set) gather() {
	s.begin("gather", "dst *float32, ldd int, src *float32, lds int, idx *int32, rows, n int")
	dst, src, idx, rows := s.param("dst"), s.param("src"), s.param("idx"), s.param("rows")
	ldd, lds := s.stride("ldd", 4), s.stride("lds", 4)
	most := s.param("n") // parts before the last, of which rest numbers are taken
	s.DECQ(most)
	rest := s.copyOf(most)
	s.ANDQ(Imm(3), rest)
	s.SHRQ(Imm(2), most)
	window, p, last := s.table("lastLanes", ^uint64(0), ^uint64(0), 0, 0), s.GP64(), s.XMM()
	s.LEAQ(window.Offset(12), p)
	s.SHLQ(Imm(2), rest)
	s.SUBQ(rest, p)
	s.VMOVDQU(at(p, 0), last)
	x, from := s.XMM(), s.GP64()
	s.repeat("gather_rows", rows, 1, func() {
		s.MOVLQSX(at(idx, 0), from)
		s.IMULQ(lds, from)
		s.ADDQ(src, from)
		to, left := s.copyOf(dst), s.copyOf(most)
		s.TESTQ(left, left)
		s.JZ(LabelRef("gather_last"))
		s.repeat("gather_part", left, 1, func() {
			s.VMOVUPS(at(from, 0), x)
			s.VMOVUPS(x, at(to, 0))
			s.advance(16, from, to)
		})
		s.Label("gather_last")
		s.VMASKMOVPS(at(from, 0), last, x)
		s.VMOVUPS(x, at(to, 0))
		s.advance(4, idx)
		s.ADDQ(ldd, dst)
	})
	s.end()
}

// tiles generates the loops of a transposition, over blocks of so many rows × columns.
func (s set) tiles(rows, columns int, block func(src, lds, dst, ldd GPVirtual)) {
	s.begin("transpose", "dst *float32, ldd int, src *float32, lds, rows, cols int")
	dst, src, ldd, lds := s.param("dst"), s.param("src"), s.stride("ldd", 4), s.stride("lds", 4)
	left, t := s.param("rows"), s.GP64()
	s.repeat("transpose"+s.name+"_rows", left, rows, func() {
		from, to, cols := s.copyOf(src), s.copyOf(dst), s.param("cols")
		s.repeat("transpose"+s.name+"_cols", cols, columns, func() {
			block(from, lds, to, ldd)
			s.advance(4*columns, from)
		})
		s.IMUL3Q(U32(rows), lds, t)
		s.ADDQ(t, src)
		s.advance(4*rows, dst)
	})
	s.end()
}

func (s set) transpose512() {
	s.tiles(16, 16, func(src, lds, dst, ldd GPVirtual) {
		a, b, p := s.vecs(16), s.vecs(16), s.copyOf(src)
		for _, v := range a {
			s.VMOVUPS(at(p, 0), v)
			s.ADDQ(lds, p)
		}
		for i := 0; i < 16; i += 4 { // four rows; column c of each 128 bits in a[i+c]
			copy(a[i:], s.transposeQuarters(a[i:i+4]))
		}
		for i := range 4 { // rows 0–7 in b[i], b[i+4], rows 8–15 in b[i+8], b[i+12]: columns i, i+8 | i+4, i+12
			for half := 0; half < 16; half += 8 {
				s.VSHUFF32X4(U8(0x88), a[half+i+4], a[half+i], b[half+i])
				s.VSHUFF32X4(U8(0xdd), a[half+i+4], a[half+i], b[half+i+4])
			}
		}
		for i := range 8 {
			s.VSHUFF32X4(U8(0x88), b[i+8], b[i], a[i])
			s.VSHUFF32X4(U8(0xdd), b[i+8], b[i], a[i+8])
		}
		for _, v := range a {
			s.VMOVUPS(v, at(dst, 0))
			s.ADDQ(ldd, dst)
		}
	})
}

func (s set) transpose() {
	s.tiles(4, 8, func(src, lds, dst, ldd GPVirtual) {
		a, p := s.vecs(4), s.bases(src, lds, 4)
		for i, v := range a {
			s.VMOVUPS(rowAt(p, lds, i, 0), v)
		}
		a = s.transposeQuarters(a) // columns 0 and 4, 1 and 5 …
		for half := range 2 {
			for _, v := range a {
				s.storeQuarter(v, half, at(dst, 0))
				s.ADDQ(ldd, dst)
			}
		}
	})
}
