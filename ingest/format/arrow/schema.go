package arrow

import (
	"fmt"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// column is a field of the schema.
type column struct {
	name       string
	kind       int64
	title      string // of its type
	number     bool   // it is read
	stored     raw.Kind
	bits       int64 // of a value; 0 where it does not matter
	dense      bool  // a union with offsets
	indexed    bool  // values are in a dictionary
	unit       string
	attributes []ingest.Attribute
	children   []*column
	parts      []part // of each batch
}

// Kinds of Arrow's types (format/Schema.fbs, union Type) that are more than a row of the table.
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

// kinds are the types' names in the order of their kinds, how many children they have (−1: any number) and
// their buffers, without the one that tells which values are missing.
var kinds = []struct {
	name     string
	children int
	buffers  []buffered
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

// buffered is what a buffer holds: the values, of the column's bits, or where the
// values of 32 bits end, one more than there are values.
type buffered struct{ values, ends bool }

var (
	values = []buffered{{values: true}}
	ends   = []buffered{{ends: true}, {}}
)

// schema reads the columns and the attributes (format/Schema.fbs, table Schema).
func (f *file) schema(s table) {
	fault.Unless(s.number(0, 2, 0) == 0,
		&fault.Error{Place: "schema", Want: "little-endian numbers", Found: "big-endian ones"})

	f.attributes, _ = attributes(s, 2)
	f.columns = lists.Each(s.tables(1, "field"), func(t table) *column { return newColumn(t, 0) })
}

// attributes reads pairs of texts; that of the name "unit" is the unit.
func attributes(t table, slot int) (out []ingest.Attribute, unit string) {
	for _, pair := range t.tables(slot, "metadata") {
		if key, value := pair.text(0, "key"), pair.text(1, "value"); key == "unit" {
			unit = value
		} else {
			out = append(out, ingest.Attribute{Name: key, Value: value})
		}
	}

	return out, unit
}

// newColumn reads a field and its children (format/Schema.fbs, table Field).
func newColumn(t table, depth int) *column {
	c := &column{name: t.text(0, "name"), kind: t.number(2, 1, 0)}
	unless(depth < maxDepth, t.place, fmt.Sprintf("at most %d levels", maxDepth), "a field that goes deeper")

	c.children = lists.Each(t.tables(5, "child"), func(t table) *column { return newColumn(t, depth+1) })
	c.attributes, c.unit = attributes(t, 6)
	settings, ok := t.table(3, t.place+", type")
	_, c.indexed = t.table(4, t.place+", dictionary")
	unless(c.kind >= 1 && c.kind < int64(len(kinds)), t.place, "a type of a known kind", "kind %d", c.kind)
	unless(ok, t.place, "a type", "none")

	kind := kinds[c.kind]
	unless(kind.children < 0 || len(c.children) == kind.children, t.place, fmt.Sprintf("%d children", kind.children), "%d",
		len(c.children))

	c.title = kind.name
	unless(c.settle(settings), t.place, "a type of a size that Arrow has", "another")
	c.number = c.number && !c.indexed

	return c
}

// settle takes the settings that matter of a type; it returns false for a size that Arrow has not.
func (c *column) settle(t table) bool {
	switch c.kind {
	case typeBool:
		c.bits = 1
		return true
	case typeUnion:
		c.dense = t.number(0, 2, 0) == 1
		return true
	case typeInt:
		sign := "u"
		if t.number(1, 1, 0) != 0 {
			sign = ""
		}

		c.bits = t.number(0, 4, 0)
		c.title = fmt.Sprintf("%sint%d", sign, c.bits)

	case typeFloat:
		c.bits = 16 << (t.number(0, 2, 0) & 7)
		c.title = fmt.Sprintf("float%d", c.bits)
	default:
		return true
	}

	c.stored, c.number = raw.Named(c.title)

	return c.number
}
