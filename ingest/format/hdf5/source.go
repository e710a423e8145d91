package hdf5

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"

	"doubletake/ingest/fault"
)

// undefined is the address of something that does not exist, whatever its
// size in the file.
const undefined = math.MaxUint64

// source is the file as addresses see it.
type source struct {
	r      io.ReaderAt
	base   int64 // byte of the file where address 0 is
	size   int64 // of the file
	so, sl int   // bytes of an address and of a length

	// lax leaves checksums unverified, for the fuzz test, to which they would hide
	// everything behind them.
	lax bool
}

// parser reads structures of the file, within a budget of bytes: the most it may
// read in all, which also ends any cycle.
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

func (s *source) unsupported(what string) error {
	return &fault.Error{Found: what, Err: errUnsupported}
}

// within reports whether n bytes at addr lie in the file.
func (s *source) within(addr, n uint64) bool {
	room := uint64(s.size - s.base)
	return addr <= room && n <= room-addr
}

// readAt fills b from addr.
func (s *source) readAt(b []byte, addr uint64) error {
	if !s.within(addr, uint64(len(b))) {
		return s.errorf(addr, "%d bytes at address %d reach beyond the end of the file", len(b), addr)
	}

	n, err := s.r.ReadAt(b, s.base+int64(addr))
	if n == len(b) {
		return nil
	}

	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}

	return atByte(s.base+int64(addr), "cannot read", err)
}

// charge takes n bytes off the budget.
func (p *parser) charge(n int64) error {
	if n < 0 || n > p.left {
		return &fault.Error{Found: "the structure contradicts itself: it takes more bytes than the file can hold"}
	}

	p.left -= n

	return nil
}

// bytes returns n bytes at addr.
func (p *parser) bytes(addr, n uint64) ([]byte, error) {
	if !p.within(addr, n) {
		return nil, p.errorf(addr, "%d bytes at address %d reach beyond the end of the file", n, addr)
	}

	if err := p.charge(int64(n) + 64); err != nil {
		return nil, err
	}

	b := make([]byte, n)

	return b, p.readAt(b, addr)
}

// checked is bytes for a block that begins with a signature and ends with a
// checksum over the rest.
func (p *parser) checked(addr, n uint64, sig, what string) (*cursor, error) {
	if n < 8 {
		return nil, p.errorf(addr, "the %s has %d bytes", what, n)
	}

	b, err := p.bytes(addr, n)
	if err != nil {
		return nil, err
	}

	if string(b[:4]) != sig {
		return nil, p.errorf(addr, "no %s (%q) where one should be", what, sig)
	}

	if !p.right(b[:n-4], binary.LittleEndian.Uint32(b[n-4:])) {
		return nil, p.errorf(addr, "the checksum of the %s is wrong", what)
	}

	c := p.cursor(b[:n-4])
	c.skip(4)

	return c, nil
}

// right reports whether sum is the checksum of b.
func (s *source) right(b []byte, sum uint32) bool { return s.lax || lookup3(b) == sum }

func (s *source) cursor(b []byte) *cursor { return &cursor{b: b, so: s.so, sl: s.sl} }

// cursor takes fields off a block of bytes. Reading beyond its end gives zeros
// and sets bad, which is looked at once at the end.
type cursor struct {
	b      []byte
	off    int
	so, sl int
	bad    bool
}

func (c *cursor) rest() int { return len(c.b) - c.off }

func (c *cursor) take(n int) []byte {
	if c.bad || n < 0 || n > c.rest() {
		c.bad = true
		return nil
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
func (c *cursor) u64() uint64 { return c.uint(8) }
func (c *cursor) len() uint64 { return c.uint(c.sl) }

func (c *cursor) addr() uint64 {
	v := c.uint(c.so)
	if c.so < 8 && v == 1<<(8*c.so)-1 {
		return undefined
	}

	return v
}

// text reads a NUL-terminated string; pad8 rounds its room up to 8 bytes.
func (c *cursor) text(pad8 bool) string {
	if c.bad {
		return ""
	}

	s := cut(c.b[c.off:])
	n := len(s) + 1
	if pad8 {
		n = (n + 7) &^ 7
	}

	c.skip(n)

	return string(s)
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
func encSize(n uint64) int {
	s := 1
	for n >>= 8; n > 0; n >>= 8 {
		s++
	}

	return s
}
