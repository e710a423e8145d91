package main

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// set is a precision: what differs between the functions of one description.
type set struct {
	*build.Context
	name   string // suffix of the functions
	single bool   // float32
	wide   bool   // registers of AVX-512
}

// registerBytes is the size of a register of AVX2.
const registerBytes = 32

// bytes is the size of a register of the set.
func (s set) bytes() int {
	if s.wide {
		return 2 * registerBytes
	}
	return registerBytes
}

// size is that of a number, in bytes.
func (s set) size() int {
	if s.single {
		return 4
	}
	return 8
}

// either selects an instruction by the precision.
func either[F any](s set, double, single F) F {
	if s.single {
		return single
	}
	return double
}

// lanes is how many numbers a register holds.
func (s set) lanes() int { return s.bytes() / s.size() }

func (s set) vec() VecVirtual {
	if s.wide {
		return s.ZMM()
	}
	return s.YMM()
}

func (s set) vecs(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = s.vec()
	}
	return v
}

func (s set) zero(v ...VecVirtual) {
	for _, v := range v {
		if s.wide {
			s.VPXORQ(v, v, v)
		} else {
			s.VXORPS(v, v, v)
		}
	}
}

// zeros returns n registers of zeros.
func (s set) zeros(n int) []VecVirtual {
	v := s.vecs(n)
	s.zero(v...)
	return v
}

func (s set) move(from, to Op) { either(s, s.VMOVUPD, s.VMOVUPS)(from, to) }

func (s set) broadcast(m Mem, v VecVirtual) { either(s, s.VBROADCASTSD, s.VBROADCASTSS)(m, v) }

// load returns a register of what m holds.
func (s set) load(m Mem) VecVirtual {
	v := s.vec()
	s.move(m, v)
	return v
}

func (s set) add(a, b VecVirtual) VecVirtual {
	r := s.vec()
	either(s, s.VADDPD, s.VADDPS)(b, a, r)
	return r
}

func (s set) sub(a, b VecVirtual) VecVirtual {
	r := s.vec()
	either(s, s.VSUBPD, s.VSUBPS)(b, a, r)
	return r
}

func (s set) mul(a, b VecVirtual) VecVirtual {
	r := s.vec()
	either(s, s.VMULPD, s.VMULPS)(b, a, r)
	return r
}

// begin starts a function whose arguments do not escape.
func (s set) begin(name, args string, result ...string) {
	s.Function(name + s.name)
	s.Attributes(attr.NOSPLIT)
	s.SignatureExpr("func(" + args + ") (" + strings.Join(result, ", ") + ")")
	s.Pragma("noescape")
}

// end ends it.
func (s set) end() {
	s.VZEROUPPER()
	s.RET()
}

func (s set) param(name string) GPVirtual { return s.Load(s.Param(name), s.GP64()).(GPVirtual) }

// stride loads a number of elements and turns it into bytes.
func (s set) stride(name string, size int) GPVirtual {
	r := s.param(name)
	s.SHLQ(U8(bits.TrailingZeros(uint(size))), r)
	return r
}

// broadcastParam takes an argument to all lanes.
func (s set) broadcastParam(name string) VecVirtual {
	v := s.vec()
	s.broadcast(s.addr(name), v)
	return v
}

// addr is the place of an argument.
func (s set) addr(name string) Mem { return s.place(s.Param(name)) }

// place is that of an argument or a result. If there is none, the context records an error, which its Result returns.
func (s set) place(c gotypes.Component) Mem {
	b, err := c.Resolve()
	if err != nil {
		s.Load(c, s.GP64()) // records the error
		return Mem{}
	}
	return b.Addr
}

// repeat generates a loop around body while the counter, less by each turn, is not zero.
func (s set) repeat(label string, counter GPVirtual, by int, body func()) {
	s.Label(label)
	body()
	if by == 1 {
		s.DECQ(counter)
	} else {
		s.SUBQ(U32(by), counter)
	}
	s.JNZ(LabelRef(label))
}

// advance moves pointers on by so many bytes.
func (s set) advance(by int, pointers ...GPVirtual) {
	for _, p := range pointers {
		s.ADDQ(I32(by), p)
	}
}

// copyOf returns a register with the value of r.
func (s set) copyOf(r Op) GPVirtual {
	c := s.GP64()
	s.MOVQ(r, c)
	return c
}

// at is the place so many bytes after p.
func at(p Register, disp int) Mem { return Mem{Base: p, Disp: disp} }

// tables are the tables of the files by name.
var tables = map[*build.Context]map[string]Mem{}

// table is data of the file, made once: so many times 8 bytes.
func (s set) table(name string, data ...uint64) Mem {
	if m, ok := tables[s.Context][name]; ok {
		return m
	}
	m := s.StaticGlobal(name)
	s.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, x := range data {
		s.AddDatum(8*i, U64(x))
	}
	if tables[s.Context] == nil {
		tables[s.Context] = map[string]Mem{}
	}
	tables[s.Context][name] = m
	return m
}

// constBits is a table of a pattern of bits in all lanes of a register.
func (s set) constBits(b uint64) Mem {
	name := fmt.Sprintf("c%016x", b)
	if s.single {
		name, b = fmt.Sprintf("c%08x", b), b<<32|b
	}
	return s.table(name, b, b, b, b)
}

func (s set) constant(x float64) Mem {
	if s.single {
		return s.constBits(uint64(math.Float32bits(float32(x))))
	}
	return s.constBits(math.Float64bits(x))
}

// number returns a constant in all lanes of a register.
func (s set) number(m Mem) VecVirtual {
	v := s.vec()
	s.broadcast(m, v)
	return v
}

// numbers makes a table of numbers, and returns what takes one of them to all lanes of a register.
func (s set) numbers(name string, list ...float64) func(x float64) VecVirtual {
	var data []uint64
	for _, x := range list {
		data = append(data, math.Float64bits(x))
	}
	table := s.table(name, data...)
	return func(x float64) VecVirtual { return s.number(table.Offset(8 * slices.Index(list, x))) }
}

// transposeQuarters transposes the 4 × 4 numbers in each quarter of four registers.
func (s set) transposeQuarters(a []VecVirtual) []VecVirtual {
	b, o := s.vecs(4), s.vecs(4)
	s.VUNPCKLPS(a[1], a[0], b[0]) // 00 10 01 11
	s.VUNPCKHPS(a[1], a[0], b[1]) // 02 12 03 13
	s.VUNPCKLPS(a[3], a[2], b[2])
	s.VUNPCKHPS(a[3], a[2], b[3])
	for i := range o {
		s.VSHUFPS(Imm([]uint64{0x44, 0xEE}[i%2]), b[i/2+2], b[i/2], o[i])
	}
	return o
}

// storeQuarter stores four numbers.
func (s set) storeQuarter(v VecVirtual, quarter int, to Mem) {
	if quarter == 0 {
		s.VMOVUPS(v.AsX(), to)
		return
	}
	s.VEXTRACTF128(Imm(uint64(quarter)), v, to)
}
