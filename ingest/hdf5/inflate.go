package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"math/bits"
)

// A chunk is expanded from one slice of known length into another. Without the
// streaming of compress/zlib that takes less than half the time, and reading
// compressed recordings is nothing but this.

const (
	litBits  = 11 // looked up at once of a literal or length code
	distBits = 8  // of a distance code

	// Entries of the tables: bits 0–5 bits of the code, 8–12 extra bits that
	// follow (or bits of a second table), 13–15 kind, 16–31 value. 0 is no code.
	kindLiteral = 1 << 13
	kindCopy    = 2 << 13
	kindEnd     = 3 << 13
	kindTable   = 4 << 13
	kindMask    = 7 << 13
)

var (
	errInflateData  = errors.New("the compressed data are damaged")
	errInflateShort = errors.New("the compressed data are cut off")

	litSymbols  [288]uint32
	distSymbols [32]uint32
	fixedLit    inflateTable
	fixedDist   inflateTable
)

// codeOrder is the order in which the lengths of the length code are sent
// (RFC 1951, 3.2.7).
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

func init() {
	for i := range 256 {
		litSymbols[i] = kindLiteral | uint32(i)<<16
	}
	litSymbols[256] = kindEnd
	// Lengths 3 … 258 and distances 1 … 32768 double their step every 4 and 2
	// codes (RFC 1951, 3.2.5).
	base := uint32(3)
	for i := range 28 {
		extra := uint32(max(0, i/4-1))
		litSymbols[257+i] = kindCopy | extra<<8 | base<<16
		base += 1 << extra
	}
	litSymbols[285] = kindCopy | 258<<16
	base = 1
	for i := range 30 {
		extra := uint32(max(0, i/2-1))
		distSymbols[i] = kindCopy | extra<<8 | base<<16
		base += 1 << extra
	}
	var lens [288]uint8
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	fixedLit.build(lens[:], litSymbols[:], litBits)
	for i := range 32 {
		lens[i] = 5
	}
	fixedDist.build(lens[:32], distSymbols[:], distBits)
}

// inflateTable decodes a Huffman code.
type inflateTable struct {
	e []uint32
}

// build makes the table of a canonical code of these lengths; codes longer
// than first bits go through a second table.
func (t *inflateTable) build(lens []uint8, symbols []uint32, first int) bool {
	var count [16]int
	longest := 0
	for _, n := range lens {
		count[n]++
		longest = max(longest, int(n))
	}
	count[0] = 0
	t.e = append(t.e[:0], make([]uint32, 1<<first)...)
	if longest == 0 {
		return true // no code at all: an error only if one is used
	}
	left := 1
	var next [16]uint32
	code := uint32(0)
	for n := 1; n <= 15; n++ {
		left = left<<1 - count[n]
		if left < 0 {
			return false // more codes than there can be
		}
		code = (code + uint32(count[n-1])) << 1
		next[n] = code
	}
	if left > 0 && !(longest == 1 && count[1] == 1) {
		return false // fewer, which only a code of one symbol may have
	}
	for s, n := range lens {
		if n == 0 {
			continue
		}
		c := bits.Reverse32(next[n]) >> (32 - n)
		next[n]++
		if symbols[s] == 0 {
			continue // a symbol that must not occur
		}
		e := symbols[s] | uint32(n)
		if int(n) <= first {
			for i := c; i < 1<<first; i += 1 << n {
				t.e[i] = e
			}
			continue
		}
		more := longest - first
		p := &t.e[c&(1<<first-1)]
		if *p == 0 {
			*p = kindTable | uint32(more)<<8 | uint32(len(t.e))<<16 | uint32(first)
			t.e = append(t.e, make([]uint32, 1<<more)...) // which may move *p
			p = &t.e[c&(1<<first-1)]
		}
		sub := t.e[*p>>16:][:1<<more]
		for i := c >> first; i < 1<<more; i += 1 << (int(n) - first) {
			sub[i] = e
		}
	}
	return true
}

// inflater holds the tables from chunk to chunk.
type inflater struct {
	lit, dist, code inflateTable
	lens            [288 + 32]uint8
}

// zlib expands a zlib stream (RFC 1950), which must fill out exactly and
// whose checksum must be right.
func (f *inflater) zlib(out, in []byte) error {
	if len(in) < 2 || in[0]&15 != 8 || in[0]>>4 > 7 || (int(in[0])<<8|int(in[1]))%31 != 0 || in[1]&0x20 != 0 {
		return errors.New("no zlib header")
	}
	n, err := f.inflate(out, in[2:])
	if err != nil {
		return err
	}
	if tail := in[2+n:]; len(tail) < 4 {
		return errInflateShort
	} else if sum := binary.BigEndian.Uint32(tail); sum != adler32.Checksum(out) {
		return errors.New("the checksum of the expanded data is wrong")
	}
	return nil
}

// inflate expands a deflate stream (RFC 1951) into all of out and returns how
// many bytes of in it took.
func (f *inflater) inflate(out, in []byte) (int, error) {
	var buf uint64 // bits not used yet, the next one lowest
	n := 0         // how many; below 0 the input had fewer than were used
	pos := 0
	o := 0
	for {
		// A block's header takes at most 17 bits.
		for n <= 56 && pos < len(in) {
			buf |= uint64(in[pos]) << n
			pos++
			n += 8
		}
		if n < 3 {
			return 0, errInflateShort
		}
		last, kind := buf&1 == 1, buf>>1&3
		buf >>= 3
		n -= 3
		lit, dist := &f.lit, &f.dist
		switch kind {
		case 0:
			n -= n & 7 // the bits up to the next byte are dropped, whole bytes given back
			pos -= n / 8
			buf, n = 0, 0
			if len(in)-pos < 4 {
				return 0, errInflateShort
			}
			size := int(binary.LittleEndian.Uint16(in[pos:]))
			if size^0xffff != int(binary.LittleEndian.Uint16(in[pos+2:])) {
				return 0, errInflateData
			}
			pos += 4
			if size > len(in)-pos {
				return 0, errInflateShort
			}
			if size > len(out)-o {
				return 0, fmt.Errorf("the data go on after %d bytes", len(out))
			}
			copy(out[o:], in[pos:pos+size])
			pos += size
			o += size
			if last {
				return f.end(out, o, pos, n)
			}
			continue
		case 1:
			lit, dist = &fixedLit, &fixedDist
		case 2:
			var err error
			if buf, n, pos, err = f.tables(buf, n, pos, in); err != nil {
				return 0, err
			}
		default:
			return 0, errInflateData
		}
		lits, dists := lit.e, dist.e
		if len(lits) < 1<<litBits || len(dists) < 1<<distBits {
			return 0, errInflateData
		}
	symbols:
		for {
			if pos+8 <= len(in) {
				buf |= binary.LittleEndian.Uint64(in[pos:]) << n
				pos += (63 - n) >> 3
				n |= 56
			} else {
				for n <= 56 && pos < len(in) {
					buf |= uint64(in[pos]) << n
					pos++
					n += 8
				}
			}
			// 56 bits hold two literals of 15 and a length of 20.
			var e uint32
			for k := 0; ; k++ {
				if e = lits[buf&(1<<litBits-1)]; e&kindMask == kindTable {
					i := int(e>>16) + int(buf>>litBits&(1<<(e>>8&31)-1))
					e = lits[i]
				}
				buf >>= e & 63
				n -= int(e & 63)
				if e&kindMask != kindLiteral {
					break
				}
				if n < 0 {
					return 0, errInflateShort
				}
				if o >= len(out) {
					return 0, fmt.Errorf("the data go on after %d bytes", len(out))
				}
				out[o] = byte(e >> 16)
				o++
				if k == 2 {
					continue symbols
				}
			}
			if e&kindMask != kindCopy {
				if n < 0 {
					return 0, errInflateShort
				}
				if e&kindMask == kindEnd {
					break
				}
				if pos >= len(in) && n < 15 {
					return 0, errInflateShort // zeros were looked up behind the end
				}
				return 0, errInflateData
			}
			extra := e >> 8 & 31
			size := int(e>>16) + int(buf&(1<<extra-1))
			buf >>= extra
			n -= int(extra)
			if n < 0 {
				return 0, errInflateShort
			}
			if pos+8 <= len(in) {
				buf |= binary.LittleEndian.Uint64(in[pos:]) << n
				pos += (63 - n) >> 3
				n |= 56
			} else {
				for n <= 56 && pos < len(in) {
					buf |= uint64(in[pos]) << n
					pos++
					n += 8
				}
			}
			if e = dists[buf&(1<<distBits-1)]; e&kindMask == kindTable {
				e = dists[int(e>>16)+int(buf>>distBits&(1<<(e>>8&31)-1))]
			}
			if e == 0 {
				if pos >= len(in) && n < 15 {
					return 0, errInflateShort
				}
				return 0, errInflateData
			}
			buf >>= e & 63
			n -= int(e & 63)
			extra = e >> 8 & 31
			back := int(e>>16) + int(buf&(1<<extra-1))
			buf >>= extra
			n -= int(extra)
			if n < 0 {
				return 0, errInflateShort
			}
			if back > o {
				return 0, errInflateData
			}
			if size > len(out)-o {
				return 0, fmt.Errorf("the data go on after %d bytes", len(out))
			}
			if back >= 8 && len(out)-o >= 16 && size <= 16 {
				// The bytes written too far are written again.
				binary.LittleEndian.PutUint64(out[o:], binary.LittleEndian.Uint64(out[o-back:]))
				if size > 8 {
					binary.LittleEndian.PutUint64(out[o+8:], binary.LittleEndian.Uint64(out[o-back+8:]))
				}
				o += size
				continue
			}
			// Each copy may take all that stands there already.
			from, end := o-back, o+size
			for o < end {
				o += copy(out[o:end], out[from:o])
			}
		}
		if last {
			return f.end(out, o, pos, n)
		}
	}
}

// end checks that all of out was filled and returns how many bytes were taken.
func (f *inflater) end(out []byte, o, pos, n int) (int, error) {
	if o != len(out) {
		return 0, fmt.Errorf("the data end after %d of %d bytes", o, len(out))
	}
	return pos - n/8, nil
}

// tables reads the codes of a block.
func (f *inflater) tables(buf uint64, n, pos int, in []byte) (uint64, int, int, error) {
	refill := func() {
		for n <= 56 && pos < len(in) {
			buf |= uint64(in[pos]) << n
			pos++
			n += 8
		}
	}
	take := func(k int) int {
		v := int(buf & (1<<k - 1))
		buf >>= k
		n -= k
		return v
	}
	refill()
	nLit, nDist, nCode := take(5)+257, take(5)+1, take(4)+4
	if n < 0 {
		return 0, 0, 0, errInflateShort
	}
	if nLit > 286 || nDist > 30 {
		return 0, 0, 0, errInflateData
	}
	var codeLens [19]uint8
	for _, c := range codeOrder[:nCode] {
		if n < 3 {
			refill()
		}
		codeLens[c] = uint8(take(3))
	}
	if n < 0 {
		return 0, 0, 0, errInflateShort
	}
	var symbols [19]uint32
	for i := range symbols {
		symbols[i] = kindLiteral | uint32(i)<<16
	}
	if !f.code.build(codeLens[:], symbols[:], 7) {
		return 0, 0, 0, errInflateData
	}
	lens := f.lens[:nLit+nDist]
	for i := 0; i < len(lens); {
		refill()
		e := f.code.e[buf&127]
		if e == 0 {
			if n < 7 {
				return 0, 0, 0, errInflateShort
			}
			return 0, 0, 0, errInflateData
		}
		take(int(e & 63))
		v, times := uint8(e>>16), 1
		switch v {
		case 16:
			if i == 0 {
				return 0, 0, 0, errInflateData
			}
			v, times = lens[i-1], 3+take(2)
		case 17:
			v, times = 0, 3+take(3)
		case 18:
			v, times = 0, 11+take(7)
		}
		if n < 0 {
			return 0, 0, 0, errInflateShort
		}
		if times > len(lens)-i {
			return 0, 0, 0, errInflateData
		}
		for range times {
			lens[i] = v
			i++
		}
	}
	if lens[256] == 0 || !f.lit.build(lens[:nLit], litSymbols[:], litBits) || !f.dist.build(lens[nLit:], distSymbols[:], distBits) {
		return 0, 0, 0, errInflateData
	}
	return buf, n, pos, nil
}
