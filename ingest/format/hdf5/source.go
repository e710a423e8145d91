package hdf5

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// undefined is the address of things that do not exist.
const undefined = math.MaxUint64

// source reads bytes of the file at addresses.
type source struct {
	r    io.ReaderAt
	base int64 // offset in the file of address 0
	size int64 // of the file, in bytes

	// lax means that checksums are not verified. The fuzz test sets it: otherwise every change of bytes that a checksum
	// protects would end in the same error.
	lax bool
}

// parser reads the structures of the file. It has a budget of bytes that it may read in all, which also ends any cycle
// of addresses. Its methods raise errors (decode.Raise), unless they return an error.
type parser struct {
	source
	left int64 // bytes that it may still read
}

// errorf returns an error about an address, which is undefined if it is not known. The error names the offset in the
// file, unless the address is beyond the end of the file.
func (s *source) errorf(addr uint64, format string, args ...any) error {
	if s.within(addr, 0) {
		return atByte(s.base+int64(addr), fmt.Sprintf(format, args...), nil)
	}

	return &fault.Error{Found: fmt.Sprintf(format, args...)}
}

// unless raises the error of errorf if ok is false.
func (s *source) unless(ok bool, addr uint64, format string, args ...any) {
	if !ok {
		decode.Raise(s.errorf(addr, format, args...))
	}
}

// notSupported returns the error of a file that is not damaged but contains something that is not read.
func notSupported(format string, args ...any) error {
	return &fault.Error{Found: fmt.Sprintf(format, args...), Err: errUnsupported}
}

// unsupported raises the error of notSupported.
func unsupported(format string, args ...any) { decode.Raise(notSupported(format, args...)) }

// supported raises the error of notSupported if ok is false.
func supported(ok bool, format string, args ...any) {
	if !ok {
		unsupported(format, args...)
	}
}

// within reports whether n bytes at addr lie in the file.
func (s *source) within(addr, n uint64) bool {
	room := uint64(s.size - s.base)
	return addr <= room && n <= room-addr
}

// checkWithin returns an error if n bytes at addr do not lie in the file.
func (s *source) checkWithin(addr, n uint64) error {
	if !s.within(addr, n) {
		return s.errorf(addr, "%d bytes at address %d reach beyond the end of the file", n, addr)
	}

	return nil
}

// readAt fills b from addr.
func (s *source) readAt(b []byte, addr uint64) error {
	if err := s.checkWithin(addr, uint64(len(b))); err != nil {
		return err
	}

	if err := raw.ReadFull(s.r, b, s.base+int64(addr)); err != nil {
		return atByte(s.base+int64(addr), "cannot read", err)
	}

	return nil
}

// charge takes n bytes off the budget. It raises an error if fewer are left.
func (p *parser) charge(n int64) {
	if n < 0 || n > p.left {
		decode.Raise(&fault.Error{Found: "the structure contradicts itself: it takes more bytes than the file can hold"})
	}

	p.left -= n
}

// bytes returns n bytes at an address.
func (p *parser) bytes(addr, n uint64) []byte {
	decode.Raise(p.checkWithin(addr, n))
	p.charge(int64(n) + 64)

	b := make([]byte, n)
	decode.Raise(p.readAt(b, addr))

	return b
}

// block returns the n bytes at an address as a cursor. They must begin with a signature of four letters and a byte,
// which block skips. what names them in errors.
func (p *parser) block(addr, n uint64, sig string, version uint8, what string) *cursor {
	fields := p.cursor(p.bytes(addr, n), addr, what+" is too short")
	begins := string(fields.take(4)) == sig && fields.u8() == version
	p.unless(begins, addr, "no %s (%s, %d) at address %d", what, sig, version, addr)

	return fields
}

// checked returns the n bytes at an address as a cursor without the checksum at their end, which checked verifies. They
// must begin with the signature sig. The cursor is behind the first four bytes, even if sig is "".
func (p *parser) checked(addr, n uint64, sig, what string) *cursor {
	p.unless(n >= 8, addr, "the %s has %d bytes", what, n)

	b := p.bytes(addr, n)
	p.unless(sig == "" || string(b[:4]) == sig, addr, "no %s (%q) where one should be", what, sig)
	p.unless(p.sumMatches(b[:n-4], binary.LittleEndian.Uint32(b[n-4:])), addr, "the checksum of the %s is wrong", what)

	fields := p.cursor(b[:n-4], addr, "the "+what+" is too short")
	fields.skip(4)

	return fields
}

// sumMatches reports whether sum is the checksum of b. It is always true if checksums are not verified.
func (s *source) sumMatches(b []byte, sum uint32) bool { return s.lax || lookup3(b) == sum }

// cursor reads the fields of a block of bytes, one after another. Reading beyond the end of the block raises an error.
type cursor struct {
	p     *parser
	b     []byte
	pos   int    // index in b of the next field
	addr  uint64 // of b; undefined if it is not known
	short string // text of the error if b ends too early
}

// cursor returns a cursor at the beginning of b.
func (p *parser) cursor(b []byte, addr uint64, short string) *cursor {
	return &cursor{p: p, b: b, addr: addr, short: short}
}

// message returns a cursor at the beginning of the body of a header message. what names the message in errors.
func (p *parser) message(b []byte, what string) *cursor {
	return p.cursor(b, undefined, "a "+what+" message is too short")
}

// rest returns the number of bytes that are left.
func (c *cursor) rest() int { return len(c.b) - c.pos }

// take returns the next n bytes.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > c.rest() {
		decode.Raise(c.p.errorf(c.addr, "%s", c.short))
	}

	c.pos += n

	return c.b[c.pos-n : c.pos : c.pos]
}

// skip skips n bytes.
func (c *cursor) skip(n int) { c.take(n) }

// field returns the next n bytes. If pad8 is set, it skips the bytes that pad them to a multiple of 8.
func (c *cursor) field(n int, pad8 bool) []byte {
	b := c.take(n)
	if pad8 {
		c.skip(-n & 7)
	}

	return b
}

// uint reads a little-endian number of n bytes, at most 8.
func (c *cursor) uint(n int) uint64 {
	var v uint64
	for i, x := range c.take(n) {
		v |= uint64(x) << (8 * i)
	}

	return v
}

// u8, u16, u32 and u64 read numbers of 1, 2, 4 and 8 bytes. Lengths and addresses have 8 bytes.
func (c *cursor) u8() uint8   { return uint8(c.uint(1)) }
func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }
func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }
func (c *cursor) u64() uint64 { return c.uint(8) }

// text reads a string that ends with a zero byte. If pad8 is set, it skips the bytes that pad it to a multiple of 8.
func (c *cursor) text(pad8 bool) string {
	s := cut(c.b[c.pos:])

	n := len(s) + 1
	if pad8 {
		n = (n + 7) &^ 7
	}

	c.skip(n)

	return string(s)
}

// times returns a·b. ok is false if the product does not fit into 64 bits.
func times(a, b uint64) (product uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	return lo, hi == 0
}

// lookup3 returns the checksum of the format: Bob Jenkins' hash lookup3 (hashlittle with the initial value 0).
func lookup3(k []byte) uint32 {
	a := uint32(0xdeadbeef) + uint32(len(k))
	b := a
	c := a

	for ; len(k) > 12; k = k[12:] {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])

		for _, n := range [6]int{4, 6, 8, 16, 19, 4} {
			a = (a - c) ^ bits.RotateLeft32(c, n)
			a, b, c = b, c+b, a
		}
	}

	if len(k) == 0 {
		return c
	}

	var tail [12]byte
	copy(tail[:], k)
	a += binary.LittleEndian.Uint32(tail[:])
	b += binary.LittleEndian.Uint32(tail[4:])
	c += binary.LittleEndian.Uint32(tail[8:])

	for _, n := range [7]int{14, 11, 25, 16, 4, 14, 24} {
		c = (c ^ b) - bits.RotateLeft32(b, n)
		a, b, c = b, c, a
	}

	return b
}

// encSize returns the number of bytes of a field for numbers up to n.
func encSize(n uint64) int { return max(1, (bits.Len64(n)+7)/8) }
