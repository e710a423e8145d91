package hdf5

import (
	"cmp"
	"encoding/binary"
	"sort"
)

// stored says where a chunk is in the file.
type stored struct {
	addr uint64 // undefined if the chunk was never written: all its elements have the fill value
	size uint64 // bytes in the file
	mask uint32 // a bit for each filter that was not applied
}

// nowhere is a chunk that was never written.
var nowhere = stored{addr: undefined}

// chunkIndex finds chunks. A lookup reads only the way to the chunk, and an index keeps only the nodes that it read
// last, so that memory does not grow with the file.
type chunkIndex interface {
	// find returns the chunk at a place, which is its index along each axis of the grid of chunks. It raises errors
	// (decode.Raise).
	find(place []uint64) stored
}

// newIndex returns the index of the chunks of a dataset.
func newIndex(p *parser, st *storage) chunkIndex {
	if st.addr == undefined {
		return noIndex{}
	}

	switch st.index {
	case indexBTree1:
		return &btree1Index{p: p, st: st}
	case indexFixed:
		return newFixedIndex(p, st)
	case indexExtensible:
		return newExtensibleIndex(p, st)
	case indexBTree2:
		return newBTree2Index(p, st)
	default:
		return &linearIndex{p: p, st: st}
	}
}

// noIndex is the index of a dataset without a written chunk.
type noIndex struct{}

// find implements chunkIndex.
func (noIndex) find([]uint64) stored { return nowhere }

// linearIndex is the index of a dataset with a single chunk, or with chunks that lie one after the other ("Single Chunk
// Index", "Implicit Index").
type linearIndex struct {
	p  *parser
	st *storage
}

// find implements chunkIndex.
func (x *linearIndex) find(place []uint64) stored {
	number, ok := x.st.linear(place, 0)
	offset, fits := times(number, uint64(x.st.chunkSize))
	x.p.unless(ok && fits && offset+x.st.addr >= offset, undefined, "the number of a chunk is out of range")

	chunk := stored{addr: x.st.addr + offset, size: uint64(x.st.chunkSize)}
	if x.st.oneKnown {
		chunk.size = x.st.oneSize
		chunk.mask = x.st.oneMask
	}

	return chunk
}

// linear returns the number of the chunk at a place in the grid. The numbers cover the grid of the largest shape to
// which the dataset may grow. The index along the axis first runs slowest; the other axes follow in their order. linear
// returns false if the number does not fit into 64 bits, or if an axis other than first may grow without limit.
func (st *storage) linear(place []uint64, first int) (number uint64, ok bool) {
	number = place[first]
	ok = true

	for i := range place {
		if i == first {
			continue
		}

		chunks := st.max[i] / st.chunk[i]
		if st.max[i]%st.chunk[i] != 0 {
			chunks++
		}

		before, fits := times(number, chunks) // chunks with smaller indices along the axes so far
		number = before + place[i]
		isLimited := st.max[i] != undefined
		if !isLimited || !fits || number < before {
			ok = false
		}
	}

	return number, ok
}

// way keeps the nodes of a tree on the way from the root to the node that was read last.
type way[N any] struct {
	nodes []N      // by depth; the root has depth 0
	addrs []uint64 // addresses of nodes
}

// known returns the node that was read last at a depth. It returns false if that node has another address.
func (w *way[N]) known(depth int, addr uint64) (node N, ok bool) {
	if depth >= len(w.nodes) || w.addrs[depth] != addr {
		return node, false
	}

	return w.nodes[depth], true
}

// keep keeps a node at a depth, and forgets the nodes below it.
func (w *way[N]) keep(depth int, addr uint64, node N) {
	w.nodes = append(w.nodes[:depth], node)
	w.addrs = append(w.addrs[:depth], addr)
}

// btree1Index is an index that is a B-tree of version 1.
type btree1Index struct {
	p  *parser
	st *storage
	way[btree1Node]
}

// btree1Node is a node of such an index.
type btree1Node struct {
	level    int      // above the leaves
	keys     []uint64 // for each child, the indices of the first element of its first chunk
	children []stored // nodes, or chunks at level 0; only chunks have a size and a mask
}

// btree1Node reads a node of a B-tree of version 1 ("Version 1 B-trees"). A tree of kind 0 is the index of a group,
// and a tree of kind 1 is the index of chunks. A node has 24 bytes (signature, kind, level, number of entries in 2
// bytes, and two addresses of neighbours) and then entries, each a key of keySize bytes and an address. btree1Node
// returns a cursor of the entries, their number, and the level of the node above the leaves. The node must have the
// given level, unless level is negative.
func (p *parser) btree1Node(addr uint64, kind uint8, keySize, level int) (fields *cursor, entries, nodeLevel int) {
	what := "B-tree of a group"
	if kind == 1 {
		what = "B-tree of chunks"
	}

	fields = p.block(addr, 24, "TREE", kind, what)
	nodeLevel = int(fields.u8())
	p.unless(level < 0 || nodeLevel == level, addr, "a B-tree node of level %d where %d should be", nodeLevel, level)
	entries = int(fields.u16())

	fields = p.cursor(p.bytes(addr+24, uint64(entries)*uint64(keySize+8)), addr, "a B-tree node is too short")

	return fields, entries, nodeLevel
}

// read reads a node of the index. The key of a chunk is its size in the file and its filter mask in 4 bytes each, and
// the index of its first element along each axis and within an element, in 8 bytes each.
func (x *btree1Index) read(addr uint64, level int) btree1Node {
	rank := len(x.st.dims)
	fields, entries, level := x.p.btree1Node(addr, 1, 8+8*(rank+1), level)

	n := btree1Node{level: level, keys: make([]uint64, 0, entries*rank), children: make([]stored, 0, entries)}
	for range entries {
		chunk := stored{size: uint64(fields.u32()), mask: fields.u32()}
		for range rank {
			n.keys = append(n.keys, fields.u64())
		}

		fields.skip(8)
		chunk.addr = fields.u64()
		n.children = append(n.children, chunk)
	}

	return n
}

// compare compares the i-th key of a node with a place in the grid: it returns a negative number if the key is before
// the place, 0 if both are equal, and a positive number if the key is behind the place.
func (x *btree1Index) compare(n *btree1Node, i int, place []uint64) int {
	rank := len(place)
	for j, k := range n.keys[i*rank : (i+1)*rank] {
		if c := cmp.Compare(k, place[j]*x.st.chunk[j]); c != 0 {
			return c
		}
	}

	return 0
}

// find implements chunkIndex.
func (x *btree1Index) find(place []uint64) stored {
	addr := x.st.addr
	level := -1 // of the node at addr; unknown for the root

	for depth := 0; ; depth++ {
		n, ok := x.known(depth, addr)
		if !ok {
			n = x.read(addr, level)
			x.keep(depth, addr, n)
		}

		// The last child that does not begin behind the chunk.
		i := sort.Search(len(n.children), func(i int) bool { return x.compare(&n, i, place) > 0 }) - 1
		if i < 0 {
			return nowhere
		}

		if n.level > 0 {
			addr = n.children[i].addr
			level = n.level - 1
			continue
		}

		if x.compare(&n, i, place) != 0 {
			return nowhere
		}

		return n.children[i]
	}
}

// btree2Index is an index that is a B-tree of version 2.
type btree2Index struct {
	p  *parser
	st *storage
	h  *btree2Header
	way[*btree2Node]
}

// newBTree2Index returns the index whose header is at st.addr. A record is the address of a chunk, for chunks with
// filters the size in the file and the filter mask, and the place in the grid. It has 8 bytes for each, except 4 for
// the mask and 1 to 8 for the size.
func newBTree2Index(p *parser, st *storage) chunkIndex {
	header := p.btree2Header(st.addr)
	size := uint64(8 + 8*len(st.dims))
	plain := header.kind == treeChunks && header.recSize == size
	filtered := header.kind == treeFilteredChunks && header.recSize > size+4 && header.recSize <= size+12
	p.unless(plain || filtered, st.addr,
		"a B-tree of kind %d with records of %d bytes for chunks of %d axes", header.kind, header.recSize, len(st.dims))

	return &btree2Index{p: p, st: st, h: header}
}

// compare compares the place at the end of the i-th record of a node with a place in the grid, as btree1Index does.
func (x *btree2Index) compare(node *btree2Node, i int, place []uint64) int {
	end := (i + 1) * int(x.h.recSize)
	key := node.recs[end-8*len(place) : end]
	for j, want := range place {
		if c := cmp.Compare(binary.LittleEndian.Uint64(key[8*j:]), want); c != 0 {
			return c
		}
	}

	return 0
}

// find implements chunkIndex.
func (x *btree2Index) find(place []uint64) stored {
	if x.h.root.addr == undefined {
		return nowhere
	}

	child := x.h.root
	for depth := 0; depth <= x.h.depth; depth++ {
		node, ok := x.known(depth, child.addr)
		if !ok {
			node = x.p.btree2Node(x.h, child, x.h.depth-depth)
			x.keep(depth, child.addr, node)
		}

		count := len(node.recs) / int(x.h.recSize)
		i := sort.Search(count, func(i int) bool { return x.compare(node, i, place) >= 0 })
		if i < count && x.compare(node, i, place) == 0 {
			return x.chunk(node, i, len(place))
		}

		if depth < x.h.depth {
			child = node.children[i]
		}
	}

	return nowhere
}

// chunk returns the chunk of the i-th record of a node. rank is the number of axes.
func (x *btree2Index) chunk(node *btree2Node, i, rank int) stored {
	size := int(x.h.recSize)
	fields := x.p.cursor(node.recs[i*size:], x.st.addr, "a record of the B-tree is too short")
	chunk := stored{addr: fields.u64(), size: uint64(x.st.chunkSize)}
	if x.h.kind == treeFilteredChunks {
		chunk.size = fields.uint(size - 12 - 8*rank)
		chunk.mask = fields.u32()
	}

	return chunk
}
