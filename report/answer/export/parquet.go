package export

import (
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go"

	"doubletake/ingest/table"
)

// These bounds limit the memory that a reader needs.
const (
	groupRows  = 1 << 16  // rows of a row group
	groupBytes = 64 << 20 // size of the values of a row group
	pageBytes  = 1 << 20  // size of a page
)

// Parquet writes a table as a Parquet file: in plain encoding, not compressed, missing numbers as null, and lists of
// float as LIST. The file has the table's metadata, and also the keys unit:COLUMN and description:COLUMN.
func Parquet(w io.Writer, t *table.Table) error {
	writer := parquet.NewWriter(w, parquet.NewSchema("table", columns(t)), parquet.Compression(&parquet.Uncompressed),
		parquet.MaxRowsPerRowGroup(groupRows), parquet.PageBufferSize(pageBytes), parquet.DataPageVersion(1),
		parquet.CreatedBy("doubletake", "", ""))
	for _, pair := range t.Meta {
		writer.SetKeyValueMetadata(pair.Key, pair.Value)
	}

	for i := range t.Columns {
		column := &t.Columns[i]
		if column.Unit != "" {
			writer.SetKeyValueMetadata("unit:"+column.Name, column.Unit)
		}

		if column.Description != "" {
			writer.SetKeyValueMetadata("description:"+column.Name, column.Description)
		}
	}

	if err := writeRows(writer, t); err != nil {
		return err
	}

	if err := writer.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}

	return nil
}

// rowWriter writes rows, and ends a row group when it is flushed.
type rowWriter interface {
	WriteRows(rows []parquet.Row) (int, error)
	Flush() error
}

// writeRows writes the rows of a table. It begins another row group if a row would make the group too large. The writer
// itself begins another group after groupRows rows.
func writeRows(writer rowWriter, t *table.Table) error {
	rows := 0 // number of rows in the present group
	size := 0 // of their values, in bytes

	var row parquet.Row
	for r := range t.Rows() {
		row = row[:0]

		rowBytes := 0
		for i := range t.Columns {
			row = appendCell(row, &t.Columns[i], i, r)
			rowBytes += cellBytes(&t.Columns[i], r)
		}

		if size+rowBytes > groupBytes && rows > 0 {
			if err := writer.Flush(); err != nil {
				return fmt.Errorf("write Parquet: %w", err)
			}

			rows = 0
			size = 0
		}

		if _, err := writer.WriteRows([]parquet.Row{row}); err != nil {
			return fmt.Errorf("write Parquet: %w", err)
		}

		rows++
		size += rowBytes
		if rows == groupRows {
			rows = 0
			size = 0
		}
	}

	return nil
}

// columns returns the root of the schema, whose columns are in the order of the table. The library's own groups are
// sorted by name.
func columns(t *table.Table) parquet.Node {
	fields := make([]parquet.Field, len(t.Columns))
	for i := range t.Columns {
		column := &t.Columns[i]
		fields[i] = field{node(column), column.Name}
	}

	return root{fields: fields}
}

// root is the group of all columns.
type root struct {
	parquet.Group
	fields []parquet.Field
}

// Fields returns the columns.
func (r root) Fields() []parquet.Field { return r.fields }

// field is a column of the schema.
type field struct {
	parquet.Node
	name string
}

// Name returns the name of the column.
func (f field) Name() string { return f.name }

// Value implements parquet.Field. It panics: the writer gets rows, never values of Go types.
func (f field) Value(reflect.Value) reflect.Value { panic("export: no Go value") }

// node returns the type of a column.
func node(column *table.Column) parquet.Node {
	plain := func(t parquet.Type) parquet.Node { return parquet.Encoded(parquet.Leaf(t), &parquet.Plain) }
	switch {
	case column.Strings != nil:
		return parquet.Encoded(parquet.String(), &parquet.Plain)
	case column.Ints != nil:
		return plain(parquet.Int64Type)
	case column.Bools != nil:
		return plain(parquet.BooleanType)
	case column.Lists != nil:
		return parquet.List(plain(parquet.FloatType))
	}

	return parquet.Optional(plain(parquet.DoubleType))
}

// appendCell appends the values of row r in column i, with their levels: the repetition level, which is 1 for all
// values of a list except the first, and the definition level, which is 0 for null and for an empty list (Dremel; the
// documentation of Parquet, "Nested Encoding").
func appendCell(row parquet.Row, column *table.Column, i, r int) parquet.Row {
	switch {
	case column.Strings != nil:
		return append(row, parquet.ByteArrayValue([]byte(column.Strings[r])).Level(0, 0, i))
	case column.Ints != nil:
		return append(row, parquet.Int64Value(column.Ints[r]).Level(0, 0, i))
	case column.Bools != nil:
		return append(row, parquet.BooleanValue(column.Bools[r]).Level(0, 0, i))
	case column.Lists == nil && math.IsNaN(column.Floats[r]):
		return append(row, parquet.NullValue().Level(0, 0, i))
	case column.Lists == nil:
		return append(row, parquet.DoubleValue(column.Floats[r]).Level(0, 1, i))
	case len(column.Lists[r]) == 0:
		return append(row, parquet.NullValue().Level(0, 0, i))
	}

	for k, v := range column.Lists[r] {
		row = append(row, parquet.FloatValue(v).Level(min(k, 1), 1, i))
	}

	return row
}

// Sizes of values in a Parquet file, in bytes.
const (
	floatBytes  = 4
	doubleBytes = 8
	lengthBytes = 4 // the length of a text
)

// cellBytes returns about how many bytes a row of a column takes. It counts an integer and a bool like a float64.
func cellBytes(column *table.Column, row int) int {
	switch {
	case column.Lists != nil:
		return floatBytes * len(column.Lists[row])
	case column.Strings != nil:
		return lengthBytes + len(column.Strings[row])
	}

	return doubleBytes
}
