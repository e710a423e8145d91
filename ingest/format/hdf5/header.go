package hdf5

// Kinds of header messages.
const (
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgGroupInfo    = 0x0a
	msgFilters      = 0x0b
	msgAttribute    = 0x0c
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
	msgDriver       = 0x14
	msgAttrInfo     = 0x15
	msgLast         = 0x18

	flagShared     = 1 << 1
	flagMustKnow   = 1 << 7
	maxHeaderParts = 1 << 16
)

// message is one entry of an object header.
type message struct {
	kind  uint16
	flags uint8
	order int // of creation, −1 where not recorded
	body  []byte
	addr  uint64
}

// part is a stretch of an object header.
type part struct{ addr, n uint64 }

// header reads all messages of the object header at addr.
func (p *parser) header(addr uint64) (ms []message) {
	const most = 6 + 16 + 4 + 8

	room := uint64(p.size-p.base) - min(addr, uint64(p.size-p.base))
	c := p.cursor(p.bytes(addr, min(room, most)), addr, "an object header reaches beyond the end of the file")

	second := len(c.b) > 3 && string(c.b[:4]) == "OHDR"
	if second {
		c.skip(4)
	}

	version := c.u8()
	p.unless(version == 1 && !second || version == 2 && second, addr, "no object header at address %d", addr)

	fixed, front, parts := 8, 0, []part(nil) // bytes before the body of a message, and before the first message
	if second {
		flags := c.u8()
		fixed = 4 + int(flags>>1&2)

		if flags&(1<<5) != 0 {
			c.skip(16)
		}

		if flags&(1<<4) != 0 {
			c.skip(4)
		}

		size := c.uint(1 << (flags & 3))
		front = c.off
		parts = []part{{addr, uint64(front) + min(size, room) + 4}}
	} else {
		c.skip(7)
		parts = []part{{addr + 16, uint64(c.u32())}}
	}

	for i := 0; i < len(parts); i++ {
		c = p.part(parts[i], i, second)
		c.off = max(c.off, front)
		front = 0

		for c.rest() >= fixed {
			switch m := p.entry(c, fixed); {
			case m.kind == 0:
			case m.kind == msgContinuation:
				p.unless(len(parts) < maxHeaderParts, m.addr, "an object header in more than %d parts", maxHeaderParts)
				b := p.message(m.body, "continuation")
				parts = append(parts, part{b.u64(), b.u64()})
			case m.kind > msgLast && m.flags&flagMustKnow != 0:
				unsupported("header message %#x", m.kind)
			default:
				p.charge(64)
				ms = append(ms, m)
			}
		}
	}

	return ms
}

// part returns part i of an object header, of the second version or the first.
func (p *parser) part(q part, i int, second bool) *cursor {
	switch {
	case second && i == 0:
		return p.checked(q.addr, q.n, "OHDR", "object header")
	case second:
		return p.checked(q.addr, q.n, "OCHK", "object header continuation")
	}

	return p.cursor(p.bytes(q.addr, q.n), q.addr, "a message is longer than its object header")
}

// entry reads a message of so many bytes before its body: 8 in headers of the first version.
func (p *parser) entry(c *cursor, fixed int) message {
	m := message{order: -1, addr: c.addr + uint64(c.off)}
	if fixed == 8 {
		m.kind = c.u16()
	} else {
		m.kind = uint16(c.u8())
	}

	n := int(c.u16())
	m.flags = c.u8()

	switch fixed {
	case 8:
		c.skip(3)
	case 6:
		m.order = int(c.u16())
	}

	p.unless(n <= c.rest(), m.addr, "a message of %d bytes is longer than its object header", n)
	m.body = c.take(n)

	return m
}

// shared returns the body of a message in another object's header, which c names.
func (p *parser) shared(kind uint16, c *cursor) []byte {
	v, t := c.u8(), c.u8()

	switch {
	case v == 1:
		c.skip(6)
	case v == 3 && t == 1:
		unsupported("a message in the table of shared messages")
	case v != 2 && v != 3:
		unsupported("shared message version %d", v)
	}

	addr := c.u64()
	for _, m := range p.header(addr) {
		if m.kind == kind {
			p.unless(m.flags&flagShared == 0, addr, "a shared message that is itself shared")
			return m.body
		}
	}

	p.unless(false, addr, "the shared message %#x is not where it should be", kind)

	return nil
}

// body returns the message's content, here or in another object's header.
func (p *parser) body(m message) []byte {
	if m.flags&flagShared == 0 {
		return m.body
	}

	return p.shared(m.kind, p.message(m.body, "shared"))
}
