package arrow

import (
	"encoding/binary"
	"fmt"
	"strings"

	"doubletake/ingest/fault"
)

// An Arrow file describes itself in flatbuffers: tables of slots, found by
// relative offsets. Arrow's library follows them without checking whether they
// stay in the buffer, how long the vectors can be, or whether they ever end. This
// file checks them first, in the manner of the verifier of
// flatbuffers' C++ library, driven by forms that are written down as in Arrow's
// format/{File,Schema,Message}.fbs.

// slotKind is the kind of what a slot of a table holds.
type slotKind uint8

const (
	scalar  slotKind = iota // size bytes, in the table itself
	text                    // a string
	table1                  // a table of the form of
	tables                  // a vector of such tables
	structs                 // a vector of elements of size bytes
	choice                  // a table whose form the slot before it names
)

type slot struct {
	name string
	kind slotKind
	size int
	of   *form
	one  map[uint8]*form
}

// form is the layout of a table: its slots in their order.
type form struct {
	name  string
	slots []slot
}

// maxDepth is the deepest nesting of tables; Arrow's library allows columns 64
// levels.
const maxDepth = 64

// maxVisits bounds the bytes that following the offsets of a buffer visits, in
// multiples of its length: no writer lets tables share more than a few parts, and
// with unlimited sharing a small buffer describes exponentially much.
const maxVisits = 4

// flat verifies one buffer.
type flat struct {
	b    []byte
	left int    // bytes that may still be visited
	path []step // to the table being verified
}

type step struct {
	name  string
	index int // from 1; 0: none
}

// verifyFlat looks at the whole tree of tables from the root of b on and returns
// the root. place names the buffer in errors.
func verifyFlat(b []byte, root *form, place string) (node, error) {
	if len(b) < 4 || int64(len(b)) >= 1<<31 {
		return node{}, &fault.Error{
			Place: place, Want: "a flatbuffer of 4 bytes to 2 GiB",
			Found: fmt.Sprintf("%d bytes", len(b)),
		}
	}

	f := &flat{b: b, left: maxVisits*len(b) + 1024, path: []step{{name: place}}}

	at := int(binary.LittleEndian.Uint32(b))
	if err := f.table(at, root, 0); err != nil {
		return node{}, err
	}

	return node{b, at}, nil
}

func (f *flat) fault(want, found string, args ...any) error {
	var place []string
	for _, s := range f.path {
		if s.index > 0 {
			s.name = fmt.Sprintf("%s %d", s.name, s.index)
		}
		place = append(place, s.name)
	}

	if n := len(place); n > 8 {
		place = append(append(place[:4:4], "…"), place[n-3:]...)
	}

	return &fault.Error{
		Place: strings.Join(place, ", "), Want: want, Found: fmt.Sprintf(found, args...),
		Hint: "the file is damaged",
	}
}

// visit counts n bytes at at, which must lie in the buffer.
func (f *flat) visit(at, n int, what string) error {
	if at < 0 || n < 0 || at > len(f.b) || n > len(f.b)-at {
		return f.fault(fmt.Sprintf("%s within %d bytes", what, len(f.b)), "%d bytes at byte %d", n, at)
	}

	if f.left -= n; f.left < 0 {
		return f.fault("tables of their own", "parts that are shared over and over")
	}

	return nil
}

func (f *flat) table(at int, form *form, depth int) error {
	if depth == maxDepth {
		return f.fault(fmt.Sprintf("at most %d levels", maxDepth), "a table that goes deeper")
	}

	if err := f.visit(at, 4, "a table"); err != nil {
		return err
	}

	vtable := at - int(int32(binary.LittleEndian.Uint32(f.b[at:])))
	if vtable < 0 || vtable > len(f.b)-4 {
		return f.fault(fmt.Sprintf("a layout within %d bytes", len(f.b)), "one at byte %d", vtable)
	}

	long, own := int(binary.LittleEndian.Uint16(f.b[vtable:])), int(binary.LittleEndian.Uint16(f.b[vtable+2:]))
	if long < 4 || long%2 != 0 || long > len(f.b)-vtable || own < 4 {
		return f.fault("a table's layout", "one of %d bytes at byte %d of %d, for a table of %d", long, vtable, len(f.b), own)
	}

	if err := f.visit(at, own, "a table"); err != nil {
		return err
	}

	for i, s := range form.slots {
		entry := 4 + 2*i
		if entry >= long {
			break
		}

		o := int(binary.LittleEndian.Uint16(f.b[vtable+entry:]))
		if o == 0 {
			continue
		}

		size := 4 // of an offset
		if s.kind == scalar {
			size = s.size
		}

		f.path = append(f.path, step{name: s.name})
		if o < 4 || o+size > own {
			return f.fault(fmt.Sprintf("a value within the %d bytes of its table", own), "%d bytes at byte %d", size, o)
		}

		if s.kind != scalar {
			if err := f.follow(s, at+o, node{f.b, at}.byte(i-1), depth); err != nil {
				return err
			}
		}

		f.path = f.path[:len(f.path)-1]
	}

	return nil
}

// follow verifies what the offset at byte at leads to.
func (f *flat) follow(s slot, at int, tag uint8, depth int) error {
	to := at + int(binary.LittleEndian.Uint32(f.b[at:]))
	switch s.kind {
	case table1:
		return f.table(to, s.of, depth+1)

	case choice:
		of := s.one[tag]
		if of == nil {
			return f.fault(s.name+" of a known kind", "kind %d", tag)
		}

		return f.table(to, of, depth+1)
	}

	if err := f.visit(to, 4, "a vector"); err != nil {
		return err
	}

	n, size := int(binary.LittleEndian.Uint32(f.b[to:])), s.size
	switch s.kind {
	case text:
		size = 1
	case tables:
		size = 4
	}

	if n > (len(f.b)-to-4)/size {
		return f.fault(fmt.Sprintf("a vector within %d bytes", len(f.b)), "%d elements of %d bytes at byte %d", n, size, to+4)
	}

	if err := f.visit(to+4, n*size, "a vector"); err != nil {
		return err
	}

	if s.kind == tables {
		for i := range n {
			f.path[len(f.path)-1].index = i + 1

			p := to + 4 + 4*i
			if err := f.table(p+int(binary.LittleEndian.Uint32(f.b[p:])), s.of, depth+1); err != nil {
				return err
			}
		}
	}

	return nil
}

// node is a table of a verified buffer.
type node struct {
	b  []byte
	at int
}

// slot returns where the value of a slot lies; 0: it has none.
func (n node) slot(i int) int {
	if i < 0 {
		return 0
	}

	vtable := n.at - int(int32(binary.LittleEndian.Uint32(n.b[n.at:])))
	if 4+2*i >= int(binary.LittleEndian.Uint16(n.b[vtable:])) {
		return 0
	}

	if o := int(binary.LittleEndian.Uint16(n.b[vtable+4+2*i:])); o != 0 {
		return n.at + o
	}

	return 0
}

func (n node) byte(i int) uint8 {
	if at := n.slot(i); at != 0 {
		return n.b[at]
	}
	return 0
}

func (n node) short(i int, otherwise int16) int16 {
	if at := n.slot(i); at != 0 {
		return int16(binary.LittleEndian.Uint16(n.b[at:]))
	}
	return otherwise
}

func (n node) int(i int, otherwise int32) int32 {
	if at := n.slot(i); at != 0 {
		return int32(binary.LittleEndian.Uint32(n.b[at:]))
	}
	return otherwise
}

func (n node) long(i int) int64 {
	if at := n.slot(i); at != 0 {
		return int64(binary.LittleEndian.Uint64(n.b[at:]))
	}
	return 0
}

func (n node) table(i int) (node, bool) {
	at := n.slot(i)
	if at == 0 {
		return node{}, false
	}

	return node{n.b, at + int(binary.LittleEndian.Uint32(n.b[at:]))}, true
}

// vector returns where the elements of a vector begin and how many there are.
func (n node) vector(i int) (at, length int) {
	if at = n.slot(i); at == 0 {
		return 0, 0
	}

	at += int(binary.LittleEndian.Uint32(n.b[at:]))

	return at + 4, int(binary.LittleEndian.Uint32(n.b[at:]))
}

// tables returns the tables of a vector.
func (n node) tables(i int) []node {
	at, length := n.vector(i)
	out := make([]node, length)
	for k := range out {
		p := at + 4*k
		out[k] = node{n.b, p + int(binary.LittleEndian.Uint32(n.b[p:]))}
	}

	return out
}

// The forms of Arrow's tables, after format/File.fbs, Schema.fbs and Message.fbs
// of Arrow 17. A slot that a later version appends is not looked at, and the
// library does not know it either.
var (
	formKeyValue = &form{"KeyValue", []slot{{name: "key", kind: text}, {name: "value", kind: text}}}

	formInt  = &form{"Int", []slot{{name: "bitWidth", size: 4}, {name: "is_signed", size: 1}}}
	formNone = &form{"type without settings", nil}

	formsType = map[uint8]*form{
		typeNull:   formNone,
		typeInt:    formInt,
		typeFloat:  {"FloatingPoint", []slot{{name: "precision", size: 2}}},
		typeBinary: formNone,
		typeUtf8:   formNone,
		typeBool:   formNone,
		typeDecimal: {"Decimal", []slot{
			{name: "precision", size: 4},
			{name: "scale", size: 4},
			{name: "bitWidth", size: 4},
		}},
		typeDate:            {"Date", []slot{{name: "unit", size: 2}}},
		typeTime:            {"Time", []slot{{name: "unit", size: 2}, {name: "bitWidth", size: 4}}},
		typeTimestamp:       {"Timestamp", []slot{{name: "unit", size: 2}, {name: "timezone", kind: text}}},
		typeInterval:        {"Interval", []slot{{name: "unit", size: 2}}},
		typeList:            formNone,
		typeStruct:          formNone,
		typeUnion:           {"Union", []slot{{name: "mode", size: 2}, {name: "typeIds", kind: structs, size: 4}}},
		typeFixedSizeBinary: {"FixedSizeBinary", []slot{{name: "byteWidth", size: 4}}},
		typeFixedSizeList:   {"FixedSizeList", []slot{{name: "listSize", size: 4}}},
		typeMap:             {"Map", []slot{{name: "keysSorted", size: 1}}},
		typeDuration:        {"Duration", []slot{{name: "unit", size: 2}}},
		typeLargeBinary:     formNone,
		typeLargeUtf8:       formNone,
		typeLargeList:       formNone,
		typeRunEndEncoded:   formNone,
		typeBinaryView:      formNone,
		typeUtf8View:        formNone,
		typeListView:        formNone,
		typeLargeListView:   formNone,
	}

	formDictionaryEncoding = &form{"DictionaryEncoding", []slot{
		{name: "id", size: 8},
		{name: "indexType", kind: table1, of: formInt},
		{name: "isOrdered", size: 1},
		{name: "dictionaryKind", size: 2},
	}}

	formField = &form{name: "Field"} // its slots refer to it: see init

	formSchema = &form{"Schema", []slot{
		{name: "endianness", size: 2},
		{name: "field", kind: tables, of: formField},
		{name: "metadata", kind: tables, of: formKeyValue},
		{name: "features", kind: structs, size: 8},
	}}

	formFooter = &form{"Footer", []slot{
		{name: "version", size: 2},
		{name: "schema", kind: table1, of: formSchema},
		{name: "dictionaries", kind: structs, size: 24},
		{name: "batches", kind: structs, size: 24},
		{name: "metadata", kind: tables, of: formKeyValue},
	}}

	formRecordBatch = &form{"RecordBatch", []slot{
		{name: "length", size: 8},
		{name: "nodes", kind: structs, size: 16},
		{name: "buffers", kind: structs, size: 16},
		{name: "compression", kind: table1, of: &form{
			"BodyCompression",
			[]slot{{name: "codec", size: 1}, {name: "method", size: 1}},
		}},
		{name: "variadicBufferCounts", kind: structs, size: 8},
	}}

	formDictionaryBatch = &form{
		"DictionaryBatch",
		[]slot{{name: "id", size: 8}, {name: "data", kind: table1, of: formRecordBatch}, {name: "isDelta", size: 1}},
	}

	formMessage = &form{"Message", []slot{
		{name: "version", size: 2},
		{name: "header_type", size: 1},
		{name: "header", kind: choice, one: map[uint8]*form{
			messageDictionary: formDictionaryBatch,
			messageBatch:      formRecordBatch,
		}},
		{name: "bodyLength", size: 8},
		{name: "metadata", kind: tables, of: formKeyValue},
	}}
)

func init() {
	formField.slots = []slot{
		{name: "name", kind: text},
		{name: "nullable", size: 1},
		{name: "type_type", size: 1},
		{name: "type", kind: choice, one: formsType},
		{name: "dictionary", kind: table1, of: formDictionaryEncoding},
		{name: "child", kind: tables, of: formField},
		{name: "metadata", kind: tables, of: formKeyValue},
	}
}

// The kinds of Arrow's types (Schema.fbs, union Type) and of messages
// (Message.fbs, union MessageHeader).
const (
	typeNull = 1 + iota
	typeInt
	typeFloat
	typeBinary
	typeUtf8
	typeBool
	typeDecimal
	typeDate
	typeTime
	typeTimestamp
	typeInterval
	typeList
	typeStruct
	typeUnion
	typeFixedSizeBinary
	typeFixedSizeList
	typeMap
	typeDuration
	typeLargeBinary
	typeLargeUtf8
	typeLargeList
	typeRunEndEncoded
	typeBinaryView
	typeUtf8View
	typeListView
	typeLargeListView

	messageDictionary = 2
	messageBatch      = 3
)
