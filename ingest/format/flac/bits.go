package flac

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// bitReader reads bits of b, the highest of a byte first.
type bitReader struct {
	b     []byte
	p     int    // next byte
	cache uint64 // bits taken out of b, the next one highest
	n     uint   // how many of them count
	short bool   // more bits were wanted than there are
}

// byte returns the first byte no bit of which was read.
func (r *bitReader) byte() int { return r.p - int(r.n/8) }

// fill takes bits out of b until there are 56, or all.
func (r *bitReader) fill() {
	if r.p+8 <= len(r.b) {
		r.cache |= binary.BigEndian.Uint64(r.b[r.p:]) >> r.n
		r.p += int(63-r.n) / 8
		r.n |= 56
		return
	}
	for ; r.n < 56 && r.p < len(r.b); r.p++ {
		r.cache |= uint64(r.b[r.p]) << (56 - r.n)
		r.n += 8
	}
}

// get reads an unsigned number of at most 32 bits; 0 where there are too few.
func (r *bitReader) get(width uint) uint32 {
	if r.n < width {
		if r.fill(); r.n < width {
			r.short = true
			return 0
		}
	}
	v := r.cache >> 1 >> (63 - width)
	r.cache <<= width
	r.n -= width
	return uint32(v)
}

// signed reads a number in two's complement of at most 32 bits.
func (r *bitReader) signed(width uint) int32 {
	if width == 0 {
		return 0
	}
	return int32(r.get(width)<<(32-width)) >> (32 - width)
}

// fixedWidth reads numbers of as many bits each.
func (r *bitReader) fixedWidth(s []int32, width uint) {
	for i := range s {
		s[i] = r.signed(width)
	}
}

// zeros reads zeros up to the next one, which it takes too, and returns how many;
// more than most where there are more than that.
func (r *bitReader) zeros(most uint64) uint64 {
	count := uint64(0)
	for count <= most {
		if r.n == 0 {
			if r.fill(); r.n == 0 {
				r.short = true
				return 0
			}
		}
		z := min(uint(bits.LeadingZeros64(r.cache)), r.n)
		count += uint64(z)
		r.cache <<= z
		if r.n -= z; r.n > 0 {
			r.cache <<= 1
			r.n--
			return count
		}
	}
	return count
}

// rice reads numbers in a Rice code with k low bits. It reports whether they have at
// most 32 bits.
func (r *bitReader) rice(s []int32, k uint) bool {
	b, p, cache, n := r.b, r.p, r.cache, r.n
	all := uint64(0)
	for i := range s {
		if n < 48 && p+8 <= len(b) {
			cache |= binary.BigEndian.Uint64(b[p:]) >> (n & 63)
			p += int(63-n) / 8
			n |= 56
		}
		z := uint(bits.LeadingZeros64(cache))
		var u uint64
		if used := z + 1 + k; used <= n {
			u = uint64(z)<<(k&63) | cache<<(z&63)<<1>>1>>(63-k&63)
			cache = cache << (z & 63) << 1 << (k & 63)
			n -= used
		} else {
			r.p, r.cache, r.n = p, cache, n
			if u = r.zeros(math.MaxUint32>>k) << k; u > math.MaxUint32 {
				return false
			}
			u |= uint64(r.get(k))
			p, cache, n = r.p, r.cache, r.n
			if r.short {
				return true
			}
		}
		all |= u
		s[i] = int32(uint32(u)>>1) ^ -int32(u&1)
	}
	r.p, r.cache, r.n = p, cache, n
	return all <= math.MaxUint32
}

// The checksums of headers and of frames: remainders of polynomials, without
// reflection, from 0.
var (
	table8  = makeTable(8, 0x07)
	table16 = makeTable(16, 0x8005)
	later16 = makeLater(table16)
)

func makeTable(width int, polynomial uint16) (t [256]uint16) {
	for i := range t {
		v := uint16(i) << (width - 8)
		for range 8 {
			high := v>>(width-1)&1 != 0
			if v <<= 1; high {
				v ^= polynomial
			}
		}
		t[i] = v
	}
	return t
}

// makeLater makes the tables of bytes that 0 to 7 others follow.
func makeLater(first [256]uint16) (t [8][256]uint16) {
	t[0] = first
	for k := 1; k < len(t); k++ {
		for i := range t[k] {
			before := t[k-1][i]
			t[k][i] = before<<8 ^ first[before>>8]
		}
	}
	return t
}

func crc8(b []byte) byte {
	v := byte(0)
	for _, x := range b {
		v = byte(table8[v^x])
	}
	return v
}

func crc16(b []byte) uint16 {
	v := uint16(0)
	t := &later16
	for ; len(b) >= 8; b = b[8:] {
		v = t[7][b[0]^byte(v>>8)] ^ t[6][b[1]^byte(v)] ^ t[5][b[2]] ^ t[4][b[3]] ^
			t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
	}
	for _, x := range b {
		v = v<<8 ^ table16[byte(v>>8)^x]
	}
	return v
}
