package export

import (
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"os"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"doubletake/ingest/fault"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/table"
)

// Bounds of what a reader holds at a time.
const (
	groupRows  = 1 << 16
	groupBytes = 64 << 20
	pageBytes  = 1 << 20
)

// Parquet writes a table as a Parquet file: plain encoding, not compressed,
// missing numbers null, lists of float as LIST. The table's metadata is the
// file's, with the keys unit:COLUMN and description:COLUMN. schema is the table's
// schema as an Arrow IPC message; Arrow's readers take units from it. It may be nil.
func Parquet(w io.Writer, t *table.Table, schema []byte) error {
	p := parquet.NewWriter(w, parquet.NewSchema("table", columns(t)), parquet.Compression(&parquet.Uncompressed),
		parquet.MaxRowsPerRowGroup(groupRows), parquet.PageBufferSize(pageBytes), parquet.DataPageVersion(1),
		parquet.CreatedBy("doubletake", "", ""))
	for _, m := range t.Meta {
		p.SetKeyValueMetadata(m.Key, m.Value)
	}

	for i := range t.Columns {
		for _, a := range about(&t.Columns[i]) {
			p.SetKeyValueMetadata(a.Key+":"+t.Columns[i].Name, a.Value)
		}
	}

	if schema != nil {
		p.SetKeyValueMetadata("ARROW:schema", base64.StdEncoding.EncodeToString(schema))
	}

	size, inGroup := 0, 0

	var row parquet.Row
	for r := range t.Rows() {
		row = row[:0]

		next := 0
		for i := range t.Columns {
			row = appendCell(row, &t.Columns[i], i, r)
			next += cellBytes(&t.Columns[i], r)
		}

		if size+next > groupBytes && inGroup > 0 {
			if err := p.Flush(); err != nil {
				return err
			}
			size, inGroup = 0, 0
		}

		if _, err := p.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}

		if size, inGroup = size+next, inGroup+1; inGroup == groupRows {
			size, inGroup = 0, 0 // the writer has begun another group
		}
	}

	return p.Close()
}

// columns is the root of the schema. The library's own groups are sorted by name.
func columns(t *table.Table) parquet.Node {
	r := root{}
	for i := range t.Columns {
		r.fields = append(r.fields, field{node(&t.Columns[i]), t.Columns[i].Name})
	}

	return r
}

type root struct {
	parquet.Group
	fields []parquet.Field
}

func (r root) Fields() []parquet.Field { return r.fields }

type field struct {
	parquet.Node
	name string
}

func (f field) Name() string { return f.name }

// Value implements parquet.Field. Rows are written, no values of Go types.
func (f field) Value(reflect.Value) reflect.Value { panic("export: no Go value") }

// node is the type of a column.
func node(c *table.Column) parquet.Node {
	plain := func(t parquet.Type) parquet.Node { return parquet.Encoded(parquet.Leaf(t), &parquet.Plain) }
	switch {
	case c.Strings != nil:
		return parquet.Encoded(parquet.String(), &parquet.Plain)
	case c.Ints != nil:
		return plain(parquet.Int64Type)
	case c.Bools != nil:
		return plain(parquet.BooleanType)
	case c.Lists != nil:
		return parquet.List(plain(parquet.FloatType))
	}

	return parquet.Optional(plain(parquet.DoubleType))
}

// appendCell appends the values of a row in column i, with their levels.
func appendCell(row parquet.Row, c *table.Column, i, r int) parquet.Row {
	switch {
	case c.Strings != nil:
		return append(row, parquet.ByteArrayValue([]byte(c.Strings[r])).Level(0, 0, i))
	case c.Ints != nil:
		return append(row, parquet.Int64Value(c.Ints[r]).Level(0, 0, i))
	case c.Bools != nil:
		return append(row, parquet.BooleanValue(c.Bools[r]).Level(0, 0, i))
	case c.Lists == nil && c.Floats[r] == c.Floats[r]:
		return append(row, parquet.DoubleValue(c.Floats[r]).Level(0, 1, i))
	case c.Lists == nil || len(c.Lists[r]) == 0:
		return append(row, parquet.NullValue().Level(0, 0, i))
	}

	for k, v := range c.Lists[r] {
		row = append(row, parquet.FloatValue(v).Level(min(k, 1), 1, i))
	}

	return row
}

// cellBytes is the size of a row in a column.
func cellBytes(c *table.Column, r int) int {
	switch {
	case c.Lists != nil:
		return 4 * len(c.Lists[r])
	case c.Strings != nil:
		return 4 + len(c.Strings[r])
	}

	return 8
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
