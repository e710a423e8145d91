package hdf5

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// stored is where a chunk is. An undefined address means nowhere: it was never
// written and holds the fill value.
type stored struct {
	addr uint64
	size uint64
	mask uint32 // filters not applied
}

var nowhere = stored{addr: undefined}

// chunkIndex finds chunks. Lookups read only the way to the chunk and keep their
// last reading, so that memory does not grow with the file.
type chunkIndex func(at []uint64) stored

// newIndex returns the index of a chunked dataset.
func newIndex(p *parser, st *storage) chunkIndex {
	if st.addr == undefined {
		return func([]uint64) stored { return nowhere }
	}

	switch st.index {
	case indexBTree1:
		return (&btree1Index{p: p, st: st}).find
	case indexFixed:
		return newFixedIndex(p, st)
	case indexExtensible:
		return newExtensibleIndex(p, st)
	case indexBTree2:
		return newBTree2Index(p, st)
	}

	// One chunk, or all one after the other.
	return func(at []uint64) stored {
		n, ok := st.linear(at, 0)
		n, fits := times(n, uint64(st.chunkSize))
		p.unless(ok && fits && n+st.addr >= n, undefined, "the number of a chunk is out of range")

		s := stored{addr: st.addr + n, size: uint64(st.chunkSize)}
		if st.oneKnown {
			s.size, s.mask = st.oneSize, st.oneMask
		}

		return s
	}
}

// linear is the number of a chunk, counted over what the dataset may grow to.
// The axis first is the slowest, the others follow in order.
func (st *storage) linear(at []uint64, first int) (uint64, bool) {
	n, ok := at[first], true

	for i := range at {
		if i == first {
			continue
		}

		chunks := st.max[i] / st.chunk[i]
		if st.max[i]%st.chunk[i] != 0 {
			chunks++
		}

		rows, fits := times(n, chunks)
		ok = ok && fits && rows+at[i] >= rows && st.max[i] != undefined
		n = rows + at[i]
	}

	return n, ok
}

// way keeps the nodes of a tree that were read last, by their depth from the root.
type way[N any] struct {
	nodes []N
	addrs []uint64
}

// node returns the node at an address, which read reads unless it was the last of that depth.
func (w *way[N]) node(depth int, addr uint64, read func() N) N {
	if depth >= len(w.nodes) || w.addrs[depth] != addr {
		n := read()
		w.nodes, w.addrs = append(w.nodes[:depth], n), append(w.addrs[:depth], addr)
	}

	return w.nodes[depth]
}

// btree1Index is the version 1 B-tree.
type btree1Index struct {
	p  *parser
	st *storage
	way[btree1Node]
}

type btree1Node struct {
	level  int
	keys   []uint64 // the first element of each child's first chunk
	childs []stored // size and mask belong to chunks, at level 0
}

// btree1Node reads a node of a version 1 B-tree, of groups (kind 0) or chunks (1): its
// entries, a key of that many bytes and an address each, how many, and the level,
// which must be the one given unless that is negative.
func (p *parser) btree1Node(addr uint64, kind uint8, key, level int) (c *cursor, entries, own int) {
	c = p.block(addr, 24, "TREE", kind, "B-tree of "+[]string{"a group", "chunks"}[kind])
	own = int(c.u8())
	p.unless(level < 0 || own == level, addr, "a B-tree node of level %d where %d should be", own, level)
	entries = int(c.u16())

	return p.cursor(p.bytes(addr+24, uint64(entries)*uint64(key+8)), addr, "a B-tree node is too short"), entries, own
}

func (x *btree1Index) read(addr uint64, level int) btree1Node {
	rank := len(x.st.dims)
	c, entries, level := x.p.btree1Node(addr, 1, 8+8*(rank+1), level)

	n := btree1Node{level: level, keys: make([]uint64, 0, entries*rank), childs: make([]stored, 0, entries)}
	for range entries {
		s := stored{size: uint64(c.u32()), mask: c.u32()}
		for range rank {
			n.keys = append(n.keys, c.u64())
		}

		c.skip(8)
		s.addr = c.u64()
		n.childs = append(n.childs, s)
	}

	return n
}

func (x *btree1Index) find(at []uint64) stored {
	addr, level, rank := x.st.addr, -1, len(at)

	for depth := 0; ; depth++ {
		n := x.node(depth, addr, func() btree1Node { return x.read(addr, level) })

		var exact bool

		i := sort.Search(len(n.childs), func(i int) bool {
			for j, k := range n.keys[i*rank : (i+1)*rank] {
				if want := at[j] * x.st.chunk[j]; k != want {
					return k > want
				}
			}

			exact = true

			return false
		}) - 1

		switch {
		case i < 0, n.level == 0 && !exact:
			return nowhere
		case n.level == 0:
			return n.childs[i]
		}

		addr, level = n.childs[i].addr, n.level-1
	}
}

// entries reads elements of fixed and extensible arrays.
type entries struct {
	p        *parser
	st       *storage
	filtered bool
	size     int // bytes of one

	held   []byte // those read last
	heldAt uint64
}

// header reads what both arrays begin with: version, kind and size of entries.
func (e *entries) header(c *cursor, what string) {
	v := c.u8()
	e.p.unless(v == 0, e.st.addr, "%s version %d", what, v)

	client, size := c.u8(), int(c.u8())
	e.size, e.filtered = size, client == 1
	e.p.unless(client <= 1 && size <= 20 && (!e.filtered || size >= 13) && (e.filtered || size == 8), e.st.addr,
		"an array of chunks with entries of kind %d and %d bytes", client, size)
}

func (e *entries) get(b []byte, i uint64) stored {
	e.p.unless(i < uint64(len(b)/e.size), undefined, "an entry of the chunk index is beyond its block")

	c := e.p.cursor(b[i*uint64(e.size):], undefined, "an entry of the chunk index is too short")
	s := stored{addr: c.u64(), size: uint64(e.st.chunkSize)}
	if e.filtered {
		s.size = c.uint(e.size - 12)
		s.mask = c.u32()
	}

	return s
}

// of returns entry i of the n that lie at addr: behind front bytes of a block with a signature, or
// without one in a page.
func (e *entries) of(addr, front, n uint64, sig, what string, i uint64) stored {
	if e.held == nil || e.heldAt != addr {
		size, ok := times(n, uint64(e.size))
		e.p.unless(ok && e.p.within(addr, size), addr, "the %s reaches beyond the end of the file", what)
		e.held, e.heldAt = e.p.checked(addr, front+size+4, sig, what).b[front:], addr
	}

	return e.get(e.held, i)
}

const page = "page of the chunk index"

func bit(b []byte, i uint64) bool {
	return i/8 < uint64(len(b)) && b[i/8]&(0x80>>(i%8)) != 0
}

// fixedIndex is the fixed array: one block of entries, in pages if many.
type fixedIndex struct {
	entries
	n       uint64
	block   uint64
	pageLen uint64 // 0: there are no pages
	written []byte // bits of the pages that were
}

const fixedFront = 14

func newFixedIndex(p *parser, st *storage) chunkIndex {
	c := p.checked(st.addr, 28, "FAHD", "fixed array")
	x := &fixedIndex{entries: entries{p: p, st: st}}
	x.header(c, "fixed array")
	x.pageLen = 1 << min(c.u8(), 63)

	x.n, x.block = c.u64(), c.u64()
	if x.block == undefined {
		return func([]uint64) stored { return nowhere }
	}

	if x.n <= x.pageLen {
		x.pageLen = 0
		return x.find
	}

	pages := (x.n-1)/x.pageLen + 1
	p.unless(pages <= uint64(p.size), x.block, "a fixed array of %d chunks is longer than the file", x.n)

	n := fixedFront + (pages+7)/8 + 4
	x.written = p.checked(x.block, n, "FADB", "block of a fixed array").b[fixedFront:]
	x.block += n // of the first page

	return x.find
}

func (x *fixedIndex) find(at []uint64) stored {
	i, ok := x.st.linear(at, 0)
	x.p.unless(ok && i < x.n, x.st.addr, "the fixed array has %d chunks, number %d is looked for", x.n, i)

	if x.pageLen == 0 {
		return x.of(x.block, fixedFront, x.n, "FADB", "block of a fixed array", i)
	}

	no := i / x.pageLen
	if !bit(x.written, no) {
		return nowhere
	}

	addr := x.block + no*(x.pageLen*uint64(x.size)+4)

	return x.of(addr, 0, min(x.pageLen, x.n-no*x.pageLen), "", page, i%x.pageLen)
}

// extensibleIndex is the extensible array: the first entries and blocks are
// listed in an index block; blocks then double in size and are listed in
// secondary blocks.
type extensibleIndex struct {
	entries
	axis     int // the one that grows
	maxBits  int
	inIndex  uint64 // entries in the index block
	minElems uint64 // of the smallest data block
	minPtrs  uint64 // data blocks of the smallest secondary block
	pageLen  uint64
	offLen   int

	elems  []byte
	blocks []byte // addresses of data blocks, then of secondary blocks

	super     []byte // the secondary block read last
	superAddr uint64
}

func newExtensibleIndex(p *parser, st *storage) chunkIndex {
	c := p.checked(st.addr, 72, "EAHD", "extensible array")
	x := &extensibleIndex{entries: entries{p: p, st: st}, axis: -1}

	for i, n := range st.max {
		if n == undefined {
			p.unless(x.axis < 0, st.addr, "an extensible array for more than one unlimited axis")
			x.axis = i
		}
	}

	p.unless(x.axis >= 0, st.addr, "an extensible array without unlimited axis")
	x.header(c, "extensible array")

	x.maxBits = int(c.u8())
	x.inIndex, x.minElems, x.minPtrs = uint64(c.u8()), uint64(c.u8()), uint64(c.u8())
	pageBits := c.u8()
	c.skip(6 * 8)
	block := c.u64()

	p.unless(x.maxBits >= 1 && x.maxBits <= 64 && powerOf2(x.minElems) && powerOf2(x.minPtrs) && pageBits <= 62, st.addr,
		"the sizes of the extensible array contradict each other")

	x.pageLen = 1 << pageBits
	x.offLen = (x.maxBits + 7) / 8

	if block == undefined {
		return func([]uint64) stored { return nowhere }
	}

	supers := max(1+x.maxBits-bits.Len64(x.minElems)+1-x.superInIndex(), 0)
	n := 14 + x.inIndex*uint64(x.size) + (2*(x.minPtrs-1)+uint64(supers))*8 + 4
	c = p.checked(block, n, "EAIB", "index block of an extensible array")
	c.skip(2 + 8)
	x.elems = c.take(int(x.inIndex) * x.size)
	x.blocks = c.b[c.off:]

	return x.find
}

// superInIndex is how many of the smallest secondary blocks are left out:
// their data blocks are listed in the index block.
func (x *extensibleIndex) superInIndex() int { return 2 * (bits.Len64(x.minPtrs) - 1) }

// pointer returns the i-th address of a list that begins at byte front of b.
func (x *extensibleIndex) pointer(b []byte, front, i uint64) uint64 {
	at := front + 8*i
	x.p.unless(i <= uint64(len(b)) && at+8 <= uint64(len(b)), x.st.addr, "a block of the extensible array is not listed")

	return binary.LittleEndian.Uint64(b[at:])
}

func (x *extensibleIndex) find(at []uint64) stored {
	i, ok := x.st.linear(at, x.axis)
	x.p.unless(ok && (x.maxBits == 64 || i < 1<<x.maxBits), x.st.addr,
		"the number of a chunk is out of range of the extensible array")

	if i < x.inIndex {
		return x.get(x.elems, i)
	}

	i -= x.inIndex
	front := uint64(14 + x.offLen) // of blocks

	// Secondary block s holds 2^⌊s/2⌋ data blocks of minElems·2^⌈s/2⌉ entries.
	s := bits.Len64(i/x.minElems+1) - 1
	blocks := uint64(1) << (s / 2)
	elems := x.minElems << ((s + 1) / 2)
	i -= x.minElems * (1<<s - 1)
	no := i / elems
	i %= elems

	if s < x.superInIndex() {
		before := uint64(0) // data blocks of the secondary blocks before
		for k := range s {
			before += 1 << (k / 2)
		}

		addr := x.pointer(x.blocks, 0, before+no)
		if addr == undefined {
			return nowhere
		}

		supported(elems <= x.pageLen, "an extensible array with pages in its index block")

		return x.of(addr, front, elems, "EADB", dataBlock, i)
	}

	addr := x.pointer(x.blocks, 2*(x.minPtrs-1)*8, uint64(s-x.superInIndex()))
	if addr == undefined {
		return nowhere
	}

	pages, bitLen := uint64(0), uint64(0)
	if elems > x.pageLen {
		pages = elems / x.pageLen
		bitLen = (pages + 7) / 8
	}

	if x.super == nil || x.superAddr != addr {
		size, ok := times(blocks, bitLen+8)
		x.p.unless(ok && x.p.within(addr, size), addr, "a block of the extensible array reaches beyond the end of the file")
		x.super = x.p.checked(addr, front+size+4, "EASB", "secondary block of an extensible array").b
		x.superAddr = addr
	}

	data := x.pointer(x.super, front+blocks*bitLen, no)

	switch {
	case data == undefined:
		return nowhere
	case pages == 0:
		return x.of(data, front, elems, "EADB", dataBlock, i)
	}

	// The bits of all data blocks follow each other, though room is kept for
	// whole bytes per block.
	no = no*pages + i/x.pageLen
	if !bit(x.super[front:front+blocks*bitLen], no) {
		return nowhere
	}

	return x.of(data+front+4+i/x.pageLen*(x.pageLen*uint64(x.size)+4), 0, x.pageLen, "", page, i%x.pageLen)
}

const dataBlock = "data block of an extensible array"

// btree2Index is the version 2 B-tree.
type btree2Index struct {
	p  *parser
	st *storage
	h  *btree2Header
	way[*btree2Node]
}

func newBTree2Index(p *parser, st *storage) chunkIndex {
	h := p.btree2Header(st.addr)
	size := uint64(8 + 8*len(st.dims))
	p.unless(h.kind == 10 && h.recSize == size || h.kind == 11 && h.recSize > size+4 && h.recSize <= size+12, st.addr,
		"a B-tree of kind %d with records of %d bytes for chunks of %d axes", h.kind, h.recSize, len(st.dims))

	return (&btree2Index{p: p, st: st, h: h}).find
}

func (x *btree2Index) find(at []uint64) stored {
	if x.h.root.addr == undefined {
		return nowhere
	}

	child, size := x.h.root, int(x.h.recSize)

	for depth := 0; depth <= x.h.depth; depth++ {
		n := x.node(depth, child.addr, func() *btree2Node { return x.p.btree2Node(x.h, child, x.h.depth-depth) })

		// The position ends every record.
		exact := false
		i := sort.Search(len(n.recs)/size, func(i int) bool {
			key := n.recs[(i+1)*size-8*len(at) : (i+1)*size]
			for j, want := range at {
				if k := binary.LittleEndian.Uint64(key[8*j:]); k != want {
					return k > want
				}
			}

			exact = true

			return true
		})

		if exact {
			c := x.p.cursor(n.recs[i*size:], x.st.addr, "a record of the B-tree is too short")
			s := stored{addr: c.u64(), size: uint64(x.st.chunkSize)}
			if x.h.kind == 11 {
				s.size = c.uint(size - 12 - 8*len(at))
				s.mask = c.u32()
			}

			return s
		}

		if depth < x.h.depth {
			child = n.children[i]
		}
	}

	return nowhere
}
