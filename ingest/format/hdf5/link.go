package hdf5

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"doubletake/ingest/format/internal/raw"
)

// links returns the links of a group from the messages of its header. A group has one of three forms: a symbol table
// (old files), link messages in its header, or dense links in a heap (if there are many).
func (p *parser) links(ms []message) []Link {
	var list []Link
	for _, msg := range ms {
		switch msg.kind {
		case msgSymbolTable:
			fields := p.message(msg.body, "symbol table")
			tree := fields.u64()
			list = p.symbols(list, tree, p.localHeap(fields.u64()), -1)
		case msgLink:
			list = append(list, p.link(msg.body))
		case msgLinkInfo:
			heap, records := p.dense(msg, "link", treeLinkNames)
			for record := range records { // a hash of the name in 4 bytes, and an ID of the heap
				list = append(list, p.link(heap.get(record[4:])))
			}
		}
	}

	slices.SortStableFunc(list, compareLinks)

	return list
}

// compareLinks orders links by their order of creation. Links without one follow, ordered by name.
func compareLinks(a, b Link) int {
	switch {
	case a.ordered && b.ordered:
		return cmp.Compare(a.order, b.order)
	case a.ordered:
		return -1
	case b.ordered:
		return 1
	}

	return strings.Compare(a.Name, b.Name)
}

// dense returns the heap of links or attributes that a message names, and the records of the index by their names.
// what is "link" or "attribute" ("Link Info Message", "Attribute Info Message"). The index must be a B-tree of the
// given kind. Its records have at least 8 bytes. The heap is nil if there are no records.
func (p *parser) dense(msg message, what string, kind int) (*fractalHeap, iter.Seq[[]byte]) {
	fields := p.message(msg.body, what+" info")
	v := fields.u8()
	supported(v == 0, "%s info version %d", what, v)

	if fields.u8()&1 != 0 { // skip the largest order of creation
		if what == "link" {
			fields.skip(8)
		} else {
			fields.skip(2)
		}
	}

	heap := fields.u64()
	names := fields.u64()
	if heap == undefined || names == undefined {
		return nil, slices.Values([][]byte(nil))
	}

	return p.fractalHeap(heap), p.btree2(names, kind, what+"s")
}

// Kinds of links in link messages. Kinds above 64 are defined by applications.
const (
	linkHard     = 0
	linkSoft     = 1
	linkExternal = 64
)

// link reads a link message ("Link Message"). Behind the version and the flags, fields follow that the flags announce:
// the kind of link, the order of creation in 8 bytes, the character set, the length of the name in 1, 2, 4 or 8 bytes,
// and then the name and the target.
func (p *parser) link(b []byte) (link Link) {
	p.charge(128 + int64(len(b)))

	fields := p.message(b, "link")
	v := fields.u8()
	supported(v == 1, "link message version %d", v)

	flags := fields.u8()

	kind := uint8(linkHard)
	if flags&(1<<3) != 0 {
		kind = fields.u8()
	}

	if flags&(1<<2) != 0 {
		link.order = int64(fields.u64())
		link.ordered = true
	}

	if flags&(1<<4) != 0 {
		fields.skip(1)
	}

	n := fields.uint(1 << (flags & 3))
	p.unless(n <= uint64(fields.rest()), undefined, "the name of a link is longer than its message")
	link.Name = raw.Decoded(fields.take(int(n)))

	switch kind {
	case linkHard:
		link.addr = fields.u64()
	case linkSoft:
		link.Kind = SoftLink
		link.Target = raw.Decoded(fields.take(int(fields.u16())))
	case linkExternal: // a byte of flags, the file and the path, each with a zero byte at its end
		link.Kind = ExternalLink
		if v := fields.take(int(fields.u16())); len(v) > 0 {
			link.Target = strings.Replace(strings.TrimRight(raw.Decoded(v[1:]), "\x00"), "\x00", ":", 1)
		}
	default:
		link.Kind = OtherLink
		link.Target = fmt.Sprintf("kind %d", kind)
	}

	return link
}

// symbols appends the links of a symbol table to ls. addr is the address of a node of the group's B-tree of version 1,
// and names is the local heap with the names. The node must have the given level, unless that is −1, for the root. The
// level falls with each step, so the recursion ends.
func (p *parser) symbols(ls []Link, addr uint64, names []byte, level int) []Link {
	fields, n, level := p.btree1Node(addr, 0, 8, level)
	for range n {
		fields.skip(8)

		if child := fields.u64(); level > 0 {
			ls = p.symbols(ls, child, names, level-1)
		} else {
			ls = p.symbolNode(ls, child, names)
		}
	}

	return ls
}

// symbolNode appends the links of a symbol table node to ls ("Group Symbol Table Nodes"). A node has 8 bytes and then
// entries of 40 bytes: the offset of the name in the local heap, the address of the object's header (8 bytes each),
// the cache type (4 bytes), 4 bytes that are not used, and a scratch-pad of 16 bytes. If the cache type is 2, the
// entry is a soft link, and the scratch-pad begins with the offset of its target in the local heap (4 bytes).
func (p *parser) symbolNode(ls []Link, addr uint64, names []byte) []Link {
	fields := p.block(addr, 8, "SNOD", 1, "symbol table node")
	fields.skip(1)
	n := uint64(fields.u16())
	fields = p.cursor(p.bytes(addr+8, n*symbolSize), addr, "a symbol table node is too short")

	for range n {
		link := Link{Name: p.symbolName(addr, fields.u64(), names), addr: fields.u64()}
		cache := fields.u32()
		fields.skip(4)

		target := uint64(fields.u32())
		if cache == cacheSoftLink {
			link.Kind = SoftLink
			link.Target = p.symbolName(addr, target, names)
		}

		fields.skip(12)
		ls = append(ls, link)
	}

	return ls
}

const (
	symbolSize    = 40 // bytes of an entry of a symbol table
	cacheSoftLink = 2  // cache type of a soft link
)

// symbolName returns the name at an offset of a local heap. addr is the address of the symbol table node, for errors.
func (p *parser) symbolName(addr, offset uint64, names []byte) string {
	p.unless(offset < uint64(len(names)), addr, "a name beyond the local heap")

	name := raw.Decoded(cut(names[offset:]))
	p.charge(64 + int64(len(name)))

	return name
}
