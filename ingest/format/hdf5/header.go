package hdf5

import "doubletake/ingest/format/internal/decode"

// Kinds of header messages ("Disk Format: Level 2A2 - Data Object Header Messages").
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
	msgLast         = 0x18 // the last kind of version 3.0 of the specification
)

// Flags of messages.
const (
	flagShared   = 1 << 1 // the body only says where the message is: in another object's header
	flagMustKnow = 1 << 7 // a reader that does not know the kind of the message must not read the object
)

// maxHeaderParts bounds the parts of an object header.
const maxHeaderParts = 1 << 16

// message is a message of an object header.
type message struct {
	kind  uint16
	flags uint8
	order int // order of creation of an attribute; −1 if not recorded
	body  []byte
	addr  uint64 // of the message
}

// part is a part of an object header: n bytes at an address.
type part struct{ addr, n uint64 }

// tryHeader does what header does, but returns the error that header raises.
func (p *parser) tryHeader(addr uint64) (ms []message, err error) {
	defer decode.Catch(&err)
	return p.header(addr), nil
}

// header returns the messages of the object header at addr ("Disk Format: Level 2A1 - Data Object Headers"). Messages
// of kind 0 are padding and are left out. A continuation message names another part of the header.
func (p *parser) header(addr uint64) []message {
	form := p.headerForm(addr)
	parts := []part{form.first}

	var ms []message
	for i := 0; i < len(parts); i++ {
		fields := p.part(parts[i], i == 0, form.isVersion2)
		if i == 0 {
			fields.pos = max(fields.pos, form.front)
		}

		for fields.rest() >= form.fixed {
			switch msg := p.entry(fields, form.fixed); {
			case msg.kind == 0:
			case msg.kind == msgContinuation:
				p.unless(len(parts) < maxHeaderParts, msg.addr, "an object header in more than %d parts", maxHeaderParts)
				b := p.message(msg.body, "continuation")
				parts = append(parts, part{b.u64(), b.u64()})
			case msg.kind > msgLast && msg.flags&flagMustKnow != 0:
				unsupported("header message %#x", msg.kind)
			default:
				p.charge(64)
				ms = append(ms, msg)
			}
		}
	}

	return ms
}

// headerForm says where the messages of an object header lie.
type headerForm struct {
	isVersion2 bool
	first      part
	front      int // bytes of the first part before its first message
	fixed      int // bytes before the body of each message
}

// headerForm reads the form of the object header at addr. Version 1 has 16 bytes before its messages: the version, 7
// bytes that are not used here, the size of the messages in 4 bytes, and 4 bytes of padding.
func (p *parser) headerForm(addr uint64) headerForm {
	const most = 6 + 16 + 4 + 8 // bytes before the messages in version 2

	room := uint64(p.size-p.base) - min(addr, uint64(p.size-p.base)) // bytes of the file from addr on
	fields := p.cursor(p.bytes(addr, min(room, most)), addr, "an object header reaches beyond the end of the file")

	if len(fields.b) > 3 && string(fields.b[:4]) == "OHDR" {
		fields.skip(4)
		return p.headerForm2(fields, addr, room)
	}

	p.unless(fields.u8() == 1, addr, "no object header at address %d", addr)
	fields.skip(7)

	return headerForm{first: part{addr: addr + 16, n: uint64(fields.u32())}, fixed: 8}
}

// headerForm2 reads the form of an object header of version 2 at addr, from behind its signature. room is the number of
// bytes of the file from addr on. The header has the version, flags, 16 bytes of times if the flags say so, 4 bytes of
// limits of attributes if the flags say so, and the size of the messages in 1, 2, 4 or 8 bytes. A checksum ends it.
func (p *parser) headerForm2(fields *cursor, addr, room uint64) headerForm {
	const (
		hasOrder  = 1 << 2 // messages have 2 bytes with the order of creation
		hasLimits = 1 << 4
		hasTimes  = 1 << 5
		checksum  = 4
	)

	p.unless(fields.u8() == 2, addr, "no object header at address %d", addr)
	flags := fields.u8()

	if flags&hasTimes != 0 {
		fields.skip(16)
	}

	if flags&hasLimits != 0 {
		fields.skip(4)
	}

	form := headerForm{isVersion2: true, fixed: 4}
	if flags&hasOrder != 0 {
		form.fixed = 6
	}

	size := fields.uint(1 << (flags & 3))
	form.front = fields.pos
	form.first = part{addr: addr, n: uint64(form.front) + min(size, room) + checksum}

	return form
}

// part returns a part of an object header. Version 2 marks the first part and the others by their signatures.
func (p *parser) part(place part, isFirst, isVersion2 bool) *cursor {
	switch {
	case isVersion2 && isFirst:
		return p.checked(place.addr, place.n, "OHDR", "object header")
	case isVersion2:
		return p.checked(place.addr, place.n, "OCHK", "object header continuation")
	}

	return p.cursor(p.bytes(place.addr, place.n), place.addr, "a message is longer than its object header")
}

// entry reads a message with fixed bytes before its body. In version 1 of the header, these are 8: the kind in 2
// bytes, the size of the body in 2 bytes, flags, and 3 bytes of padding. In version 2, these are 4, or 6 if the order
// of creation is recorded: the kind in 1 byte, the size of the body in 2 bytes, flags, and the order of creation in 2
// bytes.
func (p *parser) entry(fields *cursor, fixed int) message {
	msg := message{order: -1, addr: fields.addr + uint64(fields.pos)}
	if fixed == 8 {
		msg.kind = fields.u16()
	} else {
		msg.kind = uint16(fields.u8())
	}

	n := int(fields.u16())
	msg.flags = fields.u8()

	switch fixed {
	case 8:
		fields.skip(3)
	case 6:
		msg.order = int(fields.u16())
	}

	p.unless(n <= fields.rest(), msg.addr, "a message of %d bytes is longer than its object header", n)
	msg.body = fields.take(n)

	return msg
}

// shared returns the body of a message of a kind in another object's header. fields are the body of the message that
// names that header ("Shared Message").
func (p *parser) shared(kind uint16, fields *cursor) []byte {
	version := fields.u8()
	place := fields.u8()

	switch {
	case version == 1:
		fields.skip(6)
	case version == 3 && place == 1:
		unsupported("a message in the table of shared messages")
	case version != 2 && version != 3:
		unsupported("shared message version %d", version)
	}

	addr := fields.u64()
	for _, msg := range p.header(addr) {
		if msg.kind == kind {
			p.unless(msg.flags&flagShared == 0, addr, "a shared message that is itself shared")
			return msg.body
		}
	}

	decode.Raise(p.errorf(addr, "the shared message %#x is not where it should be", kind))

	return nil // never: Raise does not return
}

// body returns the body of a message, from another object's header if the message is shared.
func (p *parser) body(msg message) []byte {
	if msg.flags&flagShared == 0 {
		return msg.body
	}

	return p.shared(msg.kind, p.message(msg.body, "shared"))
}
