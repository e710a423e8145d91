// Package parquet reads Parquet files of flat columns: numbers as channels, and
// whole tables with texts. Pages of both versions, plain, dictionary, run-length and
// byte-stream-split encoding, not compressed or by Snappy, gzip or Zstandard. What
// else there is (nested columns, decimals, delta encodings, LZ4, Brotli) is listed as
// not read, by name. Of each column that is read a row group is held in memory.
package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

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
	maxGroup  = 1 << 24 // rows of a row group
	maxPage   = 1 << 30
	// A file of a few bytes may state any number of rows with one value.
	maxEqual = 1 << 25 // rows in any file
	perByte  = 1 << 10 // rows beyond that
	damaged  = "is the file damaged? copy it again, or leave it out with exclude"
)

// Physical types.
const (
	boolean = iota
	int32Type
	int64Type
	int96
	float
	double
	byteArray
	fixed
)

// column is a flat column.
type column struct {
	name     string
	kind     int64
	optional bool
	unsigned bool
	unit     string
	chunks   []value // ColumnMetaData, by row group
	why      string  // it is not read; empty: it is

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
		case c.kind == byteArray:
			r.Unread(c.name, false, "a column of texts")
		default:
			if err := r.Add(arrays.Array{Name: c.name, Dims: []int64{f.rows()}, Unit: c.unit, Plane: &plane{f, c}}); err != nil {
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
	meta, _, err := decode(b)
	if err != nil {
		return nil, &fault.Error{Path: src.Path, Place: "footer", Err: fmt.Errorf("decode: %w", err), Hint: damaged}
	}
	if err := f.schema(meta); err != nil {
		return nil, err
	}
	return f, f.groups(meta)
}

// schema makes the columns; nested ones are not read.
func (f *file) schema(meta value) error {
	elements := meta.at(2).list
	if len(elements) == 0 {
		return f.fail("footer", "a schema", "none", damaged)
	}
	units := map[string]string{}
	for _, kv := range meta.at(5).list {
		key, text := raw.Text(kv.at(1).b), raw.Text(kv.at(2).b)
		if name, is := strings.CutPrefix(key, "unit:"); is {
			units[name] = text
		} else if len(text) <= 200 && len(f.meta) < 64 {
			f.meta = append(f.meta, ingest.Attribute{Name: key, Value: text})
		}
	}
	// The leaves of the tree of elements are the columns. Those below another
	// element are nested.
	depth := []int64{elements[0].at(5).n} // children left, by level
	path := []string{}
	for _, e := range elements[1:] {
		for len(depth) > 1 && depth[len(depth)-1] == 0 {
			depth, path = depth[:len(depth)-1], path[:len(path)-1]
		}
		depth[len(depth)-1]--
		name := raw.Text(e.at(4).b)
		if children := e.at(5).n; children > 0 {
			if len(depth) > 64 {
				return f.fail("footer", "columns in at most 64 levels", "more", damaged)
			}
			depth, path = append(depth, children), append(path, name)
			continue
		}
		c := &column{name: strings.Join(append(path[:len(path):len(path)], name), "."), kind: e.at(1).n, group: -1}
		c.optional = e.at(3).n == 1
		c.describe(e, len(path) > 0 || e.at(3).n == 2)
		if u := units[c.name]; u != "" {
			c.unit = u
		}
		f.columns = append(f.columns, c)
	}
	return nil
}

// describe settles how the values of a column are read, or why they are not.
func (c *column) describe(e value, nested bool) {
	converted, logical := e.at(6).n, e.at(10)
	switch {
	case nested:
		c.why = "a nested column"
	case c.kind == int96:
		c.why = "numbers of 96 bits (timestamps of old writers) are not read"
	case c.kind == fixed:
		c.why = "values of fixed length (decimals, UUIDs, float16) are not read"
	case c.kind < 0 || c.kind > fixed:
		c.why = fmt.Sprintf("type %d is not known", c.kind)
	case e.has(6) && converted == 5 || logical.has(5):
		c.why = "decimals are not read: save floats"
	case e.has(6) && converted >= 11 && converted <= 14:
		c.unsigned = true
	case logical.at(10).has(2) && logical.at(10).at(2).n == 0 && logical.has(10):
		c.unsigned = true
	}
	switch unit := logical.at(8).at(2); { // of a timestamp
	case e.has(6) && converted == 9, unit.has(1):
		c.unit = "ms"
	case e.has(6) && converted == 10, unit.has(2):
		c.unit = "µs"
	case unit.has(3):
		c.unit = "ns"
	}
}

// groups reads where the row groups lie.
func (f *file) groups(meta value) error {
	rows := int64(0)
	for g, group := range meta.at(4).list {
		place := fmt.Sprintf("row group %d", g+1)
		n := group.at(3).n
		if n < 0 || n > maxGroup {
			return f.fail(place, fmt.Sprintf("at most %d rows", maxGroup), strconv.FormatInt(n, 10),
				"write it again with smaller row groups")
		}
		chunks := group.at(1).list
		if len(chunks) != len(f.columns) {
			return f.fail(place, fault.Plural(int64(len(f.columns)), "column"), strconv.Itoa(len(chunks)), damaged)
		}
		for i, ch := range chunks {
			c, m := f.columns[i], ch.at(3)
			c.chunks = append(c.chunks, m)
			switch codec := m.at(4).n; codec {
			case 0, 1, 2, 6:
			default:
				names := map[int64]string{3: "LZO", 4: "Brotli", 5: "LZ4", 7: "LZ4"}
				if c.why == "" {
					c.why = fmt.Sprintf("compression %d (%s) is not read: write it with Snappy or Zstandard", codec, names[codec])
				}
			}
			for _, e := range m.at(2).list {
				if name := encodings[e.n]; name != "" && c.why == "" {
					c.why = fmt.Sprintf("encoding %d (%s) is not read: write it with a dictionary, or plain", e.n, name)
				}
			}
			if len(ch.at(1).b) > 0 && c.why == "" {
				c.why = "its values lie in another file"
			}
		}
		if n > 0 {
			rows += n
			f.ends = append(f.ends, rows)
		} else {
			for _, c := range f.columns {
				c.chunks = c.chunks[:len(c.chunks)-1]
			}
		}
	}
	if rows > maxEqual && rows/perByte > f.src.Size {
		return f.fail("footer", fmt.Sprintf("rows that %d bytes can hold", f.src.Size), fault.Plural(rows, "row"), damaged)
	}
	return nil
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

// maxText bounds the text of a table: a dictionary's word comes again in every row.
// A variable for tests.
var maxText = 1 << 30

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
	from := int64(0)
	for g, end := range f.ends {
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
				if c.kind == byteArray {
					b.WriteString(clean.Replace(c.texts[k]))
				} else if v := c.values[k]; !math.IsNaN(v) {
					b.WriteString(arrays.Number(v))
				}
			}
			b.WriteByte('\n')
			if b.Len() > maxText {
				return nil, f.fail(fmt.Sprintf("row group %d", g+1), fmt.Sprintf("a table of at most %d MiB of text", maxText>>20),
					"more", "export the columns that are needed")
			}
		}
		from = end
	}
	return b.Bytes(), nil
}
