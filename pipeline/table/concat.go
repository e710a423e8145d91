package table

import (
	"errors"
	"fmt"
	"os"

	"doubletake/pipeline/kv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
)

// Concat writes the rows of the Arrow files parts, in their order, to path
// (created or truncated; the caller makes it atomic) and returns their number.
// Columns are the first part's with rows; the others' must be the same in
// name, unit, type and order. Parts without rows are left out. meta becomes the
// schema metadata.
//
// One record batch is held at a time, and each becomes a batch of the result:
// memory does not grow with the number of parts, and readers can stream.
func Concat(path string, meta []kv.Pair, parts []string) (rows int, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("create table: %w", err)
	}

	c := &concat{to: newBuffered(f), meta: meta}
	for _, p := range parts {
		if err = c.add(p); err != nil {
			break
		}
	}

	if err == nil && c.out == nil {
		// No rows at all: a table of no columns, as Table.Write has it.
		c.schema = (&Table{Meta: meta}).schema()
		err = c.open()
	}

	if c.out != nil {
		err = errors.Join(err, c.out.Close())
	}

	if err := errors.Join(err, c.to.Close(), f.Close()); err != nil {
		return 0, fmt.Errorf("join tables to %s: %w", path, err)
	}

	return c.rows, nil
}

type concat struct {
	to     *buffered
	meta   []kv.Pair
	schema *arrow.Schema
	last   *arrow.Schema // that was compared
	out    *ipc.FileWriter
	rows   int
}

func (c *concat) open() (err error) {
	c.out, err = ipc.NewFileWriter(c.to, ipc.WithSchema(c.schema))
	return err
}

func (c *concat) add(path string) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	defer f.Close()

	return f.each(func(rec arrow.Record) error {
		if rec.NumRows() == 0 {
			return nil
		}
		return c.write(path, rec)
	})
}

func (c *concat) write(path string, rec arrow.Record) error {
	fields := rec.Schema().Fields()
	if c.schema == nil {
		c.schema = schemaOf(fields, c.meta)
		if err := c.open(); err != nil {
			return err
		}
	}

	if rec.Schema() == c.last { // of the same file
		return c.append(rec)
	}

	c.last = rec.Schema()

	want := c.schema.Fields()
	if len(fields) != len(want) {
		return fmt.Errorf("%s: expected %d columns, found %d", path, len(want), len(fields))
	}

	for i := range want {
		if !fields[i].Equal(want[i]) {
			return fmt.Errorf("%s: expected column %s, found %s", path, want[i], fields[i])
		}
	}

	return c.append(rec)
}

func (c *concat) append(rec arrow.Record) error {
	one := array.NewRecord(c.schema, rec.Columns(), rec.NumRows())
	defer one.Release()
	c.rows += int(rec.NumRows())

	return c.out.Write(one)
}
