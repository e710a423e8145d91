// Command asm generates the assembly of package kernel: ../kernel_amd64.s and
// its declarations ../stubs_amd64.go; with -reading that of ingest/kernel. Run by
// `go generate` in those packages.
//
// It is a module of its own, so that nothing but the generator needs avo.
//
// One description serves both instruction sets and both precisions: isa holds
// what differs. Lanes are eight to a vector in memory, of float32 sixteen;
// AVX-512 takes them in one register, AVX2 in two, one after the other. No fused
// multiply-add: every product is rounded, as in the portable twin, so that all
// sets give the same bits.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/bits"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

type isa struct {
	name   string // suffix of the functions
	wide   bool   // AVX-512
	parts  int    // registers to the real parts of a vector
	single bool   // float32
}

const vec = 128 // bytes of a complex vector: 64 of real parts, 64 of imaginary parts

// size is that of a number, in bytes.
func (s isa) size() int {
	if s.single {
		return 4
	}
	return 8
}

// float is the type of a number.
func (s isa) float() string { return fmt.Sprintf("float%d", 8*s.size()) }

// either selects an instruction by the precision.
func either[F any](s isa, double, single F) F {
	if s.single {
		return single
	}
	return double
}

func (s isa) broadcast(m Mem, v VecVirtual) { either(s, VBROADCASTSD, VBROADCASTSS)(m, v) }
func (s isa) move(from, to Op)              { either(s, VMOVUPD, VMOVUPS)(from, to) }

func (s isa) bytes() int { return 64 / s.parts }

func (s isa) vec() VecVirtual {
	if s.wide {
		return ZMM()
	}
	return YMM()
}

var (
	avx2      = isa{"AVX2", false, 2, false}
	avx512    = isa{"AVX512", true, 1, false}
	single2   = isa{"SingleAVX2", false, 2, true}
	single512 = isa{"SingleAVX512", true, 1, true}
)

func main() {
	ofReading := flag.Bool("reading", false, "of ingest/kernel, written there")
	flag.Parse()
	ConstraintExpr("amd64")
	if *ofReading {
		const to = "../../../ingest/kernel/"
		for _, f := range [][2]string{{"out", to + "kernel_amd64.s"}, {"stubs", to + "stubs_amd64.go"}, {"pkg", "kernel"}} {
			if err := flag.Set(f[0], f[1]); err != nil {
				panic(err)
			}
		}
		reading()
	} else {
		transforms()
	}
	Generate()
}

// transforms generates the assembly of the transforms.
func transforms() {
	for _, s := range []isa{avx2, avx512, single2, single512} {
		for _, r := range []int{2, 3, 4, 5} {
			s.radix(r, true)
			s.radix(r, false)
		}
		for _, p := range pairs {
			s.pair(p[0], p[1], false)
			s.pair(p[0], p[1], true)
		}
		s.power(false)
		s.power(true)
		s.twist()
		if s.single {
			s.loadPair(4)
			continue
		}
		s.loadPair(8)
		s.loadPair(4)
		s.loadComplex()
		s.storeComplex()
		s.sum(8)
		s.sum(4)
	}
}

func param(name string) GPVirtual { return Load(Param(name), GP64()).(GPVirtual) }

// broadcastParam takes an argument to all lanes.
func (s isa) broadcastParam(name string) VecVirtual {
	c, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := s.vec()
	s.broadcast(c.Addr, v)
	return v
}

// number returns a constant in all lanes.
func (s isa) number(x float64) VecVirtual {
	name, data := fmt.Sprintf("c%016x", math.Float64bits(x)), Constant(U64(math.Float64bits(x)))
	if s.single {
		name, data = fmt.Sprintf("c%08x", math.Float32bits(float32(x))), U32(math.Float32bits(float32(x)))
	}
	if _, ok := numbers[name]; !ok {
		numbers[name] = ConstData(name, data)
	}
	v := s.vec()
	s.broadcast(numbers[name], v)
	return v
}

var numbers = map[string]Mem{}

type c struct{ re, im VecVirtual }

func (s isa) load(m Mem, part int) c {
	x := c{s.vec(), s.vec()}
	s.move(m.Offset(part*s.bytes()), x.re)
	s.move(m.Offset(64+part*s.bytes()), x.im)
	return x
}

func (s isa) store(m Mem, part int, x c) {
	s.move(x.re, m.Offset(part*s.bytes()))
	s.move(x.im, m.Offset(64+part*s.bytes()))
}

func (s isa) add(a, b VecVirtual) VecVirtual {
	r := s.vec()
	either(s, VADDPD, VADDPS)(b, a, r)
	return r
}

func (s isa) sub(a, b VecVirtual) VecVirtual {
	r := s.vec()
	either(s, VSUBPD, VSUBPS)(b, a, r)
	return r
}

func (s isa) mul(a, b VecVirtual) VecVirtual {
	r := s.vec()
	either(s, VMULPD, VMULPS)(b, a, r)
	return r
}

func (s isa) cadd(a, b c) c { return c{s.add(a.re, b.re), s.add(a.im, b.im)} }
func (s isa) csub(a, b c) c { return c{s.sub(a.re, b.re), s.sub(a.im, b.im)} }

// cmul is a·w, in the order of mul in the portable twin.
func (s isa) cmul(a, w c) c {
	mul, add, sub := either(s, VMULPD, VMULPS), either(s, VADDPD, VADDPS), either(s, VSUBPD, VSUBPS)
	re, t := s.vec(), s.vec()
	mul(w.re, a.re, re)
	mul(w.im, a.im, t)
	sub(t, re, re)
	im, u := s.vec(), s.vec()
	mul(w.im, a.re, im)
	mul(w.re, a.im, u)
	add(u, im, im)
	return c{re, im}
}

// factor returns the complex number i at p in all lanes.
func (s isa) factor(p GPVirtual, i int) c {
	v := c{s.vec(), s.vec()}
	s.broadcast(Mem{Base: p, Disp: 2 * s.size() * i}, v.re)
	s.broadcast(Mem{Base: p, Disp: 2*s.size()*i + s.size()}, v.im)
	return v
}

// minusI is −i·(a − b).
func (s isa) minusI(a, b c) c { return c{s.sub(a.im, b.im), s.sub(b.re, a.re)} }

const (
	sin60 = 0.86602540378443864676
	cos72 = 0.30901699437494742410
	cos36 = 0.80901699437494742410
	sin72 = 0.95105651629515357212
	sin36 = 0.58778525229247312917
)

// radix is one Stockham stage; without twiddles for the last one, where q = 1.
func (s isa) radix(r int, twiddles bool) {
	name := fmt.Sprintf("radix%d%s", r, s.name)
	args := "func(y, x, tw *" + s.float() + ", q, s int)"
	if !twiddles {
		name = fmt.Sprintf("last%d%s", r, s.name)
		args = "func(y, x *" + s.float() + ", s int)"
	}
	TEXT(name, NOSPLIT, args)
	Pragma("noescape")
	y, x := param("y"), param("x")
	stride := param("s") // bytes of the interleaved vectors
	SHLQ(Imm(7), stride)
	var tw, q, step GPVirtual
	step = GP64() // bytes between a butterfly's inputs
	if twiddles {
		tw, q = param("tw"), param("q")
		MOVQ(q, step)
		IMULQ(stride, step)
	} else {
		MOVQ(stride, step)
	}
	var consts []VecVirtual
	if s.wide {
		consts = s.constants(r)
	}
	Label(name + "_j")
	var w []c
	if twiddles && s.wide {
		for i := range r - 1 {
			w = append(w, s.factor(tw, i))
		}
	}
	k := GP64()
	MOVQ(stride, k)
	Label(name + "_k")
	// Inputs and outputs in up to five places: base, +1, +2, then a second base.
	xs, ys := fan(x, step, r), fan(y, stride, r)
	for part := range s.parts {
		var in []c
		for i := range r {
			in = append(in, s.load(xs[i], part))
		}
		factor := func(i int) c {
			if s.wide {
				return w[i]
			}
			return s.factor(tw, i)
		}
		s.butterfly(r, in, consts, func(i int, v c) {
			if i > 0 && twiddles {
				v = s.cmul(v, factor(i-1))
			}
			s.store(ys[i], part, v)
		})
	}
	ADDQ(U32(vec), x)
	ADDQ(U32(vec), y)
	SUBQ(U32(vec), k)
	JNZ(LabelRef(name + "_k"))
	if twiddles {
		t := GP64()
		IMUL3Q(U32(uint32(r-1)), stride, t)
		ADDQ(t, y)
		ADDQ(U32(uint32(2*s.size()*(r-1))), tw)
		DECQ(q)
		JNZ(LabelRef(name + "_j"))
	}
	VZEROUPPER()
	RET()
}

// pairs are the radices that follow each other in a plan: fours, a two, threes,
// fives.
var pairs = [][2]int{{4, 4}, {4, 2}, {4, 3}, {4, 5}, {2, 3}, {2, 5}, {3, 3}, {3, 5}, {5, 5}}

// pair is two Stockham stages, of radix ra and rb, done together for each group
// of ra·rb vectors: what the first writes and the second reads, ra·rb vectors
// in tmp, never leaves the first-level cache. Twiddles of a group: ra−1 for each
// of the rb butterflies of the first stage, rb−1 for those of the second, which
// share them; none for the second where it is the last.
func (s isa) pair(ra, rb int, last bool) {
	name := fmt.Sprintf("pair%d%d%s", ra, rb, s.name)
	args := "func(y, x, tw, tmp *" + s.float() + ", q, s int)"
	if last {
		name = fmt.Sprintf("lastPair%d%d%s", ra, rb, s.name)
		args = "func(y, x, tw, tmp *" + s.float() + ", s int)"
	}
	TEXT(name, NOSPLIT, args)
	Pragma("noescape")
	y, x, tw, tmp := param("y"), param("x"), param("tw"), param("tmp")
	stride := param("s")
	SHLQ(Imm(7), stride)
	step := GP64() // bytes between neighbouring inputs of a group
	var q GPVirtual
	if last {
		MOVQ(stride, step)
	} else {
		q = param("q")
		MOVQ(q, step)
		IMULQ(stride, step)
	}
	stepA, strideB := GP64(), GP64() // between a butterfly's inputs, outputs
	IMUL3Q(U32(uint32(rb)), step, stepA)
	IMUL3Q(U32(uint32(ra)), stride, strideB)
	var constsA, constsB []VecVirtual
	if s.wide {
		constsA = s.constants(ra)
		if constsB = constsA; ra != rb {
			constsB = s.constants(rb)
		}
	}
	Label(name + "_j")
	k := GP64()
	MOVQ(stride, k)
	Label(name + "_k")
	at := GP64()
	MOVQ(x, at)
	for i2 := range rb {
		var in []c
		for _, m := range fan(at, stepA, ra) {
			in = append(in, s.load(m, 0))
		}
		s.butterfly(ra, in, constsA, func(i int, v c) {
			if i > 0 {
				v = s.cmul(v, s.factor(tw, i2*(ra-1)+i-1))
			}
			s.store(Mem{Base: tmp, Disp: vec * (i2*ra + i)}, 0, v)
		})
		if i2 < rb-1 {
			ADDQ(step, at)
		}
	}
	to := GP64()
	MOVQ(y, to)
	for k1 := range ra {
		ys := fan(to, strideB, rb)
		var in []c
		for i2 := range rb {
			in = append(in, s.load(Mem{Base: tmp, Disp: vec * (i2*ra + k1)}, 0))
		}
		s.butterfly(rb, in, constsB, func(i int, v c) {
			if i > 0 && !last {
				v = s.cmul(v, s.factor(tw, rb*(ra-1)+i-1))
			}
			s.store(ys[i], 0, v)
		})
		if k1 < ra-1 {
			ADDQ(stride, to)
		}
	}
	s.nextVector(name+"_k", x, y, k)
	if !last {
		t := GP64()
		IMUL3Q(U32(uint32(ra*rb-1)), stride, t)
		ADDQ(t, y)
		ADDQ(U32(uint32(2*s.size()*(ra*rb-1))), tw)
		DECQ(q)
		JNZ(LabelRef(name + "_j"))
	}
	VZEROUPPER()
	RET()
}

// nextVector moves x and y to the next vector, or the next half of one, and
// jumps to label while any of k bytes are left.
func (s isa) nextVector(label string, x, y, k GPVirtual) {
	if s.wide {
		ADDQ(U32(vec), x)
		ADDQ(U32(vec), y)
		SUBQ(U32(vec), k)
	} else { // half a vector at a time
		ADDQ(Imm(32), x)
		ADDQ(Imm(32), y)
		SUBQ(Imm(64), k)
		TESTQ(U32(64), k)
		JNZ(LabelRef(label))
		ADDQ(Imm(64), x)
		ADDQ(Imm(64), y)
		TESTQ(k, k)
	}
	JNZ(LabelRef(label))
}

// fan returns n places base + i·step.
func fan(base, step GPVirtual, n int) []Mem {
	m := []Mem{{Base: base}, {Base: base, Index: step, Scale: 1}, {Base: base, Index: step, Scale: 2}}
	if n > 3 {
		b := GP64()
		LEAQ(Mem{Base: base, Index: step, Scale: 2}, b)
		m = append(m, Mem{Base: b, Index: step, Scale: 1}, Mem{Base: b, Index: step, Scale: 2})
	}
	return m[:n]
}

func (s isa) constants(r int) []VecVirtual {
	switch r {
	case 3:
		return []VecVirtual{s.number(sin60), s.number(0.5)}
	case 5:
		return []VecVirtual{s.number(cos72), s.number(cos36), s.number(sin72), s.number(sin36)}
	}
	return nil
}

// times is a by the constant number i of the radix: from its register, or, where
// those are few, from memory.
func (s isa) times(a VecVirtual, consts []VecVirtual, r, i int) VecVirtual {
	if consts == nil {
		return s.mul(a, s.constant(r, i))
	}
	return s.mul(a, consts[i])
}

func (s isa) constant(r, i int) VecVirtual {
	if r == 3 {
		return s.number([]float64{sin60, 0.5}[i])
	}
	return s.number([]float64{cos72, cos36, sin72, sin36}[i])
}

// butterfly computes the outputs of one butterfly before the twiddles, in the
// order of operations of the portable twin, and passes each to put.
func (s isa) butterfly(r int, x []c, consts []VecVirtual, put func(i int, v c)) {
	switch r {
	case 2:
		put(0, s.cadd(x[0], x[1]))
		put(1, s.csub(x[0], x[1]))
	case 3:
		sum := s.cadd(x[1], x[2])
		d := s.minusI(x[1], x[2])
		d = c{s.times(d.re, consts, r, 0), s.times(d.im, consts, r, 0)}
		put(0, s.cadd(x[0], sum))
		m := c{s.sub(x[0].re, s.times(sum.re, consts, r, 1)), s.sub(x[0].im, s.times(sum.im, consts, r, 1))}
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
		cc, d := s.cadd(x[2], x[3]), s.minusI(x[2], x[3])
		put(0, s.cadd(s.cadd(x[0], b), cc))
		part := func(a, b, cc, e, d VecVirtual) (p, q, u, v VecVirtual) {
			p = s.sub(s.add(a, s.times(b, consts, r, 0)), s.times(cc, consts, r, 1))
			q = s.add(s.sub(a, s.times(b, consts, r, 1)), s.times(cc, consts, r, 0))
			u = s.add(s.times(e, consts, r, 2), s.times(d, consts, r, 3))
			v = s.sub(s.times(e, consts, r, 3), s.times(d, consts, r, 2))
			return
		}
		pr, qr, ur, vr := part(x[0].re, b.re, cc.re, e.re, d.re)
		pi, qi, ui, vi := part(x[0].im, b.im, cc.im, e.im, d.im)
		put(1, c{s.add(pr, ur), s.add(pi, ui)})
		put(4, c{s.sub(pr, ur), s.sub(pi, ui)})
		put(2, c{s.add(qr, vr), s.add(qi, vi)})
		put(3, c{s.sub(qr, vr), s.sub(qi, vi)})
	}
}

// twist multiplies as many vectors as there are lanes, L, by near·far (twiddles between
// the two steps), transposes them and stores the L vectors of the transpose.
//
//	x     groups × L vectors, row k of them all lanes j
//	near  a vector for each row: w^(l·k), l the lane
//	far   a number for each row: w^(base·k)
//	y     groups × L vectors, stride bytes between groups
//
// Eight registers are transposed at once, or four rows at a time: in each block of four
// lanes of a register, which is stored for itself.
func (s isa) twist() {
	name := "twist" + s.name
	TEXT(name, NOSPLIT, "func(y, x, near, far *"+s.float()+", stride, groups int)")
	Pragma("noescape")
	y, x, near, far := param("y"), param("x"), param("near"), param("far")
	stride, groups := param("stride"), param("groups")
	size := s.size()
	SHLQ(Imm(uint64(bits.TrailingZeros(uint(size)))), stride)
	Label(name + "_g")
	lanes, atOnce, transpose := 64/size, 4, s.transposeQuarters
	if !s.single {
		transpose = transpose4
		if s.wide {
			atOnce, transpose = 8, transpose8
		}
	}
	for rows := 0; rows < lanes; rows += atOnce {
		for part := range s.parts {
			var re, im []VecVirtual
			for k := rows; k < rows+atOnce; k++ {
				f := s.factor(far, k)
				w := s.cmul(s.load(Mem{Base: near, Disp: vec * k}, part), f)
				v := s.cmul(s.load(Mem{Base: x, Disp: vec * k}, part), w)
				re, im = append(re, v.re), append(im, v.im)
			}
			for i, v := range [][]VecVirtual{re, im} {
				for column, o := range transpose(v) {
					for block := range s.bytes() / size / atOnce {
						lane := part*s.bytes()/size + atOnce*block + column
						to := Mem{Base: y, Disp: vec*lane + 64*i + size*rows}
						if s.single {
							s.storeQuarter(o, block, to)
						} else {
							VMOVUPD(o, to)
						}
					}
				}
			}
		}
	}
	ADDQ(U32(uint32(lanes*vec)), x)
	ADDQ(U32(uint32(lanes*vec)), near)
	ADDQ(U32(uint32(2*lanes*size)), far)
	ADDQ(stride, y)
	DECQ(groups)
	JNZ(LabelRef(name + "_g"))
	VZEROUPPER()
	RET()
}

// transposeQuarters transposes the 4 × 4 numbers in each quarter of four registers.
func (s isa) transposeQuarters(a []VecVirtual) []VecVirtual {
	b, o := make([]VecVirtual, 4), make([]VecVirtual, 4)
	for i := range b {
		b[i], o[i] = s.vec(), s.vec()
	}
	VUNPCKLPS(a[1], a[0], b[0]) // 00 10 01 11
	VUNPCKHPS(a[1], a[0], b[1]) // 02 12 03 13
	VUNPCKLPS(a[3], a[2], b[2])
	VUNPCKHPS(a[3], a[2], b[3])
	VSHUFPS(Imm(0x44), b[2], b[0], o[0])
	VSHUFPS(Imm(0xEE), b[2], b[0], o[1])
	VSHUFPS(Imm(0x44), b[3], b[1], o[2])
	VSHUFPS(Imm(0xEE), b[3], b[1], o[3])
	return o
}

// storeQuarter stores four numbers of a register.
func (s isa) storeQuarter(v VecVirtual, quarter int, to Mem) {
	switch {
	case quarter == 0:
		VMOVUPS(v.AsX(), to)
	case s.wide:
		VEXTRACTF32X4(Imm(uint64(quarter)), v, to)
	default:
		VEXTRACTF128(Imm(uint64(quarter)), v, to)
	}
}

func transpose4(a []VecVirtual) []VecVirtual {
	b := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
	VUNPCKLPD(a[1], a[0], b[0]) // 00 10 | 02 12
	VUNPCKHPD(a[1], a[0], b[1])
	VUNPCKLPD(a[3], a[2], b[2])
	VUNPCKHPD(a[3], a[2], b[3])
	o := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
	VPERM2F128(Imm(0x20), b[2], b[0], o[0])
	VPERM2F128(Imm(0x20), b[3], b[1], o[1])
	VPERM2F128(Imm(0x31), b[2], b[0], o[2])
	VPERM2F128(Imm(0x31), b[3], b[1], o[3])
	return o
}

func transpose8(a []VecVirtual) []VecVirtual {
	z := func() VecVirtual { return ZMM() }
	// Pairs of rows: lane l of u[2i] is a[2i][2l'], a[2i+1][2l'].
	u := make([]VecVirtual, 8)
	for i := 0; i < 8; i += 2 {
		u[i], u[i+1] = z(), z()
		VUNPCKLPD(a[i+1], a[i], u[i])
		VUNPCKHPD(a[i+1], a[i], u[i+1])
	}
	// 128-bit blocks: u[0] holds columns 0 2 4 6 of rows 0 1, u[2] of rows 2 3.
	t := make([]VecVirtual, 8)
	for i := range 2 { // columns of even, odd number
		for h := range 2 { // rows 0–3, 4–7
			lo, hi := u[4*h+i], u[4*h+2+i]
			t[4*i+2*h], t[4*i+2*h+1] = z(), z()
			VSHUFF64X2(Imm(0x88), hi, lo, t[4*i+2*h])   // columns 0 4 of lo, 0 4 of hi
			VSHUFF64X2(Imm(0xDD), hi, lo, t[4*i+2*h+1]) // columns 2 6
		}
	}
	o := make([]VecVirtual, 8)
	for i := range 2 {
		for m := range 2 { // columns 0 4 or 2 6
			first, second := t[4*i+m], t[4*i+2+m]
			a, b := z(), z()
			VSHUFF64X2(Imm(0x88), second, first, a) // column 0 (2): rows 01 23 45 67
			VSHUFF64X2(Imm(0xDD), second, first, b) // column 4 (6)
			o[i+2*m], o[i+2*m+4] = a, b
		}
	}
	return o
}

// loadPair fills rows vectors from two real sequences under a Hann window:
// (a−meanA)·w as the real part and (b−meanB)·w as the imaginary one, stride
// samples between rows, groups of them jump rows apart; w = ½ − (row cosine·lane cosine − row sine·lane sine).
// size is that of a sample, 8 or 4 bytes. For float32 vectors a mean comes as the sum of
// two float32, so that its rounding is lost with that of the difference.
func (s isa) loadPair(size int) {
	name, means := fmt.Sprintf("loadPair%d%s", 8*size, s.name), "meanA, meanB"
	if s.single {
		name, means = "loadPair"+s.name, "meanA, meanB, restA, restB"
	}
	TEXT(name, NOSPLIT, fmt.Sprintf("func(dst *%[1]s, a, b *float%[2]d, row, lane *%[1]s, %[3]s %[1]s, "+
		"stride, rows, jump, groups int)", s.float(), 8*size, means))
	Pragma("noescape")
	dst, a, b, row, lane := param("dst"), param("a"), param("b"), param("row"), param("lane")
	var mean []VecVirtual
	for _, m := range strings.Split(means, ", ") {
		mean = append(mean, s.broadcastParam(m))
	}
	stride, rows, jump, groups := param("stride"), param("rows"), param("jump"), param("groups")
	SHLQ(Imm(uint64(bits.TrailingZeros(uint(size)))), stride)
	back, turns := GP64(), GP64() // from a group's end to the next one's start
	MOVQ(jump, turns)
	SUBQ(rows, turns)
	MOVQ(turns, back)
	IMULQ(stride, back)
	SHLQ(Imm(uint64(bits.TrailingZeros(uint(2*s.size())))), turns)
	half := s.number(0.5)
	var angle []c
	for part := range s.parts {
		angle = append(angle, s.load(Mem{Base: lane}, part))
	}
	Label(name + "_g")
	left := GP64()
	MOVQ(rows, left)
	Label(name + "_r")
	turn := s.factor(row, 0)
	for part := range s.parts {
		win := s.add(s.sub(half, s.mul(turn.re, angle[part].re)), s.mul(turn.im, angle[part].im))
		for i, src := range []GPVirtual{a, b} {
			v := s.vec()
			m := Mem{Base: src, Disp: part * s.bytes() * size / s.size()}
			if size == s.size() {
				s.move(m, v)
			} else {
				VCVTPS2PD(m, v)
			}
			for k := i; k < len(mean); k += 2 {
				either(s, VSUBPD, VSUBPS)(mean[k], v, v)
			}
			either(s, VMULPD, VMULPS)(win, v, v)
			s.move(v, Mem{Base: dst, Disp: 64*i + part*s.bytes()})
		}
	}
	ADDQ(U32(vec), dst)
	ADDQ(stride, a)
	ADDQ(stride, b)
	ADDQ(Imm(uint64(2*s.size())), row)
	DECQ(left)
	JNZ(LabelRef(name + "_r"))
	ADDQ(back, a)
	ADDQ(back, b)
	ADDQ(turns, row)
	DECQ(groups)
	JNZ(LabelRef(name + "_g"))
	VZEROUPPER()
	RET()
}

func index8(name string, v [8]uint64) Mem {
	g := GLOBL(name, RODATA|NOPTR)
	for i, x := range v {
		DATA(8*i, U64(x))
	}
	return g
}

var indices map[string]Mem

func (s isa) index(name string, v [8]uint64) VecVirtual {
	if indices == nil {
		indices = map[string]Mem{}
	}
	if _, ok := indices[name]; !ok {
		indices[name] = index8(name, v)
	}
	r := s.vec()
	VMOVDQU64(indices[name], r)
	return r
}

// loadComplex parts rows of eight complex numbers, stride numbers
// apart, groups of them jump rows apart.
func (s isa) loadComplex() {
	name := "loadComplex" + s.name
	TEXT(name, NOSPLIT, "func(dst, src *float64, stride, rows, jump, groups int)")
	Pragma("noescape")
	dst, src, stride, rows := param("dst"), param("src"), param("stride"), param("rows")
	jump, groups := param("jump"), param("groups")
	SHLQ(Imm(4), stride)
	back := GP64() // from a group's end to the next one's start
	MOVQ(jump, back)
	SUBQ(rows, back)
	IMULQ(stride, back)
	var even, odd VecVirtual
	if s.wide {
		even = s.index("even8", [8]uint64{0, 2, 4, 6, 8, 10, 12, 14})
		odd = s.index("odd8", [8]uint64{1, 3, 5, 7, 9, 11, 13, 15})
	}
	Label(name + "_g")
	left := GP64()
	MOVQ(rows, left)
	Label(name + "_r")
	for part := range s.parts {
		lo, hi := s.vec(), s.vec()
		VMOVUPD(Mem{Base: src, Disp: 128 / s.parts * part}, lo)
		VMOVUPD(Mem{Base: src, Disp: 128/s.parts*part + s.bytes()}, hi)
		re, im := s.vec(), s.vec()
		if s.wide {
			VMOVDQU64(even, re)
			VPERMI2PD(hi, lo, re)
			VMOVDQU64(odd, im)
			VPERMI2PD(hi, lo, im)
		} else {
			VUNPCKLPD(hi, lo, re)
			VUNPCKHPD(hi, lo, im)
			VPERMPD(Imm(0xD8), re, re)
			VPERMPD(Imm(0xD8), im, im)
		}
		s.store(Mem{Base: dst}, part, c{re, im})
	}
	ADDQ(U32(vec), dst)
	ADDQ(stride, src)
	DECQ(left)
	JNZ(LabelRef(name + "_r"))
	ADDQ(back, src)
	DECQ(groups)
	JNZ(LabelRef(name + "_g"))
	VZEROUPPER()
	RET()
}

// storeComplex is the inverse of loadComplex.
func (s isa) storeComplex() {
	name := "storeComplex" + s.name
	TEXT(name, NOSPLIT, "func(dst, src *float64, stride, rows int)")
	Pragma("noescape")
	dst, src, stride, rows := param("dst"), param("src"), param("stride"), param("rows")
	SHLQ(Imm(4), stride)
	var low, high VecVirtual
	if s.wide {
		low = s.index("low8", [8]uint64{0, 8, 1, 9, 2, 10, 3, 11})
		high = s.index("high8", [8]uint64{4, 12, 5, 13, 6, 14, 7, 15})
	}
	Label(name + "_r")
	for part := range s.parts {
		x := s.load(Mem{Base: src}, part)
		lo, hi := s.vec(), s.vec()
		if s.wide {
			VMOVDQU64(low, lo)
			VPERMI2PD(x.im, x.re, lo)
			VMOVDQU64(high, hi)
			VPERMI2PD(x.im, x.re, hi)
		} else {
			re, im := s.vec(), s.vec()
			VPERMPD(Imm(0xD8), x.re, re)
			VPERMPD(Imm(0xD8), x.im, im)
			VUNPCKLPD(im, re, lo)
			VUNPCKHPD(im, re, hi)
		}
		VMOVUPD(lo, Mem{Base: dst, Disp: 128 / s.parts * part})
		VMOVUPD(hi, Mem{Base: dst, Disp: 128/s.parts*part + s.bytes()})
	}
	ADDQ(U32(vec), src)
	ADDQ(stride, dst)
	DECQ(rows)
	JNZ(LabelRef(name + "_r"))
	VZEROUPPER()
	RET()
}

// power stores the squared magnitudes of rows vectors to rows of eight sums,
// stride numbers apart, or adds them.
func (s isa) power(add bool) {
	name := "setPower" + s.name
	if add {
		name = "addPower" + s.name
	}
	TEXT(name, NOSPLIT, "func(sum *float64, x *"+s.float()+", stride, rows int)")
	Pragma("noescape")
	sum, x, stride, rows := param("sum"), param("x"), param("stride"), param("rows")
	SHLQ(Imm(3), stride)
	Label(name + "_r")
	d := isa{wide: s.wide, parts: s.parts} // sums are float64
	for part := range s.parts * 8 / s.size() {
		v := c{s.vec(), s.vec()}
		if s.single {
			VCVTPS2PD(Mem{Base: x, Disp: part * s.bytes() / 2}, v.re)
			VCVTPS2PD(Mem{Base: x, Disp: 64 + part*s.bytes()/2}, v.im)
		} else {
			v = s.load(Mem{Base: x}, part)
		}
		p := d.add(d.mul(v.re, v.re), d.mul(v.im, v.im))
		if add {
			VADDPD(Mem{Base: sum, Disp: part * s.bytes()}, p, p)
		}
		VMOVUPD(p, Mem{Base: sum, Disp: part * s.bytes()})
	}
	ADDQ(U32(vec), x)
	ADDQ(stride, sum)
	DECQ(rows)
	JNZ(LabelRef(name + "_r"))
	VZEROUPPER()
	RET()
}

// sum adds blocks of 32 samples lane by lane and joins them to eight sums.
func (s isa) sum(size int) {
	name := fmt.Sprintf("sum%d%s", 8*size, s.name)
	TEXT(name, NOSPLIT, fmt.Sprintf("func(dst *float64, x *float%d, blocks int)", 8*size))
	Pragma("noescape")
	dst, x, blocks := param("dst"), param("x"), param("blocks")
	acc := make([]VecVirtual, 4*s.parts)
	for i := range acc {
		acc[i] = s.vec()
		if s.wide {
			VPXORQ(acc[i], acc[i], acc[i])
		} else {
			VXORPD(acc[i], acc[i], acc[i])
		}
	}
	lanes := 8 / s.parts
	Label(name + "_b")
	for i, a := range acc {
		m := Mem{Base: x, Disp: i * lanes * size}
		if size == 8 {
			VADDPD(m, a, a)
		} else {
			v := s.vec()
			VCVTPS2PD(m, v)
			VADDPD(v, a, a)
		}
	}
	ADDQ(U32(uint32(32*size)), x)
	DECQ(blocks)
	JNZ(LabelRef(name + "_b"))
	for part := range s.parts {
		a := func(i int) VecVirtual { return acc[i*s.parts+part] }
		VMOVUPD(s.add(s.add(a(0), a(1)), s.add(a(2), a(3))), Mem{Base: dst, Disp: part * s.bytes()})
	}
	VZEROUPPER()
	RET()
}
