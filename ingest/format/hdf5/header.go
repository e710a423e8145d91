package hdf5

import (
	"encoding/binary"
	"fmt"
)

// Kinds of header messages.
const (
	msgDataspace    = 0x01
	msgLinkInfo     = 0x02
	msgDatatype     = 0x03
	msgFillOld      = 0x04
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgGroupInfo    = 0x0a
	msgFilters      = 0x0b
	msgAttribute    = 0x0c
	msgSharedTable  = 0x0f
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
func (p *parser) header(addr uint64) ([]message, error) {
	b, err := p.bytes(addr, min(uint64(p.size-p.base)-min(addr, uint64(p.size-p.base)), 16))
	if err != nil {
		return nil, err
	}

	if len(b) >= 4 && string(b[:4]) == "OHDR" {
		return p.header2(addr)
	}

	if len(b) < 16 {
		return nil, p.errorf(addr, "an object header at address %d reaches beyond the end of the file", addr)
	}

	if b[0] != 1 {
		return nil, p.errorf(addr, "no object header at address %d", addr)
	}

	parts := []part{{addr + 16, uint64(binary.LittleEndian.Uint32(b[8:]))}}

	var ms []message
	for i := 0; i < len(parts); i++ {
		block, err := p.bytes(parts[i].addr, parts[i].n)
		if err != nil {
			return nil, err
		}

		c := p.cursor(block)
		for c.rest() >= 8 {
			m := message{order: -1, addr: parts[i].addr + uint64(c.off)}
			m.kind = c.u16()
			n := int(c.u16())
			m.flags = c.u8()
			c.skip(3)

			if m.body = c.take(n); c.bad {
				return nil, p.errorf(m.addr, "a message of %d bytes is longer than its object header", n)
			}

			if ms, parts, err = p.message(ms, parts, m); err != nil {
				return nil, err
			}
		}
	}

	return ms, nil
}

// header2 reads an object header of version 2.
func (p *parser) header2(addr uint64) ([]message, error) {
	const most = 6 + 16 + 4 + 8
	n := min(uint64(p.size-p.base)-addr, most)
	b, err := p.bytes(addr, n)
	if err != nil {
		return nil, err
	}

	c := p.cursor(b)
	c.skip(4)

	if v := c.u8(); v != 2 {
		return nil, p.errorf(addr, "object header version %d", v)
	}

	flags := c.u8()
	if flags&(1<<5) != 0 {
		c.skip(16)
	}

	if flags&(1<<4) != 0 {
		c.skip(4)
	}

	size := c.uint(1 << (flags & 3))
	front := uint64(c.off)

	if c.bad || !p.within(addr, size) {
		return nil, p.errorf(addr, "an object header at address %d reaches beyond the end of the file", addr)
	}

	parts := []part{{addr, front + size + 4}}

	var ms []message
	for i := 0; i < len(parts); i++ {
		sig, what := "OCHK", "object header continuation"
		if i == 0 {
			sig, what = "OHDR", "object header"
		}

		c, err := p.checked(parts[i].addr, parts[i].n, sig, what)
		if err != nil {
			return nil, err
		}

		if i == 0 {
			c.skip(int(front) - 4)
		}

		fixed := 4
		if flags&(1<<2) != 0 {
			fixed = 6
		}

		for c.rest() >= fixed {
			m := message{order: -1, addr: parts[i].addr + uint64(c.off)}
			m.kind = uint16(c.u8())
			n := int(c.u16())

			m.flags = c.u8()
			if fixed == 6 {
				m.order = int(c.u16())
			}

			if m.body = c.take(n); c.bad {
				return nil, p.errorf(m.addr, "a message of %d bytes is longer than its object header", n)
			}

			if ms, parts, err = p.message(ms, parts, m); err != nil {
				return nil, err
			}
		}
	}

	return ms, nil
}

// message files one message, following continuations.
func (p *parser) message(ms []message, parts []part, m message) ([]message, []part, error) {
	switch {
	case m.kind == 0:
		return ms, parts, nil
	case m.kind == msgContinuation:
		c := p.cursor(m.body)
		q := part{c.addr(), c.len()}

		if c.bad {
			return nil, nil, p.errorf(m.addr, "a continuation message is too short")
		}

		if len(parts) >= maxHeaderParts {
			return nil, nil, p.errorf(m.addr, "an object header in more than %d parts", maxHeaderParts)
		}

		return ms, append(parts, q), nil

	case m.kind > msgLast && m.flags&flagMustKnow != 0:
		return nil, nil, p.unsupported(fmt.Sprintf("header message %#x", m.kind))
	}

	if err := p.charge(64); err != nil {
		return nil, nil, err
	}

	return append(ms, m), parts, nil
}

// shared returns the body of a message in another object's header.
func (p *parser) shared(kind uint16, c *cursor) ([]byte, error) {
	v, t := c.u8(), c.u8()
	switch {
	case v == 1:
		c.skip(6)
	case v == 3 && t == 1:
		return nil, p.unsupported("a message in the table of shared messages")
	case v != 2 && v != 3:
		return nil, p.unsupported(fmt.Sprintf("shared message version %d", v))
	}

	addr := c.addr()

	if c.bad {
		return nil, p.errorf(undefined, "a shared message is too short")
	}

	ms, err := p.header(addr)
	if err != nil {
		return nil, err
	}

	for _, m := range ms {
		if m.kind == kind {
			if m.flags&flagShared != 0 {
				return nil, p.errorf(addr, "a shared message that is itself shared")
			}
			return m.body, nil
		}
	}

	return nil, p.errorf(addr, "the shared message %#x is not where it should be", kind)
}

// body returns the message's content, here or in another object's header.
func (p *parser) body(m message) ([]byte, error) {
	if m.flags&flagShared == 0 {
		return m.body, nil
	}
	return p.shared(m.kind, p.cursor(m.body))
}
