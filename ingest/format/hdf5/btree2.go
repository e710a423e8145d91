package hdf5

import (
	"iter"
	"math/bits"
)

// Kinds of B-trees of version 2 that are read: their records ("Version 2 B-trees").
const (
	treeLinkNames      = 5  // links of a group, by name
	treeAttributeNames = 8  // attributes of an object, by name
	treeChunks         = 10 // chunks without filters
	treeFilteredChunks = 11 // chunks with filters
)

// treeFront is the number of bytes of a node that are neither records nor children: 4 of the signature, 1 of the
// version, 1 of the kind, and 4 of the checksum.
const treeFront = 10

// maxTreeDepth bounds the number of levels above the leaves. A tree of two children for each node would have 2^32
// leaves.
const maxTreeDepth = 32

// btree2Header is the header of a B-tree of version 2. A tree has records in all nodes. A node with n records has n + 1
// children, unless it is a leaf.
type btree2Header struct {
	kind     int
	nodeSize uint64 // bytes of a node
	recSize  uint64 // bytes of a record
	depth    int    // number of levels above the leaves
	root     btree2Child
	recsLen  int   // bytes of a field for the number of records of a node
	sumLen   []int // bytes of a field for the number of records below a node, by the node's level above the leaves
}

// btree2Node is a node of a tree.
type btree2Node struct {
	recs     []byte        // records, one after another
	children []btree2Child // nil for a leaf
}

// btree2Child says where a node is.
type btree2Child struct {
	addr uint64
	n    int // number of records in the node
}

// btree2Header reads the header at an address: signature, version, kind, size of a node (4 bytes), size of a record
// (2), depth (2), two percentages, address of the root (8), its number of records (2), number of all records (8),
// checksum.
func (p *parser) btree2Header(addr uint64) *btree2Header {
	fields := p.checked(addr, 4+1+1+4+2+2+1+1+8+2+8+4, "BTHD", "B-tree header")
	v := fields.u8()
	p.unless(v == 0, addr, "version 2 B-tree of version %d", v)

	header := &btree2Header{
		kind: int(fields.u8()), nodeSize: uint64(fields.u32()), recSize: uint64(fields.u16()), depth: int(fields.u16()),
	}
	fields.skip(2)
	header.root = btree2Child{fields.u64(), int(fields.u16())}

	p.countWidths(header, addr)

	return header
}

// countWidths computes the number of bytes of each count of records. The file does not state it: a count has as many
// bytes as the largest number that the nodes have room for. addr is the address of the header, for errors.
func (p *parser) countWidths(header *btree2Header, addr uint64) {
	const contradiction = "the sizes of the B-tree contradict each other"
	p.unless(header.recSize > 0 && header.nodeSize >= treeFront+header.recSize, addr, contradiction)
	p.unless(header.depth <= maxTreeDepth, addr, contradiction)

	leaf := (header.nodeSize - treeFront) / header.recSize // largest number of records of a leaf
	header.recsLen = encSize(leaf)
	header.sumLen = []int{0}

	total := leaf // largest number of records of a node and of all nodes below it, from level to level
	for range header.depth {
		child := uint64(8 + header.recsLen + header.sumLen[len(header.sumLen)-1]) // bytes of a child in its parent
		p.unless(header.nodeSize >= treeFront+child, addr, contradiction)

		inner := (header.nodeSize - treeFront - child) / (header.recSize + child) // largest number of records of the node
		overflow, below := bits.Mul64(inner+1, total)
		p.unless(overflow == 0 && below+inner >= below, addr, "the B-tree is too deep")

		total = below + inner
		header.sumLen = append(header.sumLen, encSize(total))
	}
}

// btree2Node reads a node that is depth levels above the leaves.
func (p *parser) btree2Node(header *btree2Header, child btree2Child, depth int) *btree2Node {
	size := treeFront + uint64(child.n)*header.recSize
	sig := "BTLF"

	if depth > 0 {
		size += uint64(child.n+1) * uint64(8+header.recsLen+header.sumLen[depth-1])
		sig = "BTIN"
	}

	p.unless(size <= header.nodeSize, child.addr, "a node of the B-tree has more records than fit")

	fields := p.checked(child.addr, size, sig, "node of a B-tree")
	version := fields.u8()
	kind := int(fields.u8())
	p.unless(version == 0 && kind == header.kind, child.addr, "a node of the B-tree is of another kind than the tree")

	node := &btree2Node{recs: fields.take(child.n * int(header.recSize))}
	if depth > 0 {
		p.charge(int64(child.n+1) * 16)

		node.children = make([]btree2Child, child.n+1)
		for i := range node.children {
			node.children[i] = btree2Child{fields.u64(), int(fields.uint(header.recsLen))}
			fields.skip(header.sumLen[depth-1])
		}
	}

	return node
}

// minRecord is the least size of a record in bytes, on which callers of btree2 rely.
const minRecord = 8

// btree2 returns the records of the tree whose header is at addr, in their order. The tree must have the given kind.
// what names the things in the index, for errors. The iteration raises the errors of the tree, as the parser's methods
// do, where the loop over the records runs.
func (p *parser) btree2(addr uint64, kind int, what string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		header := p.btree2Header(addr)
		if header.root.addr == undefined {
			return
		}

		p.unless(header.kind == kind, addr, "the index of %s is of kind %d, not %d", what, header.kind, kind)
		p.unless(header.recSize >= minRecord, addr, "the index of %s has records of %d bytes", what, header.recSize)
		p.walkNode(header, header.root, header.depth, yield)
	}
}

// walkNode passes the records of a node and of the nodes below it to yield. It returns false as soon as yield does.
// depth is the level of the node above the leaves.
func (p *parser) walkNode(header *btree2Header, child btree2Child, depth int, yield func([]byte) bool) bool {
	size := int(header.recSize)
	node := p.btree2Node(header, child, depth)
	for i := 0; i <= child.n; i++ {
		if depth > 0 && !p.walkNode(header, node.children[i], depth-1, yield) {
			return false
		}

		if i < child.n && !yield(node.recs[i*size:(i+1)*size]) {
			return false
		}
	}

	return true
}
