package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The assembly of the transforms. Lanes are eight to a vector in memory, which are two
// registers, one after the other. No fused multiply-add: every product is rounded, as in
// the portable twin, so that both sets give the same bits.
func transforms(ctx *build.Context) {
	s := set{Context: ctx, name: "AVX2"}
	s.stages()
	s.twist()
	s.addPower()
	s.untangle()
	s.loadPair(8)
	s.loadPair(4)
	s.loadComplex()
	s.storeComplex()
	s.around()
	s.sum(8)
	s.sum(4)
}

const vec = 128 // bytes of a complex vector: 64 of real parts, 64 of imaginary parts

// parts is how many registers hold the real parts of a vector.
const parts = 64 / registerBytes

type complexes struct{ re, im VecVirtual }

// complexAt loads a vector, or the part of one that fills a register.
func (s set) complexAt(m Mem) complexes { return complexes{s.load(m), s.load(m.Offset(64))} }

func (s set) store(m Mem, x complexes) {
	s.move(x.re, m)
	s.move(x.im, m.Offset(64))
}

func (s set) cadd(a, b complexes) complexes { return complexes{s.add(a.re, b.re), s.add(a.im, b.im)} }

func (s set) csub(a, b complexes) complexes { return complexes{s.sub(a.re, b.re), s.sub(a.im, b.im)} }

// minusI is −i·(a − b).
func (s set) minusI(a, b complexes) complexes {
	return complexes{s.sub(a.im, b.im), s.sub(b.re, a.re)}
}

// cmul is a·w, in the order of mul in the portable twin.
func (s set) cmul(a, w complexes) complexes {
	re := s.sub(s.mul(a.re, w.re), s.mul(a.im, w.im))
	return complexes{re, s.add(s.mul(a.re, w.im), s.mul(a.im, w.re))}
}

// factor returns the complex number at m in all lanes.
func (s set) factor(m Mem) complexes {
	v := complexes{s.vec(), s.vec()}
	s.broadcast(m, v.re)
	s.broadcast(m.Offset(8), v.im)
	return v
}

// times is a by a constant.
func (s set) times(a VecVirtual, x float64) VecVirtual {
	r := s.vec()
	s.VMULPD(s.constant(x), a, r)
	return r
}

const (
	sin60 = 0.86602540378443864676
	cos72 = 0.30901699437494742410
	cos36 = 0.80901699437494742410
	sin72 = 0.95105651629515357212
	sin36 = 0.58778525229247312917
)

// butterfly computes the outputs of one butterfly before the twiddles, in the order of
// operations of the portable twin, and passes each to put.
func (s set) butterfly(x []complexes, put func(i int, v complexes)) {
	switch len(x) {
	case 2:
		put(0, s.cadd(x[0], x[1]))
		put(1, s.csub(x[0], x[1]))
	case 3:
		sum, d := s.cadd(x[1], x[2]), s.minusI(x[1], x[2])
		d = complexes{s.times(d.re, sin60), s.times(d.im, sin60)}
		put(0, s.cadd(x[0], sum))
		m := complexes{s.sub(x[0].re, s.times(sum.re, 0.5)), s.sub(x[0].im, s.times(sum.im, 0.5))}
		put(1, s.cadd(m, d))
		put(2, s.csub(m, d))
	case 4:
		p, m := s.cadd(x[0], x[2]), s.csub(x[0], x[2])
		q, n := s.cadd(x[1], x[3]), s.minusI(x[1], x[3])
		put(0, s.cadd(p, q))
		put(1, s.cadd(m, n))
		put(2, s.csub(p, q))
		put(3, s.csub(m, n))
	case 5:
		b, e := s.cadd(x[1], x[4]), s.minusI(x[1], x[4])
		c, d := s.cadd(x[2], x[3]), s.minusI(x[2], x[3])
		put(0, s.cadd(s.cadd(x[0], b), c))
		part := func(a, b, c, e, d VecVirtual) (p, q, u, v VecVirtual) {
			p = s.sub(s.add(a, s.times(b, cos72)), s.times(c, cos36))
			q = s.add(s.sub(a, s.times(b, cos36)), s.times(c, cos72))
			u = s.add(s.times(e, sin72), s.times(d, sin36))
			v = s.sub(s.times(e, sin36), s.times(d, sin72))
			return p, q, u, v
		}
		pr, qr, ur, vr := part(x[0].re, b.re, c.re, e.re, d.re)
		pi, qi, ui, vi := part(x[0].im, b.im, c.im, e.im, d.im)
		put(1, complexes{s.add(pr, ur), s.add(pi, ui)})
		put(4, complexes{s.sub(pr, ur), s.sub(pi, ui)})
		put(2, complexes{s.add(qr, vr), s.add(qi, vi)})
		put(3, complexes{s.sub(qr, vr), s.sub(qi, vi)})
	}
}

// stages is kernel.Set.Stages: for each group and each of its vectors a row of butterflies
// from x to tmp, whose outputs are neighbours, and one from tmp to y. The numbers are those
// of the plan (dsp/kernel, stagesFast); they stay where the caller put them.
func (s set) stages() {
	s.begin("stages", "y, x, tw, tmp *float64, groups, vectors, nextX, nextY, nextTwiddles, "+
		"radix, count, in, nextIn, radix2, count2, in2, out2, nextOut2 int")
	label := func(l string, n ...any) string { return "stages" + s.name + "_" + l + fmt.Sprint(n...) }
	to := func(l string, n ...any) LabelRef { return LabelRef(label(l, n...)) }
	y, x, tw, k := s.param("y"), s.param("x"), s.param("tw"), s.GP64()
	in, out, twiddle, left := s.GP64(), s.GP64(), s.GP64(), s.GP64()
	distance := func(number string) (one, three GPVirtual) {
		one, three = s.param(number), s.GP64()
		s.LEAQ(Mem{Base: one, Index: one, Scale: 2}, three)
		return one, three
	}
	in1, in3 := distance("in")
	between1, between3 := distance("in2")
	out1, out3 := distance("out2")
	between := func(p GPVirtual) { // the place in tmp
		s.MOVQ(k, p)
		s.ANDQ(Imm(32), p) // of the half
		s.ADDQ(s.addr("tmp"), p)
	}
	jump := func(n, code int) {
		s.CMPQ(s.addr([]string{"radix", "radix2"}[n-1]), Imm(uint64(code)))
		s.JE(to("row", n, "_", code))
	}
	near := make([]Mem, 5) // the outputs of the first
	for i := range near {
		near[i] = at(out, vec*i)
	}

	s.Label(label("group"))
	s.XORQ(k, k)
	s.Label(label("vector"))
	s.LEAQ(Mem{Base: x, Index: k, Scale: 1}, in)
	between(out)
	s.MOVQ(tw, twiddle)
	s.MOVQ(s.addr("count"), left)
	for _, code := range []int{4, 5, 3} {
		jump(1, code)
	}
	for _, code := range []int{2, 3, 5, 4} {
		s.butterflies(label("row1_", code), code, left, twiddle, fan(in, in1, in3), near, func(radix int) {
			s.ADDQ(s.addr("nextIn"), in)
			s.advance(vec*radix, out)
			s.advance(16*(radix-1), twiddle)
		})
		if code != 4 {
			s.JMP(to("second"))
		}
	}

	s.Label(label("second"))
	between(in)
	s.LEAQ(Mem{Base: y, Index: k, Scale: 1}, out)
	s.MOVQ(s.addr("count2"), left)
	s.CMPQ(s.addr("radix2"), Imm(5))
	s.JA(to("last"))
	for _, code := range []int{4, 5, 3, 2} {
		jump(2, code)
	}
	s.JMP(to("next"))
	s.Label(label("last"))
	for _, code := range []int{8, 9, 7} {
		jump(2, code)
	}
	for _, code := range []int{6, 7, 9, 2, 3, 5, 8, 4} {
		ins, outs := fan(in, between1, between3), fan(out, out1, out3)
		s.butterflies(label("row2_", code), code, left, twiddle, ins, outs, func(int) {
			s.advance(vec, in)
			s.ADDQ(s.addr("nextOut2"), out)
		})
		if code != 4 {
			s.JMP(to("next"))
		}
	}

	s.Label(label("next"))
	s.advance(registerBytes, k) // after the second half of the real parts, the imaginary ones are passed over
	s.MOVQ(k, left)
	s.ANDQ(Imm(64), left)
	s.ADDQ(left, k)
	s.CMPQ(k, s.addr("vectors"))
	s.JNE(to("vector"))
	s.ADDQ(s.addr("nextX"), x)
	s.ADDQ(s.addr("nextY"), y)
	s.ADDQ(s.addr("nextTwiddles"), tw)
	s.DECQ(s.addr("groups"))
	s.JNE(to("group"))
	s.end()
}

// butterflies generates a loop of butterflies, of the radix code or, without twiddles, of
// code−4. next goes on to the places of the next one.
func (s set) butterflies(label string, code int, left, twiddle GPVirtual, ins, outs []Mem, next func(radix int)) {
	radix, twiddles := code, code <= 5
	if !twiddles {
		radix -= 4
	}
	s.repeat(label, left, 1, func() {
		var v []complexes
		for _, m := range ins[:radix] {
			v = append(v, s.complexAt(m))
		}
		s.butterfly(v, func(i int, v complexes) {
			if i > 0 && twiddles {
				v = s.cmul(v, s.factor(at(twiddle, 16*(i-1))))
			}
			s.store(outs[i], v)
		})
		next(radix)
	})
}

// fan returns five places base + i·step, of which step3 is three.
func fan(base, step, step3 GPVirtual) []Mem {
	m := []Mem{{Base: base}}
	for i, index := range []GPVirtual{step, step, step3, step} {
		m = append(m, Mem{Base: base, Index: index, Scale: []uint8{1, 2, 1, 4}[i]})
	}
	return m
}

// twist multiplies eight vectors by near·far (twiddles between the two steps), transposes
// them and stores the eight vectors of the transpose.
//
//	x     groups × 8 vectors, row k of them all lanes j
//	near  a vector for each row: w^(l·k), l the lane
//	far   a number for each row: w^(base·k)
//	y     groups × 8 vectors, stride numbers between groups
//
// Four rows are transposed at once.
func (s set) twist() {
	s.begin("twist", "y, x, near, far *float64, stride, groups int")
	label := func(l string) string { return "twist" + s.name + "_" + l }
	y, x, near, far := s.param("y"), s.param("x"), s.param("near"), s.param("far")
	stride, groups := s.stride("stride", 8), s.param("groups")
	const atOnce = 4

	s.repeat(label("group"), groups, 1, func() {
		to, rows := s.copyOf(y), s.copyOf(U32(8/atOnce))
		s.repeat(label("rows"), rows, 1, func() {
			left := s.copyOf(U32(parts))
			s.repeat(label("part"), left, 1, func() {
				var re, im []VecVirtual
				for k := range atOnce {
					w := s.cmul(s.complexAt(at(near, vec*k)), s.factor(at(far, 16*k)))
					v := s.cmul(s.complexAt(at(x, vec*k)), w)
					re, im = append(re, v.re), append(im, v.im)
				}
				for i, v := range [][]VecVirtual{re, im} {
					for column, o := range s.transpose4(v) {
						s.move(o, at(to, vec*column+64*i))
					}
				}
				s.advance(registerBytes, near, x)
				s.advance(vec*atOnce, to)
			})
			s.advance(-64, near, x)
			s.advance(-vec*8, to)
			s.advance(vec*atOnce, near, x)
			s.advance(16*atOnce, far)
			s.advance(8*atOnce, to)
		})
		s.ADDQ(stride, y)
	})
	s.end()
}

func (s set) transpose4(a []VecVirtual) []VecVirtual {
	b, o := s.vecs(4), s.vecs(4)
	for i := 0; i < 4; i += 2 {
		s.VUNPCKLPD(a[i+1], a[i], b[i]) // 00 10 | 02 12
		s.VUNPCKHPD(a[i+1], a[i], b[i+1])
	}
	for i := range o {
		s.VPERM2F128(Imm([]uint64{0x20, 0x31}[i/2]), b[i%2+2], b[i%2], o[i])
	}
	return o
}

// loadPair fills rows vectors from two real sequences under a Hann window:
// (a−meanA)·w as the real part and (b−meanB)·w as the imaginary one, stride
// samples between rows, groups of them jump rows apart; w = ½ − (row cosine·lane cosine − row sine·lane sine).
// size is that of a sample, 8 or 4 bytes.
func (s set) loadPair(size int) {
	name := fmt.Sprintf("loadPair%d", 8*size)
	s.begin(name, fmt.Sprintf("dst *float64, a, b *float%d, row, lane *float64, meanA, meanB float64, "+
		"stride, rows, jump, groups int", 8*size))
	dst, a, b, row, lane := s.param("dst"), s.param("a"), s.param("b"), s.param("row"), s.param("lane")
	mean := []VecVirtual{s.broadcastParam("meanA"), s.broadcastParam("meanB")}
	stride, rows, groups := s.stride("stride", size), s.param("rows"), s.param("groups")
	turns := s.param("jump") // from a group's end to the next one's start
	s.SUBQ(rows, turns)
	back := s.copyOf(turns)
	s.IMULQ(stride, back)
	s.IMUL3Q(U32(16), turns, turns)
	half := s.number(s.constant(0.5))
	var angle []complexes
	for part := range parts {
		angle = append(angle, s.complexAt(at(lane, part*registerBytes)))
	}

	s.repeat(name+s.name+"_group", groups, 1, func() {
		left := s.copyOf(rows)
		s.repeat(name+s.name+"_row", left, 1, func() {
			turn := s.factor(at(row, 0))
			for part := range parts {
				win := s.add(s.sub(half, s.mul(turn.re, angle[part].re)), s.mul(turn.im, angle[part].im))
				for i, src := range []GPVirtual{a, b} {
					v, m := s.vec(), at(src, part*s.lanes()*size)
					if size == 8 {
						s.move(m, v)
					} else {
						s.VCVTPS2PD(m, v)
					}
					s.move(s.mul(s.sub(v, mean[i]), win), at(dst, 64*i+part*registerBytes))
				}
			}
			s.advance(vec, dst)
			s.ADDQ(stride, a)
			s.ADDQ(stride, b)
			s.advance(16, row)
		})
		s.ADDQ(back, a)
		s.ADDQ(back, b)
		s.ADDQ(turns, row)
	})
	s.end()
}

// loadComplex parts rows of eight complex numbers, stride numbers apart, groups of them
// jump rows apart.
func (s set) loadComplex() {
	s.begin("loadComplex", "dst, src *float64, stride, rows, jump, groups int")
	dst, src, stride, rows := s.param("dst"), s.param("src"), s.stride("stride", 16), s.param("rows")
	back, groups := s.param("jump"), s.param("groups")
	s.SUBQ(rows, back)
	s.IMULQ(stride, back) // from a group's end to the next one's start

	s.repeat("loadComplex"+s.name+"_group", groups, 1, func() {
		left := s.copyOf(rows)
		s.repeat("loadComplex"+s.name+"_row", left, 1, func() {
			for part := range parts {
				lo, hi := s.load(at(src, 2*registerBytes*part)), s.load(at(src, 2*registerBytes*part+registerBytes))
				x := complexes{s.vec(), s.vec()}
				s.VUNPCKLPD(hi, lo, x.re)
				s.VUNPCKHPD(hi, lo, x.im)
				s.VPERMPD(Imm(0xD8), x.re, x.re)
				s.VPERMPD(Imm(0xD8), x.im, x.im)
				s.store(at(dst, part*registerBytes), x)
			}
			s.advance(vec, dst)
			s.ADDQ(stride, src)
		})
		s.ADDQ(back, src)
	})
	s.end()
}

// storeComplex is the inverse of loadComplex.
func (s set) storeComplex() {
	s.begin("storeComplex", "dst, src *float64, stride, rows int")
	dst, src, stride, rows := s.param("dst"), s.param("src"), s.stride("stride", 16), s.param("rows")

	s.repeat("storeComplex"+s.name+"_row", rows, 1, func() {
		for part := range parts {
			x := s.complexAt(at(src, part*registerBytes))
			lo, hi := s.vec(), s.vec()
			s.VPERMPD(Imm(0xD8), x.re, x.re)
			s.VPERMPD(Imm(0xD8), x.im, x.im)
			s.VUNPCKLPD(x.im, x.re, lo)
			s.VUNPCKHPD(x.im, x.re, hi)
			s.move(lo, at(dst, 2*registerBytes*part))
			s.move(hi, at(dst, 2*registerBytes*part+registerBytes))
		}
		s.advance(vec, src)
		s.ADDQ(stride, dst)
	})
	s.end()
}

// addPower adds the squared magnitudes of rows vectors to rows of sums, stride numbers
// apart.
func (s set) addPower() {
	s.begin("addPower", "sum, x *float64, stride, rows int")
	sum, x, stride, rows := s.param("sum"), s.param("x"), s.stride("stride", 8), s.param("rows")

	s.repeat("addPower"+s.name+"_row", rows, 1, func() {
		for part := range parts {
			v := s.complexAt(at(x, part*registerBytes))
			p, to := s.add(s.mul(v.re, v.re), s.mul(v.im, v.im)), at(sum, part*registerBytes)
			s.VADDPD(to, p, p)
			s.move(p, to)
		}
		s.advance(vec, x)
		s.ADDQ(stride, sum)
	})
	s.end()
}

// untangle makes blocks of eight powers of two spectra from pairs of numbers, low's upwards
// and high's downwards. x is from the first numbers of sums of pairs and the second ones of
// differences, y from the others.
func (s set) untangle() {
	s.begin("untangle", "x, y *float32, low, high *float64, scale float64, blocks int")
	x, y, low, high := s.param("x"), s.param("y"), s.param("low"), s.param("high")
	scale, blocks := s.broadcastParam("scale"), s.param("blocks")
	const registers = 2 * parts

	s.repeat("untangle"+s.name+"_block", blocks, 1, func() {
		for part := range parts {
			var sums, differences []VecVirtual
			for i := 2 * part; i < 2*part+2; i++ {
				v, w := s.load(at(low, i*registerBytes)), s.load(at(high, (registers-1-i)*registerBytes))
				s.VPERM2F128(Imm(1), w, w, w)
				a, c := s.add(v, w), s.sub(v, w)
				sums, differences = append(sums, s.mul(a, a)), append(differences, s.mul(c, c))
			}
			unpack := func(f func(...Op), v []VecVirtual) VecVirtual {
				r := s.vec()
				f(v[1], v[0], r)
				return r
			}
			px := s.add(unpack(s.VUNPCKLPD, sums), unpack(s.VUNPCKHPD, differences))
			py := s.add(unpack(s.VUNPCKLPD, differences), unpack(s.VUNPCKHPD, sums))
			for i, p := range []VecVirtual{py, px} { // y first: it may be x
				p, to := s.mul(p, scale), at([]GPVirtual{y, x}[i], 16*part)
				s.VPERMPD(Imm(0xD8), p, p)
				s.VCVTPD2PSY(p, p.AsX())
				s.VMOVUPS(p.AsX(), to)
			}
		}
		s.advance(32, x, y)
		s.advance(128, low)
		s.advance(-128, high)
	})
	s.end()
}

// around takes eight numbers at a time, then the last eight again, of which it counts those
// that are new.
func (s set) around() {
	s.begin("around", "x *float64, n int, mark float64", "below int, low, high float64")
	x, n, mark := s.param("x"), s.param("n"), s.broadcastParam("mark")
	ones := ^uint64(0)
	table := s.table("fresh", 0, 0, 0, 0, 0, 0, 0, 0, ones, ones, ones, ones, ones, ones, ones)
	acc := append(s.zeros(2), s.number(s.constant(math.Inf(1))))
	count, low, high := acc[0], acc[1], acc[2]
	take := func(p, fresh Register) {
		for part := range parts {
			v, less, under, over := s.load(at(p, part*registerBytes)), s.vec(), s.vec(), s.vec()
			s.VCMPPD(Imm(1), mark, v, less)
			s.VANDPD(less, v, under)
			s.VMAXPD(under, low, low)
			s.VORPD(less, v, over)
			s.VMINPD(high, over, high) // the first operand where the second is all ones, no number
			if fresh != nil {
				s.VANDPD(at(fresh, part*registerBytes), less, less)
			}
			s.VPSUBQ(less, count, count)
		}
	}

	end, blocks, fresh := s.GP64(), s.copyOf(n), s.GP64()
	s.LEAQ(Mem{Base: x, Index: n, Scale: 8, Disp: -64}, end)
	s.SHRQ(Imm(3), blocks)
	s.repeat("around"+s.name+"_block", blocks, 1, func() {
		take(x, nil)
		s.advance(64, x)
	})
	s.ANDQ(Imm(7), n)
	s.LEAQ(table, fresh)
	s.LEAQ(Mem{Base: fresh, Index: n, Scale: 8}, fresh)
	take(end, fresh)

	for i, v := range acc {
		join := []func(...Op){s.VPADDQ, s.VMAXPD, s.VMINPD}[i]
		a, b := v.AsX(), s.XMM()
		s.VEXTRACTF128(Imm(1), v, b)
		join(b, a, a)
		s.VUNPCKHPD(a, a, b)
		join(b, a, a)
		s.VMOVQ(a, s.place(s.ReturnIndex(i)))
	}
	s.end()
}

// sum adds blocks of 32 samples lane by lane and joins them to eight sums.
func (s set) sum(size int) {
	name := fmt.Sprintf("sum%d", 8*size)
	s.begin(name, fmt.Sprintf("dst *float64, x *float%d, blocks int", 8*size))
	dst, x, blocks := s.param("dst"), s.param("x"), s.param("blocks")
	acc := s.zeros(4 * parts)

	s.repeat(name+s.name+"_block", blocks, 1, func() {
		for i, a := range acc {
			m := at(x, i*s.lanes()*size)
			if size == 8 {
				s.VADDPD(m, a, a)
				continue
			}
			v := s.vec()
			s.VCVTPS2PD(m, v)
			s.VADDPD(v, a, a)
		}
		s.advance(32*size, x)
	})
	for part := range parts {
		a := func(i int) VecVirtual { return acc[i*parts+part] }
		s.move(s.add(s.add(a(0), a(1)), s.add(a(2), a(3))), at(dst, part*registerBytes))
	}
	s.end()
}
