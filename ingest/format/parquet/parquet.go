// Package parquet reads Parquet files of flat columns by github.com/parquet-go/parquet-go:
// numbers as channels, and whole tables with texts. Pages of both versions, plain,
// dictionary, run-length and byte-stream-split encoding, not compressed or by Snappy,
// gzip or Zstandard. What else there is (nested columns, decimals, delta encodings,
// LZ4, Brotli) is listed as not read, by name. Of each column that is read a row group
// is held in memory. The library trusts the lengths in a file, so they are compared
// with what the file holds before it decodes anything.
package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// Format is Parquet.
var Format = ingest.Format{
	Name: "parquet", Title: "Parquet", Endings: []string{".parquet", ".pq"}, Attributes: true, Detect: detect, Open: open,
}

func detect(head []byte, src ingest.Source) bool {
	tail := make([]byte, 4)

	if len(head) < 4 || string(head[:4]) != magic || src.Size < 12 {
		return false
	}

	_, err := src.ReadAt(tail, src.Size-4)

	return (err == nil || err == io.EOF) && string(tail) == magic || ingest.Binary(head)
}

const (
	magic = "PAR1"

	maxFooter = 64 << 20
	// A file of a few bytes may state any number of rows with one value. Beyond these
	// it must have bytes: memory is at most 64 MiB and four times the file in addition
	// to the row groups of the columns that are read.
	maxGroup = 1 << 22  // rows of a row group, 12 bytes each while they are decoded
	maxTable = 16 << 20 // bytes of the columns of a row group that is read as a table; half of it for the text
	maxPage  = 16 << 20 // bytes of a page, likewise
	maxEqual = 1 << 25  // rows in any file
	perByte  = 64       // rows beyond that
)

// column is a flat column.
type column struct {
	name     string
	kind     format.Type
	optional bool
	unsigned bool
	unit     string
	clock    bool                     // its type is of times
	chunks   []*format.ColumnMetaData // by row group
	why      string                   // it is not read; empty: it is

	group int // that is held; −1: none
	words
}

// file is a file whose footer was read. It gives access to the columns.
type file struct {
	src     ingest.Source
	columns []*column
	ends    []int64 // the row after the last of each row group
	meta    []ingest.Attribute
}

// unless raises an error, unless ok.
func (f *file) unless(ok bool, place, want, found, hint string) {
	if !ok {
		fault.Raise(fault.At(f.src.Path, place, want, found, hint))
	}
}

func open(src ingest.Source, o ingest.Options) (_ ingest.Reader, err error) {
	defer fault.Catch(&err)

	f := openFile(src)
	r := arrays.New(ingest.Info{
		Path: src.Path, Format: "parquet", Encoding: fmt.Sprintf("Parquet, %d row groups", len(f.ends)),
	}, src)
	for _, a := range f.meta {
		r.Attribute(a.Name, a.Value)
	}

	for _, c := range f.columns {
		switch {
		case c.why != "":
			r.Unread(c.name, true, c.why)
		case c.kind == format.ByteArray:
			r.Unread(c.name, false, "a column of texts")
		default:
			a := arrays.Array{Name: c.name, Dims: []int64{f.rows()}, Unit: c.unit, Plane: &plane{f, c}}
			if c.clock {
				a.Attributes = []ingest.Attribute{{Name: "role", Value: "time"}}
			}

			fault.Raise(r.Add(a))
		}
	}

	f.unless(f.rows() > 0, "footer", "rows", "none", "record again, or leave it out with exclude")

	return r, r.Finish(o)
}

func (f *file) rows() int64 {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// openFile reads the footer.
func openFile(src ingest.Source) *file {
	f := &file{src: src}
	tail := make([]byte, 8)

	f.unless(src.Size >= 12, "", "a Parquet file", fault.Plural(src.Size, "byte"), raw.CutShort)

	fault.Raise(raw.ReadHeader(src, tail, src.Size-8, "a footer"))

	n := int64(binary.LittleEndian.Uint32(tail))
	f.unless(string(tail[4:]) != "PARE", "footer", "a footer that is not encrypted", "an encrypted one",
		"save it without encryption")
	f.unless(string(tail[4:]) == magic, fmt.Sprintf("byte %d", src.Size-4), strconv.Quote(magic),
		strconv.Quote(string(tail[4:])), raw.CutShort)
	f.unless(n <= src.Size-12 && n <= maxFooter, "footer", fmt.Sprintf("a footer within %d bytes", src.Size),
		fmt.Sprintf("%d bytes", n), raw.Damaged)

	b := make([]byte, n)
	fault.Raise(raw.ReadHeader(src, b, src.Size-8-n, "a footer"))

	var meta format.FileMetaData
	if _, err := decode(b, &meta); err != nil {
		fault.Raise(&fault.Error{Path: src.Path, Place: "footer", Err: fmt.Errorf("decode: %w", err), Hint: raw.Damaged})
	}

	f.schema(&meta)
	f.groups(&meta)

	return f
}

// maxList bounds the lists of metadata: columns, row groups.
const maxList = 1 << 16

var (
	errMany   = fmt.Errorf("lists of more than %d elements, or small ones: write larger row groups", maxList)
	errThrift = errors.New("metadata that contradict themselves")
)

// decode reads a struct of Thrift's compact protocol from the beginning of b and
// returns its length.
func decode(b []byte, into any) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errThrift
		}
	}()

	defer fault.Catch(&err)

	var protocol thrift.CompactProtocol

	elements := maxList + len(b)/64
	skim(protocol.NewReaderFromBytes(b), thrift.STRUCT, &elements, false, 0)

	r := protocol.NewReaderFromBytes(b)
	fault.Raise(thrift.NewDecoder(r).Decode(into))

	return r.BytesRead(), nil
}

// skim reads a value and drops it. The decoder makes room for as many elements as a
// list states, and calls itself for structs in structs. left are the elements that
// lists may still have.
func skim(r thrift.Reader, kind thrift.Type, left *int, element bool, depth int) {
	fault.Unless(depth <= 64, errThrift)

	var err error

	switch kind {
	case thrift.STRUCT:
		for f := fault.Get(r.ReadField()); f.Type != thrift.STOP; f = fault.Get(r.ReadField()) {
			skim(r, f.Type, left, false, depth+1)
		}
	case thrift.LIST, thrift.SET:
		list := fault.Get(r.ReadList())
		*left -= int(list.Size)
		fault.Unless(list.Size <= maxList && *left >= 0, errMany)

		for range list.Size {
			skim(r, list.Type, left, true, depth+1)
		}
	case thrift.TRUE, thrift.FALSE:
		if element { // a field's type is its value
			_, err = r.ReadInt8()
		}
	case thrift.I8:
		_, err = r.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = r.ReadInt64()
	case thrift.DOUBLE:
		_, err = r.ReadFloat64()
	case thrift.BINARY:
		_, err = r.ReadBytes()
	default:
		err = errThrift
	}

	fault.Raise(err)
}

// schema makes the columns; nested ones are not read.
func (f *file) schema(meta *format.FileMetaData) {
	elements := meta.Schema
	f.unless(len(elements) > 0, "footer", "a schema", "none", raw.Damaged)

	units := map[string]string{}
	for _, kv := range meta.KeyValueMetadata {
		key, text := raw.Text([]byte(kv.Key)), raw.Text([]byte(kv.Value))
		if name, is := strings.CutPrefix(key, "unit:"); is {
			units[name] = text
		} else if len(text) <= 200 && len(f.meta) < 64 {
			f.meta = append(f.meta, ingest.Attribute{Name: key, Value: text})
		}
	}

	// The leaves of the tree of elements are the columns. Those below another
	// element are nested.
	depth := []int32{elements[0].NumChildren.V} // children left, by level

	path := []string{}
	for i := range elements[1:] {
		e := &elements[1+i]

		for len(depth) > 1 && depth[len(depth)-1] == 0 {
			depth, path = depth[:len(depth)-1], path[:len(path)-1]
		}

		depth[len(depth)-1]--

		name := raw.Text([]byte(e.Name))
		if children := e.NumChildren.V; children > 0 {
			f.unless(len(depth) <= 64, "footer", "columns in at most 64 levels", "more", raw.Damaged)

			depth, path = append(depth, children), append(path, name)
			continue
		}

		c := &column{name: strings.Join(append(path[:len(path):len(path)], name), "."), kind: e.Type.V, group: -1}
		c.optional = e.RepetitionType.V == format.Optional
		c.describe(e, len(path) > 0 || e.RepetitionType.V == format.Repeated)

		if u := units[c.name]; u != "" {
			c.unit = u
		}

		f.columns = append(f.columns, c)
	}
}

// describe settles how the values of a column are read, or why they are not.
func (c *column) describe(e *format.SchemaElement, nested bool) {
	converted := deprecated.ConvertedType(-1)
	if e.ConvertedType.Valid {
		converted = e.ConvertedType.V
	}

	_, decimal := e.LogicalType.Value.(*format.DecimalType)

	switch {
	case nested:
		c.why = "a nested column"
	case c.kind == format.Int96:
		c.why = "numbers of 96 bits (timestamps of old writers) are not read"
	case c.kind == format.FixedLenByteArray:
		c.why = "values of fixed length (decimals, UUIDs, float16) are not read"
	case c.kind < 0 || c.kind > format.FixedLenByteArray:
		c.why = fmt.Sprintf("type %d is not known", c.kind)
	case converted == deprecated.Decimal || decimal:
		c.why = "decimals are not read: save floats"
	}

	unit := ""
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
		c.unit, c.clock = unit, true
	}
}

// tick is the unit of a column of times.
func tick(unit format.TimeUnit) string {
	switch unit.Value.(type) {
	case *format.MilliSeconds:
		return "ms"
	case *format.MicroSeconds:
		return "µs"
	}

	return "ns"
}

// groups reads where the row groups lie.
func (f *file) groups(meta *format.FileMetaData) {
	rows := int64(0)
	for g := range meta.RowGroups {
		group := &meta.RowGroups[g]

		place := fmt.Sprintf("row group %d", g+1)
		most := maxGroup + f.src.Size/4
		f.unless(group.NumRows >= 0 && group.NumRows <= most, place,
			fmt.Sprintf("at most %d rows in a file of %d bytes", most, f.src.Size), strconv.FormatInt(group.NumRows, 10),
			"write it again with smaller row groups")

		f.unless(len(group.Columns) == len(f.columns), place, fault.Plural(int64(len(f.columns)), "column"),
			strconv.Itoa(len(group.Columns)), raw.Damaged)

		if group.NumRows == 0 {
			continue
		}

		rows += group.NumRows
		f.ends = append(f.ends, rows)
		for i, c := range f.columns {
			m := &group.Columns[i].MetaData
			c.chunks = append(c.chunks, m)
			if c.why == "" {
				c.why = unreadable(&group.Columns[i])
			}
		}
	}

	f.unless(rows <= maxEqual || rows/perByte <= f.src.Size, "footer",
		fmt.Sprintf("rows that %d bytes can hold", f.src.Size), fault.Plural(rows, "row"), raw.Damaged)
}

// unreadable tells why a chunk is not read, if it is not.
func unreadable(chunk *format.ColumnChunk) string {
	m := &chunk.MetaData
	if !slices.Contains([]format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Zstd}, m.Codec) {
		names := map[format.CompressionCodec]string{
			format.LZO: "LZO", format.Brotli: "Brotli", format.Lz4: "LZ4", format.Lz4Raw: "LZ4",
		}
		return fmt.Sprintf("compression %d (%s) is not read: write it with Snappy or Zstandard", m.Codec, names[m.Codec])
	}

	for _, e := range m.Encoding {
		if name := encodings[e]; name != "" {
			return fmt.Sprintf("encoding %d (%s) is not read: write it with a dictionary, or plain", e, name)
		}
	}

	if chunk.FilePath != "" {
		return "its values lie in another file"
	}

	return ""
}

// plane is a column as an array.
type plane struct {
	f *file
	c *column
}

// Read implements arrays.Plane.
func (p *plane) Read(_ []int, start int64, dst [][]float64) error {
	return arrays.Parts(p.f.ends, start, dst, func(g int, at int64, x []float64) error {
		err := p.f.load(p.c, g)
		if err == nil {
			copy(x, p.c.numbers[at:])
		}

		return err
	})
}

// Text returns the file as text separated by tabs: a header, and the columns of
// numbers and texts; a missing one is empty. Tables of pairs are read so.
func Text(src ingest.Source) (_ []byte, err error) {
	defer fault.Catch(&err)

	f := openFile(src)

	cs := lists.Keep(f.columns, func(c *column) bool { return c.why == "" })

	var b bytes.Buffer

	clean := strings.NewReplacer("\t", " ", "\n", " ", "\r", " ", `"`, "'")
	for i, c := range cs {
		if i > 0 {
			b.WriteByte('\t')
		}

		b.WriteString(clean.Replace(c.name))

		if c.unit != "" {
			b.WriteString(" (" + clean.Replace(c.unit) + ")")
		}
	}

	b.WriteByte('\n')

	row := int64(0) // bytes
	for _, c := range cs {
		if row += 8; c.kind == format.ByteArray {
			row += 8
		}
	}

	// A dictionary's word comes again in every row.
	held, text := maxTable+2*src.Size, maxTable/2+4*src.Size
	from := int64(0)
	for g, end := range f.ends {
		n := (end - from) * row
		f.unless(n <= held, fmt.Sprintf("row group %d", g+1), fmt.Sprintf("columns of at most %d bytes", held),
			strconv.FormatInt(n, 10), "write it with smaller row groups, and the columns that are needed")

		for _, c := range cs {
			fault.Raise(f.load(c, g))
		}

		for k := range end - from {
			for i, c := range cs {
				if i > 0 {
					b.WriteByte('\t')
				}

				if c.kind == format.ByteArray {
					b.WriteString(clean.Replace(c.texts[k]))
				} else if v := c.numbers[k]; !math.IsNaN(v) {
					b.WriteString(arrays.Number(v))
				}
			}

			b.WriteByte('\n')

			if int64(b.Len()) > text {
				f.unless(false, fmt.Sprintf("row group %d", g+1), fmt.Sprintf("a table of at most %d bytes of text", text),
					"more", "export the columns that are needed")
			}
		}

		from = end
	}

	return b.Bytes(), nil
}
