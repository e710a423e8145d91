package table

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	verifier "doubletake/ingest/format/arrow"
	"doubletake/internal/kv"
	"doubletake/internal/pack"
)

// file is an open table, whose batches are read one at a time.
type file struct {
	source   *pack.Reader
	path     string
	reader   *ipc.FileReader
	batches  int // number of batches
	maxBytes int // greatest size of a buffer, and of all values
}

// A table of n bytes may have values, and buffers of the library, of up to baseBytes + bytesPerByte·n bytes. A damaged
// table may ask for more.
const (
	baseBytes    = 16 << 20
	bytesPerByte = 256
)

// limited allocates buffers up to a size. A larger buffer is a panic, because the library's interface has no error.
// Function guard turns the panic into an error.
type limited struct {
	memory.Allocator
	maxBytes int
}

// Allocate returns a new buffer.
func (m limited) Allocate(size int) []byte { return m.Reallocate(size, nil) }

// Reallocate returns a buffer of another size with the same contents.
func (m limited) Reallocate(size int, data []byte) []byte {
	if size > m.maxBytes {
		panic("table: a buffer that the table cannot hold")
	}

	return m.Allocator.Reallocate(size, data)
}

// openFile opens a table, which may be in a pack.
func openFile(path string) (*file, error) {
	// Reading something else, such as a FIFO, may wait for ever.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open table %s: expected a file", path)
	}

	source, err := pack.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open table: %w", err)
	}

	f := &file{source: source, path: path, maxBytes: baseBytes + bytesPerByte*int(source.Size())}
	if err := guard(f.open); err != nil {
		return nil, errors.Join(fmt.Errorf("read table %s: %w", path, err), source.Close())
	}

	return f, nil
}

// open reads the schema and the number of batches.
func (f *file) open() error {
	reader, err := ipc.NewFileReader(f.source, ipc.WithAllocator(limited{memory.DefaultAllocator, f.maxBytes}))
	if err != nil {
		return fmt.Errorf("expected an Arrow IPC file: %w", err)
	}

	f.reader = reader
	f.batches = reader.NumRecords()

	return nil
}

// Close closes the file.
func (f *file) Close() error { return errors.Join(f.reader.Close(), f.source.Close()) }

// each calls do with each batch, in order. The batch is valid until do returns.
func (f *file) each(do func(batch arrow.Record) error) error {
	for i := range f.batches {
		err := guard(func() error {
			batch, err := f.reader.RecordAt(i)
			if err != nil {
				return fmt.Errorf("decode record: %w", err)
			}
			defer batch.Release()

			return do(batch)
		})
		if err != nil {
			return fmt.Errorf("read table %s: batch %d: %w", f.path, i+1, err)
		}
	}

	return nil
}

// guard calls a function that uses the library. On damaged values the library panics, or returns the panic as an error.
// guard returns an error in plain words instead.
func guard(do func() error) (err error) {
	defer func() {
		var panicked runtime.Error
		if recover() != nil || errors.As(err, &panicked) {
			err = errors.New("the file is damaged")
		}
	}()

	return do()
}

// ReadVerified reads a whole table of any origin. It first checks that the file is valid.
func ReadVerified(path string) (*Table, error) {
	source, err := pack.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open table: %w", err)
	}

	if err := errors.Join(verifier.VerifyTable(source, source.Size()), source.Close()); err != nil {
		return nil, fmt.Errorf("read table %s: %w", path, err)
	}

	return Read(path)
}

// Read reads a whole table that Write wrote and whose digest the caller trusts. If the file is damaged all the same,
// Read returns an error or wrong values. It returns an error if the values take more than 16 MiB and 256 times the
// file.
func Read(path string) (*Table, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	table, err := emptyTable(f.reader.Schema())
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", path, err)
	}

	left := int64(f.maxBytes)
	err = f.each(func(batch arrow.Record) error {
		for j, values := range batch.Columns() {
			left -= int64(values.Data().SizeInBytes())
			if left < 0 {
				return fmt.Errorf("expected at most %d bytes in a table of %d, found more", f.maxBytes, f.source.Size())
			}

			if err := table.Columns[j].extend(values); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return table, nil
}

// emptyTable returns a table without rows that has the columns and the metadata of a schema. It returns an error if a
// column has a type that tables do not have.
func emptyTable(schema *arrow.Schema) (*Table, error) {
	md := schema.Metadata()
	table := &Table{}
	for i, key := range md.Keys() {
		table.Meta = append(table.Meta, kv.Pair{Key: key, Value: md.Values()[i]})
	}

	for _, field := range schema.Fields() {
		column := Column{Name: field.Name}
		column.Unit, _ = field.Metadata.GetValue("unit")
		column.Description, _ = field.Metadata.GetValue("description")

		switch field.Type.ID() {
		case arrow.STRING:
			column.Strings = []string{}
		case arrow.INT64:
			column.Ints = []int64{}
		case arrow.BOOL:
			column.Bools = []bool{}
		case arrow.FLOAT64:
			column.Floats = []float64{}
		case arrow.LIST:
			column.Lists = [][]float32{}
		default:
			// The name of the type is shorter than its text, which is long for nested types.
			return nil, fmt.Errorf("column %q has type %s, expected utf8, float64, int64, bool or list<float32>",
				field.Name, field.Type.Name())
		}

		table.Columns = append(table.Columns, column)
	}

	return table, nil
}

// extend appends the values of a batch to the column. It copies them, because the memory of the batch is used again.
func (c *Column) extend(values arrow.Array) error {
	switch values := values.(type) {
	case *array.String:
		for i := range values.Len() {
			c.Strings = append(c.Strings, strings.Clone(values.Value(i)))
		}

	case *array.Int64:
		c.Ints = append(c.Ints, values.Int64Values()...)
	case *array.Boolean:
		for i := range values.Len() {
			c.Bools = append(c.Bools, values.Value(i))
		}

	case *array.Float64:
		c.extendFloats(values)
	case *array.List:
		return c.extendLists(values)
	default:
		return fmt.Errorf("column %q has type %s", c.Name, values.DataType())
	}

	return nil
}

// extendFloats appends numbers. Null becomes NaN.
func (c *Column) extendFloats(values *array.Float64) {
	rows := len(c.Floats)
	c.Floats = append(c.Floats, values.Float64Values()...)
	if values.NullN() == 0 {
		return
	}

	for i := range values.Len() {
		if values.IsNull(i) {
			c.Floats[rows+i] = math.NaN()
		}
	}
}

// extendLists appends lists. It returns an error if they are not of float32, or if a damaged list ends beyond the
// values.
func (c *Column) extendLists(added *array.List) error {
	values, ok := added.ListValues().(*array.Float32)
	if !ok {
		return fmt.Errorf("column %q is a list of %s, expected float32", c.Name, added.ListValues().DataType())
	}

	for i := range added.Len() {
		lo, hi := added.ValueOffsets(i)
		if lo < 0 || hi < lo || hi > int64(values.Len()) {
			return fmt.Errorf("column %q: list %d has the values %d to %d of %d", c.Name, i+1, lo, hi, values.Len())
		}

		c.Lists = append(c.Lists, slices.Clone(values.Float32Values()[lo:hi]))
	}

	return nil
}
