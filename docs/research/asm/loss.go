package main

import (
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// As in the portable code: moments below tiny become zero, varianceFloor is added to
// softplus(raw).
const (
	tiny          = 1e-35
	varianceFloor = 1e-6
)

const (
	log2e    = 1.44269504088896341
	ln2Hi    = 0.693145751953125
	ln2Lo    = 1.42860682030941723212e-6
	expMin   = -87.25
	absBits  = 0x7fffffff
	mantissa = 0x007fffff

	sqrtHalfBits = 0x3f3504f3
)

// plus, minus and by are a with a constant, in place.
func (s set) plus(a VecVirtual, x float64)  { s.VADDPS(s.constant(x), a, a) }
func (s set) minus(a VecVirtual, x float64) { s.VSUBPS(s.constant(x), a, a) }
func (s set) by(a VecVirtual, x float64)    { s.VMULPS(s.constant(x), a, a) }

// addBy adds x·a to sum.
func (s set) addBy(sum, a VecVirtual, x float64) { s.VFMADD231PS(s.constant(x), a, sum) }

func (s set) all(x float64) VecVirtual { return s.number(s.constant(x)) }

// and is x with only the bits of the mask.
func (s set) and(x VecVirtual, mask uint64) VecVirtual {
	y := s.vec()
	s.VPAND(s.constBits(mask), x, y)
	return y
}

// elements generates a loop over n numbers, a register at a time; place is where the ones
// of a pointer are.
func (s set) elements(name string, n GPVirtual, body func(place func(GPVirtual) Mem)) {
	i, label := s.GP64(), name+s.name+"_loop"
	s.XORQ(i, i)
	s.Label(label)
	body(func(p GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 4} })
	s.advance(s.lanes(), i)
	s.CMPQ(i, n)
	s.JLT(LabelRef(label))
}

// flush zeroes the lanes of x below tiny; NaN stays.
func (s set) flush(x VecVirtual) {
	t := s.and(x, absBits)
	s.VCMPPS(Imm(5), s.constant(tiny), t, t) // not less than
	s.VANDPS(t, x, x)
}

func (s set) adam() {
	s.begin("adam", "w, grad, m, v *float32, n int, c *float32")
	w, g, m, v, n, c := s.param("w"), s.param("grad"), s.param("m"), s.param("v"), s.param("n"), s.param("c")
	var k [8]VecVirtual // in the order of AdamStep
	for i := range k {
		k[i] = s.number(at(c, 4*i))
	}
	zero := s.zeros(1)[0]

	s.elements("adam", n, func(place func(GPVirtual) Mem) {
		gv, mv, vv, den := s.load(place(g)), s.vec(), s.vec(), s.vec()
		s.VMULPS(place(m), k[0], mv)
		s.VFMADD231PS(gv, k[1], mv)
		s.flush(mv)
		s.VMOVUPS(mv, place(m))
		s.VMULPS(gv, gv, gv)
		s.VMULPS(place(v), k[2], vv)
		s.VFMADD231PS(gv, k[3], vv)
		s.flush(vv)
		s.VMOVUPS(vv, place(v))
		s.VMOVUPS(zero, place(g))
		s.VSQRTPS(vv, den)
		s.VFMADD213PS(k[6], k[5], den) // √v·scale + ε
		s.VMULPS(k[4], mv, mv)
		s.VDIVPS(den, mv, mv)
		wv := s.load(place(w))
		s.VFMSUB213PS(mv, k[7], wv) // decay·w − …
		s.VMOVUPS(wv, place(w))
	})
	s.end()
}

// poly evaluates coefficients from the highest down at x, by fused steps.
func (s set) poly(x VecVirtual, c ...float64) VecVirtual {
	p := s.all(c[0])
	for _, k := range c[1:] {
		s.VFMADD213PS(s.constant(k), x, p)
	}
	return p
}

// exp, log and log1p are the portable exp32, log32 and log1p32.
func (s set) exp(x VecVirtual) VecVirtual {
	s.VMAXPS(x, s.all(expMin), x) // keeps NaN
	n, f := s.vec(), s.vec()
	s.VMULPS(s.constant(log2e), x, n)
	s.VCVTPS2DQ(n, n)
	s.VCVTDQ2PS(n, f)
	s.VFNMADD231PS(s.constant(ln2Hi), f, x)
	s.VFNMADD231PS(s.constant(ln2Lo), f, x)
	p := s.poly(x, 1.0/5040, 1.0/720, 1.0/120, 1.0/24, 1.0/6, 0.5, 1, 1)
	s.VPADDD(s.constBits(127), n, n)
	s.VPSLLD(Imm(23), n, n)
	return s.mul(p, n)
}

func (s set) log(x VecVirtual) VecVirtual {
	b, n, q := s.vec(), s.vec(), s.vec()
	half := s.constBits(sqrtHalfBits)
	s.VPSUBD(half, x, b)
	s.VPSRAD(Imm(23), b, n)
	s.VCVTDQ2PS(n, n)
	m := s.and(b, mantissa)
	s.VPADDD(half, m, m)
	s.VADDPS(s.constant(1), m, q)
	s.minus(m, 1)
	s.VDIVPS(q, m, q) // s
	z := s.mul(q, q)
	p := s.mul(s.poly(z, 2.0/9, 2.0/7, 2.0/5, 2.0/3), z)
	s.plus(p, 2)
	p = s.mul(p, q)
	s.addBy(p, n, ln2Lo)
	s.addBy(p, n, ln2Hi)
	return p
}

func (s set) log1p(x VecVirtual) VecVirtual {
	q := s.vec()
	s.VADDPS(s.constant(2), x, q)
	s.VDIVPS(q, x, q)
	z := s.mul(q, q)
	p := s.mul(s.poly(z, 2.0/17, 2.0/15, 2.0/13, 2.0/11, 2.0/9, 2.0/7, 2.0/5, 2.0/3), z)
	s.plus(p, 2)
	return s.mul(p, q)
}

// softplus returns max(r,0) + log1p(e) + floor.
func (s set) softplus(r, e VecVirtual, floor float64) VecVirtual {
	v := s.log1p(e)
	if floor > 0 {
		s.plus(v, floor)
	}
	t := s.zeros(1)[0]
	s.VMAXPS(r, t, t)
	return s.add(v, t)
}

func (s set) variance() {
	s.begin("variance", "raw *float32, n int")
	p, n := s.param("raw"), s.param("n")
	s.elements("variance", n, func(place func(GPVirtual) Mem) {
		r := s.load(place(p))
		x := s.and(r, absBits)
		x = s.sub(s.zeros(1)[0], x)
		s.VMOVUPS(s.softplus(r, s.exp(x), varianceFloor), place(p))
	})
	s.end()
}

// softplusSlope returns v = softplus(r) + floor and den, f with the slope f·f/den: 1 + e
// and 1, or h = √e for negative r.
func (s set) softplusSlope(r VecVirtual, floor float64) (v, den, f VecVirtual) {
	x := s.and(r, absBits)
	s.by(x, -0.5)
	h := s.exp(x)
	e := s.mul(h, h)
	v = s.softplus(r, e, floor)
	one := s.all(1)
	den, f = s.add(e, one), s.vec()
	s.VBLENDVPS(r, h, one, f) // by r's sign; −0 has h = 1
	return v, den, f
}

// slope is v times the slope that den and f are of.
func (s set) slope(v, den, f VecVirtual) VecVirtual {
	s.VDIVPS(den, v, v)
	return s.mul(s.mul(v, f), f)
}

// betaTerm adds s·(log v + q/2v) to sum, s = ½c·v^β, and returns s/v and 1 − q/2v.
func (s set) betaTerm(sum, v VecVirtual, c Mem, square func() VecVirtual) (by, rest VecVirtual) {
	iv := s.all(1)
	s.VDIVPS(v, iv, iv)
	lv := s.log(v)
	sc := s.exp(s.mul(s.broadcastParam("beta"), lv))
	s.by(sc, 0.5)
	s.VMULPS(c, sc, sc)
	q := square()
	s.by(q, 0.5)
	q = s.mul(q, iv)
	s.VFMADD231PS(s.add(lv, q), sc, sum)
	return s.mul(sc, iv), s.sub(s.all(1), q)
}

const lossArgs = "gmu, graw, mu, raw, t1, t2, c *float32, n int, beta float32"

// residuals returns t − μ of both targets.
func (s set) residuals(mu, t1, t2 Mem) (a, b VecVirtual) {
	m := s.load(mu)
	return s.sub(s.load(t1), m), s.sub(s.load(t2), m)
}

// storeNegative stores −v.
func (s set) storeNegative(v VecVirtual, to Mem) { s.VMOVUPS(s.sub(s.zeros(1)[0], v), to) }

func (s set) lossGrad() {
	s.begin("lossGrad", lossArgs, "float32")
	gmu, graw, mu, raw := s.param("gmu"), s.param("graw"), s.param("mu"), s.param("raw")
	t1, t2, c, n := s.param("t1"), s.param("t2"), s.param("c"), s.param("n")
	sum := s.zeros(1)[0]
	s.elements("lossGrad", n, func(place func(GPVirtual) Mem) {
		v, den, f := s.softplusSlope(s.load(place(raw)), varianceFloor)
		var a, b VecVirtual
		by, rest := s.betaTerm(sum, v, place(c), func() VecVirtual {
			a, b = s.residuals(place(mu), place(t1), place(t2))
			q := s.mul(a, a)
			s.VFMADD231PS(b, b, q)
			return q
		})
		s.storeNegative(s.mul(s.add(a, b), by), place(gmu))
		s.VMOVUPS(s.slope(s.mul(rest, by), den, f), place(graw))
	})
	s.returnSum(sum)
}

// folded adds the lanes of v that are 128 bits apart; t is for scratch.
func (s set) folded(v VecVirtual) (sum, t VecVirtual) {
	sum, t = s.XMM(), s.XMM()
	s.VEXTRACTF128(Imm(1), v, sum)
	either(s, s.VADDPD, s.VADDPS)(v.AsX(), sum, sum)
	return sum, t
}

// returnSum returns the sum of the lanes.
func (s set) returnSum(sum VecVirtual) {
	o, t := s.folded(sum)
	s.VMOVHLPS(o, o, t)
	s.VADDPS(t, o, o)
	s.VMOVSHDUP(o, t)
	s.VADDSS(t, o, o)
	s.Store(o, s.ReturnIndex(0))
	s.end()
}

// sums adds up in float64, half a register of c at a time and two at once.
func (s set) sums() {
	s.begin("sums", "c, w, e *float32, n int, out *float64")
	c, w, e, n := s.param("c"), s.param("w"), s.param("e"), s.param("n")
	acc := s.zeros(6)
	s.elements("sums", n, func(place func(GPVirtual) Mem) {
		for u := range 2 {
			wide := func(p GPVirtual) VecVirtual {
				v := s.vec()
				s.VCVTPS2PD(place(p).Offset(u*registerBytes/2), v)
				return v
			}
			cv, wv, ev := wide(c), wide(w), wide(e)
			s.VMULPD(cv, wv, wv)
			s.VADDPD(wv, acc[u], acc[u])
			s.VFMADD231PD(ev, wv, acc[2+u])
			s.VFMADD231PD(cv, wv, acc[4+u])
		}
	})
	out, d := s.param("out"), s // sums are float64
	d.single = false
	for k := range 3 {
		v := acc[2*k]
		s.VADDPD(acc[2*k+1], v, v)
		o, t := d.folded(v)
		s.VUNPCKHPD(o, o, t)
		s.VADDSD(t, o, o)
		s.VMOVSD(o, at(out, 8*k))
	}
	s.end()
}
