package hdf5

import (
	"fmt"
	"sort"
	"strings"

	"doubletake/ingest/format/internal/raw"
)

// links reads the entries of a group, from whichever of its three forms.
func (p *parser) links(ms []message) ([]Link, error) {
	var ls []Link
	for _, m := range ms {
		switch m.kind {
		case msgSymbolTable:
			c := p.cursor(m.body)
			tree, heap := c.addr(), c.addr()

			if c.bad {
				return nil, p.errorf(m.addr, "a symbol table message is too short")
			}

			names, err := p.localHeap(heap)
			if err != nil {
				return nil, err
			}

			if ls, err = p.symbols(ls, tree, names, -1); err != nil {
				return nil, err
			}

		case msgLink:
			l, err := p.link(m.body)
			if err != nil {
				return nil, err
			}

			ls = append(ls, l)

		case msgLinkInfo:
			c := p.cursor(m.body)
			if v := c.u8(); v != 0 {
				return nil, p.unsupported(fmt.Sprintf("link info version %d", v))
			}

			if c.u8()&1 != 0 {
				c.skip(8)
			}

			heap, names := c.addr(), c.addr()

			if c.bad {
				return nil, p.errorf(m.addr, "a link info message is too short")
			}

			if heap == undefined || names == undefined {
				continue
			}

			h, err := p.fractalHeap(heap)
			if err != nil {
				return nil, err
			}

			err = p.btree2(names, func(kind int, rec []byte) error {
				if kind != 5 || len(rec) < 4 {
					return p.errorf(names, "the index of links is of kind %d, not 5", kind)
				}

				b, err := h.get(rec[4:])
				if err != nil {
					return err
				}

				l, err := p.link(b)
				if err == nil {
					ls = append(ls, l)
				}

				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}

	sort.SliceStable(ls, func(i, j int) bool {
		a, b := &ls[i], &ls[j]
		if a.ordered && b.ordered {
			return a.order < b.order
		}

		if a.ordered != b.ordered {
			return a.ordered
		}

		return a.Name < b.Name
	})

	return ls, nil
}

// link reads one link message.
func (p *parser) link(b []byte) (Link, error) {
	if err := p.charge(128 + int64(len(b))); err != nil {
		return Link{}, err
	}

	c := p.cursor(b)
	if v := c.u8(); v != 1 {
		return Link{}, p.unsupported(fmt.Sprintf("link message version %d", v))
	}

	var l Link
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
	if n > uint64(c.rest()) {
		return Link{}, p.errorf(undefined, "the name of a link is longer than its message")
	}

	l.Name = raw.Latin1(c.take(int(n)))
	switch kind {
	case 0:
		l.addr = c.addr()
	case 1:
		l.Kind = SoftLink
		l.Target = raw.Latin1(c.take(int(c.u16())))
	case 64:
		l.Kind = ExternalLink

		v := c.take(int(c.u16()))
		if len(v) > 0 {
			l.Target = strings.Replace(strings.TrimRight(raw.Latin1(v[1:]), "\x00"), "\x00", ":", 1)
		}

	default:
		l.Kind = OtherLink
		l.Target = fmt.Sprintf("kind %d", kind)
	}

	if c.bad {
		return Link{}, p.errorf(undefined, "a link message is too short")
	}

	return l, nil
}

// symbols reads the version 1 B-tree of a group down to its symbols. The level
// falls with each step, so it ends. level −1 means the root's own.
func (p *parser) symbols(ls []Link, addr uint64, names []byte, level int) ([]Link, error) {
	c, n, level, err := p.btree1Node(addr, 0, p.sl, level)
	if err != nil {
		return nil, err
	}

	for range n {
		c.skip(p.sl)

		child := c.addr()
		if level > 0 {
			ls, err = p.symbols(ls, child, names, level-1)
		} else {
			ls, err = p.symbolNode(ls, child, names)
		}

		if err != nil {
			return nil, err
		}
	}

	return ls, nil
}

func (p *parser) symbolNode(ls []Link, addr uint64, names []byte) ([]Link, error) {
	b, err := p.bytes(addr, 8)
	if err != nil {
		return nil, err
	}

	c := p.cursor(b)
	if string(c.take(4)) != "SNOD" || c.u8() != 1 {
		return nil, p.errorf(addr, "no symbol table node (SNOD, version 1) at address %d", addr)
	}

	c.skip(1)

	n := uint64(c.u16())
	if b, err = p.bytes(addr+8, n*uint64(2*p.so+24)); err != nil {
		return nil, err
	}

	c = p.cursor(b)
	name := func(off uint64) (string, error) {
		if off >= uint64(len(names)) {
			return "", p.errorf(addr, "a name beyond the local heap")
		}

		s := raw.Latin1(cut(names[off:]))

		return s, p.charge(64 + int64(len(s)))
	}

	for range n {
		var l Link
		off := c.uint(p.so)
		l.addr = c.addr()
		cache := c.u32()
		c.skip(4)
		target := uint64(c.u32())
		c.skip(12)

		if l.Name, err = name(off); err != nil {
			return nil, err
		}

		if cache == 2 {
			l.Kind = SoftLink
			if l.Target, err = name(target); err != nil {
				return nil, err
			}
		}

		ls = append(ls, l)
	}

	return ls, nil
}
