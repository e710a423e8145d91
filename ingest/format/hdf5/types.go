package hdf5

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest/format/internal/raw"
)

// Class is the kind of a datatype.
type Class int

// Classes of datatypes, numbered as in the format ("Datatype Message").
const (
	Integer   Class = 0
	Float     Class = 1
	Time      Class = 2
	String    Class = 3 // of fixed length, or of variable length if Type.Variable
	Bits      Class = 4 // read as unsigned integers
	Opaque    Class = 5
	Compound  Class = 6
	Reference Class = 7
	Enum      Class = 8 // read as the integers behind the names; h5py stores bool as an enum
	Sequence  Class = 9 // of variable length
	Array     Class = 10
	Complex   Class = 11
)

// String returns the name of a class for people.
func (c Class) String() string {
	names := [...]string{
		"integer", "float", "time", "string", "bit field", "opaque", "compound", "reference", "enum",
		"sequence", "array", "complex",
	}

	if c >= 0 && int(c) < len(names) {
		return names[c]
	}

	return fmt.Sprintf("class %d", int(c))
}

// Type describes the elements of a dataset or attribute.
type Type struct {
	Class     Class
	Size      int  // bytes of an element in the file
	Signed    bool // integers are signed, also those of enums
	BigEndian bool
	Variable  bool     // elements have variable lengths
	Members   []Member // fields of a compound

	numeric   bool     // elements are numbers that can be read
	stored    raw.Kind // how numbers are stored, if numeric is set
	pad       uint8    // how strings end: padTerminated, padBlanks, or another number for zero bytes
	base      *Type    // type of the elements of a sequence or an array; nil for other classes
	objectRef bool     // references are addresses of objects
	why       string   // why elements cannot be read as numbers; "" if numeric is set
}

// Ways in which a string of fixed length ends.
const (
	padTerminated = 0 // by its first zero byte
	padBlanks     = 2 // by the blanks that fill it
)

// Member is a field of a compound.
type Member struct {
	Name   string
	Offset int // of the field in an element, in bytes
	Type   Type
}

// maxTypeDepth is the deepest nesting of datatypes.
const maxTypeDepth = 16

// unsigned and signed have the kinds of integers without unused bits, by their sizes in bytes.
var (
	unsigned = map[int]raw.Kind{1: raw.U8, 2: raw.U16, 4: raw.U32, 8: raw.U64}
	signed   = map[int]raw.Kind{1: raw.I8, 2: raw.I16, 4: raw.I32, 8: raw.I64}
)

// String describes a type for people: "float32 little-endian", "string of 16 bytes", "compound of 3 fields".
func (t Type) String() string {
	end := " little-endian"
	if t.BigEndian {
		end = " big-endian"
	}

	if t.Size == 1 {
		end = ""
	}

	sign := "u"
	if t.Signed {
		sign = ""
	}

	switch t.Class {
	case Integer:
		return fmt.Sprintf("%sint%d%s", sign, 8*t.Size, end)
	case Enum:
		return fmt.Sprintf("enum of %sint%d%s", sign, 8*t.Size, end)
	case Float:
		return fmt.Sprintf("float%d%s", 8*t.Size, end)
	case Bits:
		return fmt.Sprintf("%d bits%s", 8*t.Size, end)
	case String:
		if t.Variable {
			return "string of variable length"
		}
		return fmt.Sprintf("string of %d bytes", t.Size)

	case Compound:
		return fmt.Sprintf("compound of %d fields", len(t.Members))
	case Sequence, Array:
		if t.base != nil {
			return fmt.Sprintf("%s of %s", t.Class, t.base)
		}

	case Reference:
		if t.objectRef {
			return "object reference"
		}
	}

	return t.Class.String()
}

// datatype reads a datatype message.
func (p *parser) datatype(b []byte) Type { return p.typ(p.message(b, "datatype"), 0) }

// typ reads a datatype: a byte with the version in its upper and the class in its lower half, three bytes of flags, the
// size of an element in 4 bytes, and properties that depend on the class. depth is the number of datatypes around it.
func (p *parser) typ(fields *cursor, depth int) Type {
	supported(depth <= maxTypeDepth, "a datatype nested more than %d deep", maxTypeDepth)

	p.charge(256)

	b := fields.u8()
	version := int(b >> 4)
	t := Type{Class: Class(b & 15)}
	flags := fields.uint(3)
	size := fields.u32()
	p.unless(size > 0 && size <= math.MaxInt32, undefined, "a datatype of %d bytes", size)
	t.Size = int(size)

	supported(version >= 1 && version <= 5, "datatype version %d", version)

	switch t.Class {
	case Integer, Bits:
		fields.integer(&t, flags)
	case Float:
		fields.float(&t, flags)
	case Time:
		fields.skip(2)
	case String:
		t.pad = uint8(flags & 15)
	case Opaque:
		fields.skip(int(flags & 0xff))
	case Reference:
		t.objectRef = flags&15 == 0 && version < 4
	case Compound:
		p.compound(fields, &t, int(flags&0xffff), version, depth)
	case Enum:
		t = p.enum(fields, t, int(flags&0xffff), version, depth)
	case Sequence:
		p.sequence(fields, &t, flags, depth)
	case Array:
		n := 4 * int(fields.u8()) // bytes of the lengths of the axes
		if version < 3 {
			n = 3 + 2*n // with padding, and with a permutation of the axes
		}

		fields.skip(n)
		base := p.typ(fields, depth+1)
		t.base = &base
	case Complex:
	default:
		unsupported("datatype class %d", int(t.Class))
	}

	if !t.numeric && t.why == "" {
		t.why = "datatype " + t.String()
	}

	return t
}

// integer reads the properties of integers and bit fields into typ: the first used bit and the number of used bits, in
// 2 bytes each.
func (c *cursor) integer(typ *Type, flags uint64) {
	typ.BigEndian = flags&1 != 0
	typ.Signed = typ.Class == Integer && flags&8 != 0

	kinds := unsigned
	if typ.Signed {
		kinds = signed
	}

	typ.stored, typ.numeric = kinds[typ.Size]
	first := c.u16()
	typ.requireAllBits("integer", first, c.u16())
}

// float reads the properties of floats into typ: the first used bit and the number of used bits in 2 bytes each, and
// where the parts of a float are. The bit of the sign is in the flags.
func (c *cursor) float(typ *Type, flags uint64) {
	typ.BigEndian = flags&1 != 0
	first := c.u16()
	bits := c.u16()
	form := floatForm{
		sign: uint8(flags >> 8), exp: c.u8(), expBits: c.u8(), man: c.u8(), manBits: c.u8(), bias: c.u32(),
	}

	kind, known := floats[form]
	implied := flags>>4&7 == 2 // the highest bit of the mantissa is implied, and the byte order is not VAX order
	typ.stored = kind
	typ.numeric = known && implied && typ.Size == kind.Bytes()
	typ.requireAllBits("float", first, bits)
}

// compound reads the fields of a compound into typ: the name, the offset and the datatype of each. Names are padded in
// versions 1 and 2. n is the number of fields.
func (p *parser) compound(fields *cursor, typ *Type, n, version, depth int) {
	for range n {
		member := Member{Name: fields.text(version < 3)}
		if version < 3 {
			member.Offset = int(fields.u32())
		} else {
			member.Offset = int(fields.uint(encSize(uint64(typ.Size))))
		}

		if version == 1 {
			supported(fields.u8() == 0, "a field of a compound that is an array of version 1")

			fields.skip(3 + 4 + 4 + 16)
		}

		member.Type = p.typ(fields, depth+1)

		begins := member.Offset >= 0 && member.Offset <= typ.Size
		p.unless(begins && member.Type.Size <= typ.Size-member.Offset, undefined,
			"a field of a compound reaches beyond its end")

		typ.Members = append(typ.Members, member)
	}
}

// enum returns the integer type of an enum, and skips its names and values. names is the number of names.
func (p *parser) enum(fields *cursor, t Type, names, version, depth int) Type {
	base := p.typ(fields, depth+1)
	p.unless(base.Class == Integer && base.Size == t.Size, undefined, "an enum of %s", base)
	base.Class = Enum

	for range names {
		p.charge(32)
		fields.text(version < 3)
	}

	fields.skip(names * base.Size)

	return base
}

// variableSize is the number of bytes of an element of variable length in a dataset: the number of its elements in 4
// bytes, the address of a collection of the global heap in 8 bytes, and an index in that collection in 4 bytes.
const variableSize = 16

// sequence reads a type of variable length into typ: strings, or sequences of a base type.
func (p *parser) sequence(fields *cursor, typ *Type, flags uint64, depth int) {
	typ.Variable = true
	typ.pad = uint8(flags >> 4 & 15)

	base := p.typ(fields, depth+1)
	if flags&15 == 1 {
		typ.Class = String
	} else {
		typ.base = &base
	}

	p.unless(typ.Size >= variableSize, undefined, "variable-length elements of %d bytes", typ.Size)
}

// requireAllBits makes the type one that cannot be read as numbers if elements have unused bits. first is the first
// used bit, bits is the number of used bits, and what names the type.
func (t *Type) requireAllBits(what string, first, bits uint16) {
	t.numeric = t.numeric && first == 0 && int(bits) == 8*t.Size
	if !t.numeric {
		t.why = fmt.Sprintf("datatype %s of %d bits in %d bytes", what, bits, t.Size)
	}
}

// floatForm says where the parts of a float are.
type floatForm struct {
	sign    uint8 // bit of the sign
	exp     uint8 // first bit of the exponent
	expBits uint8 // number of bits of the exponent
	man     uint8 // first bit of the mantissa
	manBits uint8 // number of bits of the mantissa
	bias    uint32
}

// floats has the floats of IEEE 754 by their forms.
var floats = map[floatForm]raw.Kind{
	{sign: 15, exp: 10, expBits: 5, manBits: 10, bias: 15}:    raw.F16,
	{sign: 31, exp: 23, expBits: 8, manBits: 23, bias: 127}:   raw.F32,
	{sign: 63, exp: 52, expBits: 11, manBits: 52, bias: 1023}: raw.F64,
}

// integer returns an element of an integer type as text.
func (t *Type) integer(b []byte) string {
	v := uint64(0)
	for i := range t.Size {
		k := t.Size - 1 - i
		if t.BigEndian {
			k = i
		}

		v = v<<8 | uint64(b[k])
	}

	if shift := 64 - 8*t.Size; t.Signed {
		return strconv.FormatInt(int64(v<<shift)>>shift, 10)
	}

	return strconv.FormatUint(v, 10)
}

// float returns an element of a numeric type.
func (t *Type) float(b []byte) float64 { return raw.Value(t.stored, t.BigEndian, b) }

// floats fills dst with elements of a numeric type. The first is at the beginning of src, and each begins stride bytes
// behind the one before.
func (t *Type) floats(dst []float64, src []byte, stride int) {
	raw.Decode(dst, src, t.stored, t.BigEndian, stride)
}

// text returns an element of a string type of fixed length.
func (t *Type) text(b []byte) string {
	b = b[:t.Size]
	switch t.pad {
	case padTerminated:
		b = cut(b)
	case padBlanks:
		b = bytes.TrimRight(b, " \x00")
	default:
		b = bytes.TrimRight(b, "\x00")
	}

	return raw.Decoded(b)
}

// variable returns the bytes of an element of variable length, from the global heap. size is the number of bytes of
// each of its elements. variable returns nil for an empty element.
func (p *parser) variable(heaps globalHeaps, b []byte, size int) []byte {
	fields := p.cursor(b, undefined, "a variable-length element is too short")
	n := uint64(fields.u32())
	addr := fields.u64()
	index := fields.u32()
	if n == 0 || addr == 0 || addr == undefined {
		return nil
	}

	v := heaps.get(p, addr, index)
	total, ok := times(n, uint64(size))
	p.unless(ok && total <= uint64(len(v)), addr,
		"a variable-length element of %d is longer than its object in the global heap", n)

	return v[:total]
}

// strings returns n elements of a string type as texts.
func (p *parser) strings(heaps globalHeaps, typ *Type, b []byte, n int) []string {
	supported(typ.Class == String, "datatype %s", typ)

	list := make([]string, 0, n)
	for i := range n {
		element := b[i*typ.Size : (i+1)*typ.Size]

		var text string
		if typ.Variable {
			text = raw.Decoded(cut(p.variable(heaps, element, 1)))
		} else {
			text = typ.text(element)
		}

		p.charge(int64(len(text)) + 16)
		list = append(list, text)
	}

	return list
}
