package hdf5

import (
	"math/bits"
	"sort"

	"doubletake/ingest/fault"
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
type chunkIndex interface {
	find(at []uint64) (stored, error)
}

// newIndex returns the index of a chunked dataset.
func newIndex(p *parser, st *storage) (chunkIndex, error) {
	if st.addr == undefined {
		return emptyIndex{}, nil
	}

	switch st.index {
	case indexBTree1:
		return &btree1Index{p: p, st: st}, nil
	case indexSingle:
		s := stored{st.addr, uint64(st.chunkSize), 0}
		if st.oneKnown {
			s.size, s.mask = st.oneSize, st.oneMask
		}

		return singleIndex{s}, nil

	case indexImplicit:
		return implicitIndex{st}, nil
	case indexFixed:
		return newFixedIndex(p, st)
	case indexExtensible:
		return newExtensibleIndex(p, st)
	default:
		return newBTree2Index(p, st)
	}
}

type emptyIndex struct{}

func (emptyIndex) find([]uint64) (stored, error) { return nowhere, nil }

type singleIndex struct{ s stored }

func (x singleIndex) find(at []uint64) (stored, error) {
	for _, a := range at {
		if a != 0 {
			return nowhere, nil
		}
	}

	return x.s, nil
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

		hi, lo := bits.Mul64(n, chunks)
		ok = ok && hi == 0 && lo+at[i] >= lo && st.max[i] != undefined
		n = lo + at[i]
	}

	return n, ok
}

type implicitIndex struct{ st *storage }

func (x implicitIndex) find(at []uint64) (stored, error) {
	n, ok := x.st.linear(at, 0)
	hi, lo := bits.Mul64(n, uint64(x.st.chunkSize))
	if !ok || hi != 0 || lo+x.st.addr < lo {
		return nowhere, &fault.Error{Found: "the number of a chunk is out of range"}
	}

	return stored{addr: x.st.addr + lo, size: uint64(x.st.chunkSize)}, nil
}

// btree1Index is the version 1 B-tree.
type btree1Index struct {
	p     *parser
	st    *storage
	nodes []*btree1Node // the last one read of each depth from the root
}

type btree1Node struct {
	addr   uint64
	level  int
	keys   []uint64 // the first element of each child's first chunk
	childs []stored // size and mask belong to chunks, at level 0
}

// btree1Node reads a node of a version 1 B-tree, of groups (kind 0) or chunks (1): its
// entries, a key of that many bytes and an address each, how many, and the level,
// which must be the one given unless that is negative.
func (p *parser) btree1Node(addr uint64, kind uint8, key, level int) (c *cursor, entries, own int, err error) {
	b, err := p.bytes(addr, uint64(8+2*p.so))
	if err != nil {
		return nil, 0, 0, err
	}

	c = p.cursor(b)
	if string(c.take(4)) != "TREE" || c.u8() != kind {
		return nil, 0, 0, p.errorf(addr, "no B-tree of %s (TREE) at address %d", []string{"a group", "chunks"}[kind], addr)
	}

	if own = int(c.u8()); level >= 0 && own != level {
		return nil, 0, 0, p.errorf(addr, "a B-tree node of level %d where %d should be", own, level)
	}

	entries = int(c.u16())
	if b, err = p.bytes(addr+uint64(len(b)), uint64(entries)*uint64(key+p.so)); err != nil {
		return nil, 0, 0, err
	}

	return p.cursor(b), entries, own, nil
}

func (x *btree1Index) node(depth int, addr uint64, level int) (*btree1Node, error) {
	if depth < len(x.nodes) && x.nodes[depth].addr == addr {
		return x.nodes[depth], nil
	}

	p, rank := x.p, len(x.st.dims)
	c, entries, level, err := p.btree1Node(addr, 1, 8+8*(rank+1), level)
	if err != nil {
		return nil, err
	}

	n := &btree1Node{addr: addr, level: level}
	n.keys = make([]uint64, 0, entries*rank)
	n.childs = make([]stored, 0, entries)
	for range entries {
		s := stored{size: uint64(c.u32()), mask: c.u32()}

		for range rank {
			n.keys = append(n.keys, c.u64())
		}

		c.skip(8)
		s.addr = c.addr()
		n.childs = append(n.childs, s)
	}

	x.nodes = append(x.nodes[:min(depth, len(x.nodes))], n)

	return n, nil
}

func (x *btree1Index) find(at []uint64) (stored, error) {
	addr, level := x.st.addr, -1

	rank := len(at)
	for depth := 0; ; depth++ {
		n, err := x.node(depth, addr, level)
		if err != nil {
			return nowhere, err
		}

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

		if i < 0 {
			return nowhere, nil
		}

		if n.level == 0 {
			if !exact {
				return nowhere, nil
			}
			return n.childs[i], nil
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
}

func (e *entries) init(addr uint64, client uint8, size int) error {
	e.size, e.filtered = size, client == 1
	least := e.p.so
	if e.filtered {
		least += 4 + 1
	}

	if client > 1 || size < least || size > e.p.so+12 || !e.filtered && size != e.p.so {
		return e.p.errorf(addr, "an array of chunks with entries of kind %d and %d bytes", client, size)
	}

	return nil
}

func (e *entries) get(b []byte, i uint64) (stored, error) {
	if i >= uint64(len(b)/e.size) {
		return nowhere, &fault.Error{Found: "an entry of the chunk index is beyond its block"}
	}

	c := e.p.cursor(b[i*uint64(e.size) : (i+1)*uint64(e.size)])
	s := stored{addr: c.addr(), size: uint64(e.st.chunkSize)}
	if e.filtered {
		s.size = c.uint(e.size - e.p.so - 4)
		s.mask = c.u32()
	}

	return s, nil
}

// page reads n entries and the checksum behind them.
func (e *entries) page(addr, n uint64) ([]byte, error) {
	hi, lo := bits.Mul64(n, uint64(e.size))
	if hi != 0 || !e.p.within(addr, lo) {
		return nil, e.p.errorf(addr, "a page of the chunk index reaches beyond the end of the file")
	}

	b, err := e.p.bytes(addr, lo+4)
	if err != nil {
		return nil, err
	}

	c := e.p.cursor(b[lo:])
	if !e.p.right(b[:lo], c.u32()) {
		return nil, e.p.errorf(addr, "the checksum of a page of the chunk index is wrong")
	}

	return b[:lo], nil
}

func bit(b []byte, i uint64) bool {
	return i/8 < uint64(len(b)) && b[i/8]&(0x80>>(i%8)) != 0
}

// fixedIndex is the fixed array: one block of entries, in pages if many.
type fixedIndex struct {
	entries
	n        uint64
	pageLen  uint64
	data     []byte // entries, if not paged
	init     []byte // bits of the pages that were written
	first    uint64 // address of the first page
	pageNo   uint64
	page1    []byte // the page read last
	allEmpty bool
}

func newFixedIndex(p *parser, st *storage) (chunkIndex, error) {
	c, err := p.checked(st.addr, uint64(8+p.sl+p.so+4), "FAHD", "fixed array")
	if err != nil {
		return nil, err
	}

	x := &fixedIndex{entries: entries{p: p, st: st}}

	if v := c.u8(); v != 0 {
		return nil, p.errorf(st.addr, "fixed array version %d", v)
	}

	client, size, pageBits := c.u8(), int(c.u8()), c.u8()
	if err := x.entries.init(st.addr, client, size); err != nil {
		return nil, err
	}

	x.n = c.len()

	block := c.addr()
	if block == undefined {
		x.allEmpty = true
		return x, nil
	}

	front := uint64(6 + p.so)
	if x.pageLen = 1 << min(pageBits, 63); x.n <= x.pageLen {
		x.pageLen = 0
		if x.n > uint64(p.size) {
			return nil, p.errorf(block, "a fixed array of %d chunks is longer than the file", x.n)
		}

		c, err := p.checked(block, front+x.n*uint64(size)+4, "FADB", "block of a fixed array")
		if err != nil {
			return nil, err
		}

		x.data = c.b[front:]

		return x, nil
	}

	pages := (x.n-1)/x.pageLen + 1
	if pages > uint64(p.size) {
		return nil, p.errorf(block, "a fixed array of %d chunks is longer than the file", x.n)
	}

	n := front + (pages+7)/8 + 4
	if c, err = p.checked(block, n, "FADB", "block of a fixed array"); err != nil {
		return nil, err
	}

	x.init = c.b[front:]
	x.first = block + n

	return x, nil
}

func (x *fixedIndex) find(at []uint64) (stored, error) {
	i, ok := x.st.linear(at, 0)

	if x.allEmpty {
		return nowhere, nil
	}

	if !ok || i >= x.n {
		return nowhere, x.p.errorf(x.st.addr, "the fixed array has %d chunks, number %d is looked for", x.n, i)
	}

	if x.pageLen == 0 {
		return x.get(x.data, i)
	}

	no := i / x.pageLen
	if !bit(x.init, no) {
		return nowhere, nil
	}

	if x.page1 == nil || x.pageNo != no {
		b, err := x.page(x.first+no*(x.pageLen*uint64(x.size)+4), min(x.pageLen, x.n-no*x.pageLen))
		if err != nil {
			return nowhere, err
		}

		x.page1, x.pageNo = b, no
	}

	return x.get(x.page1, i%x.pageLen)
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
	empty    bool

	elems  []byte
	blocks *cursor // addresses of data blocks, then of secondary blocks

	super     *cursor // the secondary block read last
	superAddr uint64
	data      []byte // the data block or page read last
	dataAddr  uint64
}

func newExtensibleIndex(p *parser, st *storage) (chunkIndex, error) {
	c, err := p.checked(st.addr, uint64(12+6*p.sl+p.so+4), "EAHD", "extensible array")
	if err != nil {
		return nil, err
	}

	x := &extensibleIndex{entries: entries{p: p, st: st}, axis: -1}
	for i, n := range st.max {
		if n == undefined {
			if x.axis >= 0 {
				return nil, p.errorf(st.addr, "an extensible array for more than one unlimited axis")
			}
			x.axis = i
		}
	}

	if x.axis < 0 {
		return nil, p.errorf(st.addr, "an extensible array without unlimited axis")
	}

	if v := c.u8(); v != 0 {
		return nil, p.errorf(st.addr, "extensible array version %d", v)
	}

	client, size := c.u8(), int(c.u8())
	if err := x.entries.init(st.addr, client, size); err != nil {
		return nil, err
	}

	x.maxBits = int(c.u8())
	x.inIndex, x.minElems, x.minPtrs = uint64(c.u8()), uint64(c.u8()), uint64(c.u8())
	pageBits := c.u8()
	c.skip(6 * p.sl)
	block := c.addr()

	pow2 := func(n uint64) bool { return n > 0 && n&(n-1) == 0 }
	if x.maxBits < 1 || x.maxBits > 64 || !pow2(x.minElems) || !pow2(x.minPtrs) || pageBits > 62 {
		return nil, p.errorf(st.addr, "the sizes of the extensible array contradict each other")
	}

	x.pageLen = 1 << pageBits
	x.offLen = (x.maxBits + 7) / 8
	if block == undefined {
		x.empty = true
		return x, nil
	}

	supers := max(1+x.maxBits-bits.Len64(x.minElems)+1-x.superInIndex(), 0)
	n := uint64(6+p.so) + x.inIndex*uint64(size) + (2*(x.minPtrs-1)+uint64(supers))*uint64(p.so) + 4
	if x.blocks, err = p.checked(block, n, "EAIB", "index block of an extensible array"); err != nil {
		return nil, err
	}

	x.blocks.skip(2 + p.so)
	x.elems = x.blocks.take(int(x.inIndex) * size)
	x.blocks.b = x.blocks.b[x.blocks.off:]

	return x, nil
}

// superInIndex is how many of the smallest secondary blocks are left out:
// their data blocks are listed in the index block.
func (x *extensibleIndex) superInIndex() int { return 2 * (bits.Len64(x.minPtrs) - 1) }

// pointer returns the i-th address of a list.
func (x *extensibleIndex) pointer(c *cursor, front int, i uint64) (uint64, error) {
	if i > uint64(len(c.b)) {
		return 0, x.p.errorf(x.st.addr, "a block of the extensible array is not listed")
	}

	c.off, c.bad = front+int(i)*x.p.so, false
	a := c.addr()

	if c.bad {
		return 0, x.p.errorf(x.st.addr, "a block of the extensible array is not listed")
	}

	return a, nil
}

func (x *extensibleIndex) find(at []uint64) (stored, error) {
	if x.empty {
		return nowhere, nil
	}

	i, ok := x.st.linear(at, x.axis)
	if !ok || x.maxBits < 64 && i >= 1<<x.maxBits {
		return nowhere, x.p.errorf(x.st.addr, "the number of a chunk is out of range of the extensible array")
	}

	if i < x.inIndex {
		return x.get(x.elems, i)
	}

	i -= x.inIndex

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

		addr, err := x.pointer(x.blocks, 0, before+no)
		if err != nil || addr == undefined {
			return nowhere, err
		}

		if elems > x.pageLen {
			return nowhere, x.p.unsupported("an extensible array with pages in its index block")
		}

		return x.inBlock(addr, elems, i)
	}

	addr, err := x.pointer(x.blocks, int(2*(x.minPtrs-1))*x.p.so, uint64(s-x.superInIndex()))
	if err != nil || addr == undefined {
		return nowhere, err
	}

	pages, bitLen := uint64(0), uint64(0)
	if elems > x.pageLen {
		pages = elems / x.pageLen
		bitLen = (pages + 7) / 8
	}

	front := uint64(6 + x.p.so + x.offLen)
	if x.super == nil || x.superAddr != addr {
		hi, lo := bits.Mul64(blocks, bitLen+uint64(x.p.so))
		if hi != 0 || !x.p.within(addr, lo) {
			return nowhere, x.p.errorf(addr, "a block of the extensible array reaches beyond the end of the file")
		}

		if x.super, err = x.p.checked(addr, front+lo+4, "EASB", "secondary block of an extensible array"); err != nil {
			return nowhere, err
		}

		x.superAddr = addr
	}

	data, err := x.pointer(x.super, int(front+blocks*bitLen), no)
	if err != nil || data == undefined {
		return nowhere, err
	}

	if pages == 0 {
		return x.inBlock(data, elems, i)
	}

	page := i / x.pageLen

	// The bits of all data blocks follow each other, though room is kept for
	// whole bytes per block.
	if !bit(x.super.b[front:front+blocks*bitLen], no*pages+page) {
		return nowhere, nil
	}

	pageAddr := data + front + 4 + page*(x.pageLen*uint64(x.size)+4)
	if x.data == nil || x.dataAddr != pageAddr {
		if x.data, err = x.page(pageAddr, x.pageLen); err != nil {
			x.data = nil
			return nowhere, err
		}

		x.dataAddr = pageAddr
	}

	return x.get(x.data, i%x.pageLen)
}

// inBlock reads entry i of an unpaged data block.
func (x *extensibleIndex) inBlock(addr, elems, i uint64) (stored, error) {
	if x.data == nil || x.dataAddr != addr {
		front := uint64(6 + x.p.so + x.offLen)

		if elems > uint64(x.p.size) {
			return nowhere, x.p.errorf(addr, "a block of the extensible array reaches beyond the end of the file")
		}

		c, err := x.p.checked(addr, front+elems*uint64(x.size)+4, "EADB", "data block of an extensible array")
		if err != nil {
			return nowhere, err
		}

		x.data, x.dataAddr = c.b[front:], addr
	}

	return x.get(x.data, i)
}

// btree2Index is the version 2 B-tree.
type btree2Index struct {
	p     *parser
	st    *storage
	h     *btree2Header
	nodes []*btree2Node // the last one read of each depth from the root
	addrs []uint64
}

func newBTree2Index(p *parser, st *storage) (chunkIndex, error) {
	h, err := p.btree2Header(st.addr)
	if err != nil {
		return nil, err
	}

	size := p.so + 8*len(st.dims)
	switch {
	case h.kind == 10 && int(h.recSize) == size:
	case h.kind == 11 && int(h.recSize) > size+4 && int(h.recSize) <= size+12:
	default:
		return nil, p.errorf(st.addr, "a B-tree of kind %d with records of %d bytes for chunks of %d axes", h.kind, h.recSize,
			len(st.dims))
	}

	return &btree2Index{p: p, st: st, h: h}, nil
}

func (x *btree2Index) find(at []uint64) (stored, error) {
	if x.h.root == undefined {
		return nowhere, nil
	}

	child := btree2Child{x.h.root, x.h.rootRecs}

	size := int(x.h.recSize)
	for depth := 0; depth <= x.h.depth; depth++ {
		if depth >= len(x.nodes) || x.addrs[depth] != child.addr {
			n, err := x.p.btree2Node(x.h, child.addr, child.n, x.h.depth-depth)
			if err != nil {
				return nowhere, err
			}

			x.nodes = append(x.nodes[:depth], n)
			x.addrs = append(x.addrs[:depth], child.addr)
		}

		n := x.nodes[depth]

		// The position ends every record.
		exact := false
		i := sort.Search(n.n, func(i int) bool {
			c := x.p.cursor(n.recs[(i+1)*size-8*len(at) : (i+1)*size])
			for _, want := range at {
				if k := c.u64(); k != want {
					return k > want
				}
			}

			exact = true

			return true
		})

		if exact {
			c := x.p.cursor(n.recs[i*size : (i+1)*size])
			s := stored{addr: c.addr(), size: uint64(x.st.chunkSize)}
			if x.h.kind == 11 {
				s.size = c.uint(size - x.p.so - 4 - 8*len(at))
				s.mask = c.u32()
			}

			return s, nil
		}

		if depth < x.h.depth {
			child = n.children[i]
		}
	}

	return nowhere, nil
}
