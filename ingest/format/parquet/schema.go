package parquet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// level is an element of the schema that has children.
type level struct {
	name     string
	children int32 // number of children that were not read yet
}

// maxLevels is the deepest nesting of elements of the schema.
const maxLevels = 64

// The attributes of a file that are kept: at most maxAttributes, with texts of at most maxText bytes.
const (
	maxAttributes = 64
	maxText       = 200
)

// schema reads the columns. The schema is a list of the elements of a tree, in which the children of an element follow
// it. The leaves of the tree are the columns. A column below another element than the root is nested, and is not read.
func (f *file) schema(meta *format.FileMetaData) error {
	elements := meta.Schema
	if len(elements) == 0 {
		return f.fault("footer", "a schema", "none", raw.Damaged)
	}

	units := f.keyValues(meta)

	levels := []level{{children: elements[0].NumChildren.V}} // the elements around the next one, from the root on
	for i := range elements[1:] {
		e := &elements[1+i]

		for len(levels) > 1 && levels[len(levels)-1].children == 0 {
			levels = levels[:len(levels)-1]
		}

		levels[len(levels)-1].children--

		name := raw.Text([]byte(e.Name))
		if children := e.NumChildren.V; children > 0 {
			if len(levels) > maxLevels {
				return f.fault("footer", fmt.Sprintf("columns in at most %d levels", maxLevels), "more", raw.Damaged)
			}

			levels = append(levels, level{name: name, children: children})
			continue
		}

		c := &column{name: pathOf(levels, name), kind: e.Type.V, group: -1}
		c.optional = e.RepetitionType.V == format.Optional
		isNested := len(levels) > 1 || e.RepetitionType.V == format.Repeated
		c.describe(e, isNested)

		if u := units[c.name]; u != "" {
			c.unit = u
		}

		f.columns = append(f.columns, c)
	}

	return nil
}

// keyValues reads the key-value metadata of the file. It returns the units of columns, whose keys are "unit:" and the
// name of a column. All others become attributes of the file.
func (f *file) keyValues(meta *format.FileMetaData) map[string]string {
	units := map[string]string{}
	for _, kv := range meta.KeyValueMetadata {
		key := raw.Text([]byte(kv.Key))
		text := raw.Text([]byte(kv.Value))
		if name, ok := strings.CutPrefix(key, "unit:"); ok {
			units[name] = text
		} else if len(text) <= maxText && len(f.meta) < maxAttributes {
			f.meta = append(f.meta, ingest.Attribute{Name: key, Value: text})
		}
	}

	return units
}

// pathOf returns the path of a column below the given levels, without the root.
func pathOf(levels []level, name string) string {
	var path []string
	for _, l := range levels[1:] {
		path = append(path, l.name)
	}

	return strings.Join(append(path, name), ".")
}

// describe sets how the values of a column are read, or why they are not read, by its element of the schema. Old
// writers state a converted type, new ones a logical type.
func (c *column) describe(e *format.SchemaElement, nested bool) {
	converted := deprecated.ConvertedType(-1) // none
	if e.ConvertedType.Valid {
		converted = e.ConvertedType.V
	}

	_, decimal := e.LogicalType.Value.(*format.DecimalType)

	switch {
	case nested:
		c.unread = "a nested column"
	case c.kind == format.Int96:
		c.unread = "numbers of 96 bits (timestamps of old writers) are not read"
	case c.kind == format.FixedLenByteArray:
		c.unread = "values of fixed length (decimals, UUIDs, float16) are not read"
	case c.kind < 0 || c.kind > format.FixedLenByteArray:
		c.unread = fmt.Sprintf("type %d is not known", c.kind)
	case converted == deprecated.Decimal || decimal:
		c.unread = "decimals are not read: save floats"
	}

	unit := "" // of a column of times
	switch t := e.LogicalType.Value.(type) {
	case *format.IntType:
		c.unsigned = !t.IsSigned
	case *format.TimestampType:
		unit = tick(t.Unit)
	case *format.TimeType:
		unit = tick(t.Unit)
	}

	switch converted {
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		c.unsigned = true
	case deprecated.TimestampMillis, deprecated.TimeMillis:
		unit = "ms"
	case deprecated.TimestampMicros, deprecated.TimeMicros:
		unit = "µs"
	}

	if unit != "" {
		c.unit = unit
		c.clock = true
	}
}

// tick returns the name of a unit of time.
func tick(unit format.TimeUnit) string {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return "ms"
	case *format.MicroSeconds:
		return "µs"
	}

	return "ns"
}

// groups reads where the chunks of each row group lie. Row groups without rows are left out.
func (f *file) groups(meta *format.FileMetaData) error {
	rows := int64(0)
	most := maxGroup + f.src.Size/4 // rows of a row group
	for g := range meta.RowGroups {
		group := &meta.RowGroups[g]

		place := fmt.Sprintf("row group %d", g+1)
		if group.NumRows < 0 || group.NumRows > most {
			return f.fault(place, fmt.Sprintf("at most %d rows in a file of %d bytes", most, f.src.Size),
				strconv.FormatInt(group.NumRows, 10), "write it again with smaller row groups")
		}

		if len(group.Columns) != len(f.columns) {
			return f.fault(place, fault.Plural(int64(len(f.columns)), "column"), strconv.Itoa(len(group.Columns)),
				raw.Damaged)
		}

		if group.NumRows == 0 {
			continue
		}

		rows += group.NumRows
		f.ends = append(f.ends, rows)
		for i, c := range f.columns {
			chunk := &group.Columns[i]
			c.chunks = append(c.chunks, &chunk.MetaData)
			if c.unread == "" {
				c.unread = unreadable(chunk)
			}
		}
	}

	if rows > anyRows && rows/maxRowsPerByte > f.src.Size {
		return f.fault("footer", fmt.Sprintf("rows that %d bytes can hold", f.src.Size), fault.Plural(rows, "row"),
			raw.Damaged)
	}

	return nil
}

// unreadable returns the reason why a chunk is not read, and "" if it is read.
func unreadable(chunk *format.ColumnChunk) string {
	codec := chunk.MetaData.Codec
	switch codec {
	case format.Uncompressed, format.Snappy, format.Gzip, format.Zstd:
	default:
		return fmt.Sprintf("compression %d (%s) is not read: write it with Snappy or Zstandard", codec, unreadCodecs[codec])
	}

	for _, e := range chunk.MetaData.Encoding {
		if name := encodings[e]; name != "" {
			return fmt.Sprintf("encoding %d (%s) is not read: write it with a dictionary, or plain", e, name)
		}
	}

	if chunk.FilePath != "" {
		return "its values lie in another file"
	}

	return ""
}

// unreadCodecs has the names of the compressions that are not read.
var unreadCodecs = map[format.CompressionCodec]string{
	format.LZO: "LZO", format.Brotli: "Brotli", format.Lz4: "LZ4", format.Lz4Raw: "LZ4",
}
