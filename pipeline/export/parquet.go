package export

import (
	"io"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"doubletake/internal/lists"
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
// file's, with the keys unit:COLUMN and description:COLUMN.
func Parquet(w io.Writer, t *table.Table) error {
	p := parquet.NewWriter(w, parquet.NewSchema("table", columns(t)), parquet.Compression(&parquet.Uncompressed),
		parquet.MaxRowsPerRowGroup(groupRows), parquet.PageBufferSize(pageBytes), parquet.DataPageVersion(1),
		parquet.CreatedBy("doubletake", "", ""))
	for _, m := range t.Meta {
		p.SetKeyValueMetadata(m.Key, m.Value)
	}

	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Unit != "" {
			p.SetKeyValueMetadata("unit:"+c.Name, c.Unit)
		}

		if c.Description != "" {
			p.SetKeyValueMetadata("description:"+c.Name, c.Description)
		}
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
	return root{fields: lists.Each(t.Columns, func(c table.Column) parquet.Field { return field{node(&c), c.Name} })}
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
