package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// entries reads the entries of fixed and extensible arrays. An entry describes a chunk by its address in 8 bytes, and
// for chunks with filters by its size in the file in 1 to 8 bytes and its filter mask in 4 bytes.
type entries struct {
	p        *parser
	st       *storage
	filtered bool // chunks have filters
	size     int  // bytes of an entry

	block     []byte // entries of the block or page that was read last; nil before the first
	blockAddr uint64 // address of that block or page
}

// header reads the beginning of the header of an array: its version, and the kind and size of its entries. what names
// the array in errors.
func (e *entries) header(fields *cursor, what string) {
	v := fields.u8()
	e.p.unless(v == 0, e.st.addr, "%s version %d", what, v)

	kind := fields.u8() // 0 for chunks without filters, 1 for chunks with filters
	e.size = int(fields.u8())
	e.filtered = kind == 1

	fitsPlain := kind == 0 && e.size == 8
	fitsFiltered := kind == 1 && e.size >= 13 && e.size <= 20
	e.p.unless(fitsPlain || fitsFiltered, e.st.addr,
		"an array of chunks with entries of kind %d and %d bytes", kind, e.size)
}

// get returns the chunk of entry i of b.
func (e *entries) get(b []byte, i uint64) stored {
	e.p.unless(i < uint64(len(b)/e.size), undefined, "an entry of the chunk index is beyond its block")

	fields := e.p.cursor(b[i*uint64(e.size):], undefined, "an entry of the chunk index is too short")
	chunk := stored{addr: fields.u64(), size: uint64(e.st.chunkSize)}
	if e.filtered {
		chunk.size = fields.uint(e.size - 12) // without the address and the mask
		chunk.mask = fields.u32()
	}

	return chunk
}

// span says where entries of an array lie in the file: in a block, or in a page, which is a part of a block.
type span struct {
	addr  uint64 // of the block or page
	front uint64 // bytes of the block before its entries; 0 for a page
	n     uint64 // number of entries
	sig   string // signature of the block; "" for a page
	what  string // names the block or page in errors
}

// entry returns the chunk of entry i of a span.
func (e *entries) entry(s span, i uint64) stored {
	if e.block == nil || e.blockAddr != s.addr {
		size, ok := times(s.n, uint64(e.size))
		e.p.unless(ok && e.p.within(s.addr, size), s.addr, "the %s reaches beyond the end of the file", s.what)
		e.block = e.p.checked(s.addr, s.front+size+4, s.sig, s.what).b[s.front:]
		e.blockAddr = s.addr
	}

	return e.get(e.block, i)
}

// Names of spans in errors.
const (
	indexPage = "page of the chunk index"
	dataBlock = "data block of an extensible array"
)

// isBitSet reports whether bit i of b is set. The highest bit of a byte is the first. Bits beyond the end of b are not
// set.
func isBitSet(b []byte, i uint64) bool {
	return i/8 < uint64(len(b)) && b[i/8]&(0x80>>(i%8)) != 0
}

// fixedIndex is an index that is a fixed array ("Fixed Array Index"): a block of entries. If there are many, they lie
// in pages.
type fixedIndex struct {
	entries
	n       uint64 // number of entries
	addr    uint64 // of the block, or of the first page
	pageLen uint64 // entries of a page; 0 if there are no pages
	written []byte // a bit for each page, set if the page was written
}

// fixedFront is the number of bytes of a block before its entries: signature, version, kind, address of the header.
const fixedFront = 14

// newFixedIndex returns the index whose header is at st.addr.
func newFixedIndex(p *parser, st *storage) chunkIndex {
	fields := p.checked(st.addr, 28, "FAHD", "fixed array")
	x := &fixedIndex{entries: entries{p: p, st: st}}
	x.header(fields, "fixed array")
	x.pageLen = 1 << min(fields.u8(), 63)

	x.n = fields.u64()
	x.addr = fields.u64()
	if x.addr == undefined {
		return noIndex{}
	}

	if x.n <= x.pageLen {
		x.pageLen = 0
		return x
	}

	pages := (x.n-1)/x.pageLen + 1
	p.unless(pages <= uint64(p.size), x.addr, "a fixed array of %d chunks is longer than the file", x.n)

	n := fixedFront + (pages+7)/8 + 4
	x.written = p.checked(x.addr, n, "FADB", "block of a fixed array").b[fixedFront:]
	x.addr += n

	return x
}

// find implements chunkIndex.
func (x *fixedIndex) find(place []uint64) stored {
	i, ok := x.st.linear(place, 0)
	x.p.unless(ok && i < x.n, x.st.addr, "the fixed array has %d chunks, number %d is looked for", x.n, i)

	if x.pageLen == 0 {
		return x.entry(span{addr: x.addr, front: fixedFront, n: x.n, sig: "FADB", what: "block of a fixed array"}, i)
	}

	number := i / x.pageLen // of the page
	if !isBitSet(x.written, number) {
		return nowhere
	}

	addr := x.addr + number*(x.pageLen*uint64(x.size)+4) // pages end with a checksum

	return x.entry(span{addr: addr, n: min(x.pageLen, x.n-number*x.pageLen), what: indexPage}, i%x.pageLen)
}

// extensibleIndex is an index that is an extensible array ("Extensible Array Index"), for datasets that may grow
// without limit along one axis. The first entries are in the index block. All others are in data blocks, whose sizes
// grow. The index block lists the addresses of the first data blocks, and then of secondary blocks, each of which
// lists data blocks of one size. If data blocks have many entries, they lie in pages.
type extensibleIndex struct {
	entries
	axis     int    // the axis that may grow
	maxBits  int    // number of bits of the largest number of a chunk
	inIndex  uint64 // number of entries in the index block
	minElems uint64 // number of entries of the smallest data block
	minPtrs  uint64 // number of data blocks that the smallest secondary block lists
	pageLen  uint64 // entries of a page
	offLen   int    // bytes of the offset of a block in the array

	elems  []byte // entries in the index block
	blocks []byte // addresses in the index block: of data blocks, then of secondary blocks

	super     []byte // the secondary block that was read last; nil before the first
	superAddr uint64 // its address
}

// newExtensibleIndex returns the index whose header is at st.addr.
func newExtensibleIndex(p *parser, st *storage) chunkIndex {
	fields := p.checked(st.addr, 72, "EAHD", "extensible array")
	x := &extensibleIndex{entries: entries{p: p, st: st}, axis: -1}

	for i, n := range st.max {
		if n == undefined {
			p.unless(x.axis < 0, st.addr, "an extensible array for more than one unlimited axis")
			x.axis = i
		}
	}

	p.unless(x.axis >= 0, st.addr, "an extensible array without unlimited axis")
	x.header(fields, "extensible array")

	x.maxBits = int(fields.u8())
	x.inIndex = uint64(fields.u8())
	x.minElems = uint64(fields.u8())
	x.minPtrs = uint64(fields.u8())
	pageBits := fields.u8()
	fields.skip(6 * 8)
	block := fields.u64()

	limited := x.maxBits >= 1 && x.maxBits <= 64 && pageBits <= 62
	p.unless(limited && isPowerOf2(x.minElems) && isPowerOf2(x.minPtrs), st.addr,
		"the sizes of the extensible array contradict each other")

	x.pageLen = 1 << pageBits
	x.offLen = (x.maxBits + 7) / 8

	if block == undefined {
		return noIndex{}
	}

	x.readIndexBlock(block)

	return x
}

// readIndexBlock reads the index block, which is at addr: signature, version, kind, address of the header, the first
// entries, the addresses of the first data blocks, the addresses of the secondary blocks, and the checksum.
func (x *extensibleIndex) readIndexBlock(addr uint64) {
	minBits := bits.Len64(x.minElems) - 1 // minElems is 2^minBits

	// The secondary blocks are numbered by their sizes. There is one for each power of two from minElems to 2^maxBits.
	supers := max(1+x.maxBits-minBits-x.superInIndex(), 0)
	addresses := x.blocksInIndex() + uint64(supers)

	n := 14 + x.inIndex*uint64(x.size) + addresses*8 + 4
	fields := x.p.checked(addr, n, "EAIB", "index block of an extensible array")
	fields.skip(2 + 8)
	x.elems = fields.take(int(x.inIndex) * x.size)
	x.blocks = fields.b[fields.pos:]
}

// superInIndex returns the number of secondary blocks, the smallest ones, that do not exist because the index block
// lists their data blocks itself.
func (x *extensibleIndex) superInIndex() int { return 2 * (bits.Len64(x.minPtrs) - 1) }

// blocksInIndex returns the number of data blocks whose addresses are in the index block.
func (x *extensibleIndex) blocksInIndex() uint64 { return 2 * (x.minPtrs - 1) }

// pointer returns the i-th address of a list that begins at index front of b.
func (x *extensibleIndex) pointer(b []byte, front, i uint64) uint64 {
	begin := front + 8*i
	inside := i <= uint64(len(b)) && begin+8 <= uint64(len(b))
	x.p.unless(inside, x.st.addr, "a block of the extensible array is not listed")

	return binary.LittleEndian.Uint64(b[begin:])
}

// find implements chunkIndex.
func (x *extensibleIndex) find(place []uint64) stored {
	i, ok := x.st.linear(place, x.axis)
	x.p.unless(ok && (x.maxBits == 64 || i < 1<<x.maxBits), x.st.addr,
		"the number of a chunk is out of range of the extensible array")

	if i < x.inIndex {
		return x.get(x.elems, i)
	}

	entryPlace := x.locate(i - x.inIndex)
	if entryPlace.super < x.superInIndex() {
		return x.findInIndex(entryPlace)
	}

	return x.findInSuper(entryPlace)
}

// arrayPlace says where an entry behind the index block lies.
type arrayPlace struct {
	super  int    // number of the secondary block
	blocks uint64 // number of data blocks of this secondary block
	block  uint64 // index of the data block among them
	elems  uint64 // number of entries of this data block
	elem   uint64 // index of the entry among them
}

// locate returns the place of entry i, counted from the first one behind the index block. Secondary block s has
// 2^⌊s/2⌋ data blocks of minElems·2^⌈s/2⌉ entries each, so minElems·2^s entries.
func (x *extensibleIndex) locate(i uint64) arrayPlace {
	super := bits.Len64(i/x.minElems+1) - 1
	elems := x.minElems << ((super + 1) / 2)
	i -= x.minElems * (1<<super - 1) // the entries of the smaller secondary blocks

	return arrayPlace{super: super, blocks: uint64(1) << (super / 2), block: i / elems, elems: elems, elem: i % elems}
}

// front returns the number of bytes of a block before its entries or addresses.
func (x *extensibleIndex) front() uint64 { return uint64(14 + x.offLen) }

// findInIndex returns the chunk at a place in a data block that the index block lists.
func (x *extensibleIndex) findInIndex(place arrayPlace) stored {
	skipped := uint64(0) // number of data blocks of the smaller secondary blocks
	for k := range place.super {
		skipped += 1 << (k / 2)
	}

	addr := x.pointer(x.blocks, 0, skipped+place.block)
	if addr == undefined {
		return nowhere
	}

	supported(place.elems <= x.pageLen, "an extensible array with pages in its index block")

	return x.entry(span{addr: addr, front: x.front(), n: place.elems, sig: "EADB", what: dataBlock}, place.elem)
}

// findInSuper returns the chunk at a place in a data block that a secondary block lists.
func (x *extensibleIndex) findInSuper(place arrayPlace) stored {
	addr := x.pointer(x.blocks, 8*x.blocksInIndex(), uint64(place.super-x.superInIndex()))
	if addr == undefined {
		return nowhere
	}

	pages := uint64(0) // of each data block; 0 if data blocks are not divided into pages
	if place.elems > x.pageLen {
		pages = place.elems / x.pageLen
	}

	bitmap := (pages + 7) / 8 // bytes with a bit for each page of a data block
	x.readSuper(addr, place.blocks, bitmap)

	front := x.front()
	bitmapsEnd := front + place.blocks*bitmap
	block := x.pointer(x.super, bitmapsEnd, place.block)

	switch {
	case block == undefined:
		return nowhere
	case pages == 0:
		return x.entry(span{addr: block, front: front, n: place.elems, sig: "EADB", what: dataBlock}, place.elem)
	}

	page := place.elem / x.pageLen

	// The bits of all data blocks follow one another without gaps, although each block has room for whole bytes.
	isWritten := isBitSet(x.super[front:bitmapsEnd], place.block*pages+page)
	if !isWritten {
		return nowhere
	}

	const checksum = 4 // bytes behind the front of a data block, and behind each page
	pagesBegin := block + front + checksum
	pageSize := x.pageLen*uint64(x.size) + checksum

	return x.entry(span{addr: pagesBegin + page*pageSize, n: x.pageLen, what: indexPage}, place.elem%x.pageLen)
}

// readSuper reads the secondary block at addr into super. Behind its front, it has for each data block a bitmap of the
// given number of bytes, and then for each data block its address.
func (x *extensibleIndex) readSuper(addr, blocks, bitmap uint64) {
	if x.super != nil && x.superAddr == addr {
		return
	}

	size, ok := times(blocks, bitmap+8)
	x.p.unless(ok && x.p.within(addr, size), addr, "a block of the extensible array reaches beyond the end of the file")
	x.super = x.p.checked(addr, x.front()+size+4, "EASB", "secondary block of an extensible array").b
	x.superAddr = addr
}
