package hdf5

import "math/bits"

// btree2Header describes a version 2 B-tree.
type btree2Header struct {
	kind     int
	nodeSize uint64
	recSize  uint64
	depth    int
	root     btree2Child
	recsLen  int   // bytes of a number of records
	sumLen   []int // by depth of the child: bytes of its total of records
}

// btree2Node is a node: its records and, unless a leaf, children.
type btree2Node struct {
	recs     []byte
	children []btree2Child
}

type btree2Child struct {
	addr uint64
	n    int
}

func (p *parser) btree2Header(addr uint64) *btree2Header {
	c := p.checked(addr, 4+1+1+4+2+2+1+1+8+2+8+4, "BTHD", "B-tree header")
	v := c.u8()
	p.unless(v == 0, addr, "version 2 B-tree of version %d", v)

	h := &btree2Header{kind: int(c.u8()), nodeSize: uint64(c.u32()), recSize: uint64(c.u16()), depth: int(c.u16())}
	c.skip(2)
	h.root = btree2Child{c.u64(), int(c.u16())}

	// Sizes as the reference library computes them: what a node could hold at
	// most decides how many bytes a count takes.
	const front = 10

	p.unless(h.recSize > 0 && h.nodeSize >= front+h.recSize && h.depth <= 32, addr,
		"the sizes of the B-tree contradict each other")

	most := (h.nodeSize - front) / h.recSize
	total := most
	h.recsLen = encSize(most)
	h.sumLen = []int{0}

	for range h.depth {
		ptr := uint64(8 + h.recsLen + h.sumLen[len(h.sumLen)-1])
		p.unless(h.nodeSize >= front+ptr, addr, "the sizes of the B-tree contradict each other")

		most := (h.nodeSize - front - ptr) / (h.recSize + ptr)
		hi, lo := bits.Mul64(most+1, total)
		p.unless(hi == 0 && lo+most >= lo, addr, "the B-tree is too deep")

		total = lo + most
		h.sumLen = append(h.sumLen, encSize(total))
	}

	return h
}

// btree2Node reads a node, depth levels above the leaves.
func (p *parser) btree2Node(h *btree2Header, at btree2Child, depth int) *btree2Node {
	size := 6 + uint64(at.n)*h.recSize
	sig := "BTLF"

	if depth > 0 {
		size += uint64(at.n+1) * uint64(8+h.recsLen+h.sumLen[depth-1])
		sig = "BTIN"
	}

	p.unless(size+4 <= h.nodeSize, at.addr, "a node of the B-tree holds more records than fit")

	c := p.checked(at.addr, size+4, sig, "node of a B-tree")
	v, k := c.u8(), int(c.u8())
	p.unless(v == 0 && k == h.kind, at.addr, "a node of the B-tree is of another kind than the tree")

	node := &btree2Node{recs: c.take(at.n * int(h.recSize))}
	if depth > 0 {
		p.charge(int64(at.n+1) * 16)

		node.children = make([]btree2Child, at.n+1)
		for i := range node.children {
			node.children[i] = btree2Child{c.u64(), int(c.uint(h.recsLen))}
			c.skip(h.sumLen[depth-1])
		}
	}

	return node
}

// btree2 calls visit with every record of a tree of that kind, in order; what the tree is an index of.
func (p *parser) btree2(addr uint64, kind int, what string, visit func(rec []byte)) {
	h := p.btree2Header(addr)
	if h.root.addr == undefined {
		return
	}

	var walk func(at btree2Child, depth int)

	walk = func(at btree2Child, depth int) {
		node := p.btree2Node(h, at, depth)
		for i := 0; i <= at.n; i++ {
			if depth > 0 {
				walk(node.children[i], depth-1)
			}

			if i < at.n {
				p.unless(h.kind == kind, addr, "the index of %s is of kind %d, not %d", what, h.kind, kind)
				visit(node.recs[i*int(h.recSize) : (i+1)*int(h.recSize)])
			}
		}
	}

	walk(h.root, h.depth)
}
