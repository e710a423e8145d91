package hdf5

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"

	"doubletake/ingest/format/internal/raw"
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

	conv      conv
	stored    raw.Kind
	lead      int // lowest bit that counts
	prec      int // bits that count
	signBit   int
	expBit    int
	expLen    int
	manBit    int
	manLen    int
	bias      int64
	pad       uint8 // of strings: 0 NUL-terminated, 1 NUL-padded, 2 blank-padded
	base      *Type // of sequences and arrays
	objectRef bool
	why       string // what keeps a number from being read, "" if nothing
}

// Member is a field of a compound.
type Member struct {
	Name   string
	Offset int // byte within the element
	Type   Type
}

// conv is how bytes become a float64.
type conv int

const (
	convNone  conv = iota
	convWhole      // of the kind Type.stored, many at once
	convInt        // integers of odd sizes
	convFloat      // floats of odd sizes
)

// unsigned and signed are the kinds of integers all bits of which count, by their bytes.
var (
	unsigned = map[int]raw.Kind{1: raw.U8, 2: raw.U16, 4: raw.U32, 8: raw.U64}
	signed   = map[int]raw.Kind{1: raw.I8, 2: raw.I16, 4: raw.I32, 8: raw.I64}
)

// Numeric reports whether elements are read as numbers.
func (t Type) Numeric() bool { return t.conv != convNone }

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
func (p *parser) datatype(b []byte) (Type, error) {
	c := p.cursor(b)
	t, err := p.typ(c, 0)
	if err == nil && c.bad {
		err = p.errorf(undefined, "a datatype message is too short")
	}

	return t, err
}

func (p *parser) typ(c *cursor, depth int) (Type, error) {
	if depth > 16 {
		return Type{}, p.unsupported("a datatype nested more than 16 deep")
	}

	if err := p.charge(256); err != nil {
		return Type{}, err
	}

	cv := c.u8()
	version := int(cv >> 4)
	t := Type{Class: Class(cv & 15)}
	flags := c.uint(3)
	size := c.u32()

	if c.bad {
		return t, p.errorf(undefined, "a datatype message is too short")
	}

	if size == 0 || size > math.MaxInt32 {
		return t, p.errorf(undefined, "a datatype of %d bytes", size)
	}

	t.Size = int(size)
	if version < 1 || version > 5 {
		return t, p.unsupported(fmt.Sprintf("datatype version %d", version))
	}

	switch t.Class {
	case Integer, Bits:
		t.BigEndian = flags&1 != 0
		t.Signed = t.Class == Integer && flags&8 != 0
		t.lead, t.prec = int(c.u16()), int(c.u16())
		t.setInt()

	case Float:
		t.BigEndian = flags&1 != 0
		t.lead, t.prec = int(c.u16()), int(c.u16())
		t.expBit, t.expLen, t.manBit, t.manLen = int(c.u8()), int(c.u8()), int(c.u8()), int(c.u8())
		t.bias, t.signBit = int64(c.u32()), int(flags>>8&0xff)
		t.setFloat(flags)

	case Time:
		c.skip(2)
	case String:
		t.pad = uint8(flags & 15)
	case Opaque:
		c.skip(int(flags & 0xff))
	case Reference:
		t.objectRef = flags&15 == 0 && version < 4
	case Compound:
		if err := p.compound(c, &t, int(flags&0xffff), version, depth); err != nil {
			return t, err
		}

	case Enum:
		var err error
		if t, err = p.enum(c, t, int(flags&0xffff), version, depth); err != nil {
			return t, err
		}

	case Sequence:
		if err := p.sequence(c, &t, flags, depth); err != nil {
			return t, err
		}

	case Array:
		n := int(c.u8())

		if version < 3 {
			c.skip(3)
		}

		c.skip(4 * n)

		if version < 3 {
			c.skip(4 * n)
		}

		base, err := p.typ(c, depth+1)
		if err != nil {
			return t, err
		}

		t.base = &base

	case Complex:
	default:
		return t, p.unsupported(fmt.Sprintf("datatype class %d", int(t.Class)))
	}

	if c.bad {
		return t, p.errorf(undefined, "a datatype message is too short")
	}

	if t.conv == convNone && t.why == "" {
		t.why = "datatype " + t.String()
	}

	return t, nil
}

// compound reads the fields of a compound.
func (p *parser) compound(c *cursor, t *Type, fields, version, depth int) error {
	for range fields {
		m := Member{Name: c.text(version < 3)}
		if version < 3 {
			m.Offset = int(c.u32())
		} else {
			m.Offset = int(c.uint(encSize(uint64(t.Size))))
		}

		dims := uint8(0)
		if version == 1 {
			dims = c.u8()
			c.skip(3 + 4 + 4 + 16)
		}

		var err error
		if m.Type, err = p.typ(c, depth+1); err != nil {
			return err
		}

		if dims > 0 {
			base := m.Type
			m.Type = Type{Class: Array, Size: t.Size - m.Offset, base: &base}
		}

		if m.Offset < 0 || m.Offset > t.Size || m.Type.Size > t.Size-m.Offset {
			return p.errorf(undefined, "a field of a compound reaches beyond its end")
		}

		t.Members = append(t.Members, m)
	}

	return nil
}

// enum reads the base of an enum and passes its names and values.
func (p *parser) enum(c *cursor, t Type, names, version, depth int) (Type, error) {
	base, err := p.typ(c, depth+1)
	if err != nil {
		return t, err
	}

	if base.Class != Integer || base.Size != t.Size {
		return t, p.errorf(undefined, "an enum of %s", base)
	}

	base.Class = Enum
	for range names {
		if err := p.charge(32); err != nil {
			return base, err
		}

		c.text(version < 3)
	}

	c.skip(names * base.Size)

	return base, nil
}

// sequence reads a type of variable length: strings, or sequences of a base type.
func (p *parser) sequence(c *cursor, t *Type, flags uint64, depth int) error {
	t.Variable = true
	t.pad = uint8(flags >> 4 & 15)

	base, err := p.typ(c, depth+1)
	if err != nil {
		return err
	}

	if flags&15 == 1 {
		t.Class = String
	} else {
		t.base = &base
	}

	if t.Size < 4+p.so+4 {
		return p.errorf(undefined, "variable-length elements of %d bytes", t.Size)
	}

	return nil
}

// setInt decides how integers are read.
func (t *Type) setInt() {
	if t.Size > 8 || t.prec < 1 || t.lead+t.prec > 8*t.Size {
		t.why = fmt.Sprintf("datatype integer of %d bits in %d bytes", t.prec, t.Size)
		return
	}

	kinds := unsigned
	if t.Signed {
		kinds = signed
	}

	t.conv = convInt
	if kind, ok := kinds[t.Size]; ok && t.prec == 8*t.Size {
		t.conv, t.stored = convWhole, kind
	}
}

// setFloat decides how floats are read.
func (t *Type) setFloat(flags uint64) {
	norm := flags >> 4 & 3
	end := t.lead + t.prec
	ok := t.Size <= 8 && flags&(1<<6) == 0 && norm == 2 && t.manLen >= 1 && t.manLen <= 52 && t.expLen >= 2 &&
		t.expLen <= 11 &&
		end <= 8*t.Size && t.manBit+t.manLen <= end && t.expBit+t.expLen <= end && t.signBit < end && t.bias > 0 &&
		t.bias < 2048

	if !ok {
		t.why = fmt.Sprintf("datatype float of %d bits in %d bytes", t.prec, t.Size)
		return
	}

	is := func(size, sign, expBit, expLen, manLen int, bias int64) bool {
		return t.Size == size && t.lead == 0 && t.prec == 8*size && t.signBit == sign && t.expBit == expBit &&
			t.expLen == expLen && t.manBit == 0 && t.manLen == manLen && t.bias == bias
	}

	switch {
	case is(4, 31, 23, 8, 23, 127):
		t.conv, t.stored = convWhole, raw.F32
	case is(8, 63, 52, 11, 52, 1023):
		t.conv, t.stored = convWhole, raw.F64
	default:
		t.conv = convFloat
	}
}

// raw returns the bytes of an element of at most 8 as a number.
func (t *Type) raw(b []byte) uint64 {
	var v uint64
	if t.BigEndian {
		for _, x := range b[:t.Size] {
			v = v<<8 | uint64(x)
		}
	} else {
		for i, x := range b[:t.Size] {
			v |= uint64(x) << (8 * i)
		}
	}

	return v
}

// integer returns an element of an integer type; signed ones are extended to
// 64 bits.
func (t *Type) integer(b []byte) uint64 {
	v := t.raw(b) >> t.lead << (64 - t.prec)
	if t.Signed {
		return uint64(int64(v) >> (64 - t.prec))
	}

	return v >> (64 - t.prec)
}

// float returns an element of a numeric type.
func (t *Type) float(b []byte) float64 {
	switch t.conv {
	case convWhole:
		return raw.Value(t.stored, t.BigEndian, b)

	case convFloat:
		v := t.raw(b)
		field := func(at, n int) uint64 { return v >> at & (1<<n - 1) }

		sign := 1.0
		if field(t.signBit, 1) == 1 {
			sign = -1
		}

		man, exp := field(t.manBit, t.manLen), field(t.expBit, t.expLen)
		switch {
		case exp == 1<<t.expLen-1 && man != 0:
			return math.NaN()
		case exp == 1<<t.expLen-1:
			return math.Inf(int(sign))
		case exp == 0:
			return sign * math.Ldexp(float64(man), int(1-t.bias)-t.manLen)
		}

		return sign * math.Ldexp(float64(man|1<<t.manLen), int(int64(exp)-t.bias)-t.manLen)

	default:
		v := t.integer(b)
		if t.Signed {
			return float64(int64(v))
		}

		return float64(v)
	}
}

// floats reads elements that lie stride bytes apart, the first at the start of src.
func (t *Type) floats(dst []float64, src []byte, stride int) {
	if t.conv == convWhole {
		raw.Decode(dst, src, t.stored, t.BigEndian, stride)
		return
	}

	for i := range dst {
		dst[i] = t.float(src[i*stride:])
	}
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
func (p *parser) variable(h globalHeaps, b []byte, size int) ([]byte, error) {
	c := p.cursor(b)
	n := uint64(c.u32())
	addr, index := c.addr(), c.u32()

	if c.bad {
		return nil, p.errorf(undefined, "a variable-length element is too short")
	}

	if n == 0 || addr == 0 || addr == undefined {
		return nil, nil
	}

	v, err := h.get(p, addr, index)
	if err != nil {
		return nil, err
	}

	if hi, total := bits.Mul64(n, uint64(size)); hi != 0 || total > uint64(len(v)) {
		return nil, p.errorf(addr, "a variable-length element of %d is longer than its object in the global heap", n)
	}

	return v[:n*uint64(size)], nil
}

// strings reads n elements as text: strings, and sequences of single
// characters as MATLAB_fields is one.
func (p *parser) strings(h globalHeaps, t *Type, b []byte, n int) ([]string, error) {
	out := make([]string, 0, n)
	for i := range n {
		e := b[i*t.Size : (i+1)*t.Size]

		var s string
		switch {
		case t.Class == String && !t.Variable:
			s = t.text(e)
		case t.Class == String, t.Class == Sequence && t.base != nil && t.base.Class == String && !t.base.Variable &&
			t.base.Size == 1:
			v, err := p.variable(h, e, 1)
			if err != nil {
				return nil, err
			}

			s = raw.Latin1(cut(v))

		default:
			return nil, p.unsupported("datatype " + t.String())
		}

		if err := p.charge(int64(len(s)) + 16); err != nil {
			return nil, err
		}

		out = append(out, s)
	}

	return out, nil
}

// space is a dataspace.
type space struct {
	null bool
	dims []uint64
	max  []uint64 // undefined: unlimited
}

// dataspace reads a dataspace message.
func (p *parser) dataspace(b []byte) (space, error) {
	c := p.cursor(b)
	var s space

	version, rank, flags := c.u8(), int(c.u8()), c.u8()
	switch version {
	case 1:
		c.skip(5)
	case 2:
		s.null = c.u8() == 2
	default:
		return s, p.unsupported(fmt.Sprintf("dataspace version %d", version))
	}

	if rank > maxRank {
		return s, p.errorf(undefined, "%d axes: the format allows %d", rank, maxRank)
	}

	for range rank {
		s.dims = append(s.dims, c.len())
	}

	s.max = s.dims
	if flags&1 != 0 {
		s.max = nil
		for range rank {
			v := c.len()
			if c.sl < 8 && v == 1<<(8*c.sl)-1 {
				v = undefined
			}

			s.max = append(s.max, v)
		}
	}

	if c.bad {
		return s, p.errorf(undefined, "a dataspace message is too short")
	}

	if s.null {
		s.dims, s.max = nil, nil
	}

	n := uint64(1)
	for _, d := range s.dims {
		// An empty axis does not make the others harmless.
		hi, lo := bits.Mul64(n, max(d, 1))
		if hi != 0 || lo > 1<<56 {
			return s, p.errorf(undefined, "a dataspace of more than 2^56 elements")
		}

		n = lo
	}

	return s, nil
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
	if len(s.dims) == 0 {
		return nil
	}

	out := make([]int64, len(s.dims))
	for i, d := range s.dims {
		out[i] = int64(d)
	}

	return out
}
