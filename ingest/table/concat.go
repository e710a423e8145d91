package table

import (
	"errors"
	"fmt"
	"os"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"doubletake/internal/kv"
)

// Concat writes the rows of the tables at the paths parts, in their order, to a table at path, and returns their
// number. It replaces an existing file. After an error the file may be incomplete, so that callers write to a temporary
// name first. meta becomes the metadata of the table.
//
// The columns are those of the first part that has rows. The columns of the other parts must have the same names,
// units, types and order. Parts without rows are left out.
//
// Concat has one batch in memory at a time, so that its memory does not grow with the number of parts. Each batch
// becomes a batch of the result.
func Concat(path string, meta []kv.Pair, parts []string) (rows int, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("create table: %w", err)
	}

	joined := &concat{buffer: newBuffered(file), meta: meta}
	err = joined.addAll(parts)
	if joined.writer != nil {
		err = errors.Join(err, joined.writer.Close())
	}

	if err := errors.Join(err, joined.buffer.Close(), file.Close()); err != nil {
		return 0, fmt.Errorf("join tables to %s: %w", path, err)
	}

	return joined.rows, nil
}

// concat is a table that is being joined.
type concat struct {
	buffer *buffered
	meta   []kv.Pair
	schema *arrow.Schema   // nil until the first rows
	writer *ipc.FileWriter // nil until the first rows
	last   *arrow.Schema   // the last schema that was compared with schema
	rows   int             // number of rows so far
}

// addAll adds the rows of all parts. Without rows the table has no columns, as Table.Write writes it.
func (c *concat) addAll(parts []string) error {
	for _, path := range parts {
		if err := c.add(path); err != nil {
			return err
		}
	}

	if c.writer != nil {
		return nil
	}

	return c.open((&Table{Meta: c.meta}).schema())
}

// open writes the schema.
func (c *concat) open(schema *arrow.Schema) error {
	writer, err := ipc.NewFileWriter(c.buffer, ipc.WithSchema(schema))
	if err != nil {
		return fmt.Errorf("write arrow schema: %w", err)
	}

	c.schema = schema
	c.writer = writer

	return nil
}

// add adds the rows of the table at path.
func (c *concat) add(path string) error {
	file, err := openFile(path)
	if err != nil {
		return err
	}
	defer file.Close()

	return file.each(func(batch arrow.Record) error {
		if batch.NumRows() == 0 {
			return nil
		}
		return c.write(path, batch)
	})
}

// write writes a batch of the table at path, after it has compared the columns.
func (c *concat) write(path string, batch arrow.Record) error {
	if c.schema == nil {
		if err := c.open(schemaOf(batch.Schema().Fields(), c.meta)); err != nil {
			return err
		}
	}

	if batch.Schema() != c.last { // the first batch of a file
		c.last = batch.Schema()
		if err := c.compare(path, batch.Schema().Fields()); err != nil {
			return err
		}
	}

	joined := array.NewRecord(c.schema, batch.Columns(), batch.NumRows())
	defer joined.Release()
	c.rows += int(batch.NumRows())

	if err := c.writer.Write(joined); err != nil {
		return fmt.Errorf("write arrow batch: %w", err)
	}

	return nil
}

// compare returns an error that names the first column of the table at path that differs from the joined table's.
func (c *concat) compare(path string, fields []arrow.Field) error {
	want := c.schema.Fields()
	if len(fields) != len(want) {
		return fmt.Errorf("%s: expected %d columns, found %d", path, len(want), len(fields))
	}

	for i := range want {
		if !fields[i].Equal(want[i]) {
			return fmt.Errorf("%s: expected column %s, found %s", path, want[i], fields[i])
		}
	}

	return nil
}
