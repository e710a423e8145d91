package hdf5

import "math/bits"

// btree2Header describes a version 2 B-tree.
type btree2Header struct {
	kind     int
	nodeSize uint64
	recSize  uint64
	depth    int
	root     uint64
	rootRecs int
	recsLen  int   // bytes of a number of records
	sumLen   []int // by depth of the child: bytes of its total of records
}

// btree2Node is a node: its records and, unless a leaf, children.
type btree2Node struct {
	recs     []byte
	n        int
	children []btree2Child
}

type btree2Child struct {
	addr uint64
	n    int
}

func (p *parser) btree2Header(addr uint64) (*btree2Header, error) {
	c, err := p.checked(addr, uint64(4+1+1+4+2+2+1+1+p.so+2+p.sl+4), "BTHD", "B-tree header")
	if err != nil {
		return nil, err
	}

	if v := c.u8(); v != 0 {
		return nil, p.errorf(addr, "version 2 B-tree of version %d", v)
	}

	h := &btree2Header{kind: int(c.u8()), nodeSize: uint64(c.u32()), recSize: uint64(c.u16()), depth: int(c.u16())}
	c.skip(2)
	h.root, h.rootRecs = c.addr(), int(c.u16())

	// Sizes as the reference library computes them: what a node could hold at
	// most decides how many bytes a count takes.
	const front = 10
	if h.recSize == 0 || h.nodeSize < front+h.recSize || h.depth > 32 {
		return nil, p.errorf(addr, "the sizes of the B-tree contradict each other")
	}

	most := (h.nodeSize - front) / h.recSize
	total := most
	h.recsLen = encSize(most)
	h.sumLen = []int{0}
	for range h.depth {
		ptr := uint64(p.so + h.recsLen + h.sumLen[len(h.sumLen)-1])
		if h.nodeSize < front+ptr {
			return nil, p.errorf(addr, "the sizes of the B-tree contradict each other")
		}

		most := (h.nodeSize - front - ptr) / (h.recSize + ptr)
		hi, lo := bits.Mul64(most+1, total)
		if hi != 0 || lo+most < lo {
			return nil, p.errorf(addr, "the B-tree is too deep")
		}

		total = lo + most
		h.sumLen = append(h.sumLen, encSize(total))
	}

	return h, nil
}

// btree2Node reads the node at addr, depth levels above the leaves.
func (p *parser) btree2Node(h *btree2Header, addr uint64, n, depth int) (*btree2Node, error) {
	ptr := 0
	size := 6 + uint64(n)*h.recSize

	sig := "BTLF"
	if depth > 0 {
		ptr = p.so + h.recsLen + h.sumLen[depth-1]
		size += uint64(n+1) * uint64(ptr)
		sig = "BTIN"
	}

	if size+4 > h.nodeSize {
		return nil, p.errorf(addr, "a node of the B-tree holds more records than fit")
	}

	c, err := p.checked(addr, size+4, sig, "node of a B-tree")
	if err != nil {
		return nil, err
	}

	if v, k := c.u8(), int(c.u8()); v != 0 || k != h.kind {
		return nil, p.errorf(addr, "a node of the B-tree is of another kind than the tree")
	}

	node := &btree2Node{n: n, recs: c.take(n * int(h.recSize))}
	if depth > 0 {
		if err := p.charge(int64(n+1) * 16); err != nil {
			return nil, err
		}

		node.children = make([]btree2Child, n+1)
		for i := range node.children {
			node.children[i] = btree2Child{c.addr(), int(c.uint(h.recsLen))}
			c.skip(h.sumLen[depth-1])
		}
	}

	if c.bad {
		return nil, p.errorf(addr, "a node of the B-tree is too short")
	}

	return node, nil
}

// btree2 calls visit with the kind of the tree and every record, in order.
func (p *parser) btree2(addr uint64, visit func(kind int, rec []byte) error) error {
	h, err := p.btree2Header(addr)
	if err != nil {
		return err
	}

	if h.root == undefined {
		return nil
	}

	var walk func(addr uint64, n, depth int) error
	walk = func(addr uint64, n, depth int) error {
		node, err := p.btree2Node(h, addr, n, depth)
		if err != nil {
			return err
		}

		for i := 0; i <= n; i++ {
			if depth > 0 {
				if err := walk(node.children[i].addr, node.children[i].n, depth-1); err != nil {
					return err
				}
			}

			if i < n {
				if err := visit(h.kind, node.recs[i*int(h.recSize):(i+1)*int(h.recSize)]); err != nil {
					return err
				}
			}
		}

		return nil
	}

	return walk(h.root, h.rootRecs, h.depth)
}
