package hdf5

import (
	"encoding/binary"
	"math/bits"

	"doubletake/ingest/fault"
)

// globalHeaps holds the collections of variable-length values met so far, by
// address, each by index.
type globalHeaps map[uint64]map[uint32][]byte

// get returns an object of the global heap.
func (h globalHeaps) get(p *parser, addr uint64, index uint32) []byte {
	if h[addr] == nil {
		h[addr] = p.collection(addr)
	}

	b, ok := h[addr][index]
	p.unless(ok, addr, "the global heap has no object %d", index)

	return b
}

func (p *parser) collection(addr uint64) map[uint32][]byte {
	c := p.block(addr, 16, "GCOL", 1, "global heap")
	c.skip(3)
	c = p.cursor(p.bytes(addr, c.u64()), addr, "the global heap is too short")

	const front = 16 // of the heap and of each object

	c.skip(front)

	col := map[uint32][]byte{}
	for c.rest() >= front {
		index := uint32(c.u16())
		c.skip(6)

		n := c.u64()
		if index == 0 { // the free space at the end
			break
		}

		p.unless(n <= uint64(c.rest()), addr, "object %d of the global heap is longer than the heap", index)
		p.charge(64)

		col[index] = c.take(int(n))
		c.skip(min(int(-n&7), c.rest()))
	}

	return col
}

// localHeap returns the names of a symbol table.
func (p *parser) localHeap(addr uint64) []byte {
	c := p.block(addr, 32, "HEAP", 0, "local heap")
	c.skip(3)

	n := c.u64()
	c.skip(8)

	return p.bytes(c.u64(), n)
}

// fractalHeap stores links and attributes of groups that have many.
type fractalHeap struct {
	p    *parser
	addr uint64

	idLen     int
	checksums bool // direct blocks have them
	width     uint64
	start     uint64 // size of the smallest block
	maxDirect uint64
	offLen    int // bytes of an offset in the heap
	lenLen    int // bytes of an object's length in an ID
	root      uint64
	rows      int // of the root block, 0: it is a direct block

	direct   map[uint64][]byte
	indirect map[uint64][]byte
}

func (p *parser) fractalHeap(addr uint64) *fractalHeap {
	var c *cursor

	err := fault.Try(func() { c = p.checked(addr, 4+1+2+2+1+4+12*8+3*8+2+2+2+2+4, "FRHP", "fractal heap") })
	if err != nil { // with filters the header is longer, and its checksum elsewhere
		if b := p.bytes(addr, 9); string(b[:4]) == "FRHP" && binary.LittleEndian.Uint16(b[7:]) != 0 {
			unsupported("a fractal heap with filters")
		}

		fault.Raise(err)
	}

	h := &fractalHeap{p: p, addr: addr, direct: map[uint64][]byte{}, indirect: map[uint64][]byte{}}
	v := c.u8()
	p.unless(v == 0, addr, "fractal heap version %d", v)

	h.idLen = int(c.u16())
	supported(c.u16() == 0, "a fractal heap with filters")

	h.checksums = c.u8()&2 != 0
	maxManaged := uint64(c.u32())
	c.skip(12 * 8)
	h.width = uint64(c.u16())
	h.start, h.maxDirect = c.u64(), c.u64()
	maxBits := int(c.u16())
	c.skip(2)
	h.root = c.u64()
	h.rows = int(c.u16())

	p.unless(powerOf2(h.width) && powerOf2(h.start) && powerOf2(h.maxDirect) && h.start <= h.maxDirect &&
		h.maxDirect <= 1<<40 && maxBits >= 1 && maxBits <= 64 && h.idLen >= 1, addr,
		"the sizes of the fractal heap contradict each other")

	h.offLen = (maxBits + 7) / 8
	h.lenLen = min(encSize(h.maxDirect), encSize(maxManaged))

	return h
}

func powerOf2(n uint64) bool { return n > 0 && n&(n-1) == 0 }

// get returns the object of an ID.
func (h *fractalHeap) get(id []byte) []byte {
	c := h.p.cursor(id[:min(len(id), h.idLen)], h.addr, "an ID of the fractal heap is too short")
	flags := c.u8()

	supported(flags != 1<<4, "an attribute of 64 KiB and more")

	h.p.unless(flags == 0, h.addr, "an ID of the fractal heap begins with %#x", flags)

	off, n := c.uint(h.offLen), c.uint(h.lenLen)
	b, off := h.block(off)
	h.p.unless(n <= uint64(len(b))-off, h.addr, "an object of the fractal heap is longer than its block")

	return b[off : off+n]
}

// block finds the direct block that holds offset off of the heap, and where in it.
func (h *fractalHeap) block(off uint64) ([]byte, uint64) {
	const beyond = "an offset beyond the fractal heap"

	if h.rows == 0 {
		h.p.unless(off < h.start, h.addr, beyond)
		return h.directBlock(h.root, h.start), off
	}

	addr, rows := h.root, h.rows
	first := h.width * h.start // bytes of a row of the smallest blocks

	for range 64 {
		row, size, begin := uint64(0), h.start, uint64(0)
		if off >= first {
			row = uint64(bits.Len64(off / first))
			size = h.start << (row - 1)
			begin = first << (row - 1)
		}

		h.p.unless(row < uint64(rows) && size > 0 && begin <= off, h.addr, beyond)

		col := (off - begin) / size
		b := h.indirectBlock(addr, rows)
		at := 13 + h.offLen + int(row*h.width+col)*8
		h.p.unless(at >= 0 && at+8 <= len(b), h.addr, beyond)

		addr = binary.LittleEndian.Uint64(b[at:])
		if off -= begin + col*size; size <= h.maxDirect {
			return h.directBlock(addr, size), off
		}

		rows = bits.Len64(size) - bits.Len64(first) + 1
	}

	h.p.unless(false, h.addr, "the fractal heap is too deep")

	return nil, 0
}

func (h *fractalHeap) directBlock(addr, size uint64) []byte {
	if b, ok := h.direct[addr]; ok && uint64(len(b)) == size {
		return b
	}

	b := h.p.bytes(addr, size)

	front := 13 + h.offLen
	h.p.unless(len(b) >= front+4 && string(b[:4]) == "FHDB", addr, "no block of a fractal heap (FHDB) at address %d", addr)

	if h.checksums {
		sum := binary.LittleEndian.Uint32(b[front:])
		clear(b[front : front+4])
		h.p.unless(h.p.right(b, sum), addr, "the checksum of a block of the fractal heap is wrong")
	}

	h.direct[addr] = b

	return b
}

func (h *fractalHeap) indirectBlock(addr uint64, rows int) []byte {
	b, ok := h.indirect[addr]
	if !ok {
		n := 13 + uint64(h.offLen) + uint64(rows)*h.width*8 + 4
		b = h.p.checked(addr, n, "FHIB", "indirect block of a fractal heap").b
		h.indirect[addr] = b
	}

	return b
}
