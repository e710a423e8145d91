// Package table reads and writes the pipeline's tables as Arrow IPC files
// (random-access format, uncompressed: Arrow JS reads nothing else). Recordings
// in Arrow files of other writers are package ingest/format/arrow's.
//
// A table is columns of plain Go slices. Missing numbers are NaN here and null
// in the file. Schema metadata carries provenance; every field carries its
// unit and description. A table's digest covers names, types, units and values
// but not the schema metadata, so that a new program version alone never makes
// anything downstream stale. The callers define the columns.
package table

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/endian"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	verifier "doubletake/ingest/format/arrow"
	"doubletake/internal/lists"
	"doubletake/pipeline/kv"
	"doubletake/pipeline/pack"
)

// Column is one named column. Exactly one of the value slices is set.
type Column struct {
	Name        string
	Unit        string // "" when the quantity has none
	Description string

	Strings []string
	Floats  []float64 // NaN is written as null
	Ints    []int64
	Bools   []bool
	Lists   [][]float32 // lists of float32, one per row: spectra
}

// Len returns the number of rows.
func (c *Column) Len() int {
	return max(len(c.Strings), len(c.Floats), len(c.Ints), len(c.Bools), len(c.Lists))
}

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

// Table is an ordered set of columns of equal length.
type Table struct {
	Columns []Column
	Meta    []kv.Pair
}

// Rows returns the number of rows.
func (t *Table) Rows() int {
	if len(t.Columns) == 0 {
		return 0
	}
	return t.Columns[0].Len()
}

// Column returns the column of that name, or nil.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}

	return nil
}

// Make returns the column of that name, and makes it if it is not there.
func (t *Table) Make(name, unit, description string) *Column {
	c := t.Column(name)
	if c == nil {
		t.Columns = append(t.Columns, Column{Name: name, Unit: unit, Description: description})
		c = &t.Columns[len(t.Columns)-1]
	}

	return c
}

// Cell appends v to the column of that name and makes the column if it is the first. v is a string, float64, bool, int
// or []float32. Rows that are appended with the same cells in the same order keep the columns of equal length.
func (t *Table) Cell(name, unit, description string, v any) {
	c := t.Make(name, unit, description)
	switch v := v.(type) {
	case string:
		c.Strings = append(c.Strings, v)
	case float64:
		c.Floats = append(c.Floats, v)
	case bool:
		c.Bools = append(c.Bools, v)
	case int:
		c.Ints = append(c.Ints, int64(v))
	case []float32:
		c.Lists = append(c.Lists, v)
	}
}

// Get returns the metadata value of key, or "".
func (t *Table) Get(key string) string {
	pair, _ := lists.Find(t.Meta, func(p kv.Pair) bool { return p.Key == key })
	return pair.Value
}

// Floats returns the values of a float64 column; an absent column or another
// type is an error that names it.
func (t *Table) Floats(name string) ([]float64, error) {
	return values(t, name, "float64", func(c *Column) []float64 { return c.Floats })
}

func values[T any](t *Table, name, kind string, of func(c *Column) []T) ([]T, error) {
	c := t.Column(name)
	if c == nil {
		return nil, fmt.Errorf("column %q is not in the table", name)
	}

	v := of(c)
	if v == nil && t.Rows() > 0 {
		return nil, fmt.Errorf("column %q is not %s", name, kind)
	}

	return v, nil
}

// Strings returns the values of a column of text.
func (t *Table) Strings(name string) ([]string, error) {
	return values(t, name, "text", func(c *Column) []string { return c.Strings })
}

// batchRows bounds the rows of one record batch, so that readers can stream.
const batchRows = 1 << 16

func (t *Table) schema() *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		stated := []kv.Pair{{Key: "unit", Value: c.Unit}, {Key: "description", Value: c.Description}}
		stated = slices.DeleteFunc(stated, func(p kv.Pair) bool { return p.Value == "" })
		fields[i] = arrow.Field{
			Name: c.Name, Type: c.dataType(), Nullable: c.Floats != nil, Metadata: metadata(stated),
		}
	}

	return schemaOf(fields, t.Meta)
}

func schemaOf(fields []arrow.Field, meta []kv.Pair) *arrow.Schema {
	md := metadata(meta)
	return arrow.NewSchema(fields, &md)
}

func metadata(list []kv.Pair) arrow.Metadata {
	keys := lists.Each(list, func(p kv.Pair) string { return p.Key })
	return arrow.NewMetadata(keys, lists.Each(list, func(p kv.Pair) string { return p.Value }))
}

// buffered collects small writes: Apache's library writes every length and every
// gap by itself.
type buffered struct {
	b  *bufio.Writer
	at int64 // from the start
}

var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 1<<16) }}

func newBuffered(w io.Writer) *buffered {
	b := buffers.Get().(*bufio.Writer)
	b.Reset(w)
	return &buffered{b: b}
}

func (w *buffered) Write(p []byte) (int, error) {
	n, err := w.b.Write(p)
	w.at += int64(n)
	return n, err
}

// Seek returns the place of the next byte, which is all the library asks for.
func (w *buffered) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("a table is written from its start to its end")
	}
	return w.at, nil
}

// Close writes out what is left. The writer below stays open.
func (w *buffered) Close() error {
	err := w.b.Flush()
	w.b.Reset(nil)
	buffers.Put(w.b)
	return err
}

// Write writes the table as an Arrow IPC file. Columns of unequal length panic.
func (t *Table) Write(w io.Writer) error {
	to := newBuffered(w)
	return errors.Join(t.write(to), to.Close())
}

func (t *Table) write(w io.WriteSeeker) error {
	n := t.Rows()
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Len() != n {
			panic(fmt.Sprintf("table: column %q has %d rows, the table %d", c.Name, c.Len(), n))
		}
	}

	schema := t.schema()
	fw, err := ipc.NewFileWriter(w, ipc.WithSchema(schema))
	if err != nil {
		return fmt.Errorf("write arrow schema: %w", err)
	}

	columns := make([]arrow.Array, len(t.Columns))
	for lo := 0; lo < n || lo == 0; lo += batchRows {
		hi := min(lo+batchRows, n)
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

// array returns the values of rows lo to hi-1; the memory may be the column's.
func (c *Column) array(lo, hi int) arrow.Array {
	data := func(n int, b []byte, children ...arrow.ArrayData) arrow.ArrayData {
		return array.NewData(c.dataType(), n, []*memory.Buffer{nil, memory.NewBufferBytes(b)}, children, 0, 0)
	}

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
		return array.MakeFromData(data(hi-lo, arrow.Int64Traits.CastToBytes(c.Ints[lo:hi])))

	case c.Lists != nil:
		ends := make([]int32, 1, hi-lo+1)
		for _, l := range c.Lists[lo:hi] {
			ends = append(ends, ends[len(ends)-1]+int32(len(l)))
		}

		values := array.NewData(arrow.PrimitiveTypes.Float32, int(ends[hi-lo]), []*memory.Buffer{
			nil, memory.NewBufferBytes(arrow.Float32Traits.CastToBytes(join(c.Lists[lo:hi]))),
		}, nil, 0, 0)

		return array.MakeFromData(data(hi-lo, arrow.Int32Traits.CastToBytes(ends), values))

	case !slices.ContainsFunc(c.Floats[lo:hi], math.IsNaN):
		return array.MakeFromData(data(hi-lo, arrow.Float64Traits.CastToBytes(c.Floats[lo:hi])))
	}

	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.Reserve(hi - lo)

	for _, v := range c.Floats[lo:hi] {
		if v != v {
			b.UnsafeAppendBoolToBitmap(false)
		} else {
			b.UnsafeAppend(v)
		}
	}

	return b.NewArray()
}

// join returns the values of all rows one after the other: the memory of the rows, if
// they lie so.
func join(rows [][]float32) []float32 {
	if len(rows) == 0 {
		return nil
	}

	all := rows[0][:0]
	for _, l := range rows {
		n := len(all) + len(l)
		if len(l) > 0 && (n > cap(all) || &all[:n][len(all)] != &l[0]) {
			return slices.Concat(rows...)
		}
		all = all[:n]
	}

	return all
}

// Digest returns the SHA-256, as hex, of what WriteContent writes.
func (t *Table) Digest() string {
	h := sha256.New()
	t.WriteContent(h)

	return hex.EncodeToString(h.Sum(nil))
}

// WriteContent writes names, units, types and values to a hash or to memory, which do
// not fail.
func (t *Table) WriteContent(h io.Writer) {
	const part = 1 << 13 // bytes that are written at a time
	buf := make([]byte, 0, 2*part)
	flush := func() {
		if len(buf) > part {
			h.Write(buf)
			buf = buf[:0]
		}
	}

	number := func(v uint64) {
		buf = binary.LittleEndian.AppendUint64(buf, v)
		flush()
	}

	str := func(s string) {
		number(uint64(len(s)))
		buf = append(buf, s...)
		flush()
	}

	for i := range t.Columns {
		c := &t.Columns[i]
		str(c.Name)
		str(c.Unit)
		str(c.dataType().String())
		str(fmt.Sprint(c.Len()))

		for _, s := range c.Strings {
			str(s)
		}

		for _, v := range c.Floats {
			if v != v {
				v = math.NaN() // one bit pattern for all
			}

			number(math.Float64bits(v))
		}

		for _, v := range c.Ints {
			number(uint64(v))
		}

		for _, v := range c.Bools {
			if v {
				buf = append(buf, 1)
			} else {
				buf = append(buf, 0)
			}

			flush()
		}

		for _, l := range c.Lists {
			number(uint64(len(l)))

			if !endian.IsBigEndian && 4*len(l) > part {
				h.Write(buf)
				h.Write(arrow.Float32Traits.CastToBytes(l))
				buf = buf[:0]
				continue
			}

			for _, v := range l {
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
				flush()
			}
		}
	}

	h.Write(buf)
}

// WriteFile writes the table to path (created or truncated; the caller makes
// it atomic) and returns the digest of its contents.
func (t *Table) WriteFile(path string) (digest string, err error) {
	f, err := os.Create(path)
	if err != nil {
		return "", fmt.Errorf("create table: %w", err)
	}

	if err := errors.Join(t.Write(f), f.Close()); err != nil {
		return "", fmt.Errorf("write table %s: %w", path, err)
	}

	return t.Digest(), nil
}

// file is an open table and its batches, read one at a time.
type file struct {
	in   *pack.Reader
	path string
	r    *ipc.FileReader
	n    int // batches
	most int // bytes of its values
}

// mostBytes and 256 times the file bound what its buffers and its values take.
const mostBytes = 16 << 20

// limited refuses buffers that only a damaged table asks for.
type limited struct {
	memory.Allocator
	most int
}

func (m limited) Allocate(size int) []byte { return m.Reallocate(size, nil) }

func (m limited) Reallocate(size int, b []byte) []byte {
	if size > m.most {
		panic("a buffer that the table cannot hold")
	}

	return m.Allocator.Reallocate(size, b)
}

// openFile opens a table, which may lie in a pack.
func openFile(path string) (f *file, err error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // a FIFO may wait for ever
		return nil, fmt.Errorf("open table %s: expected a file", path)
	}

	in, err := pack.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open table: %w", err)
	}

	f = &file{in: in, path: path, most: mostBytes + 256*int(in.Size())}
	err = guard(func() (err error) {
		if f.r, err = ipc.NewFileReader(in, ipc.WithAllocator(limited{memory.DefaultAllocator, f.most})); err != nil {
			return fmt.Errorf("expected an Arrow IPC file: %w", err)
		}

		f.n = f.r.NumRecords()

		return nil
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read table %s: %w", path, err), in.Close())
	}

	return f, nil
}

// Close closes the file.
func (f *file) Close() error { return errors.Join(f.r.Close(), f.in.Close()) }

// each passes the batches in their order to do.
func (f *file) each(do func(rec arrow.Record) error) error {
	for i := range f.n {
		err := guard(func() error {
			rec, err := f.r.RecordAt(i)
			if err != nil {
				return err
			}
			defer rec.Release()

			return do(rec)
		})
		if err != nil {
			return fmt.Errorf("read table %s: batch %d: %w", f.path, i+1, err)
		}
	}

	return nil
}

// guard runs what Apache's library does: on damaged values it panics, or returns a panic as an error.
func guard(do func() error) (err error) {
	defer func() {
		var library runtime.Error
		if recover() != nil || errors.As(err, &library) {
			err = errors.New("the file is damaged")
		}
	}()

	return do()
}

// ReadVerified is Read of a file from anywhere, which is verified first.
func ReadVerified(path string) (*Table, error) {
	in, err := pack.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open table: %w", err)
	}

	if err := errors.Join(verifier.VerifyTable(in, in.Size()), in.Close()); err != nil {
		return nil, fmt.Errorf("read table %s: %w", path, err)
	}

	return Read(path)
}

// Read reads a whole table. The file must be one that Write wrote, trusted by
// its digest: damage is an error, or shows in the values. The values take at most
// 16 MiB and 256 times the file.
func Read(path string) (t *Table, err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()

	if t, err = empty(f.r.Schema()); err != nil {
		return nil, fmt.Errorf("read table %s: %w", path, err)
	}

	left := int64(f.most)
	err = f.each(func(rec arrow.Record) error {
		for j, c := range rec.Columns() {
			if left -= int64(c.Data().SizeInBytes()); left < 0 {
				return fmt.Errorf("expected at most %d bytes in a table of %d, found more", f.most, f.in.Size())
			}

			if err := t.Columns[j].extend(c); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	return t, nil
}

// empty returns a table of a file's columns without rows.
func empty(schema *arrow.Schema) (*Table, error) {
	md := schema.Metadata()
	pair := func(i int) kv.Pair { return kv.Pair{Key: md.Keys()[i], Value: md.Values()[i]} }
	t := &Table{Meta: lists.Make(md.Len(), pair)}

	for _, fd := range schema.Fields() {
		c := Column{Name: fd.Name}
		c.Unit, _ = fd.Metadata.GetValue("unit")
		c.Description, _ = fd.Metadata.GetValue("description")

		switch fd.Type.ID() {
		case arrow.STRING:
			c.Strings = []string{}
		case arrow.INT64:
			c.Ints = []int64{}
		case arrow.BOOL:
			c.Bools = []bool{}
		case arrow.FLOAT64:
			c.Floats = []float64{}
		case arrow.LIST:
			c.Lists = [][]float32{}
		default:
			return nil, fmt.Errorf("column %q has type %s, expected utf8, float64, int64, bool or list<float32>", fd.Name,
				fd.Type.Name()) // not in full: of nested types that may be long
		}

		t.Columns = append(t.Columns, c)
	}

	return t, nil
}

// extend adds the values of a batch.
func (c *Column) extend(a arrow.Array) error {
	switch a := a.(type) {
	case *array.String:
		for i := range a.Len() {
			c.Strings = append(c.Strings, string([]byte(a.Value(i))))
		}

	case *array.Int64:
		c.Ints = append(c.Ints, a.Int64Values()...)
	case *array.Boolean:
		for i := range a.Len() {
			c.Bools = append(c.Bools, a.Value(i))
		}

	case *array.Float64:
		n := len(c.Floats)

		c.Floats = append(c.Floats, a.Float64Values()...)
		if a.NullN() > 0 {
			for i := range a.Len() {
				if a.IsNull(i) {
					c.Floats[n+i] = math.NaN()
				}
			}
		}

	case *array.List:
		v, ok := a.ListValues().(*array.Float32)
		if !ok {
			return fmt.Errorf("column %q is a list of %s, expected float32", c.Name, a.ListValues().DataType())
		}

		for i := range a.Len() {
			lo, hi := a.ValueOffsets(i)
			if lo < 0 || hi < lo || hi > int64(v.Len()) {
				return fmt.Errorf("column %q: list %d has the values %d to %d of %d", c.Name, i+1, lo, hi, v.Len())
			}

			c.Lists = append(c.Lists, append([]float32(nil), v.Float32Values()[lo:hi]...))
		}

	default:
		return fmt.Errorf("column %q has type %s", c.Name, a.DataType())
	}

	return nil
}

// Select returns the rows of that number, in that order.
func (t *Table) Select(rows []int) *Table {
	out := &Table{Meta: t.Meta}
	for _, c := range t.Columns {
		c.Strings, c.Floats = lists.Rows(c.Strings, 1, rows), lists.Rows(c.Floats, 1, rows)
		c.Ints, c.Bools, c.Lists = lists.Rows(c.Ints, 1, rows), lists.Rows(c.Bools, 1, rows), lists.Rows(c.Lists, 1, rows)
		out.Columns = append(out.Columns, c)
	}

	return out
}

// Append adds the rows of u, whose columns must be those of t in name, order
// and type; an empty t takes u's columns. It returns an error that names the
// first difference.
func (t *Table) Append(u *Table) error {
	if len(t.Columns) == 0 {
		t.Columns = lists.Each(u.Columns, func(c Column) Column {
			return Column{Name: c.Name, Unit: c.Unit, Description: c.Description}
		})
	}

	if len(t.Columns) != len(u.Columns) {
		return fmt.Errorf("append table: expected %d columns, found %d", len(t.Columns), len(u.Columns))
	}

	for i := range t.Columns {
		a, b := &t.Columns[i], &u.Columns[i]
		if a.Name != b.Name || a.Unit != b.Unit {
			return fmt.Errorf("append table: expected column %q [%s], found %q [%s]", a.Name, a.Unit, b.Name, b.Unit)
		}

		a.Strings = append(a.Strings, b.Strings...)
		a.Floats = append(a.Floats, b.Floats...)
		a.Ints = append(a.Ints, b.Ints...)
		a.Bools = append(a.Bools, b.Bools...)
		a.Lists = append(a.Lists, b.Lists...)
	}

	return nil
}
