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
	damaged  = "is the file damaged? copy it again, or leave it out with exclude"
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

	group  int // that is held; −1: none
	values []float64
	texts  []string
}

// file is a file whose footer was read. It gives access to the columns.
type file struct {
	src     ingest.Source
	columns []*column
	ends    []int64 // the row after the last of each row group
	meta    []ingest.Attribute
}

func (f *file) fail(place, want, found, hint string) error {
	return &fault.Error{Path: f.src.Path, Place: place, Want: want, Found: found, Hint: hint}
}

func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := openFile(src)
	if err != nil {
		return nil, err
	}

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

			if err := r.Add(a); err != nil {
				return nil, err
			}
		}
	}

	if f.rows() == 0 {
		return nil, f.fail("footer", "rows", "none", "record again, or leave it out with exclude")
	}

	return r, r.Finish(o)
}

func (f *file) rows() int64 {
	if len(f.ends) == 0 {
		return 0
	}
	return f.ends[len(f.ends)-1]
}

// openFile reads the footer.
func openFile(src ingest.Source) (*file, error) {
	f := &file{src: src}
	tail := make([]byte, 8)

	if src.Size < 12 {
		return nil, f.fail("", "a Parquet file", fault.Plural(src.Size, "byte"), raw.CutShort)
	}

	if err := raw.ReadHeader(src, tail, src.Size-8, "a footer"); err != nil {
		return nil, err
	}

	n := int64(binary.LittleEndian.Uint32(tail))
	switch {
	case string(tail[4:]) == "PARE":
		return nil, f.fail("footer", "a footer that is not encrypted", "an encrypted one", "save it without encryption")
	case string(tail[4:]) != magic:
		return nil, f.fail(fmt.Sprintf("byte %d", src.Size-4), strconv.Quote(magic), strconv.Quote(string(tail[4:])),
			raw.CutShort)
	case n > src.Size-12 || n > maxFooter:
		return nil, f.fail("footer", fmt.Sprintf("a footer within %d bytes", src.Size), fmt.Sprintf("%d bytes", n), damaged)
	}

	b := make([]byte, n)
	if err := raw.ReadHeader(src, b, src.Size-8-n, "a footer"); err != nil {
		return nil, err
	}

	var meta format.FileMetaData
	if _, err := decode(b, &meta); err != nil {
		return nil, &fault.Error{Path: src.Path, Place: "footer", Err: fmt.Errorf("decode: %w", err), Hint: damaged}
	}

	if err := f.schema(&meta); err != nil {
		return nil, err
	}

	return f, f.groups(&meta)
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

	var protocol thrift.CompactProtocol
	elements := maxList + len(b)/64
	if err := skim(protocol.NewReaderFromBytes(b), thrift.STRUCT, &elements, false, 0); err != nil {
		return 0, err
	}

	r := protocol.NewReaderFromBytes(b)
	err = thrift.NewDecoder(r).Decode(into)

	return r.BytesRead(), err
}

// skim reads a value and drops it. The decoder makes room for as many elements as a
// list states, and calls itself for structs in structs. left are the elements that
// lists may still have.
func skim(r thrift.Reader, kind thrift.Type, left *int, element bool, depth int) (err error) {
	if depth > 64 {
		return errThrift
	}

	switch kind {
	case thrift.STRUCT:
		for {
			f, err := r.ReadField()
			if err != nil || f.Type == thrift.STOP {
				return err
			}

			if err := skim(r, f.Type, left, false, depth+1); err != nil {
				return err
			}
		}

	case thrift.LIST, thrift.SET:
		list, err := r.ReadList()
		if *left -= int(list.Size); err == nil && (list.Size > maxList || *left < 0) {
			err = errMany
		}

		for i := 0; err == nil && i < int(list.Size); i++ {
			err = skim(r, list.Type, left, true, depth+1)
		}

		return err

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

	return err
}

// schema makes the columns; nested ones are not read.
func (f *file) schema(meta *format.FileMetaData) error {
	elements := meta.Schema
	if len(elements) == 0 {
		return f.fail("footer", "a schema", "none", damaged)
	}

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
			if len(depth) > 64 {
				return f.fail("footer", "columns in at most 64 levels", "more", damaged)
			}

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

	return nil
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

	switch t := e.LogicalType.Value.(type) {
	case *format.IntType:
		c.unsigned = !t.IsSigned

	case *format.TimestampType:
		c.tick(t.Unit)
	case *format.TimeType:
		c.tick(t.Unit)
	}

	switch converted {
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		c.unsigned = true
	case deprecated.TimestampMillis, deprecated.TimeMillis:
		c.unit, c.clock = "ms", true
	case deprecated.TimestampMicros, deprecated.TimeMicros:
		c.unit, c.clock = "µs", true
	}
}

// tick makes c a column of times in a unit.
func (c *column) tick(unit format.TimeUnit) {
	c.clock = true

	switch unit.Value.(type) {
	case *format.MilliSeconds:
		c.unit = "ms"
	case *format.MicroSeconds:
		c.unit = "µs"
	case *format.NanoSeconds:
		c.unit = "ns"
	}
}

// groups reads where the row groups lie.
func (f *file) groups(meta *format.FileMetaData) error {
	rows := int64(0)
	for g := range meta.RowGroups {
		group := &meta.RowGroups[g]

		place := fmt.Sprintf("row group %d", g+1)
		if most := maxGroup + f.src.Size/4; group.NumRows < 0 || group.NumRows > most {
			return f.fail(place, fmt.Sprintf("at most %d rows in a file of %d bytes", most, f.src.Size),
				strconv.FormatInt(group.NumRows, 10), "write it again with smaller row groups")
		}

		if len(group.Columns) != len(f.columns) {
			return f.fail(place, fault.Plural(int64(len(f.columns)), "column"), strconv.Itoa(len(group.Columns)), damaged)
		}

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

	if rows > maxEqual && rows/perByte > f.src.Size {
		return f.fail("footer", fmt.Sprintf("rows that %d bytes can hold", f.src.Size), fault.Plural(rows, "row"), damaged)
	}

	return nil
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
func (p *plane) Read(channels []int, start int64, dst [][]float64) (n int, err error) {
	for i := range channels {
		n = 0
		for g, end := range p.f.ends {
			if at := start + int64(n); n < len(dst[i]) && at < end {
				if err := p.f.load(p.c, g); err != nil {
					return 0, err
				}

				from := int64(0)
				if g > 0 {
					from = p.f.ends[g-1]
				}

				n += copy(dst[i][n:], p.c.values[at-from:])
			}
		}
	}

	if n < len(dst[0]) {
		return n, io.EOF
	}

	return n, nil
}

// Text returns the file as text separated by tabs: a header, and the columns of
// numbers and texts; a missing one is empty. Tables of pairs are read so.
func Text(src ingest.Source) ([]byte, error) {
	f, err := openFile(src)
	if err != nil {
		return nil, err
	}

	var cs []*column
	for _, c := range f.columns {
		if c.why == "" {
			cs = append(cs, c)
		}
	}

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
		if n := (end - from) * row; n > held {
			return nil, f.fail(fmt.Sprintf("row group %d", g+1), fmt.Sprintf("columns of at most %d bytes", held),
				strconv.FormatInt(n, 10), "write it with smaller row groups, and the columns that are needed")
		}

		for _, c := range cs {
			if err := f.load(c, g); err != nil {
				return nil, err
			}
		}

		for k := range end - from {
			for i, c := range cs {
				if i > 0 {
					b.WriteByte('\t')
				}

				if c.kind == format.ByteArray {
					b.WriteString(clean.Replace(c.texts[k]))
				} else if v := c.values[k]; !math.IsNaN(v) {
					b.WriteString(arrays.Number(v))
				}
			}

			b.WriteByte('\n')

			if int64(b.Len()) > text {
				return nil, f.fail(fmt.Sprintf("row group %d", g+1), fmt.Sprintf("a table of at most %d bytes of text", text),
					"more", "export the columns that are needed")
			}
		}

		from = end
	}

	return b.Bytes(), nil
}
