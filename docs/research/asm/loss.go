package main

import (
	"fmt"

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

func (s set) jointGrad() {
	s.begin("jointGrad", lossArgs, "float32")
	gmu, graw, mu, raw := s.param("gmu"), s.param("graw"), s.param("mu"), s.param("raw")
	t1, t2, c, n := s.param("t1"), s.param("t2"), s.param("c"), s.param("n")
	second := func(p GPVirtual) GPVirtual { // the numbers of C, after those of A
		q := s.GP64()
		s.LEAQ(Mem{Base: p, Index: n, Scale: 4}, q)
		return q
	}
	rawC, gC := second(raw), second(graw)
	sum := s.zeros(1)[0]
	s.elements("jointGrad", n, func(place func(GPVirtual) Mem) {
		v, den, f := s.softplusSlope(s.load(place(raw)), varianceFloor)
		t, denC, fC := s.softplusSlope(s.load(place(rawC)), varianceFloor)
		t = s.add(s.add(t, t), v)
		var a VecVirtual
		by, rest := s.betaTerm(sum, t, place(c), func() VecVirtual {
			x, y := s.residuals(place(mu), place(t1), place(t2))
			a = s.add(x, y) // √2·s
			return s.mul(a, a)
		})
		g := s.mul(rest, by) // by T
		s.storeNegative(s.mul(a, s.add(by, by)), place(gmu))
		s.VMOVUPS(s.slope(s.add(g, g), denC, fC), place(gC))
		by, rest = s.betaTerm(sum, v, place(c), func() VecVirtual {
			q := s.load(place(t1))
			s.VSUBPS(place(t2), q, q) // √2·r
			return s.mul(q, q)
		})
		s.VFMADD231PS(by, rest, g)
		s.VMOVUPS(s.slope(g, den, f), place(graw))
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

// Fields of a step of a Program.
const (
	stepOutputs = iota
	stepProducts
	stepKind
	stepScale
	stepP
	stepQ      = stepP + 3
	stepInit   = stepQ + 3
	stepTo     = stepInit + 2
	stepAlso   = stepTo + 2
	stepFields = stepAlso + 2
)

// mostOutputs is the number that a step of a Program may have.
const mostOutputs = 6

// A step is what run has of one: the room and the step's fields.
type step struct {
	set
	room, fields GPVirtual
}

func (t step) number(field int) GPVirtual {
	v := t.GP64()
	t.MOVLQSX(at(t.fields, 4*field), v)
	return v
}

func (t step) pointer(field int) GPVirtual {
	v := t.number(field)
	t.LEAQ(Mem{Base: t.room, Index: v, Scale: 4}, v)
	return v
}

// each returns the places of r outputs; the field next has their distance.
func (t step) each(base GPVirtual, next, r int) []Mem {
	m := []Mem{{Base: base}}
	if r == 1 {
		return m
	}
	by := t.number(next)
	t.SHLQ(U8(2), by)
	times := func(n uint8) Mem { return Mem{Base: base, Index: by, Scale: n} }
	odd := func(n uint8) Mem { // times 3 or 5
		v := t.GP64()
		t.LEAQ(Mem{Base: by, Index: by, Scale: n - 1}, v)
		return Mem{Base: base, Index: v, Scale: 1}
	}
	m = append(m, times(1), times(2))
	if r > 3 {
		m = append(m, odd(3), times(4))
	}
	if r > 5 {
		m = append(m, odd(5))
	}
	return m[:r]
}

func (s set) runLabel(of string, n ...any) string {
	return "run" + s.name + "_" + of + fmt.Sprint(n...)
}

// run executes the steps of a Program, two registers of lanes at a time. All outputs of a
// step are summed before one is stored: what follows a store waits for it. Functions
// take one register after the other from where the sum was put.
func (s set) run() {
	s.begin("run", "room *float32, steps *int32, n int")
	t := step{s, s.param("room"), s.param("steps")}
	count := s.param("n")
	s.repeat(s.runLabel("step"), count, 1, func() {
		r := t.number(stepOutputs)
		for i := 1; i < mostOutputs; i++ {
			s.CMPQ(r, Imm(uint64(i)))
			s.JE(LabelRef(s.runLabel("", i)))
		}
		for r := mostOutputs; r > 0; r-- {
			t.outputs(r)
		}
		s.Label(s.runLabel("next"))
		s.advance(4*stepFields, t.fields)
	})
	s.end()
}

// outputs generates a step of r outputs, where it is one with the functions.
func (t step) outputs(r int) {
	next := LabelRef(t.runLabel("next"))
	part := func(m Mem, u int) Mem { return m.Offset(u * registerBytes) }
	t.Label(t.runLabel("", r))
	acc := t.vecs(2 * r)
	init := t.each(t.pointer(stepInit), stepInit+1, r)
	for i, v := range acc {
		t.VMOVUPS(part(init[i/2], i%2), v)
	}
	n := t.number(stepProducts)
	t.TESTQ(n, n)
	t.JZ(LabelRef(t.runLabel("summed", r)))
	p, q, pStep, qStep := t.pointer(stepP), t.pointer(stepQ), t.number(stepP+1), t.number(stepQ+1)
	qs := t.each(q, stepQ+2, r)
	t.repeat(t.runLabel("product", r), n, 1, func() {
		x := []VecVirtual{t.load(at(p, 0)), t.load(at(p, registerBytes))}
		for i, v := range acc {
			t.VFMADD231PS(part(qs[i/2], i%2), x[i%2], v)
		}
		t.LEAQ(Mem{Base: p, Index: pStep, Scale: 4}, p)
		t.LEAQ(Mem{Base: q, Index: qStep, Scale: 4}, q)
	})

	t.Label(t.runLabel("summed", r))
	to := t.pointer(stepTo)
	for i, m := range t.each(to, stepTo+1, r) {
		t.VMOVUPS(acc[2*i], m)
		t.VMOVUPS(acc[2*i+1], part(m, 1))
	}
	kind := t.number(stepKind)
	t.TESTQ(kind, kind)
	t.JZ(next)
	scale, also := t.pointer(stepScale), t.pointer(stepAlso)
	if r == 1 {
		t.DECQ(kind)
		t.JNZ(LabelRef(t.runLabel("function")))
	}
	by := []VecVirtual{t.load(at(scale, 0)), t.load(at(scale, registerBytes))}
	for i, m := range t.each(also, stepAlso+1, r) {
		for u, x := range by {
			t.VMOVUPS(t.mul(acc[2*i+u], x), part(m, u))
		}
	}
	t.JMP(next)
	if r == 1 {
		t.functions(kind, to, scale, also)
	}
}

// functions writes the function of the two registers at to.
func (s set) functions(kind, to, scale, also GPVirtual) {
	s.Label(s.runLabel("function"))
	left := s.copyOf(U32(2))
	s.repeat(s.runLabel("register"), left, 1, func() {
		v := s.load(at(to, 0))
		for i, f := range []func() VecVirtual{
			func() VecVirtual { // pivot
				s.VMAXPS(v, s.load(at(scale, 0)), v) // keeps NaN
				s.VMOVUPS(v, at(to, 0))
				w := s.all(-1)
				s.VDIVPS(v, w, w)
				return w
			},
			func() VecVirtual { return s.log(v) },
			func() VecVirtual { return s.exp(v) },
			func() VecVirtual { // softplus
				y, den, f := s.softplusSlope(v, 0)
				s.VMOVUPS(y, at(to, 0))
				return s.slope(s.all(1), den, f)
			},
		} {
			s.CMPQ(kind, Imm(uint64(i+1)))
			other := s.runLabel("after", i+1)
			s.JNE(LabelRef(other))
			s.VMOVUPS(f(), at(also, 0))
			s.Label(other)
		}
		s.advance(registerBytes, to, scale, also)
	})
}
