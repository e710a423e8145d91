package hdf5

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/format/internal/raw"
)

// links reads the entries of a group, from whichever of its three forms.
func (p *parser) links(ms []message) (ls []Link) {
	for _, m := range ms {
		switch m.kind {
		case msgSymbolTable:
			c := p.message(m.body, "symbol table")
			tree := c.u64()
			ls = p.symbols(ls, tree, p.localHeap(c.u64()), -1)
		case msgLink:
			ls = append(ls, p.link(m.body))
		case msgLinkInfo:
			p.dense(m, "link", 5, func(rec []byte, h *fractalHeap) { ls = append(ls, p.link(h.get(rec[4:]))) })
		}
	}

	slices.SortStableFunc(ls, func(a, b Link) int {
		switch {
		case a.ordered && b.ordered:
			return cmp.Compare(a.order, b.order)
		case a.ordered:
			return -1
		case b.ordered:
			return 1
		}

		return strings.Compare(a.Name, b.Name)
	})

	return ls
}

// dense calls visit with the records of the index of links or attributes that a message names
// and the heap that holds them; a record of that kind has at least 8 bytes.
func (p *parser) dense(m message, what string, kind int, visit func(rec []byte, h *fractalHeap)) {
	c := p.message(m.body, what+" info")
	v := c.u8()
	supported(v == 0, "%s info version %d", what, v)

	if c.u8()&1 != 0 {
		c.skip(map[string]int{"link": 8, "attribute": 2}[what]) // the largest order of creation
	}

	heap, names := c.u64(), c.u64()
	if heap == undefined || names == undefined {
		return
	}

	h := p.fractalHeap(heap)
	p.btree2(names, kind, what+"s", func(rec []byte) {
		p.unless(len(rec) >= 8, names, "the index of %ss has records of %d bytes", what, len(rec))
		visit(rec, h)
	})
}

// link reads one link message.
func (p *parser) link(b []byte) (l Link) {
	p.charge(128 + int64(len(b)))

	c := p.message(b, "link")
	v := c.u8()
	supported(v == 1, "link message version %d", v)

	flags := c.u8()

	kind := uint8(0)
	if flags&(1<<3) != 0 {
		kind = c.u8()
	}

	if flags&(1<<2) != 0 {
		l.order, l.ordered = int64(c.u64()), true
	}

	if flags&(1<<4) != 0 {
		c.skip(1)
	}

	n := c.uint(1 << (flags & 3))
	p.unless(n <= uint64(c.rest()), undefined, "the name of a link is longer than its message")
	l.Name = raw.Latin1(c.take(int(n)))

	switch kind {
	case 0:
		l.addr = c.u64()
	case 1:
		l.Kind = SoftLink
		l.Target = raw.Latin1(c.take(int(c.u16())))
	case 64:
		l.Kind = ExternalLink
		if v := c.take(int(c.u16())); len(v) > 0 {
			l.Target = strings.Replace(strings.TrimRight(raw.Latin1(v[1:]), "\x00"), "\x00", ":", 1)
		}
	default:
		l.Kind = OtherLink
		l.Target = fmt.Sprintf("kind %d", kind)
	}

	return l
}

// symbols reads the version 1 B-tree of a group down to its symbols. The level
// falls with each step, so it ends. level −1 means the root's own.
func (p *parser) symbols(ls []Link, addr uint64, names []byte, level int) []Link {
	c, n, level := p.btree1Node(addr, 0, 8, level)
	for range n {
		c.skip(8)

		if child := c.u64(); level > 0 {
			ls = p.symbols(ls, child, names, level-1)
		} else {
			ls = p.symbolNode(ls, child, names)
		}
	}

	return ls
}

func (p *parser) symbolNode(ls []Link, addr uint64, names []byte) []Link {
	c := p.block(addr, 8, "SNOD", 1, "symbol table node")
	c.skip(1)
	n := uint64(c.u16())
	c = p.cursor(p.bytes(addr+8, n*40), addr, "a symbol table node is too short")

	name := func(off uint64) string {
		p.unless(off < uint64(len(names)), addr, "a name beyond the local heap")
		s := raw.Latin1(cut(names[off:]))
		p.charge(64 + int64(len(s)))

		return s
	}

	for range n {
		l := Link{Name: name(c.u64()), addr: c.u64()}
		cache := c.u32()
		c.skip(4)

		if target := uint64(c.u32()); cache == 2 {
			l.Kind, l.Target = SoftLink, name(target)
		}

		c.skip(12)
		ls = append(ls, l)
	}

	return ls
}
