package hdf5

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// Class is the kind of a datatype.
type Class int

// Classes of datatypes, numbered as in the format.
const (
	Integer   Class = 0
	Float     Class = 1
	Time      Class = 2
	String    Class = 3 // of fixed length, or of variable length if Type.Variable
	Bits      Class = 4 // read as unsigned integers
	Opaque    Class = 5
	Compound  Class = 6
	Reference Class = 7
	Enum      Class = 8 // read as the integers behind the names; h5py stores bool so
	Sequence  Class = 9 // of variable length
	Array     Class = 10
	Complex   Class = 11
)

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
	Signed    bool // integers and enums
	BigEndian bool
	Variable  bool     // strings of variable length
	Members   []Member // of a compound

	numeric   bool
	stored    raw.Kind // of numbers
	pad       uint8    // of strings: 0 NUL-terminated, 1 NUL-padded, 2 blank-padded
	base      *Type    // of sequences and arrays
	objectRef bool
	why       string // what keeps a number from being read, "" if nothing
}

// Member is a field of a compound.
type Member struct {
	Name   string
	Offset int // byte within the element
	Type   Type
}

// unsigned and signed are the kinds of integers all bits of which count, by their bytes.
var (
	unsigned = map[int]raw.Kind{1: raw.U8, 2: raw.U16, 4: raw.U32, 8: raw.U64}
	signed   = map[int]raw.Kind{1: raw.I8, 2: raw.I16, 4: raw.I32, 8: raw.I64}
)

// String reads like "float32 little-endian", "string of 16 bytes", "compound of 3 fields".
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
	case Integer, Enum:
		of := map[Class]string{Enum: "enum of "}[t.Class]
		return fmt.Sprintf("%s%sint%d%s", of, sign, 8*t.Size, end)
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

func (p *parser) typ(c *cursor, depth int) Type {
	supported(depth <= 16, "a datatype nested more than 16 deep")

	p.charge(256)

	cv := c.u8()
	version := int(cv >> 4)
	t := Type{Class: Class(cv & 15)}
	flags := c.uint(3)
	size := c.u32()
	p.unless(size > 0 && size <= math.MaxInt32, undefined, "a datatype of %d bytes", size)
	t.Size = int(size)

	supported(version >= 1 && version <= 5, "datatype version %d", version)

	switch t.Class {
	case Integer, Bits:
		t.BigEndian = flags&1 != 0
		t.Signed = t.Class == Integer && flags&8 != 0

		kinds := unsigned
		if t.Signed {
			kinds = signed
		}

		t.stored, t.numeric = kinds[t.Size]
		t.whole("integer", c.u16(), c.u16())
	case Float:
		t.BigEndian = flags&1 != 0
		first, bits := c.u16(), c.u16()
		form := floatForm{uint8(flags >> 8), c.u8(), c.u8(), c.u8(), c.u8(), c.u32()}
		if t.stored, t.numeric = floats[form]; flags>>4&7 != 2 { // a mantissa with an implied bit, of no VAX
			t.numeric = false
		}

		t.numeric = t.numeric && t.Size == t.stored.Bytes()
		t.whole("float", first, bits)
	case Time:
		c.skip(2)
	case String:
		t.pad = uint8(flags & 15)
	case Opaque:
		c.skip(int(flags & 0xff))
	case Reference:
		t.objectRef = flags&15 == 0 && version < 4
	case Compound:
		p.compound(c, &t, int(flags&0xffff), version, depth)
	case Enum:
		t = p.enum(c, t, int(flags&0xffff), version, depth)
	case Sequence:
		p.sequence(c, &t, flags, depth)
	case Array:
		n := 4 * int(c.u8())
		if version < 3 {
			n = 3 + 2*n
		}

		c.skip(n)
		base := p.typ(c, depth+1)
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

// compound reads the fields of a compound.
func (p *parser) compound(c *cursor, t *Type, fields, version, depth int) {
	for range fields {
		m := Member{Name: c.text(version < 3)}
		if version < 3 {
			m.Offset = int(c.u32())
		} else {
			m.Offset = int(c.uint(encSize(uint64(t.Size))))
		}

		if version == 1 {
			supported(c.u8() == 0, "a field of a compound that is an array of version 1")

			c.skip(3 + 4 + 4 + 16)
		}

		m.Type = p.typ(c, depth+1)
		p.unless(m.Offset >= 0 && m.Offset <= t.Size && m.Type.Size <= t.Size-m.Offset, undefined,
			"a field of a compound reaches beyond its end")
		t.Members = append(t.Members, m)
	}
}

// enum reads the base of an enum and passes its names and values.
func (p *parser) enum(c *cursor, t Type, names, version, depth int) Type {
	base := p.typ(c, depth+1)
	p.unless(base.Class == Integer && base.Size == t.Size, undefined, "an enum of %s", base)
	base.Class = Enum

	for range names {
		p.charge(32)
		c.text(version < 3)
	}

	c.skip(names * base.Size)

	return base
}

// sequence reads a type of variable length: strings, or sequences of a base type.
func (p *parser) sequence(c *cursor, t *Type, flags uint64, depth int) {
	t.Variable = true
	t.pad = uint8(flags >> 4 & 15)

	base := p.typ(c, depth+1)
	if flags&15 == 1 {
		t.Class = String
	} else {
		t.base = &base
	}

	p.unless(t.Size >= 16, undefined, "variable-length elements of %d bytes", t.Size)
}

// whole keeps numbers whose bits all count.
func (t *Type) whole(what string, first, bits uint16) {
	if t.numeric = t.numeric && first == 0 && int(bits) == 8*t.Size; !t.numeric {
		t.why = fmt.Sprintf("datatype %s of %d bits in %d bytes", what, bits, t.Size)
	}
}

// floatForm is where the parts of a float are: the first bits of sign and exponent, the bits of
// the exponent, the same of the mantissa, and the exponent's bias.
type floatForm struct {
	sign, exp, expBits, man, manBits uint8
	bias                             uint32
}

var floats = map[floatForm]raw.Kind{
	{15, 10, 5, 0, 10, 15}: raw.F16, {31, 23, 8, 0, 23, 127}: raw.F32, {63, 52, 11, 0, 52, 1023}: raw.F64,
}

// integer writes an element of an integer type.
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

// floats reads elements that lie stride bytes apart, the first at the start of src.
func (t *Type) floats(dst []float64, src []byte, stride int) {
	raw.Decode(dst, src, t.stored, t.BigEndian, stride)
}

// text returns an element of a string type of fixed length.
func (t *Type) text(b []byte) string {
	b = b[:t.Size]
	switch t.pad {
	case 0:
		b = cut(b)
	case 2:
		b = bytes.TrimRight(b, " \x00")
	default:
		b = bytes.TrimRight(b, "\x00")
	}

	return raw.Latin1(b)
}

// variable returns the bytes of an element of variable length.
func (p *parser) variable(h globalHeaps, b []byte, size int) []byte {
	c := p.cursor(b, undefined, "a variable-length element is too short")
	n := uint64(c.u32())
	addr, index := c.u64(), c.u32()
	if n == 0 || addr == 0 || addr == undefined {
		return nil
	}

	v := h.get(p, addr, index)
	total, ok := times(n, uint64(size))
	p.unless(ok && total <= uint64(len(v)), addr,
		"a variable-length element of %d is longer than its object in the global heap", n)

	return v[:total]
}

// strings reads n elements as text.
func (p *parser) strings(h globalHeaps, t *Type, b []byte, n int) []string {
	supported(t.Class == String, "datatype %s", t)

	out := make([]string, 0, n)
	for i := range n {
		e := b[i*t.Size : (i+1)*t.Size]

		var s string
		if t.Variable {
			s = raw.Latin1(cut(p.variable(h, e, 1)))
		} else {
			s = t.text(e)
		}

		p.charge(int64(len(s)) + 16)
		out = append(out, s)
	}

	return out
}

// space is a dataspace.
type space struct {
	null bool
	dims []uint64
	max  []uint64 // undefined: unlimited
}

// dataspace reads a dataspace message.
func (p *parser) dataspace(b []byte) (s space) {
	c := p.message(b, "dataspace")
	version, rank, flags := c.u8(), int(c.u8()), c.u8()

	switch version {
	case 1:
		c.skip(5)
	case 2:
		s.null = c.u8() == 2
	default:
		unsupported("dataspace version %d", version)
	}

	p.unless(rank <= maxRank, undefined, "%d axes: the format allows %d", rank, maxRank)

	axis := func(int) uint64 { return c.u64() }
	s.dims = lists.Make(rank, axis)
	s.max = s.dims
	if flags&1 != 0 {
		s.max = lists.Make(rank, axis)
	}

	if s.null {
		s.dims, s.max = nil, nil
	}

	n := uint64(1)
	for _, d := range s.dims {
		var ok bool
		n, ok = times(n, max(d, 1)) // an empty axis does not make the others harmless
		p.unless(ok && n <= 1<<56, undefined, "a dataspace of more than 2^56 elements")
	}

	return s
}

// count is the number of elements.
func (s space) count() uint64 {
	if s.null {
		return 0
	}

	n := uint64(1)
	for _, d := range s.dims {
		n *= d
	}

	return n
}

// dimsInt are the dims as the package's users see them, nil for a scalar.
func (s space) dimsInt() []int64 {
	return lists.Each(s.dims, func(d uint64) int64 { return int64(d) })
}
