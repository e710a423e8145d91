package hdf5

import (
	"encoding/binary"
	"math/bits"

	"doubletake/ingest/format/internal/decode"
)

// globalHeaps are the collections of the global heap that were read, by address. A collection contains values of
// variable length, by index.
type globalHeaps map[uint64]map[uint32][]byte

// get returns the value with an index in the collection at an address. It reads the collection on its first use.
func (h globalHeaps) get(p *parser, addr uint64, index uint32) []byte {
	if h[addr] == nil {
		h[addr] = p.collection(addr)
	}

	b, ok := h[addr][index]
	p.unless(ok, addr, "the global heap has no object %d", index)

	return b
}

// collection returns the objects of a collection of the global heap, by index ("Global Heap"). A collection has 16
// bytes (signature, version, padding, size of the collection in 8 bytes) and then objects. An object has 16 bytes
// (index in 2 bytes, a count of references in 2 bytes, padding, size in 8 bytes) and then its data, padded to a
// multiple of 8 bytes.
func (p *parser) collection(addr uint64) map[uint32][]byte {
	fields := p.block(addr, 16, "GCOL", 1, "global heap")
	fields.skip(3)
	fields = p.cursor(p.bytes(addr, fields.u64()), addr, "the global heap is too short")

	const front = 16 // bytes before the objects, and before the data of each object

	fields.skip(front)

	objects := map[uint32][]byte{}
	for fields.rest() >= front {
		index := uint32(fields.u16())
		fields.skip(6)

		n := fields.u64()
		if index == 0 { // free space, which is the last object
			break
		}

		p.unless(n <= uint64(fields.rest()), addr, "object %d of the global heap is longer than the heap", index)
		p.charge(64)

		objects[index] = fields.take(int(n))
		fields.skip(min(int(-n&7), fields.rest()))
	}

	return objects
}

// localHeap returns the data of a local heap, the names of a symbol table ("Local Heaps"). The heap's header has 32
// bytes: signature, version, padding, the size of the data, the offset of free space, and the address of the data.
func (p *parser) localHeap(addr uint64) []byte {
	fields := p.block(addr, 32, "HEAP", 0, "local heap")
	fields.skip(3)

	n := fields.u64()
	fields.skip(8)

	return p.bytes(fields.u64(), n)
}

// fractalHeap is a heap with the links or attributes of an object that has many ("Fractal Heap"). Objects lie in direct
// blocks. If the heap has more than one direct block, an indirect block lists them in a table of width columns, row by
// row. Blocks of the first two rows have the size start; from then on the size doubles with each row. Rows with blocks
// larger than maxDirect list indirect blocks instead.
type fractalHeap struct {
	p    *parser
	addr uint64

	idLen     int    // bytes of an ID of an object
	checksums bool   // direct blocks have a checksum
	width     uint64 // columns of the table
	start     uint64 // bytes of the smallest block
	maxDirect uint64 // bytes of the largest direct block
	offLen    int    // bytes of an offset in the heap
	lenLen    int    // bytes of the length of an object in its ID
	root      uint64 // address of the root block
	rows      int    // rows of the root block; 0 if it is a direct block

	direct   map[uint64][]byte // direct blocks that were read, by address
	indirect map[uint64][]byte // indirect blocks that were read, by address
}

// fractalHeapHeader returns the header of a fractal heap without filters. It returns the error of a header that is
// damaged, or longer because the heap has filters.
func (p *parser) fractalHeapHeader(addr uint64) (fields *cursor, err error) {
	defer decode.Catch(&err)
	return p.checked(addr, 4+1+2+2+1+4+12*8+3*8+2+2+2+2+4, "FRHP", "fractal heap"), nil
}

// fractalHeap opens the fractal heap at addr.
func (p *parser) fractalHeap(addr uint64) *fractalHeap {
	fields, err := p.fractalHeapHeader(addr)
	if err != nil { // the heap may have filters: then the header is longer, and its checksum is elsewhere
		b := p.bytes(addr, 9)
		if string(b[:4]) == "FRHP" && binary.LittleEndian.Uint16(b[7:]) != 0 {
			unsupported("a fractal heap with filters")
		}

		decode.Raise(err)
	}

	h := &fractalHeap{p: p, addr: addr, direct: map[uint64][]byte{}, indirect: map[uint64][]byte{}}
	v := fields.u8()
	p.unless(v == 0, addr, "fractal heap version %d", v)

	h.idLen = int(fields.u16())
	supported(fields.u16() == 0, "a fractal heap with filters")

	h.checksums = fields.u8()&2 != 0
	maxManaged := uint64(fields.u32())
	fields.skip(12 * 8)
	h.width = uint64(fields.u16())
	h.start = fields.u64()
	h.maxDirect = fields.u64()
	maxBits := int(fields.u16())
	fields.skip(2)
	h.root = fields.u64()
	h.rows = int(fields.u16())

	powers := isPowerOf2(h.width) && isPowerOf2(h.start) && isPowerOf2(h.maxDirect)
	isOrdered := h.start <= h.maxDirect && h.maxDirect <= 1<<40
	hasOffsets := maxBits >= 1 && maxBits <= 64
	isSound := powers && isOrdered && hasOffsets
	p.unless(isSound && h.idLen >= 1, addr, "the sizes of the fractal heap contradict each other")

	h.offLen = (maxBits + 7) / 8
	h.lenLen = min(encSize(h.maxDirect), encSize(maxManaged))

	return h
}

// isPowerOf2 reports whether n is a power of two.
func isPowerOf2(n uint64) bool { return n > 0 && n&(n-1) == 0 }

// get returns the object with an ID. An ID has a byte of flags, the offset of the object in the heap, and its length.
// Only managed objects, whose flags are 0, are supported.
func (h *fractalHeap) get(id []byte) []byte {
	fields := h.p.cursor(id[:min(len(id), h.idLen)], h.addr, "an ID of the fractal heap is too short")
	flags := fields.u8()

	const huge = 1 << 4 // the object is not in a block, because it is too large
	supported(flags != huge, "an attribute of 64 KiB and more")

	h.p.unless(flags == 0, h.addr, "an ID of the fractal heap begins with %#x", flags)

	offset := fields.uint(h.offLen)
	n := fields.uint(h.lenLen)
	b, first := h.block(offset)
	h.p.unless(n <= uint64(len(b))-first, h.addr, "an object of the fractal heap is longer than its block")

	return b[first : first+n]
}

// tryGet does what get does, but returns the error that get raises.
func (h *fractalHeap) tryGet(id []byte) (b []byte, err error) {
	defer decode.Catch(&err)
	return h.get(id), nil
}

// block returns the direct block that contains the given offset of the heap, and the offset in that block. It goes from
// the root block through indirect blocks to the direct block.
func (h *fractalHeap) block(offset uint64) (b []byte, first uint64) {
	if h.rows == 0 {
		h.p.unless(offset < h.start, h.addr, beyondHeap)
		return h.directBlock(h.root, h.start), offset
	}

	addr := h.root
	rows := h.rows

	for range maxHeapLevels {
		cell := h.cellAt(offset, rows)
		table := h.indirectBlock(addr, rows)

		entry := blockFront + h.offLen + int(cell.number)*8
		h.p.unless(entry >= 0 && entry+8 <= len(table), h.addr, beyondHeap)

		addr = binary.LittleEndian.Uint64(table[entry:])
		offset -= cell.begin
		if cell.size <= h.maxDirect {
			return h.directBlock(addr, cell.size), offset
		}

		// The block is an indirect block. Its size is the number of bytes of all its rows: R rows have
		// width·start·2^(R−1) bytes.
		rows = bits.Len64(cell.size) - bits.Len64(h.width*h.start) + 1
	}

	decode.Raise(h.p.errorf(h.addr, "the fractal heap is too deep"))

	return nil, 0 // never: Raise does not return
}

const beyondHeap = "an offset beyond the fractal heap"

// heapCell is a block in the table of an indirect block.
type heapCell struct {
	number uint64 // in the table, row by row
	begin  uint64 // offset of the block, from the beginning of the blocks of the table
	size   uint64 // bytes of the block
}

// cellAt returns the block that contains the given offset in a table with the given number of rows. Row 0 begins at
// offset 0. Row k > 0 begins at width·start·2^(k−1), and its blocks have start·2^(k−1) bytes.
func (h *fractalHeap) cellAt(offset uint64, rows int) heapCell {
	firstRow := h.width * h.start // bytes of the first row
	row := uint64(bits.Len64(offset / firstRow))
	rowBegin := uint64(0)
	size := h.start

	if row > 0 {
		rowBegin = firstRow << (row - 1)
		size = h.start << (row - 1)
	}

	isInTable := row < uint64(rows) && size > 0 && rowBegin <= offset
	h.p.unless(isInTable, h.addr, beyondHeap)

	column := (offset - rowBegin) / size

	return heapCell{number: row*h.width + column, begin: rowBegin + column*size, size: size}
}

const (
	maxHeapLevels = 64 // indirect blocks on the way to a direct block
	blockFront    = 13 // bytes before the offset of a block: signature, version, address of the heap's header
)

// directBlock returns the direct block at an address, from its beginning. It has the signature FHDB, and if the heap
// has checksums, the checksum behind the block's offset, computed with zeros in its place.
func (h *fractalHeap) directBlock(addr, size uint64) []byte {
	if b, ok := h.direct[addr]; ok && uint64(len(b)) == size {
		return b
	}

	b := h.p.bytes(addr, size)

	front := blockFront + h.offLen
	h.p.unless(len(b) >= front+4 && string(b[:4]) == "FHDB", addr, "no block of a fractal heap (FHDB) at address %d", addr)

	if h.checksums {
		sum := binary.LittleEndian.Uint32(b[front:])
		clear(b[front : front+4])
		h.p.unless(h.p.sumMatches(b, sum), addr, "the checksum of a block of the fractal heap is wrong")
	}

	h.direct[addr] = b

	return b
}

// indirectBlock returns the indirect block at an address, from its beginning. Behind its front, it has the addresses
// of the blocks of the given number of rows.
func (h *fractalHeap) indirectBlock(addr uint64, rows int) []byte {
	b, ok := h.indirect[addr]
	if !ok {
		n := blockFront + uint64(h.offLen) + uint64(rows)*h.width*8 + 4 // with the checksum
		b = h.p.checked(addr, n, "FHIB", "indirect block of a fractal heap").b
		h.indirect[addr] = b
	}

	return b
}
