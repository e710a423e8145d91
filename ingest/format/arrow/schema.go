package arrow

import (
	"fmt"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// column is a field of the schema: a column, or a child of one.
type column struct {
	name       string
	kind       int64    // kind of the type: an index of kinds
	title      string   // name of the type for people
	number     bool     // the type is a type of numbers that are read
	stored     raw.Kind // how numbers are stored, if number is set
	bits       int64    // bits of a value; 0 if the length of the buffer of values is not checked
	dense      bool     // a dense union, which has a buffer of offsets
	indexed    bool     // the column contains indices of a dictionary, not values
	unit       string   // "" if the metadata do not state it
	attributes []ingest.Attribute
	children   []*column
	parts      []part // where the column lies in each batch, if number is set
}

// Kinds of types (format/Schema.fbs, union Type) that need more than their row in kinds.
const (
	typeNull          = 1
	typeInt           = 2
	typeFloat         = 3
	typeBool          = 6
	typeList          = 12
	typeUnion         = 14
	typeRunEndEncoded = 22
	typeBinaryView    = 23
	typeUtf8View      = 24
)

// kinds lists the types in the order of their kinds.
var kinds = []struct {
	name     string
	children int        // number of children; −1 for any number
	buffers  []buffered // without the buffer that says which values are missing
}{
	{},
	{"null", 0, nil},
	{"int", 0, values},
	{"float", 0, values},
	{"binary", 0, ends},
	{"utf8", 0, ends},
	{"bool", 0, values},
	{"decimal", 0, values},
	{"date", 0, values},
	{"time", 0, values},
	{"timestamp", 0, values},
	{"interval", 0, values},
	{"list", 1, ends[:1]},
	{"struct", -1, nil},
	{"union", -1, values},
	{"fixed_size_binary", 0, values},
	{"fixed_size_list", 1, nil},
	{"map", 1, ends[:1]},
	{"duration", 0, values},
	{"large_binary", 0, []buffered{{}, {}}},
	{"large_utf8", 0, []buffered{{}, {}}},
	{"large_list", 1, values},
	{"run_end_encoded", 2, nil},
	{"binary_view", 0, values},
	{"string_view", 0, values},
	{"list_view", 1, []buffered{{}, {}}},
	{"large_list_view", 1, []buffered{{}, {}}},
}

// buffered describes a buffer. If neither field is set, the length of the buffer is not checked.
type buffered struct {
	values bool // it contains the values, with the column's number of bits
	ends   bool // it contains where the values end, in 4 bytes each, and before them a 0
}

var (
	values = []buffered{{values: true}}
	ends   = []buffered{{ends: true}, {}}
)

// schema reads the columns and the attributes of the file (format/Schema.fbs, table Schema).
func (f *file) schema(s table) {
	if s.number(0, 2) != 0 {
		decode.Raise(&fault.Error{Place: "schema", Want: "little-endian numbers", Found: "big-endian ones"})
	}

	f.attributes, _ = attributes(s, 2)
	for _, field := range s.tables(1, "field") {
		f.columns = append(f.columns, newColumn(field, 0))
	}
}

// attributes reads the pairs of a key and a value in a slot. It returns the value of the key "unit" as the unit.
func attributes(t table, slot int) (list []ingest.Attribute, unit string) {
	for _, pair := range t.tables(slot, "metadata") {
		key := pair.text(0, "key")
		value := pair.text(1, "value")
		if key == "unit" {
			unit = value
		} else {
			list = append(list, ingest.Attribute{Name: key, Value: value})
		}
	}

	return list, unit
}

// newColumn reads a field and its children (format/Schema.fbs, table Field). depth is the number of fields around it.
func newColumn(t table, depth int) *column {
	c := &column{name: t.text(0, "name"), kind: t.number(2, 1)}
	unless(depth < maxDepth, t.place, fmt.Sprintf("at most %d levels", maxDepth), "a field that goes deeper")

	for _, child := range t.tables(5, "child") {
		c.children = append(c.children, newColumn(child, depth+1))
	}

	c.attributes, c.unit = attributes(t, 6)
	settings, ok := t.table(3, t.place+", type")
	_, c.indexed = t.table(4, t.place+", dictionary")
	unless(c.kind >= 1 && c.kind < int64(len(kinds)), t.place, "a type of a known kind", "kind %d", c.kind)
	unless(ok, t.place, "a type", "none")

	kind := kinds[c.kind]
	unless(kind.children < 0 || len(c.children) == kind.children, t.place, fmt.Sprintf("%d children", kind.children), "%d",
		len(c.children))

	c.title = kind.name
	unless(c.readSettings(settings), t.place, "a type of a size that Arrow has", "another")
	c.number = c.number && !c.indexed

	return c
}

// readSettings reads the settings of the column's type into c. It returns false if Arrow has no numbers of the stated
// size.
func (c *column) readSettings(t table) bool {
	switch c.kind {
	case typeBool:
		c.bits = 1
		return true
	case typeUnion:
		c.dense = t.number(0, 2) == 1
		return true
	case typeInt:
		sign := "u"
		if t.number(1, 1) != 0 {
			sign = ""
		}

		c.bits = t.number(0, 4)
		c.title = fmt.Sprintf("%sint%d", sign, c.bits)

	case typeFloat:
		c.bits = 16 << (t.number(0, 2) & 7)
		c.title = fmt.Sprintf("float%d", c.bits)
	default:
		return true
	}

	c.stored, c.number = raw.Named(c.title)

	return c.number
}
