package main

import (
	"math"
	"math/big"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The assembly of hashing: SHA-256 of two messages at a time. Its instructions wait for
// each other within one message.
func hashing(ctx *build.Context) {
	s := set{Context: ctx, name: "SHA"}
	s.begin("pair", "state *[2][8]uint32, a, b *byte, blocks int")
	state, blocks := s.param("state"), s.param("blocks")
	from := []GPVirtual{s.param("a"), s.param("b")}
	constants, order := s.copyOf(state), s.XMM()
	s.LEAQ(s.table("rounds", roundConstants()...), constants)
	s.MOVOU(s.table("bigEndian", 0x0405060700010203, 0x0c0d0e0f08090a0b), order)

	h := make([][2]VecVirtual, 2) // words F, E, B, A and H, G, D, C
	m := make([][4]VecVirtual, 2) // sixteen words of the schedule
	for i := range h {
		for k := range h[i] {
			h[i][k] = s.XMM()
			s.MOVOU(at(state, 32*i+16*k), h[i][k])
		}
		for k := range m[i] {
			m[i][k] = s.XMM()
		}
	}

	s.repeat("pair_block", blocks, 1, func() {
		for g := range 16 { // rounds 4g to 4g+3
			for i, p := range from {
				w, next := m[i][g%4], m[i][(g+1)%4]
				if g < 4 {
					s.MOVOU(at(p, 16*g), w)
					s.PSHUFB(order, w)
				}
				s.MOVO(w, X0)
				s.PADDL(at(constants, 16*g), X0)
				s.SHA256RNDS2(X0, h[i][0], h[i][1])
				s.PSHUFD(Imm(0x0e), X0, X0)
				s.SHA256RNDS2(X0, h[i][1], h[i][0])
				if 3 <= g && g < 15 {
					s.SHA256MSG1(m[i][(g+2)%4], next)
					s.MOVO(w, X0)
					s.PALIGNR(Imm(4), m[i][(g+3)%4], X0)
					s.PADDL(X0, next)
					s.SHA256MSG2(w, next)
				}
			}
		}
		for i, p := range from {
			for k, r := range h[i] {
				old := s.XMM()
				s.MOVOU(at(state, 32*i+16*k), old)
				s.PADDL(old, r)
				s.MOVOU(r, at(state, 32*i+16*k))
			}
			s.advance(64, p)
		}
	})
	s.RET()
}

// roundConstants are those of FIPS 180-4, section 4.2.2, two to a number: the first 32
// bits of the fractional parts of the cube roots of the first 64 primes.
func roundConstants() []uint64 {
	pairs := make([]uint64, 0, 32)
	for n, k := int64(2), 0; k < 64; n++ {
		if !big.NewInt(n).ProbablyPrime(0) {
			continue
		}
		_, f := math.Modf(math.Cbrt(float64(n)))
		if k%2 == 0 {
			pairs = append(pairs, 0)
		}
		pairs[k/2] |= uint64(f*(1<<32)) << (32 * (k % 2))
		k++
	}
	return pairs
}
