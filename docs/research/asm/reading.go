package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The assembly of reading.
func reading(ctx *build.Context) {
	s := set{Context: ctx, name: "AVX2", single: true}
	for _, size := range []int{2, 3, 4} {
		s.unpack(size)
	}
	s.describe()
	s.squares()
}

// unpack takes eight neighbouring channels out of frames of samples of so many bytes,
// int16, int24 (times scale) or float32: blocks of eight frames are transposed.
func (s set) unpack(size int) {
	name := fmt.Sprintf("unpack%d", 8*size)
	s.begin(name, "dst **float32, src *byte, frame, groups int, scale float32")
	dst, src, frame, groups := s.param("dst"), s.param("src"), s.param("frame"), s.param("groups")
	frame3, to, half := s.GP64(), s.GP64(), s.GP64()
	var scale VecVirtual
	if size < 4 {
		scale = s.broadcastParam("scale")
	}
	var upper [2]VecVirtual
	if size == 3 {
		// The three bytes of a sample to the upper ones of a double word; of the second
		// four channels, of which the 16 bytes that end with the last begin 4 early.
		upper = [2]VecVirtual{s.vec(), s.vec()}
		s.VBROADCASTI128(s.table("upper0", 0x0504038002010080, 0x0b0a098008070680), upper[0])
		s.VBROADCASTI128(s.table("upper1", 0x0908078006050480, 0x0f0e0d800c0b0a80), upper[1])
	}
	s.LEAQ(Mem{Base: frame, Index: frame, Scale: 2}, frame3)
	s.XORQ(to, to)

	s.repeat(name+"_group", groups, 1, func() {
		s.LEAQ(Mem{Base: src, Index: frame, Scale: 4}, half)
		var rows []Mem
		for _, base := range []GPVirtual{src, half} {
			rows = append(rows, fan(base, frame, frame3)[:4]...)
		}
		// Rows i and i+4 side by side, so that 4×4 transposes within 128 bits end in
		// whole channels.
		for part := range 2 {
			a := s.vecs(4)
			for i, v := range a {
				switch size {
				case 2:
					other := s.XMM()
					s.VPMOVSXWD(rows[i].Offset(8*part), v.AsX())
					s.VPMOVSXWD(rows[i+4].Offset(8*part), other)
					s.VINSERTI128(Imm(1), other, v, v)
				case 3:
					s.VMOVDQU(rows[i].Offset(8*part), v.AsX())
					s.VINSERTI128(Imm(1), rows[i+4].Offset(8*part), v, v)
					s.VPSHUFB(upper[part], v, v)
					s.VPSRAD(Imm(8), v, v)
				default:
					s.VMOVUPS(rows[i].Offset(16*part), v.AsX())
					s.VINSERTF128(Imm(1), rows[i+4].Offset(16*part), v, v)
				}
				if size < 4 {
					s.VCVTDQ2PS(v, v)
					s.VMULPS(scale, v, v)
				}
			}
			for i, o := range s.transposeQuarters(a) {
				p := s.copyOf(at(dst, 8*(4*part+i)))
				s.VMOVUPS(o, Mem{Base: p, Index: to, Scale: 1})
			}
		}
		s.LEAQ(Mem{Base: src, Index: frame, Scale: 8}, src)
		s.advance(32, to)
	})
	s.end()
}

// describe sums blocks of 16 samples less shift in 16 lanes, finds the least
// and the greatest, and whether a sample equals the next, or the next two.
func (s set) describe() {
	s.begin("describe", "sum *float64, low, high, x *float32, blocks int, shift float64", "equal int")
	sum, low, high, x, blocks := s.param("sum"), s.param("low"), s.param("high"), s.param("x"), s.param("blocks")
	shift := s.vec()
	s.VBROADCASTSD(s.addr("shift"), shift)
	acc, same := s.zeros(4), s.zeros(2) // same: pairs, triples
	lo, hi := s.load(at(x, 0)), s.load(at(x, 0))

	s.repeat("describe_block", blocks, 1, func() {
		for h := range 2 {
			v, next, after := s.load(at(x, 32*h)), s.load(at(x, 32*h+4)), s.vec()
			s.VMINPS(v, lo, lo)
			s.VMAXPS(v, hi, hi)
			s.VCMPPS(Imm(0), next, v, v)
			s.VCMPPS(Imm(0), at(x, 32*h+8), next, after)
			s.VANDPS(v, after, after)
			s.VORPS(v, same[0], same[0])
			s.VORPS(after, same[1], same[1])
			for q := range 2 {
				d := s.vec()
				s.VCVTPS2PD(at(x, 32*h+16*q), d)
				s.VSUBPD(shift, d, d)
				s.VADDPD(d, acc[2*h+q], acc[2*h+q])
			}
		}
		s.advance(64, x)
	})
	for i, a := range acc {
		s.VMOVUPD(a, at(sum, 32*i))
	}
	s.move(lo, at(low, 0))
	s.move(hi, at(high, 0))
	a, b := s.GP32(), s.GP32()
	s.VMOVMSKPS(same[0], a)
	s.VMOVMSKPS(same[1], b)
	s.SHLL(Imm(8), b)
	s.ORL(b, a)
	s.Store(a.As64(), s.ReturnIndex(0))
	s.end()
}

// squares sums the squares of samples less mean in 16 lanes.
func (s set) squares() {
	s.begin("squares", "sum *float64, x *float32, blocks int, mean float64")
	sum, x, blocks := s.param("sum"), s.param("x"), s.param("blocks")
	mean, acc := s.vec(), s.zeros(4)
	s.VBROADCASTSD(s.addr("mean"), mean)

	s.repeat("squares_block", blocks, 1, func() {
		for i, a := range acc {
			d := s.vec()
			s.VCVTPS2PD(at(x, 16*i), d)
			s.VSUBPD(mean, d, d)
			s.VMULPD(d, d, d)
			s.VADDPD(d, a, a)
		}
		s.advance(64, x)
	})
	for i, a := range acc {
		s.VMOVUPD(a, at(sum, 32*i))
	}
	s.end()
}
