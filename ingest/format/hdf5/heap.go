package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// globalHeaps holds the collections of variable-length values met so far, by
// address, each by index.
type globalHeaps map[uint64]map[uint32][]byte

// get returns an object of the global heap.
func (h globalHeaps) get(p *parser, addr uint64, index uint32) ([]byte, error) {
	col, ok := h[addr]
	if !ok {
		var err error
		if col, err = p.collection(addr); err != nil {
			return nil, err
		}

		h[addr] = col
	}

	b, ok := col[index]
	if !ok {
		return nil, p.errorf(addr, "the global heap has no object %d", index)
	}

	return b, nil
}

func (p *parser) collection(addr uint64) (map[uint32][]byte, error) {
	head, err := p.bytes(addr, uint64(8+p.sl))
	if err != nil {
		return nil, err
	}

	c := p.cursor(head)
	if string(c.take(4)) != "GCOL" || c.u8() != 1 {
		return nil, p.errorf(addr, "no global heap (GCOL, version 1) at address %d", addr)
	}

	c.skip(3)

	b, err := p.bytes(addr, c.len())
	if err != nil {
		return nil, err
	}

	c = p.cursor(b)
	front := (8 + p.sl + 7) &^ 7 // of the heap and of each object
	c.skip(front)

	col := map[uint32][]byte{}
	for c.rest() >= front {
		index := uint32(c.u16())
		c.skip(6)
		n := c.len()
		c.skip(front - 8 - p.sl)

		if index == 0 { // the free space at the end
			break
		}

		if n > uint64(c.rest()) {
			return nil, p.errorf(addr, "object %d of the global heap is longer than the heap", index)
		}

		if err := p.charge(64); err != nil {
			return nil, err
		}

		col[index] = c.take(int(n))
		c.skip(min(int(-n&7), c.rest()))
	}

	return col, nil
}

// localHeap returns the names of a symbol table.
func (p *parser) localHeap(addr uint64) ([]byte, error) {
	b, err := p.bytes(addr, uint64(8+2*p.sl+p.so))
	if err != nil {
		return nil, err
	}

	c := p.cursor(b)
	if string(c.take(4)) != "HEAP" || c.u8() != 0 {
		return nil, p.errorf(addr, "no local heap (HEAP, version 0) at address %d", addr)
	}

	c.skip(3)
	n := c.len()
	c.len()

	return p.bytes(c.addr(), n)
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
	huge      uint64

	direct   map[uint64][]byte
	indirect map[uint64]*cursor
	hugeObjs map[uint64]part
}

func (p *parser) fractalHeap(addr uint64) (*fractalHeap, error) {
	n := uint64(4 + 1 + 2 + 2 + 1 + 4 + 12*p.sl + 3*p.so + 2 + 2 + 2 + 2 + 4)
	c, err := p.checked(addr, n, "FRHP", "fractal heap")
	if err != nil {
		// With filters the header is longer, and its checksum elsewhere.
		if b, e := p.bytes(addr, 9); e == nil && string(b[:4]) == "FRHP" && binary.LittleEndian.Uint16(b[7:]) != 0 {
			return nil, p.unsupported("a fractal heap with filters")
		}
		return nil, err
	}

	h := &fractalHeap{p: p, addr: addr, direct: map[uint64][]byte{}, indirect: map[uint64]*cursor{}}

	if v := c.u8(); v != 0 {
		return nil, p.errorf(addr, "fractal heap version %d", v)
	}

	h.idLen = int(c.u16())

	if c.u16() != 0 {
		return nil, p.unsupported("a fractal heap with filters")
	}

	h.checksums = c.u8()&2 != 0
	maxManaged := uint64(c.u32())
	c.len()
	h.huge = c.addr()
	c.len()
	c.addr()
	c.skip(8 * p.sl)
	h.width = uint64(c.u16())
	h.start, h.maxDirect = c.len(), c.len()
	maxBits := int(c.u16())
	c.u16()
	h.root = c.addr()
	h.rows = int(c.u16())

	pow2 := func(n uint64) bool { return n > 0 && n&(n-1) == 0 }
	if !pow2(h.width) || !pow2(h.start) || !pow2(h.maxDirect) || h.start > h.maxDirect ||
		h.maxDirect > 1<<40 || maxBits < 1 || maxBits > 64 || h.idLen < 1 {
		return nil, p.errorf(addr, "the sizes of the fractal heap contradict each other")
	}

	h.offLen = (maxBits + 7) / 8
	h.lenLen = min(encSize(h.maxDirect), encSize(maxManaged))

	return h, nil
}

// get returns the object of an ID.
func (h *fractalHeap) get(id []byte) ([]byte, error) {
	if len(id) < h.idLen {
		return nil, h.p.errorf(h.addr, "an ID of the fractal heap is too short")
	}

	c := h.p.cursor(id[:h.idLen])
	flags := c.u8()
	if flags>>6 != 0 {
		return nil, h.p.errorf(h.addr, "version %d of a fractal heap's ID", flags>>6)
	}

	switch flags >> 4 & 3 {
	case 0:
		off, n := c.uint(h.offLen), c.uint(h.lenLen)

		if c.bad {
			break
		}

		block, err := h.block(off)
		if err != nil {
			return nil, err
		}

		if n > uint64(len(block.b))-block.off {
			return nil, h.p.errorf(h.addr, "an object of the fractal heap is longer than its block")
		}

		return block.b[block.off : block.off+n], nil

	case 1:
		return h.getHuge(c)

	case 2:
		n := int(flags&15) + 1
		if h.idLen-1 > 16 {
			n = int(flags&15)<<8 + int(c.u8()) + 1
		}

		if b := c.take(n); !c.bad {
			return b, nil
		}
	}

	return nil, h.p.errorf(h.addr, "an ID of the fractal heap is not understood")
}

// place is a byte within a direct block.
type place struct {
	b   []byte
	off uint64
}

// block finds the direct block that holds offset off of the heap.
func (h *fractalHeap) block(off uint64) (place, error) {
	if h.rows == 0 {
		if off >= h.start {
			return place{}, h.p.errorf(h.addr, "an offset beyond the fractal heap")
		}

		b, err := h.directBlock(h.root, h.start)

		return place{b, off}, err
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

		if row >= uint64(rows) || size == 0 || begin > off {
			return place{}, h.p.errorf(h.addr, "an offset beyond the fractal heap")
		}

		col := (off - begin) / size

		c, err := h.indirectBlock(addr, rows)
		if err != nil {
			return place{}, err
		}

		c.off, c.bad = 5+h.p.so+h.offLen+int(row*h.width+col)*h.p.so, false
		addr = c.addr()
		if c.bad {
			return place{}, h.p.errorf(h.addr, "an offset beyond the fractal heap")
		}

		off -= begin + col*size
		if size <= h.maxDirect {
			b, err := h.directBlock(addr, size)
			return place{b, off}, err
		}

		rows = bits.Len64(size) - bits.Len64(first) + 1
	}

	return place{}, h.p.errorf(h.addr, "the fractal heap is too deep")
}

func (h *fractalHeap) directBlock(addr, size uint64) ([]byte, error) {
	if b, ok := h.direct[addr]; ok && uint64(len(b)) == size {
		return b, nil
	}

	b, err := h.p.bytes(addr, size)
	if err != nil {
		return nil, err
	}

	front := 5 + h.p.so + h.offLen
	if len(b) < front+4 || string(b[:4]) != "FHDB" {
		return nil, h.p.errorf(addr, "no block of a fractal heap (FHDB) at address %d", addr)
	}

	if h.checksums {
		sum := binary.LittleEndian.Uint32(b[front:])
		clear(b[front : front+4])

		if !h.p.right(b, sum) {
			return nil, h.p.errorf(addr, "the checksum of a block of the fractal heap is wrong")
		}
	}

	h.direct[addr] = b

	return b, nil
}

func (h *fractalHeap) indirectBlock(addr uint64, rows int) (*cursor, error) {
	if c, ok := h.indirect[addr]; ok {
		return c, nil
	}

	n := 5 + uint64(h.p.so+h.offLen) + uint64(rows)*h.width*uint64(h.p.so) + 4
	c, err := h.p.checked(addr, n, "FHIB", "indirect block of a fractal heap")
	if err != nil {
		return nil, err
	}

	h.indirect[addr] = c

	return c, nil
}

// getHuge returns an object too large for the heap's blocks.
func (h *fractalHeap) getHuge(c *cursor) ([]byte, error) {
	if h.p.so+h.p.sl <= h.idLen-1 { // the ID contains the place
		addr, n := c.addr(), c.len()
		if c.bad {
			return nil, h.p.errorf(h.addr, "an ID of the fractal heap is not understood")
		}

		return h.p.bytes(addr, n)
	}

	key := c.uint(min(h.idLen-1, h.p.sl))

	if h.hugeObjs == nil {
		h.hugeObjs = map[uint64]part{}
		err := h.p.btree2(h.huge, func(kind int, rec []byte) error {
			if kind != 1 {
				return h.p.unsupported("filtered large objects of a fractal heap")
			}

			r := h.p.cursor(rec)
			q := part{r.addr(), r.len()}
			id := r.len()

			if r.bad {
				return h.p.errorf(h.addr, "a record of the fractal heap is too short")
			}

			h.hugeObjs[id] = q

			return nil
		})
		if err != nil {
			return nil, err
		}
	}

	q, ok := h.hugeObjs[key]
	if !ok {
		return nil, h.p.errorf(h.addr, "the fractal heap has no large object %d", key)
	}

	return h.p.bytes(q.addr, q.n)
}
