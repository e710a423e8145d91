package hdf5

import (
	"bytes"
	"errors"
	"sort"
	"strconv"
	"strings"

	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// Attribute is a small named value of a group or dataset.
type Attribute struct {
	Name string
	Type Type
	Dims []int64 // lengths of the axes; nil for a single value
	Err  error   // why the value could not be read; nil if it could

	// One of these contains the value. Both are nil if the value is empty, or if Err is set.
	texts  []string
	stored []byte // numbers, as in the file

	order  int      // order of creation; −1 if not recorded
	scales []uint64 // for DIMENSION_LIST, the address of the first scale of each axis; 0 if an axis has none
}

// numbers returns the values of an attribute of numbers.
func (a *Attribute) numbers() []float64 {
	v := make([]float64, len(a.stored)/max(a.Type.Size, 1))
	a.Type.floats(v, a.stored, a.Type.Size)

	return v
}

// Text returns the value of an attribute that is one string, stored as a single value or as an array of one. It returns
// false for other attributes.
func (a *Attribute) Text() (string, bool) {
	if len(a.texts) != 1 {
		return "", false
	}
	return a.texts[0], true
}

// String returns the value for people: numbers in their shortest exact form, and arrays in brackets. If the value
// could not be read, String returns the reason.
func (a Attribute) String() string {
	if a.Err != nil {
		return "(" + a.Err.Error() + ")"
	}

	if a.texts == nil && a.stored == nil {
		return ""
	}

	s := a.elements()
	if len(s) == 1 {
		return s[0]
	}

	return "[" + strings.Join(s, " ") + "]"
}

// elements returns the texts, or the numbers as texts.
func (a *Attribute) elements() []string {
	s := a.texts
	typ := &a.Type
	for b := a.stored; len(b) > 0; b = b[typ.Size:] {
		switch {
		case typ.Class == Float && typ.stored == raw.F32:
			s = append(s, strconv.FormatFloat(typ.float(b), 'g', -1, 32))
		case typ.Class == Float:
			s = append(s, arrays.Number(typ.float(b)))
		default:
			s = append(s, typ.integer(b))
		}
	}

	return s
}

// Attributes are the attributes of a group or dataset.
type Attributes []Attribute

// Attribute returns the attribute with a name. It returns false if there is none.
func (list Attributes) Attribute(name string) (Attribute, bool) {
	for _, attr := range list {
		if attr.Name == name {
			return attr, true
		}
	}

	return Attribute{}, false
}

// Has reports whether there is an attribute with a name.
func (list Attributes) Has(name string) bool {
	_, ok := list.Attribute(name)
	return ok
}

// Text returns the value of the attribute with a name if it is one string, and "" otherwise.
func (list Attributes) Text(name string) string {
	attr, _ := list.Attribute(name)
	text, _ := attr.Text()

	return text
}

// attributes returns the attributes of an object from the messages of its header. Attributes are in messages of the
// header, or in a heap if there are many. They are sorted by their order of creation if it is recorded. Otherwise,
// attributes in the header keep the order of their messages, and attributes in the heap are sorted by name.
func (w *walker) attributes(ms []message) Attributes {
	var list Attributes
	for _, msg := range ms {
		switch msg.kind {
		case msgAttribute:
			attr := w.attribute(w.p.body(msg))
			attr.order = msg.order
			list = append(list, attr)
		case msgAttrInfo:
			list = append(list, w.denseAttributes(msg)...)
		}
	}

	sort.SliceStable(list, func(i, j int) bool { return list[i].order < list[j].order })

	return list
}

// denseAttributes returns the attributes in the heap that a message names. A record of their index has an ID of the
// heap in 8 bytes, flags, the order of creation in 4 bytes, and a hash of the name.
func (w *walker) denseAttributes(msg message) []Attribute {
	var list []Attribute

	heap, records := w.p.dense(msg, "attribute", treeAttributeNames)
	for record := range records {
		fields := w.p.cursor(record[8:], msg.addr, "a record of the index of attributes is too short")
		supported(fields.u8()&flagShared == 0, "an attribute in the table of shared messages")

		attr := w.denseAttribute(heap, record[:8])

		attr.order = -1
		if msg.body[1]&1 != 0 { // the order of creation is recorded, and perhaps indexed too
			attr.order = int(fields.u32())
		}

		list = append(list, attr)
	}

	// The index is sorted by hashes, which mean nothing to people.
	sort.SliceStable(list, func(i, j int) bool { return list[i].Name < list[j].Name })

	return list
}

// denseAttribute returns the attribute with an ID of the heap. If the heap stores it in a way that is not supported,
// neither its value nor its name is known.
func (w *walker) denseAttribute(heap *fractalHeap, id []byte) Attribute {
	b, err := heap.tryGet(id)
	if errors.Is(err, errUnsupported) {
		return Attribute{Name: "?", Err: err}
	}

	decode.Raise(err)

	return w.attribute(b)
}

// attribute reads an attribute message ("Attribute Message"): version, flags, the sizes of the name, of the datatype
// and of the dataspace in 2 bytes each, in version 3 the character set, and then the name, the datatype, the dataspace
// and the value. In version 1, these are padded to multiples of 8 bytes. If the value cannot be read, the attribute
// has an Err, because the rest of the file can be read without it.
func (w *walker) attribute(b []byte) Attribute {
	w.p.charge(512)

	fields := w.p.message(b, "attribute")
	version := fields.u8()
	flags := fields.u8()

	supported(version >= 1 && version <= 3, "attribute version %d", version)

	if version == 1 {
		flags = 0
	}

	nameSize := int(fields.u16())
	typeSize := int(fields.u16())
	spaceSize := int(fields.u16())
	if version == 3 {
		fields.skip(1)
	}

	pad8 := version == 1
	attr := Attribute{Name: raw.Decoded(cut(fields.field(nameSize, pad8)))}
	value := attributeValue{
		datatype: fields.field(typeSize, pad8), dataspace: fields.field(spaceSize, pad8),
		sharedType: flags&1 != 0, sharedSpace: flags&2 != 0,
	}
	value.data = fields.b[fields.pos:]

	attr.Err = about(w.value(&attr, value), "attribute "+attr.Name)

	return attr
}

// attributeValue is the value of an attribute as bytes of the file.
type attributeValue struct {
	datatype    []byte // a datatype message
	dataspace   []byte // a dataspace message
	sharedType  bool   // datatype only says where the message is: in another object's header
	sharedSpace bool   // dataspace only says where the message is: in another object's header
	data        []byte
}

// value reads the value of an attribute into a.
func (w *walker) value(a *Attribute, value attributeValue) (err error) {
	defer decode.Catch(&err)

	parser := w.p
	if value.sharedType {
		value.datatype = parser.shared(msgDatatype, parser.message(value.datatype, "shared"))
	}

	if value.sharedSpace {
		value.dataspace = parser.shared(msgDataspace, parser.message(value.dataspace, "shared"))
	}

	a.Type = parser.datatype(value.datatype)
	space := parser.dataspace(value.dataspace)
	a.Dims = space.dimsInt()

	if space.null {
		return nil
	}

	typ := &a.Type
	n := space.count()
	size := uint64(len(value.data))
	parser.unless(n <= size && n*uint64(typ.Size) <= size, undefined, "the value is cut off")

	isReferences := typ.Class == Sequence && typ.base != nil && typ.base.objectRef

	switch {
	case a.Name == "DIMENSION_LIST" && isReferences:
		a.scales = parser.scales(w.heaps, typ, value.data, int(n))
	case typ.numeric:
		a.stored = bytes.Clone(value.data[:n*uint64(typ.Size)])
	case typ.Class == String:
		parser.charge(8 * int64(n))
		a.texts = parser.strings(w.heaps, typ, value.data, int(n))
	default:
		return notSupported("%s", typ.why)
	}

	return nil
}

// scales returns the first reference of each of n sequences of references, and 0 for an empty sequence. typ is the
// type of a sequence.
func (p *parser) scales(heaps globalHeaps, typ *Type, b []byte, n int) []uint64 {
	v := make([]uint64, min(n, maxRank))
	for i := range v {
		if refs := p.variable(heaps, b[i*typ.Size:(i+1)*typ.Size], typ.base.Size); len(refs) > 0 {
			v[i] = p.cursor(refs, undefined, "a reference is too short").u64()
		}
	}

	return v
}
