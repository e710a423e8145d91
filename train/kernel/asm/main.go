// Command asm generates the assembly of package kernel: ../kernel_amd64.s and
// its declarations ../stubs_amd64.go. Run by `go generate` in package kernel.
//
// It is a module of its own, so that nothing but the generator needs avo.
//
// One description serves both instruction sets: isa holds what differs
// (register width, masks, sizes of the tiles). Tiles hold their sums in
// registers over the whole reduction: 4 rows × 64 columns (16 registers) or
// 8 × 16 with AVX-512, 6 × 16 (12 registers) and for the last rows 4 × 16 with AVX2.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

type isa struct {
	name string // suffix of the functions
	wide bool   // AVX-512
	w    int    // float32 per register
}

func (s isa) bytes() int { return 4 * s.w }

func (s isa) vec() VecVirtual {
	if s.wide {
		return ZMM()
	}
	return YMM()
}

func (s isa) vecs(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = s.vec()
	}
	return v
}

func (s isa) zero(v Op) {
	if s.wide {
		VPXORD(v, v, v)
	} else {
		VXORPS(v, v, v)
	}
}

// and, or on bit patterns.
func (s isa) and(a, b, dst Op) {
	if s.wide {
		VPANDD(a, b, dst)
	} else {
		VPAND(a, b, dst)
	}
}

func main() {
	ConstraintExpr("amd64")
	for _, s := range []isa{{"AVX2", false, 8}, {"AVX512", true, 16}} {
		panels := []panel{{"16", 6, 2}, {"16x4", 4, 2}}
		if s.wide {
			panels = []panel{{"64", 4, 4}, {"16", 8, 1}}
		}
		if s.wide { // the widths of heads
			s.gemm(panel{"48", 8, 3}, "dense")
			s.gemm(panel{"32", 8, 2}, "dense")
		}
		for _, p := range panels {
			s.gemm(p, "dense")
			s.gemm(p, "relu")
			s.gemm(p, "back")
		}
		if s.wide {
			s.outer("64", 4, 4, 1, false)
			s.outer("64", 4, 4, 1, true)
			s.outer("16", 4, 1, 2, false)
			s.outer("16", 4, 1, 2, true)
		} else {
			s.outer("16", 4, 2, 1, false)
			s.outer("16", 4, 2, 1, true)
		}
		s.adam()
		s.lossGrad("lossGrad", false)
		s.lossGrad("jointGrad", true)
		s.variance()
		s.run()
		s.addRows()
		s.sums()
		s.product()
		if s.wide {
			bits512()
			transpose512()
		} else {
			bits256()
			transpose()
			gather()
		}
	}
	Generate()
}

// panel is a tile of rows × (vecs registers of columns).
type panel struct {
	name       string
	rows, vecs int
}

func param(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// stride loads a row length in elements and turns it into bytes.
func stride(name string, shift uint64) GPVirtual {
	r := param(name)
	SHLQ(U8(shift), r)
	return r
}

func (s isa) broadcast(name string) VecVirtual {
	// Straight from memory: the scalar load has no form for registers 16–31.
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := s.vec()
	VBROADCASTSS(c.Addr, v)
	return v
}

// bases returns pointers to every third row: with an index register of scale 0,
// 1 or 2 they reach all rows.
func bases(first, stride GPVirtual, rows int) []GPVirtual {
	p := []GPVirtual{first}
	for r := 3; r < rows; r += 3 {
		q := GP64()
		LEAQ(Mem{Base: p[len(p)-1], Index: stride, Scale: 2}, q)
		ADDQ(stride, q)
		p = append(p, q)
	}
	return p
}

func row(p []GPVirtual, stride GPVirtual, r, disp int) Mem {
	m := Mem{Base: p[r/3], Disp: disp}
	if r%3 > 0 {
		m.Index, m.Scale = stride, uint8(r%3)
	}
	return m
}

// gemm generates out = epilogue(a·w) over all rows of one panel of columns.
//
//	dense  α·acc + b
//	relu   max(0, α·acc + b) where the keep bit is set
//	back   α·acc where h > 0
func (s isa) gemm(p panel, kind string) {
	args := map[string]string{
		"dense": "z, a, w, b *float32, rows, k, lda, n int, alpha float32",
		"relu":  "z, a, w, b *float32, rows, k, lda, n int, alpha float32, keep *uint16, keepStride int",
		"back":  "z, a, w, h *float32, rows, k, lda, n int, alpha float32",
	}[kind]
	TEXT(kind+p.name+s.name, NOSPLIT, "func("+args+")")
	Pragma("noescape")
	label := func(l string) string { return fmt.Sprintf("%s%s%s_%s", kind, p.name, s.name, l) }
	z, a := param("z"), param("a")
	lda, ldn := stride("lda", 2), stride("n", 2)
	rows := param("rows")
	var keep, keepStride, h GPVirtual
	var bitsOf VecVirtual
	switch kind {
	case "relu":
		keep, keepStride = param("keep"), stride("keepStride", 1)
	case "back":
		h = param("h")
	}
	Label(label("rows"))
	acc := s.vecs(p.rows * p.vecs)
	for _, v := range acc {
		s.zero(v)
	}
	ap := []GPVirtual{GP64()}
	MOVQ(a, ap[0])
	ap = append(ap, bases(ap[0], lda, p.rows)[1:]...)
	w, k := param("w"), param("k")
	Label(label("k"))
	wv, x := s.vecs(p.vecs), s.vec()
	for u := range 4 {
		for c, v := range wv {
			VMOVUPS(Mem{Base: w, Disp: c * s.bytes()}, v)
		}
		ADDQ(ldn, w)
		for r := range p.rows {
			s.addProducts(acc[r*p.vecs:][:p.vecs], row(ap, lda, r, 4*u), wv, x)
		}
	}
	for _, q := range ap {
		ADDQ(Imm(16), q)
	}
	SUBQ(Imm(4), k)
	JNZ(LabelRef(label("k")))

	alpha := s.broadcast("alpha")
	if kind != "back" {
		b := param("b")
		for c, v := range wv {
			VMOVUPS(Mem{Base: b, Disp: c * s.bytes()}, v)
		}
		for i, v := range acc {
			VFMADD213PS(wv[i%p.vecs], alpha, v)
		}
	}
	zero := s.vec()
	if kind != "dense" {
		s.zero(zero)
	}
	if kind == "relu" && !s.wide {
		bitsOf = s.vec()
		VMOVDQU(laneBits(), bitsOf)
	}
	for r := range p.rows {
		for c := range wv {
			v := acc[r*p.vecs+c]
			switch kind {
			case "relu":
				s.keepPositive(v, zero, bitsOf, keep, c)
			case "back":
				s.keepWhere(v, zero, alpha, h, c)
			}
			VMOVUPS(v, Mem{Base: z, Disp: c * s.bytes()})
		}
		ADDQ(ldn, z)
		switch kind {
		case "relu":
			ADDQ(keepStride, keep)
		case "back":
			ADDQ(ldn, h)
		}
	}
	t := GP64()
	LEAQ(Mem{Base: lda, Index: lda, Scale: 2}, t) // 3·lda
	for range p.rows / 3 {
		ADDQ(t, a)
	}
	for range p.rows % 3 {
		ADDQ(lda, a)
	}
	SUBQ(Imm(uint64(p.rows)), rows)
	JNZ(LabelRef(label("rows")))
	VZEROUPPER()
	RET()
}

// addProducts adds the number at m times each of w to acc; x is for scratch.
func (s isa) addProducts(acc []VecVirtual, m Mem, w []VecVirtual, x VecVirtual) {
	if s.wide && len(w) == 1 {
		VFMADD231PS_BCST(m, w[0], acc[0])
		return
	}
	VBROADCASTSS(m, x)
	for c := range w {
		VFMADD231PS(w[c], x, acc[c])
	}
}

// keepPositive sets the lanes of v to zero that are negative or whose bit in
// vector c of keep is not set. bits are the bits of the lanes, where the
// instruction set has no masks.
func (s isa) keepPositive(v, zero, bits VecVirtual, keep GPVirtual, c int) {
	if s.wide {
		m := K()
		KMOVW(Mem{Base: keep, Disp: 2 * c}, m)
		// The NaN of the second operand (first here) survives.
		VMAXPS_Z(v, zero, m, v)
		return
	}
	VMAXPS(v, zero, v)
	m := s.vec()
	VPBROADCASTB(Mem{Base: keep, Disp: c}, m)
	VPAND(bits, m, m)
	VPCMPEQD(bits, m, m)
	VANDPS(m, v, v)
}

// keepWhere multiplies v by alpha where vector c of h is positive, and sets the
// other lanes to zero.
func (s isa) keepWhere(v, zero, alpha VecVirtual, h GPVirtual, c int) {
	if s.wide {
		m := K()
		VCMPPS(Imm(1), Mem{Base: h, Disp: c * s.bytes()}, zero, m)
		VMULPS_Z(alpha, v, m, v)
		return
	}
	m := s.vec()
	VCMPPS(Imm(1), Mem{Base: h, Disp: c * s.bytes()}, zero, m)
	VMULPS(alpha, v, v)
	VANDPS(m, v, v)
}

var laneBitsMem *Mem

// laneBits holds 1<<i in each byte of lane i, to pick bit i of a byte that is
// broadcast.
func laneBits() Mem {
	if laneBitsMem == nil {
		m := GLOBL("laneBits", RODATA|NOPTR)
		for i := range 8 {
			DATA(4*i, U32(uint32(1<<i)*0x01010101))
		}
		laneBitsMem = &m
	}
	return *laneBitsMem
}

// outer generates g += α·aᵀ·d for one panel of columns, kr rows of g at a
// time; unroll > 1 keeps several partial sums, where few are needed to fill the
// registers. With sum, the first pass also adds the column sums of d.
func (s isa) outer(name string, kr, vecs, unroll int, sum bool) {
	fn := "outer" + name
	args := "grad, a, d *float32, rows, k, lda, n int, alpha float32"
	if sum {
		// One group of kr rows only, with the sums.
		fn, args = "outerSum"+name, "grad, sum, a, d *float32, rows, lda, n int, alpha float32"
	}
	TEXT(fn+s.name, NOSPLIT, "func("+args+")")
	Pragma("noescape")
	label := func(l string) string { return fmt.Sprintf("%s%s_%s", fn, s.name, l) }
	g, a := param("grad"), param("a")
	lda, ldn := stride("lda", 2), stride("n", 2)
	var k GPVirtual
	if !sum {
		k = param("k")
	}
	Label(label("k"))
	acc := make([][]VecVirtual, unroll)
	for u := range acc {
		acc[u] = s.vecs(kr * vecs)
		for _, v := range acc[u] {
			s.zero(v)
		}
	}
	var sums []VecVirtual
	if sum {
		sums = s.vecs(vecs)
		for _, v := range sums {
			s.zero(v)
		}
	}
	ap := GP64()
	MOVQ(a, ap)
	d, rows := param("d"), param("rows")
	Label(label("rows"))
	dv, x := s.vecs(vecs), s.vec()
	for u := range unroll {
		for c, v := range dv {
			VMOVUPS(Mem{Base: d, Disp: c * s.bytes()}, v)
			if sum {
				VADDPS(v, sums[c], sums[c])
			}
		}
		for i := range kr {
			VBROADCASTSS(Mem{Base: ap, Disp: 4 * i}, x)
			for c := range dv {
				VFMADD231PS(dv[c], x, acc[u][i*vecs+c])
			}
		}
		ADDQ(ldn, d)
		ADDQ(lda, ap)
	}
	SUBQ(Imm(uint64(unroll)), rows)
	JNZ(LabelRef(label("rows")))
	alpha := s.broadcast("alpha")
	for i := range kr {
		for c := range dv {
			v := acc[0][i*vecs+c]
			for u := 1; u < unroll; u++ {
				VADDPS(acc[u][i*vecs+c], v, v)
			}
			m := Mem{Base: g, Disp: c * s.bytes()}
			VFMADD213PS(m, alpha, v)
			VMOVUPS(v, m)
		}
		ADDQ(ldn, g)
	}
	if sum {
		p := param("sum")
		for c, v := range sums {
			m := Mem{Base: p, Disp: c * s.bytes()}
			VADDPS(m, v, v)
			VMOVUPS(v, m)
		}
	} else {
		ADDQ(Imm(uint64(4*kr)), a)
		SUBQ(Imm(uint64(kr)), k)
		JNZ(LabelRef(label("k")))
	}
	VZEROUPPER()
	RET()
}

// As in the portable code: moments below tiny become zero, varianceFloor is added to
// softplus(raw).
const (
	tiny          = 1e-35
	varianceFloor = 1e-6
)

// flush zeroes the lanes of x below limit; NaN stays.
func (s isa) flush(x, absMask, limit VecVirtual) {
	t := s.vec()
	s.and(absMask, x, t)
	if s.wide {
		k := K()
		VCMPPS(Imm(5), limit, t, k) // not less than
		VMOVAPS_Z(x, k, x)
		return
	}
	VCMPPS(Imm(5), limit, t, t)
	VANDPS(t, x, x)
}

func (s isa) adam() {
	TEXT("adam"+s.name, NOSPLIT, "func(w, grad, m, v *float32, n int, c *float32)")
	Pragma("noescape")
	w, g, m, v, n, c := param("w"), param("grad"), param("m"), param("v"), param("n"), param("c")
	// In the order of AdamStep.
	var k [8]VecVirtual
	for i := range k {
		k[i] = s.vec()
		VBROADCASTSS(Mem{Base: c, Disp: 4 * i}, k[i])
	}
	zero := s.vec()
	s.zero(zero)
	absM, limit := s.constBits(absBits), s.constant(tiny)
	i := GP64()
	XORQ(i, i)
	l := "adam" + s.name + "_loop"
	Label(l)
	at := func(p GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 4} }
	gv, mv, vv, wv, den := s.vec(), s.vec(), s.vec(), s.vec(), s.vec()
	VMOVUPS(at(g), gv)
	VMULPS(at(m), k[0], mv)
	VFMADD231PS(gv, k[1], mv)
	s.flush(mv, absM, limit)
	VMOVUPS(mv, at(m))
	VMULPS(gv, gv, gv)
	VMULPS(at(v), k[2], vv)
	VFMADD231PS(gv, k[3], vv)
	s.flush(vv, absM, limit)
	VMOVUPS(vv, at(v))
	VMOVUPS(zero, at(g))
	VSQRTPS(vv, den)
	VFMADD213PS(k[6], k[5], den) // √v·scale + ε
	VMULPS(k[4], mv, mv)
	VDIVPS(den, mv, mv)
	VMOVUPS(at(w), wv)
	VFMSUB213PS(mv, k[7], wv) // decay·w − …
	VMOVUPS(wv, at(w))
	ADDQ(Imm(uint64(s.w)), i)
	CMPQ(i, n)
	JLT(LabelRef(l))
	VZEROUPPER()
	RET()
}

// Constants of the vectorised functions, broadcast from memory.
var constants = map[uint32]Mem{}

func (s isa) constBits(b uint32) VecVirtual {
	m, ok := constants[b]
	if !ok {
		m = GLOBL(fmt.Sprintf("c%08x", b), RODATA|NOPTR)
		DATA(0, U32(b))
		constants[b] = m
	}
	v := s.vec()
	VBROADCASTSS(m, v)
	return v
}

func (s isa) constant(x float64) VecVirtual { return s.constBits(math.Float32bits(float32(x))) }

// poly evaluates coefficients from the highest down at x, by fused steps.
func (s isa) poly(x VecVirtual, c ...float64) VecVirtual {
	p := s.constant(c[0])
	for _, k := range c[1:] {
		VFMADD213PS(s.constant(k), x, p)
	}
	return p
}

const (
	log2e        = 1.44269504088896341
	ln2Hi        = 0.693145751953125
	ln2Lo        = 1.42860682030941723212e-6
	expMin       = -87.25
	sqrtHalfBits = 0x3f3504f3
	absBits      = 0x7fffffff
)

// exp, log and log1p are the portable exp32, log32 and log1p32.
func (s isa) exp(x VecVirtual) VecVirtual {
	VMAXPS(x, s.constant(expMin), x) // keeps NaN
	n := s.vec()
	VMULPS(s.constant(log2e), x, n)
	VCVTPS2DQ(n, n)
	r, f := s.vec(), s.vec()
	VCVTDQ2PS(n, f)
	VMOVAPS(x, r)
	VFNMADD231PS(s.constant(ln2Hi), f, r)
	VFNMADD231PS(s.constant(ln2Lo), f, r)
	p := s.poly(r, 1.0/5040, 1.0/720, 1.0/120, 1.0/24, 1.0/6, 0.5, 1, 1)
	VPADDD(s.constBits(127), n, n)
	VPSLLD(Imm(23), n, n)
	VMULPS(n, p, p)
	return p
}

func (s isa) log(x VecVirtual) VecVirtual {
	b, n, m := s.vec(), s.vec(), s.vec()
	half := s.constBits(sqrtHalfBits)
	VPSUBD(half, x, b)
	VPSRAD(Imm(23), b, n)
	VCVTDQ2PS(n, n)
	s.and(s.constBits(0x007fffff), b, m)
	VPADDD(half, m, m)
	q, z := s.vec(), s.vec()
	one := s.constant(1)
	VADDPS(one, m, q)
	VSUBPS(one, m, m)
	VDIVPS(q, m, q) // s
	VMULPS(q, q, z)
	p := s.poly(z, 2.0/9, 2.0/7, 2.0/5, 2.0/3)
	VMULPS(z, p, p)
	VADDPS(s.constant(2), p, p)
	VMULPS(q, p, p)
	VFMADD231PS(s.constant(ln2Lo), n, p)
	VFMADD231PS(s.constant(ln2Hi), n, p)
	return p
}

func (s isa) log1p(x VecVirtual) VecVirtual {
	q, z := s.vec(), s.vec()
	VADDPS(s.constant(2), x, q)
	VDIVPS(q, x, q)
	VMULPS(q, q, z)
	p := s.poly(z, 2.0/17, 2.0/15, 2.0/13, 2.0/11, 2.0/9, 2.0/7, 2.0/5, 2.0/3)
	VMULPS(z, p, p)
	VADDPS(s.constant(2), p, p)
	VMULPS(q, p, p)
	return p
}

// softplus returns max(r,0) + log1p(e) + floor.
func (s isa) softplus(r, e VecVirtual, floor float64) VecVirtual {
	v := s.log1p(e)
	if floor > 0 {
		VADDPS(s.constant(floor), v, v)
	}
	t := s.vec()
	zero := s.vec()
	s.zero(zero)
	VMAXPS(r, zero, t)
	VADDPS(t, v, v)
	return v
}

func (s isa) variance() {
	TEXT("variance"+s.name, NOSPLIT, "func(raw *float32, n int)")
	Pragma("noescape")
	p, n := param("raw"), param("n")
	i := GP64()
	XORQ(i, i)
	l := "variance" + s.name + "_loop"
	Label(l)
	at := Mem{Base: p, Index: i, Scale: 4}
	r, x, zero := s.vec(), s.vec(), s.vec()
	s.zero(zero)
	VMOVUPS(at, r)
	s.and(s.constBits(absBits), r, x)
	VSUBPS(x, zero, x)
	v := s.softplus(r, s.exp(x), varianceFloor)
	VMOVUPS(v, at)
	ADDQ(Imm(uint64(s.w)), i)
	CMPQ(i, n)
	JLT(LabelRef(l))
	VZEROUPPER()
	RET()
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

// A step is what run has of one: the room and the step's fields.
type step struct{ room, fields GPVirtual }

func (t step) number(field int) GPVirtual {
	v := GP64()
	MOVLQSX(Mem{Base: t.fields, Disp: 4 * field}, v)
	return v
}

func (t step) pointer(field int) GPVirtual {
	v := t.number(field)
	LEAQ(Mem{Base: t.room, Index: v, Scale: 4}, v)
	return v
}

// each returns the places of r outputs; the field next has their distance.
func (t step) each(base GPVirtual, next, r int) []Mem {
	m := []Mem{{Base: base}}
	if r == 1 {
		return m
	}
	by := t.number(next)
	SHLQ(U8(2), by)
	times := func(n uint8) Mem { return Mem{Base: base, Index: by, Scale: n} }
	odd := func(n uint8) Mem { // times 3 or 5
		v := GP64()
		LEAQ(Mem{Base: by, Index: by, Scale: n - 1}, v)
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

// run executes the steps of a Program, two registers of lanes at a time. All outputs of a
// step are summed before one is stored: what follows a store waits for it. Functions
// take one register after the other from where the sum was put.
func (s isa) run() {
	TEXT("run"+s.name, NOSPLIT, "func(room *float32, steps *int32, n int)")
	Pragma("noescape")
	t := step{param("room"), param("steps")}
	count := param("n")
	label := func(l string) string { return "run" + s.name + "_" + l }
	Label(label("step"))
	r := t.number(stepOutputs)
	for i := 1; i < mostOutputs; i++ {
		CMPQ(r, Imm(uint64(i)))
		JE(LabelRef(label(fmt.Sprint(i))))
	}
	for r := mostOutputs; r > 1; r-- {
		s.outputs(t, r, label)
	}
	kind, to, scale, also := s.outputs(t, 1, label)
	Label(label("function"))
	s.functions(kind, to, scale, also)
	Label(s.next())
	ADDQ(Imm(4*stepFields), t.fields)
	DECQ(count)
	JNZ(LabelRef(label("step")))
	VZEROUPPER()
	RET()
}

// outputs generates a step of r outputs. Where it is a function's, it goes on at the
// label "function" and returns its kind, counted from 1, and its slots.
func (s isa) outputs(t step, r int, label func(string) string) (kind, to, scale, also GPVirtual) {
	own := func(l string) string { return label(l + fmt.Sprint(r)) }
	at := func(m Mem, u int) Mem { m.Disp = u * s.bytes(); return m }
	Label(own(""))
	acc := s.vecs(2 * r)
	init := t.each(t.pointer(stepInit), stepInit+1, r)
	for i, v := range acc {
		VMOVUPS(at(init[i/2], i%2), v)
	}
	n := t.number(stepProducts)
	TESTQ(n, n)
	JZ(LabelRef(own("summed")))
	p, q, pStep, qStep := t.pointer(stepP), t.pointer(stepQ), t.number(stepP+1), t.number(stepQ+1)
	qs, x := t.each(q, stepQ+2, r), s.vecs(2)
	Label(own("product"))
	for u := range x {
		VMOVUPS(at(Mem{Base: p}, u), x[u])
	}
	for i, v := range acc {
		VFMADD231PS(at(qs[i/2], i%2), x[i%2], v)
	}
	LEAQ(Mem{Base: p, Index: pStep, Scale: 4}, p)
	LEAQ(Mem{Base: q, Index: qStep, Scale: 4}, q)
	DECQ(n)
	JNZ(LabelRef(own("product")))
	Label(own("summed"))
	to = t.pointer(stepTo)
	tos := t.each(to, stepTo+1, r)
	for i, v := range acc {
		VMOVUPS(v, at(tos[i/2], i%2))
	}
	kind = t.number(stepKind)
	TESTQ(kind, kind)
	JZ(LabelRef(s.next()))
	scale, also = t.pointer(stepScale), t.pointer(stepAlso)
	if r == 1 {
		DECQ(kind)
		JNZ(LabelRef(label("function")))
	}
	by := s.vecs(2)
	for u, v := range by {
		VMOVUPS(at(Mem{Base: scale}, u), v)
	}
	for i, v := range acc {
		VMULPS(by[i%2], v, v)
	}
	alsos := t.each(also, stepAlso+1, r)
	for i, v := range acc {
		VMOVUPS(v, at(alsos[i/2], i%2))
	}
	JMP(LabelRef(s.next()))
	return kind, to, scale, also
}

// next is where run goes on after a step.
func (s isa) next() string { return "run" + s.name + "_next" }

// functions writes the function of the two registers at to.
func (s isa) functions(kind, to, scale, also GPVirtual) {
	label := func(l string) string { return "run" + s.name + "_" + l }
	left := GP64()
	MOVQ(U32(2), left)
	Label(label("register"))
	v := s.memory(Mem{Base: to})
	for i, f := range []func(){
		func() { // pivot
			VMAXPS(v, s.memory(Mem{Base: scale}), v) // keeps NaN
			VMOVUPS(v, Mem{Base: to})
			w := s.constant(-1)
			VDIVPS(v, w, w)
			VMOVUPS(w, Mem{Base: also})
		},
		func() { VMOVUPS(s.log(v), Mem{Base: also}) },
		func() { VMOVUPS(s.exp(v), Mem{Base: also}) },
		func() { // softplus
			y, den, f := s.softplusSlope(v, 0)
			VMOVUPS(y, Mem{Base: to})
			w := s.constant(1)
			VDIVPS(den, w, w)
			VMULPS(f, w, w)
			VMULPS(f, w, w)
			VMOVUPS(w, Mem{Base: also})
		},
	} {
		CMPQ(kind, Imm(uint64(i+1)))
		other := label(fmt.Sprintf("after%d", i+1))
		JNE(LabelRef(other))
		f()
		Label(other)
	}
	for _, r := range []GPVirtual{to, scale, also} {
		ADDQ(Imm(uint64(s.bytes())), r)
	}
	DECQ(left)
	JNZ(LabelRef(label("register")))
	JMP(LabelRef(s.next()))
}

// mostOutputs is the number that a step of a Program may have.
const mostOutputs = 6

func (s isa) memory(m Mem) VecVirtual {
	v := s.vec()
	VMOVUPS(m, v)
	return v
}

// addRows adds rows to sum, a register of columns after the other.
func (s isa) addRows() {
	TEXT("addRows"+s.name, NOSPLIT, "func(sum, d *float32, rows, n int)")
	Pragma("noescape")
	sum, d := param("sum"), param("d")
	left := param("n")
	ldn := stride("n", 2)
	Label("addRows" + s.name + "_columns")
	p, rows := GP64(), param("rows")
	MOVQ(d, p)
	v := s.memory(Mem{Base: sum})
	Label("addRows" + s.name + "_rows")
	VADDPS(Mem{Base: p}, v, v)
	ADDQ(ldn, p)
	DECQ(rows)
	JNZ(LabelRef("addRows" + s.name + "_rows"))
	VMOVUPS(v, Mem{Base: sum})
	ADDQ(Imm(uint64(s.bytes())), sum)
	ADDQ(Imm(uint64(s.bytes())), d)
	SUBQ(Imm(uint64(s.w)), left)
	JNZ(LabelRef("addRows" + s.name + "_columns"))
	VZEROUPPER()
	RET()
}

// sums adds up in float64, half a register of c at a time and two at once.
func (s isa) sums() {
	TEXT("sums"+s.name, NOSPLIT, "func(c, w, e *float32, n int, out *float64)")
	Pragma("noescape")
	c, w, e, n := param("c"), param("w"), param("e"), param("n")
	acc := s.vecs(6)
	for _, v := range acc {
		s.zero(v)
	}
	i := GP64()
	XORQ(i, i)
	l := "sums" + s.name + "_loop"
	Label(l)
	for u := range 2 {
		at := func(p GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 4, Disp: u * s.bytes() / 2} }
		cv, wv, ev := s.vec(), s.vec(), s.vec()
		VCVTPS2PD(at(c), cv)
		VCVTPS2PD(at(w), wv)
		VCVTPS2PD(at(e), ev)
		VMULPD(cv, wv, wv)
		VADDPD(wv, acc[u], acc[u])
		VFMADD231PD(ev, wv, acc[2+u])
		VFMADD231PD(cv, wv, acc[4+u])
	}
	ADDQ(Imm(uint64(s.w)), i)
	CMPQ(i, n)
	JLT(LabelRef(l))
	out := param("out")
	for k := range 3 {
		v := acc[2*k]
		VADDPD(acc[2*k+1], v, v)
		y := YMM()
		if s.wide {
			VEXTRACTF64X4(Imm(1), v, y)
			VADDPD(v.AsY(), y, y)
		} else {
			VMOVAPD(v, y)
		}
		o, t := XMM(), XMM()
		VEXTRACTF128(Imm(1), y, o)
		VADDPD(y.AsX(), o, o)
		VUNPCKHPD(o, o, t)
		VADDSD(t, o, o)
		VMOVSD(o, Mem{Base: out, Disp: 8 * k})
	}
	VZEROUPPER()
	RET()
}

// product subtracts a·b from a tile of c, in float64: 6 rows of two registers. a
// and b are packed, 6 and 16 numbers for each step of the reduction.
func (s isa) product() {
	TEXT("product"+s.name, NOSPLIT, "func(c, a, b *float64, k, ldc int)")
	Pragma("noescape")
	first, a, b, k, ldc := param("c"), param("a"), param("b"), param("k"), stride("ldc", 3)
	c := bases(first, ldc, 6)
	acc := s.vecs(12)
	for i, v := range acc {
		VMOVUPD(row(c, ldc, i/2, i%2*s.bytes()), v)
	}
	l := "product" + s.name + "_k"
	Label(l)
	bv, x := s.vecs(2), s.vec()
	VMOVUPD(Mem{Base: b}, bv[0])
	VMOVUPD(Mem{Base: b, Disp: s.bytes()}, bv[1])
	for r := range 6 {
		VBROADCASTSD(Mem{Base: a, Disp: 8 * r}, x)
		VFNMADD231PD(bv[0], x, acc[2*r])
		VFNMADD231PD(bv[1], x, acc[2*r+1])
	}
	ADDQ(Imm(48), a)
	ADDQ(Imm(128), b)
	DECQ(k)
	JNZ(LabelRef(l))
	for i, v := range acc {
		VMOVUPD(v, row(c, ldc, i/2, i%2*s.bytes()))
	}
	VZEROUPPER()
	RET()
}

// softplusSlope returns v = softplus(r) + floor and den, f with the slope f·f/den: 1 + e
// and 1, or h = √e for negative r.
func (s isa) softplusSlope(r VecVirtual, floor float64) (v, den, f VecVirtual) {
	x := s.vec()
	s.and(s.constBits(absBits), r, x)
	VMULPS(s.constant(-0.5), x, x)
	h := s.exp(x)
	e := s.vec()
	VMULPS(h, h, e)
	v = s.softplus(r, e, floor)
	den, f = s.vec(), s.vec()
	one := s.constant(1)
	VADDPS(one, e, den)
	if s.wide {
		zero, k := s.vec(), K()
		s.zero(zero)
		VCMPPS(Imm(1), zero, r, k) // r < 0
		VBLENDMPS(h, one, k, f)
	} else {
		VBLENDVPS(r, h, one, f) // by r's sign; −0 has h = 1
	}
	return v, den, f
}

// betaTerm adds s·(log v + q/2v) to sum, s = ½c·v^β, and returns s/v and 1 − q/2v.
func (s isa) betaTerm(sum, v VecVirtual, c Mem, square func() VecVirtual) (by, rest VecVirtual) {
	iv := s.vec()
	VDIVPS(v, s.constant(1), iv)
	lv := s.log(v)
	b := s.broadcast("beta")
	VMULPS(lv, b, b)
	sc := s.exp(b)
	VMULPS(s.constant(0.5), sc, sc)
	VMULPS(c, sc, sc)
	q := square()
	VMULPS(s.constant(0.5), q, q)
	VMULPS(iv, q, q)
	VADDPS(q, lv, lv)
	VFMADD231PS(lv, sc, sum)
	VMULPS(iv, sc, sc)
	one := s.constant(1)
	VSUBPS(q, one, q)
	return sc, q
}

// targets returns t − μ of both targets.
func (s isa) targets(mu, t1, t2 Mem) (a, b VecVirtual) {
	a, b = s.vec(), s.vec()
	m := s.vec()
	VMOVUPS(mu, m)
	VMOVUPS(t1, a)
	VSUBPS(m, a, a)
	VMOVUPS(t2, b)
	VSUBPS(m, b, b)
	return a, b
}

// lossGrad is LossGrad or, of pairs, JointGrad.
func (s isa) lossGrad(name string, pairs bool) {
	TEXT(name+s.name, NOSPLIT, "func(gmu, graw, mu, raw, t1, t2, c *float32, n int, beta float32) float32")
	Pragma("noescape")
	gmu, graw, mu, raw := param("gmu"), param("graw"), param("mu"), param("raw")
	t1, t2, c, n := param("t1"), param("t2"), param("c"), param("n")
	sum := s.vec()
	s.zero(sum)
	i := GP64()
	XORQ(i, i)
	at := func(p GPVirtual) Mem { return Mem{Base: p, Index: i, Scale: 4} }
	load := func(p GPVirtual) VecVirtual {
		v := s.vec()
		VMOVUPS(at(p), v)
		return v
	}
	second := func(p GPVirtual) GPVirtual { // the numbers of C, after those of A
		q := GP64()
		LEAQ(Mem{Base: p, Index: n, Scale: 4}, q)
		return q
	}
	negative := func(v VecVirtual, to GPVirtual) {
		zero := s.vec()
		s.zero(zero)
		VSUBPS(v, zero, v)
		VMOVUPS(v, at(to))
	}
	var rawC, gC GPVirtual
	if pairs {
		rawC, gC = second(raw), second(graw)
	}
	l := name + s.name + "_loop"
	Label(l)
	v, den, f := s.softplusSlope(load(raw), varianceFloor)
	var a, b VecVirtual
	if pairs {
		t, denC, fC := s.softplusSlope(load(rawC), varianceFloor)
		VADDPS(t, t, t)
		VADDPS(v, t, t)
		by, g := s.betaTerm(sum, t, at(c), func() VecVirtual {
			a, b = s.targets(at(mu), at(t1), at(t2))
			VADDPS(a, b, a) // √2·s
			VMULPS(a, a, b)
			return b
		})
		VMULPS(by, g, g) // by T
		VADDPS(by, by, by)
		VMULPS(by, a, a)
		negative(a, gmu)
		VADDPS(g, g, a)
		VDIVPS(denC, a, a)
		VMULPS(fC, a, a)
		VMULPS(fC, a, a)
		VMOVUPS(a, at(gC))
		by, rest := s.betaTerm(sum, v, at(c), func() VecVirtual {
			q := load(t1)
			VSUBPS(at(t2), q, q) // √2·r
			VMULPS(q, q, q)
			return q
		})
		VFMADD231PS(by, rest, g)
		v = g
	} else {
		by, rest := s.betaTerm(sum, v, at(c), func() VecVirtual {
			a, b = s.targets(at(mu), at(t1), at(t2))
			q := s.vec()
			VMULPS(a, a, q)
			VFMADD231PS(b, b, q)
			return q
		})
		VADDPS(a, b, a)
		VMULPS(by, a, a)
		negative(a, gmu)
		VMULPS(by, rest, rest)
		v = rest
	}
	VDIVPS(den, v, v)
	VMULPS(f, v, v)
	VMULPS(f, v, v)
	VMOVUPS(v, at(graw))
	ADDQ(Imm(uint64(s.w)), i)
	CMPQ(i, n)
	JLT(LabelRef(l))
	s.returnSum(sum)
}

// returnSum returns the sum of the lanes.
func (s isa) returnSum(sum VecVirtual) {
	y := YMM()
	if s.wide {
		VEXTRACTF64X4(Imm(1), sum, y)
		VADDPS(sum.AsY(), y, y)
	} else {
		VMOVAPS(sum, y)
	}
	o := XMM()
	VEXTRACTF128(Imm(1), y, o)
	VADDPS(y.AsX(), o, o)
	t := XMM()
	VMOVHLPS(o, o, t)
	VADDPS(t, o, o)
	VMOVSHDUP(o, t)
	VADDSS(t, o, o)
	Store(o, ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// bits512 fills 64-byte blocks with Bernoulli bits from eight xoshiro256++
// lanes: majority(res, u, bit) is res|u for a one bit of the threshold and
// res&u for a zero bit.
func bits512() {
	TEXT("bitsAVX512", NOSPLIT, "func(dst *uint16, blocks int, state *uint64, threshold *uint64)")
	Pragma("noescape")
	dst, n, st, th := param("dst"), param("blocks"), param("state"), param("threshold")
	var s [4]VecVirtual
	for i := range s {
		s[i] = ZMM()
		VMOVDQU64(Mem{Base: st, Disp: 64 * i}, s[i])
	}
	var bit [16]VecVirtual
	for i := range bit {
		bit[i] = ZMM()
		VPBROADCASTQ(Mem{Base: th, Disp: 8 * i}, bit[i])
	}
	ones := ZMM()
	VPTERNLOGD(Imm(0xff), ones, ones, ones)
	Label("bitsAVX512_loop")
	res, u, t := ZMM(), ZMM(), ZMM()
	VPXORQ(res, res, res)
	for i := range bit {
		VPADDQ(s[3], s[0], u)
		VPROLQ(Imm(23), u, u)
		VPADDQ(s[0], u, u)
		VPTERNLOGQ(Imm(0xE8), bit[i], u, res)
		VPSLLQ(Imm(17), s[1], t)
		VPTERNLOGQ(Imm(0x96), s[2], s[0], t) // s2' = s2^s0^t
		VPXORQ(s[1], s[3], s[3])             // s3^s1
		VPTERNLOGQ(Imm(0x96), s[2], s[0], s[1])
		VPXORQ(s[3], s[0], s[0])
		VPROLQ(Imm(45), s[3], s[3])
		VMOVDQA64(t, s[2])
	}
	VPXORQ(ones, res, res)
	VMOVDQU64(res, Mem{Base: dst})
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("bitsAVX512_loop"))
	for i := range s {
		VMOVDQU64(s[i], Mem{Base: st, Disp: 64 * i})
	}
	VZEROUPPER()
	RET()
}

// bits256 is bits512 for four of the eight lanes: dst and state point at them.
func bits256() {
	TEXT("bitsAVX2", NOSPLIT, "func(dst *uint16, blocks int, state *uint64, threshold *uint64)")
	Pragma("noescape")
	dst, n, st, th := param("dst"), param("blocks"), param("state"), param("threshold")
	var s [4]VecVirtual
	for i := range s {
		s[i] = YMM()
		VMOVDQU(Mem{Base: st, Disp: 64 * i}, s[i])
	}
	ones := YMM()
	VPCMPEQD(ones, ones, ones)
	Label("bitsAVX2_loop")
	res, u, t := YMM(), YMM(), YMM()
	VPXOR(res, res, res)
	rotate := func(k uint64, v VecVirtual) {
		VPSLLQ(Imm(k), v, t)
		VPSRLQ(Imm(64-k), v, v)
		VPOR(t, v, v)
	}
	bit := GP64()
	MOVQ(th, bit)
	Label("bitsAVX2_bit")
	VPADDQ(s[3], s[0], u)
	rotate(23, u)
	VPADDQ(s[0], u, u)
	m := YMM()
	VPOR(u, res, m)
	VPAND(u, res, res)
	b := YMM()
	VPBROADCASTQ(Mem{Base: bit}, b)
	VPAND(b, m, m)
	VPOR(m, res, res)
	VPSLLQ(Imm(17), s[1], u)
	VPXOR(s[0], s[2], s[2])
	VPXOR(s[1], s[3], s[3])
	VPXOR(s[2], s[1], s[1])
	VPXOR(s[3], s[0], s[0])
	VPXOR(u, s[2], s[2])
	rotate(45, s[3])
	ADDQ(Imm(8), bit)
	end := GP64()
	LEAQ(Mem{Base: th, Disp: 128}, end)
	CMPQ(bit, end)
	JLT(LabelRef("bitsAVX2_bit"))
	VPXOR(ones, res, res)
	VMOVDQU(res, Mem{Base: dst})
	ADDQ(Imm(64), dst)
	DECQ(n)
	JNZ(LabelRef("bitsAVX2_loop"))
	for i := range s {
		VMOVDQU(s[i], Mem{Base: st, Disp: 64 * i})
	}
	VZEROUPPER()
	RET()
}

// gather copies rows in parts of 4 numbers; the last part is loaded where n allows.
func gather() {
	TEXT("gatherAVX2", NOSPLIT, "func(dst *float32, ldd int, src *float32, lds int, idx *int32, rows, n int)")
	Pragma("noescape")
	dst, src, idx, rows := param("dst"), param("src"), param("idx"), param("rows")
	ldd, lds := stride("ldd", 2), stride("lds", 2)
	most, rest := param("n"), GP64() // parts before the last, and the numbers of that
	DECQ(most)
	MOVQ(most, rest)
	ANDQ(Imm(3), rest)
	SHRQ(Imm(2), most)
	last := XMM()
	window := GLOBL("lastLanes", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(uint32(i/4)-1))
	}
	p := GP64()
	LEAQ(window.Offset(12), p)
	SHLQ(Imm(2), rest)
	SUBQ(rest, p)
	VMOVDQU(Mem{Base: p}, last)
	x, s, d, left := XMM(), GP64(), GP64(), GP64()
	Label("gatherAVX2_rows")
	MOVLQSX(Mem{Base: idx}, s)
	IMULQ(lds, s)
	ADDQ(src, s)
	MOVQ(dst, d)
	MOVQ(most, left)
	TESTQ(left, left)
	JZ(LabelRef("gatherAVX2_last"))
	Label("gatherAVX2_part")
	VMOVUPS(Mem{Base: s}, x)
	VMOVUPS(x, Mem{Base: d})
	ADDQ(Imm(16), s)
	ADDQ(Imm(16), d)
	DECQ(left)
	JNZ(LabelRef("gatherAVX2_part"))
	Label("gatherAVX2_last")
	VMASKMOVPS(Mem{Base: s}, last, x)
	VMOVUPS(x, Mem{Base: d})
	ADDQ(Imm(4), idx)
	ADDQ(ldd, dst)
	DECQ(rows)
	JNZ(LabelRef("gatherAVX2_rows"))
	VZEROUPPER()
	RET()
}

// transpose512 moves blocks of 16 × 16, like transpose.
func transpose512() {
	TEXT("transposeAVX512", NOSPLIT, "func(dst *float32, ldd int, src *float32, lds, rows, cols int)")
	Pragma("noescape")
	dst, src := param("dst"), param("src")
	ldd, lds := stride("ldd", 2), stride("lds", 2)
	rows := param("rows")
	Label("transposeAVX512_rows")
	s, d, cols := GP64(), GP64(), param("cols")
	MOVQ(src, s)
	MOVQ(dst, d)
	Label("transposeAVX512_cols")
	vecs := isa{wide: true}.vecs
	a, b := vecs(16), vecs(16)
	p := GP64()
	MOVQ(s, p)
	for i := range a {
		VMOVUPS(Mem{Base: p}, a[i])
		ADDQ(lds, p)
	}
	for i := 0; i < 16; i += 2 { // pairs of rows
		VUNPCKLPS(a[i+1], a[i], b[i])
		VUNPCKHPS(a[i+1], a[i], b[i+1])
	}
	for i := 0; i < 16; i += 4 { // four rows; column c of each 128 bits in a[i+c]
		VUNPCKLPD(b[i+2], b[i], a[i])
		VUNPCKHPD(b[i+2], b[i], a[i+1])
		VUNPCKLPD(b[i+3], b[i+1], a[i+2])
		VUNPCKHPD(b[i+3], b[i+1], a[i+3])
	}
	for i := range 4 { // rows 0–7 in b[i], b[i+4], rows 8–15 in b[i+8], b[i+12]: columns i, i+8 | i+4, i+12
		for half := 0; half < 16; half += 8 {
			VSHUFF32X4(U8(0x88), a[half+i+4], a[half+i], b[half+i])
			VSHUFF32X4(U8(0xdd), a[half+i+4], a[half+i], b[half+i+4])
		}
	}
	for i := range 8 {
		VSHUFF32X4(U8(0x88), b[i+8], b[i], a[i])
		VSHUFF32X4(U8(0xdd), b[i+8], b[i], a[i+8])
	}
	for i := range a {
		VMOVUPS(a[i], Mem{Base: d})
		ADDQ(ldd, d)
	}
	ADDQ(Imm(64), s)
	SUBQ(Imm(16), cols)
	JNZ(LabelRef("transposeAVX512_cols"))
	SHLQ(U8(4), lds)
	ADDQ(lds, src)
	SHRQ(U8(4), lds)
	ADDQ(Imm(64), dst)
	SUBQ(Imm(16), rows)
	JNZ(LabelRef("transposeAVX512_rows"))
	VZEROUPPER()
	RET()
}

// transpose moves blocks of 4 rows × 8 columns.
func transpose() {
	TEXT("transposeAVX2", NOSPLIT, "func(dst *float32, ldd int, src *float32, lds, rows, cols int)")
	Pragma("noescape")
	dst, src := param("dst"), param("src")
	ldd, lds := stride("ldd", 2), stride("lds", 2)
	rows := param("rows")
	Label("transposeAVX2_rows")
	s, d, cols := GP64(), GP64(), param("cols")
	MOVQ(src, s)
	MOVQ(dst, d)
	Label("transposeAVX2_cols")
	a := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
	p := bases(s, lds, 4)
	for i := range a {
		VMOVUPS(row(p, lds, i, 0), a[i])
	}
	b := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
	VUNPCKLPS(a[1], a[0], b[0]) // 00 10 01 11
	VUNPCKHPS(a[1], a[0], b[1])
	VUNPCKLPS(a[3], a[2], b[2])
	VUNPCKHPS(a[3], a[2], b[3])
	VUNPCKLPD(b[2], b[0], a[0]) // columns 0 | 4
	VUNPCKHPD(b[2], b[0], a[1]) // 1 | 5
	VUNPCKLPD(b[3], b[1], a[2])
	VUNPCKHPD(b[3], b[1], a[3])
	for i := range a {
		VMOVUPS(a[i].AsX(), Mem{Base: d})
		ADDQ(ldd, d)
		_ = i
	}
	for i := range a {
		VEXTRACTF128(Imm(1), a[i], Mem{Base: d})
		ADDQ(ldd, d)
	}
	ADDQ(Imm(32), s)
	SUBQ(Imm(8), cols)
	JNZ(LabelRef("transposeAVX2_cols"))
	t := GP64()
	LEAQ(Mem{Base: src, Index: lds, Scale: 4}, t)
	MOVQ(t, src)
	ADDQ(Imm(16), dst)
	SUBQ(Imm(4), rows)
	JNZ(LabelRef("transposeAVX2_rows"))
	VZEROUPPER()
	RET()
}
