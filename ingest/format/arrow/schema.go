package arrow

import (
	"fmt"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/raw"
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

// The kinds of Arrow's types (format/Schema.fbs, union Type).
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
)

// kinds are the types' names, how many children they have (−1: any number) and
// their buffers, without the one that tells which values are missing.
var kinds = map[int64]struct {
	name     string
	children int
	buffers  []buffered
}{
	typeNull:            {"null", 0, nil},
	typeInt:             {"int", 0, values},
	typeFloat:           {"float", 0, values},
	typeBinary:          {"binary", 0, ends},
	typeUtf8:            {"utf8", 0, ends},
	typeBool:            {"bool", 0, values},
	typeDecimal:         {"decimal", 0, values},
	typeDate:            {"date", 0, values},
	typeTime:            {"time", 0, values},
	typeTimestamp:       {"timestamp", 0, values},
	typeInterval:        {"interval", 0, values},
	typeList:            {"list", 1, ends[:1]},
	typeStruct:          {"struct", -1, nil},
	typeUnion:           {"sparse_union", -1, values},
	typeFixedSizeBinary: {"fixed_size_binary", 0, values},
	typeFixedSizeList:   {"fixed_size_list", 1, nil},
	typeMap:             {"map", 1, ends[:1]},
	typeDuration:        {"duration", 0, values},
	typeLargeBinary:     {"large_binary", 0, []buffered{{}, {}}},
	typeLargeUtf8:       {"large_utf8", 0, []buffered{{}, {}}},
	typeLargeList:       {"large_list", 1, values},
	typeRunEndEncoded:   {"run_end_encoded", 2, nil},
	typeBinaryView:      {"binary_view", 0, values},
	typeUtf8View:        {"string_view", 0, values},
	typeListView:        {"list_view", 1, []buffered{{}, {}}},
	typeLargeListView:   {"large_list_view", 1, []buffered{{}, {}}},
}

// buffered is what a buffer holds: the values, of the column's bits, or where the
// values of 32 bits end, one more than there are values.
type buffered struct{ values, ends bool }

var (
	values = []buffered{{values: true}}
	ends   = []buffered{{ends: true}, {}}
)

// schema reads the columns and the attributes (format/Schema.fbs, table Schema).
func (f *file) schema(s table) error {
	f.bigEndian = s.number(0, 2, 0) == 1
	f.attributes, _ = attributes(s, 2)

	for _, t := range s.tables(1, "field") {
		c, err := newColumn(t, 0)
		if err != nil {
			return err
		}

		f.columns = append(f.columns, c)
	}

	return s.err
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
func newColumn(t table, depth int) (*column, error) {
	c := &column{name: t.text(0, "name"), kind: t.number(2, 1, 0)}
	if depth == maxDepth {
		return nil, damaged(t.place, fmt.Sprintf("at most %d levels", maxDepth), "a field that goes deeper")
	}

	for _, child := range t.tables(5, "child") {
		k, err := newColumn(child, depth+1)
		if err != nil {
			return nil, err
		}

		c.children = append(c.children, k)
	}

	c.attributes, c.unit = attributes(t, 6)
	settings, ok := t.table(3, t.place+", type")
	_, c.indexed = t.table(4, t.place+", dictionary")

	kind, known := kinds[c.kind]
	switch {
	case t.err != nil:
		return nil, t.err
	case !known:
		return nil, damaged(t.place, "a type of a known kind", "kind %d", c.kind)
	case !ok:
		return nil, damaged(t.place, "a type", "none")
	case kind.children >= 0 && len(c.children) != kind.children:
		return nil, damaged(t.place, fmt.Sprintf("%d children", kind.children), "%d", len(c.children))
	}

	c.title = kind.name
	if !c.settle(settings) {
		return nil, damaged(t.place, "a type of a size that Arrow has", "another")
	}

	c.number = c.number && !c.indexed

	return c, t.err
}

// settle takes a type's settings; it returns false for a size that Arrow has not.
func (c *column) settle(t table) bool {
	units := []string{"s", "ms", "us", "ns"}
	unit := func(otherwise int64) string { return units[t.number(0, 2, otherwise)&3] }
	title := func(format string, args ...any) { c.title = fmt.Sprintf(format, args...) }

	switch c.kind {
	case typeBool:
		c.bits = 1

	case typeInt:
		c.bits = t.number(0, 4, 0)
		sign := "u"
		if t.number(1, 1, 0) != 0 {
			sign = ""
		}

		title("%sint%d", sign, c.bits)

	case typeFloat:
		c.bits = 16 << (t.number(0, 2, 0) & 7)
		title("float%d", c.bits)

	case typeDecimal:
		if t.number(2, 4, 128) == 256 {
			c.title = "decimal256"
		}

		title("%s(%d, %d)", c.title, t.number(0, 4, 0), t.number(1, 4, 0))

	case typeDate:
		title("date%d", 32<<(t.number(0, 2, 1)&1))
	case typeTime:
		title("time%d[%s]", t.number(1, 4, 32), unit(1))
	case typeDuration:
		title("duration[%s]", unit(1))

	case typeTimestamp:
		zone := t.text(1, "timezone")
		if zone != "" {
			zone = ", tz=" + zone
		}

		title("timestamp[%s%s]", unit(0), zone)

	case typeInterval:
		c.title = []string{"month", "day_time", "month_day_nano", ""}[t.number(0, 2, 0)&3] + "_interval"
	case typeFixedSizeBinary:
		title("fixed_size_binary[%d]", t.number(0, 4, 0))

	case typeUnion:
		if c.dense = t.number(0, 2, 0) == 1; c.dense {
			c.title = "dense_union"
		}
	}

	if c.kind == typeInt || c.kind == typeFloat {
		c.stored, c.number = raw.Named(c.title)
		return c.number
	}

	return true
}
