package hdf5

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// undefined is the address of something that does not exist.
const undefined = math.MaxUint64

// source is the file as addresses see it.
type source struct {
	r    io.ReaderAt
	base int64 // byte of the file where address 0 is
	size int64 // of the file
	// lax leaves checksums unverified, for the fuzz test, to which they would hide
	// everything behind them.
	lax bool
}

// parser reads structures of the file, within a budget of bytes: the most it may
// read in all, which also ends any cycle. Its methods raise errors (fault.Raise); what the
// package exports catches them.
type parser struct {
	source
	left int64
}

func (s *source) errorf(addr uint64, format string, args ...any) error {
	if addr <= uint64(s.size) {
		return atByte(s.base+int64(addr), fmt.Sprintf(format, args...), nil)
	}

	return &fault.Error{Found: fmt.Sprintf(format, args...)}
}

// unless raises the error of an address unless ok.
func (s *source) unless(ok bool, addr uint64, format string, args ...any) {
	if !ok {
		fault.Raise(s.errorf(addr, format, args...))
	}
}

// unsupported raises that a file, which is right, has what is not read.
func unsupported(format string, args ...any) {
	fault.Raise(&fault.Error{Found: fmt.Sprintf(format, args...), Err: errUnsupported})
}

// supported is unsupported, unless ok.
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

// readAt fills b from addr.
func (s *source) readAt(b []byte, addr uint64) {
	n := uint64(len(b))
	s.unless(s.within(addr, n), addr, "%d bytes at address %d reach beyond the end of the file", n, addr)

	if err := raw.ReadFull(s.r, b, s.base+int64(addr)); err != nil {
		fault.Raise(atByte(s.base+int64(addr), "cannot read", err))
	}
}

// charge takes n bytes off the budget.
func (p *parser) charge(n int64) {
	if n < 0 || n > p.left {
		fault.Raise(&fault.Error{Found: "the structure contradicts itself: it takes more bytes than the file can hold"})
	}

	p.left -= n
}

// bytes returns n bytes at addr.
func (p *parser) bytes(addr, n uint64) []byte {
	p.unless(p.within(addr, n), addr, "%d bytes at address %d reach beyond the end of the file", n, addr)
	p.charge(int64(n) + 64)

	b := make([]byte, n)
	p.readAt(b, addr)

	return b
}

// block returns a block of n bytes that begins with a signature of four letters and a byte.
func (p *parser) block(addr, n uint64, sig string, version uint8, what string) *cursor {
	c := p.cursor(p.bytes(addr, n), addr, what+" is too short")
	p.unless(string(c.take(4)) == sig && c.u8() == version, addr, "no %s (%s, %d) at address %d", what, sig, version, addr)

	return c
}

// checked returns a block that begins with a signature, unless that is empty, and ends with
// a checksum over the rest, after the signature.
func (p *parser) checked(addr, n uint64, sig, what string) *cursor {
	p.unless(n >= 8, addr, "the %s has %d bytes", what, n)

	b := p.bytes(addr, n)
	p.unless(sig == "" || string(b[:4]) == sig, addr, "no %s (%q) where one should be", what, sig)
	p.unless(p.right(b[:n-4], binary.LittleEndian.Uint32(b[n-4:])), addr, "the checksum of the %s is wrong", what)

	c := p.cursor(b[:n-4], addr, "the "+what+" is too short")
	c.skip(4)

	return c
}

// right reports whether sum is the checksum of b.
func (s *source) right(b []byte, sum uint32) bool { return s.lax || lookup3(b) == sum }

// cursor takes fields off a block of bytes. Reading beyond its end raises an error.
type cursor struct {
	p     *parser
	b     []byte
	off   int
	addr  uint64 // of b; undefined where it is not known
	short string // says that b ends too early
}

func (p *parser) cursor(b []byte, addr uint64, short string) *cursor {
	return &cursor{p: p, b: b, addr: addr, short: short}
}

// message returns a cursor of a header message.
func (p *parser) message(b []byte, what string) *cursor {
	return p.cursor(b, undefined, "a "+what+" message is too short")
}

func (c *cursor) rest() int { return len(c.b) - c.off }

func (c *cursor) take(n int) []byte {
	if n < 0 || n > c.rest() {
		fault.Raise(c.p.errorf(c.addr, "%s", c.short))
	}

	c.off += n

	return c.b[c.off-n : c.off : c.off]
}

func (c *cursor) skip(n int) { c.take(n) }

// uint reads a little-endian number of n bytes, n ≤ 8.
func (c *cursor) uint(n int) uint64 {
	var v uint64
	for i, x := range c.take(n) {
		v |= uint64(x) << (8 * i)
	}

	return v
}

func (c *cursor) u8() uint8   { return uint8(c.uint(1)) }
func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }
func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }
func (c *cursor) u64() uint64 { return c.uint(8) } // lengths and addresses, too

// text reads a NUL-terminated string; pad8 rounds its room up to 8 bytes.
func (c *cursor) text(pad8 bool) string {
	s := cut(c.b[c.off:])

	n := len(s) + 1
	if pad8 {
		n = (n + 7) &^ 7
	}

	c.skip(n)

	return string(s)
}

// times multiplies; ok is false where 64 bits do not hold the product.
func times(a, b uint64) (product uint64, ok bool) {
	hi, lo := bits.Mul64(a, b)
	return lo, hi == 0
}

// lookup3 is Bob Jenkins' hash of that name (hashlittle, initial value 0),
// which the format uses as its checksum.
func lookup3(k []byte) uint32 {
	a := uint32(0xdeadbeef) + uint32(len(k))
	b, c := a, a
	add := func(k []byte) {
		a += binary.LittleEndian.Uint32(k)
		b += binary.LittleEndian.Uint32(k[4:])
		c += binary.LittleEndian.Uint32(k[8:])
	}

	for ; len(k) > 12; k = k[12:] {
		add(k)

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
	add(tail[:])

	for _, n := range [7]int{14, 11, 25, 16, 4, 14, 24} {
		c = (c ^ b) - bits.RotateLeft32(b, n)
		a, b, c = b, c, a
	}

	return b
}

// encSize is the number of bytes the format spends on a number of at most n.
func encSize(n uint64) int { return max(1, (bits.Len64(n)+7)/8) }
