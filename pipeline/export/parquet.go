package export

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"os"

	"doubletake/ingest/fault"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
)

// Physical types, and other numbers, of Apache Parquet's parquet.thrift.
const (
	pqBoolean, pqInt64, pqFloat, pqDouble, pqBytes = 0, 2, 4, 5, 6

	pqRequired, pqOptional, pqRepeated = 0, 1, 2
	pqUTF8, pqList                     = 0, 3
	pqPlain, pqRLE                     = 0, 3
)

// Bounds of what a reader holds at a time.
const (
	groupRows  = 1 << 16
	groupBytes = 64 << 20
	pageBytes  = 1 << 20
)

// Parquet writes a table as a Parquet file: plain encoding, not compressed,
// missing numbers null, lists of float as LIST. The table's metadata is the
// file's, with the keys unit:COLUMN and description:COLUMN; the chunks of a column
// have unit and description too. schema is the table's schema as an Arrow IPC
// message; Arrow's readers take units from it. It may be nil.
func Parquet(w io.Writer, t *table.Table, schema []byte) error {
	p := &parquet{w: w, t: t}
	p.write([]byte("PAR1"))
	for from := 0; from < t.Rows(); {
		to := p.groupEnd(from)
		p.group(from, to)
		from = to
	}
	foot := p.footer(schema)
	p.write(foot)
	p.write(binary.LittleEndian.AppendUint32(nil, uint32(len(foot))))
	p.write([]byte("PAR1"))
	return p.err
}

// arrowSchema returns the message of the schema, with which an Arrow file begins
// after its magic.
func arrowSchema(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.In(path, err)
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, fault.In(path, err)
	}
	n := binary.LittleEndian.Uint32(head[12:])
	if string(head[:8]) != "ARROW1\x00\x00" || binary.LittleEndian.Uint32(head[8:]) != math.MaxUint32 || n > 64<<20 {
		return nil, nil // written by another program: its readers do without
	}
	b := make([]byte, 8+n)
	copy(b, head[8:])
	if _, err := io.ReadFull(f, b[8:]); err != nil {
		return nil, fault.In(path, err)
	}
	return b, nil
}

type parquet struct {
	w      io.Writer
	err    error
	t      *table.Table
	at     int64
	groups []pqGroup
}

type pqGroup struct {
	rows   int
	chunks []pqChunk
}

type pqChunk struct {
	at, size int64
	values   int
}

func (p *parquet) write(b []byte) {
	if p.err == nil {
		_, p.err = p.w.Write(b)
	}
	p.at += int64(len(b))
}

// groupEnd returns the row after the last of the group that begins at from.
func (p *parquet) groupEnd(from int) int {
	size := 0
	for r := from; r < min(p.t.Rows(), from+groupRows); r++ {
		for i := range p.t.Columns {
			c := &p.t.Columns[i]
			switch {
			case c.Lists != nil:
				size += 4 * len(c.Lists[r])
			case c.Strings != nil:
				size += 4 + len(c.Strings[r])
			default:
				size += 8
			}
		}
		if size > groupBytes && r > from {
			return r
		}
	}
	return min(p.t.Rows(), from+groupRows)
}

func (p *parquet) group(from, to int) {
	g := pqGroup{rows: to - from}
	for i := range p.t.Columns {
		c := &p.t.Columns[i]
		chunk := pqChunk{at: p.at}
		for r := from; r < to; {
			pg := &page{}
			for r < to && len(pg.values) < pageBytes && pg.n < groupRows {
				pg.add(c, r)
				r++
			}
			chunk.values += pg.n
			body := pg.body(c)
			var h compact
			h.i32(1, 0) // a data page
			h.i32(2, int32(len(body)))
			h.i32(3, int32(len(body)))
			h.begin(5)
			h.i32(1, int32(pg.n))
			h.i32(2, pqPlain)
			h.i32(3, pqRLE)
			h.i32(4, pqRLE)
			h.stop()
			h.stop()
			p.write(h.b)
			p.write(body)
		}
		chunk.size = p.at - chunk.at
		g.chunks = append(g.chunks, chunk)
	}
	p.groups = append(p.groups, g)
}

// page is the values of a page of one column, and its levels.
type page struct {
	n        int // values, null or not, and empty lists
	values   []byte
	def, rep []bool
	bools    []bool
}

func (p *page) add(c *table.Column, r int) {
	le := binary.LittleEndian
	p.n++
	switch {
	case c.Strings != nil:
		p.values = append(le.AppendUint32(p.values, uint32(len(c.Strings[r]))), c.Strings[r]...)
	case c.Ints != nil:
		p.values = le.AppendUint64(p.values, uint64(c.Ints[r]))
	case c.Bools != nil:
		p.bools = append(p.bools, c.Bools[r])
	case c.Lists != nil:
		l := c.Lists[r]
		p.n += max(len(l), 1) - 1
		if len(l) == 0 {
			p.def, p.rep = append(p.def, false), append(p.rep, false)
		}
		for i, v := range l {
			p.def, p.rep = append(p.def, true), append(p.rep, i > 0)
			p.values = le.AppendUint32(p.values, math.Float32bits(v))
		}
	default:
		v := c.Floats[r]
		p.def = append(p.def, v == v)
		if v == v {
			p.values = le.AppendUint64(p.values, math.Float64bits(v))
		}
	}
}

func (p *page) body(c *table.Column) []byte {
	switch {
	case c.Lists != nil:
		return append(append(levels(p.rep), levels(p.def)...), p.values...)
	case c.Bools != nil:
		return packBits(p.bools)
	case c.Strings != nil, c.Ints != nil:
		return p.values
	}
	return append(levels(p.def), p.values...)
}

// levels are the levels, of one bit, of a page: one run of bits behind its
// length.
func levels(v []bool) []byte {
	b := binary.AppendUvarint(make([]byte, 4), uint64((len(v)+7)/8)<<1|1)
	b = append(b, packBits(v)...)
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// packBits packs bits from the lowest of each byte on.
func packBits(v []bool) []byte {
	b := make([]byte, (len(v)+7)/8)
	for i, x := range v {
		if x {
			b[i/8] |= 1 << (i % 8)
		}
	}
	return b
}

// footer is the FileMetaData.
func (p *parquet) footer(schema []byte) []byte {
	var f compact
	f.i32(1, 1)
	leaves := 1
	for i := range p.t.Columns {
		if leaves++; p.t.Columns[i].Lists != nil {
			leaves += 2
		}
	}
	f.list(2, tStruct, leaves)
	f.binary(4, "table")
	f.i32(5, int32(len(p.t.Columns)))
	f.stop()
	for i := range p.t.Columns {
		f.element(&p.t.Columns[i])
	}
	f.i64(3, int64(p.t.Rows()))
	f.list(4, tStruct, len(p.groups))
	for _, g := range p.groups {
		f.list(1, tStruct, len(g.chunks))
		size := int64(0)
		for i, k := range g.chunks {
			size += k.size
			f.chunk(&p.t.Columns[i], k)
		}
		f.i64(2, size)
		f.i64(3, int64(g.rows))
		f.stop()
	}
	var pairs []kv.Pair
	pairs = append(pairs, p.t.Meta...)
	for i := range p.t.Columns {
		for _, a := range about(&p.t.Columns[i]) {
			pairs = append(pairs, kv.Pair{Key: a.Key + ":" + p.t.Columns[i].Name, Value: a.Value})
		}
	}
	if schema != nil {
		pairs = append(pairs, kv.Pair{Key: "ARROW:schema", Value: base64.StdEncoding.EncodeToString(schema)})
	}
	f.pairs(5, pairs)
	f.binary(6, "doubletake")
	f.stop()
	return f.b
}

func about(c *table.Column) (list []kv.Pair) {
	if c.Unit != "" {
		list = append(list, kv.Pair{Key: "unit", Value: c.Unit})
	}
	if c.Description != "" {
		list = append(list, kv.Pair{Key: "description", Value: c.Description})
	}
	return list
}

func physical(c *table.Column) int32 {
	switch {
	case c.Strings != nil:
		return pqBytes
	case c.Ints != nil:
		return pqInt64
	case c.Bools != nil:
		return pqBoolean
	case c.Lists != nil:
		return pqFloat
	}
	return pqDouble
}

// element is the SchemaElement of a column; a list has three.
func (f *compact) element(c *table.Column) {
	if c.Lists != nil {
		f.i32(3, pqRequired)
		f.binary(4, c.Name)
		f.i32(5, 1)
		f.i32(6, pqList)
		f.begin(10) // LogicalType
		f.begin(3)  // LIST
		f.stop()
		f.stop()
		f.stop()
		f.i32(3, pqRepeated)
		f.binary(4, "list")
		f.i32(5, 1)
		f.stop()
		f.i32(1, pqFloat)
		f.i32(3, pqRequired)
		f.binary(4, "element")
		f.stop()
		return
	}
	f.i32(1, physical(c))
	if c.Strings != nil || c.Ints != nil || c.Bools != nil {
		f.i32(3, pqRequired)
	} else {
		f.i32(3, pqOptional)
	}
	f.binary(4, c.Name)
	if c.Strings != nil {
		f.i32(6, pqUTF8)
		f.begin(10)
		f.begin(1) // STRING
		f.stop()
		f.stop()
	}
	f.stop()
}

// chunk is the ColumnChunk of a column.
func (f *compact) chunk(c *table.Column, k pqChunk) {
	path := []string{c.Name}
	if c.Lists != nil {
		path = append(path, "list", "element")
	}
	f.i64(2, k.at)
	f.begin(3)
	f.i32(1, physical(c))
	f.list(2, tI32, 2)
	f.zigzag(pqPlain)
	f.zigzag(pqRLE)
	f.list(3, tBinary, len(path))
	for _, s := range path {
		f.bytes(s)
	}
	f.i32(4, 0) // not compressed
	f.i64(5, int64(k.values))
	f.i64(6, k.size)
	f.i64(7, k.size)
	f.pairs(8, about(c))
	f.i64(9, k.at)
	f.stop()
	f.stop()
}

// pairs is a list of KeyValue; none is left out.
func (f *compact) pairs(id int, list []kv.Pair) {
	if len(list) == 0 {
		return
	}
	f.list(id, tStruct, len(list))
	for _, kv := range list {
		f.binary(1, kv.Key)
		f.binary(2, kv.Value)
		f.stop()
	}
}

// compact writes a struct in Thrift's compact protocol: fields by ascending
// number, then stop. The n elements of a list of structs, each with its stop,
// follow list.
type compact struct {
	b    []byte
	id   int // of the field written last
	open []opened
}

// opened is a field that holds the structs being written.
type opened struct{ id, left int }

const tI32, tI64, tBinary, tList, tStruct = 5, 6, 8, 9, 12

func (f *compact) field(id int, kind byte) {
	if d := id - f.id; d > 0 && d < 16 {
		f.b = append(f.b, byte(d)<<4|kind)
	} else {
		f.b = append(f.b, kind)
		f.zigzag(int64(id))
	}
	f.id = id
}

func (f *compact) zigzag(v int64) {
	f.b = binary.AppendUvarint(f.b, uint64(v<<1)^uint64(v>>63))
}

func (f *compact) i32(id int, v int32) {
	f.field(id, tI32)
	f.zigzag(int64(v))
}

func (f *compact) i64(id int, v int64) {
	f.field(id, tI64)
	f.zigzag(v)
}

func (f *compact) bytes(s string) {
	f.b = append(binary.AppendUvarint(f.b, uint64(len(s))), s...)
}

func (f *compact) binary(id int, s string) {
	f.field(id, tBinary)
	f.bytes(s)
}

// begin begins a field that is a struct.
func (f *compact) begin(id int) {
	f.field(id, tStruct)
	f.push(1)
}

// list begins a field that is a list of n elements.
func (f *compact) list(id int, kind byte, n int) {
	f.field(id, tList)
	if n < 15 {
		f.b = append(f.b, byte(n)<<4|kind)
	} else {
		f.b = binary.AppendUvarint(append(f.b, 0xF0|kind), uint64(n))
	}
	if kind == tStruct && n > 0 {
		f.push(n)
	}
}

func (f *compact) push(n int) {
	f.open = append(f.open, opened{f.id, n})
	f.id = 0
}

// stop ends a struct.
func (f *compact) stop() {
	f.b = append(f.b, 0)
	f.id = 0
	if n := len(f.open); n > 0 {
		if f.open[n-1].left--; f.open[n-1].left == 0 {
			f.id = f.open[n-1].id
			f.open = f.open[:n-1]
		}
	}
}
