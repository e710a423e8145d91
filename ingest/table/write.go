package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"doubletake/internal/kv"
)

// batchRows is the greatest number of rows of a record batch. Batches let readers read a large table in parts.
const batchRows = 1 << 16

// schema returns the schema of the table's file.
func (t *Table) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i := range t.Columns {
		column := &t.Columns[i]
		var stated []kv.Pair
		if column.Unit != "" {
			stated = append(stated, kv.Pair{Key: "unit", Value: column.Unit})
		}

		if column.Description != "" {
			stated = append(stated, kv.Pair{Key: "description", Value: column.Description})
		}

		fields[i] = arrow.Field{
			Name: column.Name, Type: column.dataType(), Nullable: column.Floats != nil, Metadata: metadata(stated),
		}
	}

	return schemaOf(fields, t.Meta)
}

// schemaOf returns a schema with metadata.
func schemaOf(fields []arrow.Field, meta []kv.Pair) *arrow.Schema {
	md := metadata(meta)
	return arrow.NewSchema(fields, &md)
}

// metadata returns pairs as metadata of Arrow, in their order.
func metadata(list []kv.Pair) arrow.Metadata {
	var keys, values []string
	for _, pair := range list {
		keys = append(keys, pair.Key)
		values = append(values, pair.Value)
	}

	return arrow.NewMetadata(keys, values)
}

// buffered is a writer that collects small writes, because the library writes every length and every gap by itself.
type buffered struct {
	b      *bufio.Writer
	offset int64 // number of bytes written so far
}

// bufferBytes is the size of a buffer.
const bufferBytes = 1 << 16

// buffers is a pool of the memory of buffered writers.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferBytes) }}

// newBuffered returns a writer that collects writes for another writer.
func newBuffered(writer io.Writer) *buffered {
	b := buffers.Get().(*bufio.Writer)
	b.Reset(writer)
	return &buffered{b: b}
}

// Write implements io.Writer.
func (w *buffered) Write(p []byte) (int, error) {
	n, err := w.b.Write(p)
	w.offset += int64(n)
	return n, err
}

// Seek returns the offset of the next byte. It can do nothing else, and the library asks for nothing else.
func (w *buffered) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("a table is written from its start to its end")
	}
	return w.offset, nil
}

// Close writes the bytes that are left in the buffer, and returns the buffer to the pool. It does not close the other
// writer.
func (w *buffered) Close() error {
	err := w.b.Flush()
	w.b.Reset(nil)
	buffers.Put(w.b)
	return err
}

// Write writes the table as an Arrow IPC file. It panics if the columns are of unequal length.
func (t *Table) Write(writer io.Writer) error {
	buffer := newBuffered(writer)
	return errors.Join(t.write(buffer), buffer.Close())
}

// write is Write to a writer that knows its offset, as the library wants it.
func (t *Table) write(w io.WriteSeeker) error {
	rows := t.Rows()
	for i := range t.Columns {
		column := &t.Columns[i]
		if column.Len() != rows {
			panic(fmt.Sprintf("table: column %q has %d rows, the table %d", column.Name, column.Len(), rows))
		}
	}

	schema := t.schema()
	fw, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	if err != nil {
		return fmt.Errorf("write arrow schema: %w", err)
	}

	columns := make([]arrow.Array, len(t.Columns))
	for lo := 0; lo < rows || lo == 0; lo += batchRows { // a table without rows has an empty batch
		hi := min(lo+batchRows, rows)
		for i := range t.Columns {
			columns[i] = t.Columns[i].array(lo, hi)
		}

		if err := fw.Write(array.NewRecord(schema, columns, int64(hi-lo))); err != nil {
			return errors.Join(fmt.Errorf("write arrow batch: %w", err), fw.Close())
		}
	}

	if err := fw.Close(); err != nil {
		return fmt.Errorf("write arrow footer: %w", err)
	}

	return nil
}

// dataType returns the type of the column in Arrow.
func (c *Column) dataType() arrow.DataType {
	switch {
	case c.Strings != nil:
		return arrow.BinaryTypes.String
	case c.Ints != nil:
		return arrow.PrimitiveTypes.Int64
	case c.Bools != nil:
		return arrow.FixedWidthTypes.Boolean
	case c.Lists != nil:
		return arrow.ListOfNonNullable(arrow.PrimitiveTypes.Float32)
	default:
		return arrow.PrimitiveTypes.Float64
	}
}

// array returns the values of rows lo to hi-1. It may share the memory of the column.
func (c *Column) array(lo, hi int) arrow.Array {
	switch {
	case c.Strings != nil:
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.AppendValues(c.Strings[lo:hi], nil)
		return b.NewArray()

	case c.Bools != nil:
		b := array.NewBooleanBuilder(memory.DefaultAllocator)
		b.AppendValues(c.Bools[lo:hi], nil)
		return b.NewArray()

	case c.Ints != nil:
		return array.MakeFromData(c.sharedData(hi-lo, arrow.Int64Traits.CastToBytes(c.Ints[lo:hi])))

	case c.Lists != nil:
		ends := make([]int32, 1, hi-lo+1)
		for _, values := range c.Lists[lo:hi] {
			ends = append(ends, ends[len(ends)-1]+int32(len(values)))
		}

		values := array.NewData(arrow.PrimitiveTypes.Float32, int(ends[hi-lo]), []*memory.Buffer{
			nil, memory.NewBufferBytes(arrow.Float32Traits.CastToBytes(join(c.Lists[lo:hi]))),
		}, nil, 0, 0)

		return array.MakeFromData(c.sharedData(hi-lo, arrow.Int32Traits.CastToBytes(ends), values))

	case !slices.ContainsFunc(c.Floats[lo:hi], math.IsNaN):
		return array.MakeFromData(c.sharedData(hi-lo, arrow.Float64Traits.CastToBytes(c.Floats[lo:hi])))
	}

	return nullableArray(c.Floats[lo:hi])
}

// sharedData returns data of the column's type with a number of elements, without nulls, whose memory is data. children
// are the elements of lists.
func (c *Column) sharedData(length int, data []byte, children ...arrow.ArrayData) arrow.ArrayData {
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(data)}

	return array.NewData(c.dataType(), length, buffers, children, 0, 0)
}

// nullableArray returns numbers in which NaN is null.
func nullableArray(numbers []float64) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.Reserve(len(numbers))

	for _, number := range numbers {
		if math.IsNaN(number) {
			b.UnsafeAppendBoolToBitmap(false)
		} else {
			b.UnsafeAppend(number)
		}
	}

	return b.NewArray()
}

// join returns the values of all rows, one row after the other. If the rows already follow one another in memory, as
// the rows of one large slice do, it returns that memory and copies nothing.
func join(rows [][]float32) []float32 {
	if len(rows) == 0 {
		return nil
	}

	all := rows[0][:0]
	for _, values := range rows {
		if len(values) == 0 {
			continue
		}

		length := len(all) + len(values)
		follows := length <= cap(all) && &all[:length][len(all)] == &values[0]
		if !follows {
			return slices.Concat(rows...)
		}

		all = all[:length]
	}

	return all
}

// WriteFile writes the table to a file, and returns the digest of its contents. It replaces an existing file. After an
// error the file may be incomplete, so that callers write to a temporary name first.
func (t *Table) WriteFile(path string) (digest string, err error) {
	file, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("create table: %w", err)
	}

	if err := errors.Join(t.Write(file), file.Close()); err != nil {
		return "", fmt.Errorf("write table %s: %w", path, err)
	}

	return t.Digest(), nil
}
