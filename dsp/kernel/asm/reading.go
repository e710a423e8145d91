package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// reading generates the assembly of ingest's package kernel. AVX2 is enough there: the
// memory sets the pace, not the arithmetic.
func reading() {
	for _, size := range []int{2, 3, 4} {
		unpack(size)
	}
	describe()
	squares()
}

// unpack takes eight neighbouring channels out of frames of samples of so many bytes,
// int16, int24 (times scale) or float32: blocks of eight frames are transposed.
func unpack(size int) {
	name := map[int]string{2: "unpack16", 3: "unpack24", 4: "unpack32"}[size]
	TEXT(name+"AVX2", NOSPLIT, "func(dst **float32, src *byte, frame, groups int, scale float32)")
	Pragma("noescape")
	dst, src, frame, groups := param("dst"), param("src"), param("frame"), param("groups")
	f3, at := GP64(), GP64()
	var scale VecVirtual
	if size < 4 {
		scale = single2.broadcastParam("scale")
	}
	upper := [2]VecVirtual{YMM(), YMM()}
	if size == 3 {
		// The three bytes of a sample to the upper ones of a double word; of the second
		// four channels, of which the 16 bytes that end with the last begin 4 early.
		for half, first := range [2]int{0, 4} {
			table := GLOBL(fmt.Sprintf("upper%d", half), RODATA|NOPTR)
			for i := range 4 {
				v := uint32(0x80)
				for b := range 3 {
					v |= uint32(first+3*i+b) << (8 + 8*b)
				}
				DATA(4*i, U32(v))
			}
			VBROADCASTI128(table, upper[half])
		}
	}
	LEAQ(Mem{Base: frame, Index: frame, Scale: 2}, f3)
	XORQ(at, at)
	Label(name + "_g")
	half := GP64()
	LEAQ(Mem{Base: src, Index: frame, Scale: 4}, half)
	rows := []Mem{
		{Base: src},
		{Base: src, Index: frame, Scale: 1},
		{Base: src, Index: frame, Scale: 2},
		{Base: src, Index: f3, Scale: 1},
		{Base: half},
		{Base: half, Index: frame, Scale: 1},
		{Base: half, Index: frame, Scale: 2},
		{Base: half, Index: f3, Scale: 1},
	}
	// Rows i and i+4 side by side, so that 4×4 transposes within 128 bits end in
	// whole channels: lo holds channels 0–3 of both, hi channels 4–7.
	for part := range 2 {
		a := make([]VecVirtual, 4)
		for i := range a {
			a[i] = YMM()
			switch size {
			case 2:
				other := XMM()
				VPMOVSXWD(rows[i].Offset(8*part), a[i].AsX())
				VPMOVSXWD(rows[i+4].Offset(8*part), other)
				VINSERTI128(Imm(1), other, a[i], a[i])
			case 3:
				VMOVDQU(rows[i].Offset(8*part), a[i].AsX())
				VINSERTI128(Imm(1), rows[i+4].Offset(8*part), a[i], a[i])
				VPSHUFB(upper[part], a[i], a[i])
				VPSRAD(Imm(8), a[i], a[i])
			default:
				VMOVUPS(rows[i].Offset(16*part), a[i].AsX())
				VINSERTF128(Imm(1), rows[i+4].Offset(16*part), a[i], a[i])
			}
			if size < 4 {
				VCVTDQ2PS(a[i], a[i])
				VMULPS(scale, a[i], a[i])
			}
		}
		b := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
		VUNPCKLPS(a[1], a[0], b[0]) // 00 10 01 11
		VUNPCKHPS(a[1], a[0], b[1])
		VUNPCKLPS(a[3], a[2], b[2])
		VUNPCKHPS(a[3], a[2], b[3])
		o := []VecVirtual{YMM(), YMM(), YMM(), YMM()}
		VUNPCKLPD(b[2], b[0], o[0])
		VUNPCKHPD(b[2], b[0], o[1])
		VUNPCKLPD(b[3], b[1], o[2])
		VUNPCKHPD(b[3], b[1], o[3])
		for i := range o {
			p := GP64()
			MOVQ(Mem{Base: dst, Disp: 8 * (4*part + i)}, p)
			VMOVUPS(o[i], Mem{Base: p, Index: at, Scale: 1})
		}
	}
	LEAQ(Mem{Base: src, Index: frame, Scale: 8}, src)
	ADDQ(Imm(32), at)
	DECQ(groups)
	JNZ(LabelRef(name + "_g"))
	VZEROUPPER()
	RET()
}

// describe sums blocks of 16 samples less shift in 16 lanes, finds the least
// and the greatest, and whether a sample equals the next, or the next two.
func describe() {
	TEXT("describeAVX2", NOSPLIT, "func(sum *float64, low, high *float32, x *float32, blocks int, shift float64) (equal "+
		"int)")
	Pragma("noescape")
	sum, low, high, x, blocks := param("sum"), param("low"), param("high"), param("x"), param("blocks")
	shift := avx2.broadcastParam("shift")
	acc := make([]VecVirtual, 4)
	for i := range acc {
		acc[i] = YMM()
		VXORPD(acc[i], acc[i], acc[i])
	}
	lo, hi, pairs, triples := YMM(), YMM(), YMM(), YMM()
	VMOVUPS(Mem{Base: x}, lo)
	VMOVUPS(Mem{Base: x}, hi)
	VXORPS(pairs, pairs, pairs)
	VXORPS(triples, triples, triples)
	Label("describe_b")
	for h := range 2 {
		v, next, after := YMM(), YMM(), YMM()
		VMOVUPS(Mem{Base: x, Disp: 32 * h}, v)
		VMINPS(v, lo, lo)
		VMAXPS(v, hi, hi)
		VMOVUPS(Mem{Base: x, Disp: 32*h + 4}, next)
		VCMPPS(Imm(0), next, v, v)
		VCMPPS(Imm(0), Mem{Base: x, Disp: 32*h + 8}, next, after)
		VANDPS(v, after, after)
		VORPS(v, pairs, pairs)
		VORPS(after, triples, triples)
		for q := range 2 {
			d := YMM()
			VCVTPS2PD(Mem{Base: x, Disp: 32*h + 16*q}, d)
			VSUBPD(shift, d, d)
			VADDPD(d, acc[2*h+q], acc[2*h+q])
		}
	}
	ADDQ(Imm(64), x)
	DECQ(blocks)
	JNZ(LabelRef("describe_b"))
	for i, a := range acc {
		VMOVUPD(a, Mem{Base: sum, Disp: 32 * i})
	}
	VMOVUPS(lo, Mem{Base: low})
	VMOVUPS(hi, Mem{Base: high})
	a, b := GP32(), GP32()
	VMOVMSKPS(pairs, a)
	VMOVMSKPS(triples, b)
	SHLL(Imm(8), b)
	ORL(b, a)
	Store(a.As64(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// squares sums the squares of samples less mean in 16 lanes.
func squares() {
	TEXT("squaresAVX2", NOSPLIT, "func(sum *float64, x *float32, blocks int, mean float64)")
	Pragma("noescape")
	sum, x, blocks := param("sum"), param("x"), param("blocks")
	mean := avx2.broadcastParam("mean")
	acc := make([]VecVirtual, 4)
	for i := range acc {
		acc[i] = YMM()
		VXORPD(acc[i], acc[i], acc[i])
	}
	Label("squares_b")
	for i, a := range acc {
		d := YMM()
		VCVTPS2PD(Mem{Base: x, Disp: 16 * i}, d)
		VSUBPD(mean, d, d)
		VMULPD(d, d, d)
		VADDPD(d, a, a)
	}
	ADDQ(Imm(64), x)
	DECQ(blocks)
	JNZ(LabelRef("squares_b"))
	for i, a := range acc {
		VMOVUPD(a, Mem{Base: sum, Disp: 32 * i})
	}
	VZEROUPPER()
	RET()
}
