// Package arrow reads Arrow IPC files (Feather version 2) of any writer as
// recordings. The file's metadata are verified before Apache's library, which
// believes them, reads the file: see verify.go. Batches are read one at a
// time; two are kept. Reading one allocates at most 32 MiB and twice the file.
//
// The program's own tables are package pipeline/table's.
package arrow

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v17/arrow"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/arrays"
	"doubletake/ingest/format/internal/raw"
)

// Format is Arrow IPC.
var Format = ingest.Format{
	Name: "arrow", Title: "Arrow IPC", Endings: []string{".arrow", ".feather"}, Attributes: true,
	Magic: []string{"ARROW1"}, Open: open,
}

// Verify returns a *fault.Error if the Arrow file at path contradicts itself or
// would take much more memory than its size explains.
func Verify(path string) error {
	src, err := ingest.OpenSource(path)
	if err != nil {
		return err
	}
	defer src.Close()

	f, err := openFile(src, src.Size)
	if err != nil {
		return err
	}
	defer f.ipc.Close()

	for i := range f.rows {
		if err := f.batch(i); err != nil {
			return err
		}
	}

	return nil
}

// open makes a channel of each column of numbers, the unit from the field's
// metadata ("unit"), the rate from the field's or the schema's ("rate_hz" and the
// like) or from a column of time. A missing number is NaN. Other columns are
// listed as not read.
func open(src ingest.Source, o ingest.Options) (ingest.Reader, error) {
	f, err := openFile(src, src.Size)
	if err != nil {
		return nil, err
	}

	a := &recording{f: f, ends: make([]int64, len(f.rows))}

	samples := int64(0)
	for i, n := range f.rows {
		samples += n
		a.ends[i] = samples
	}

	schema := f.ipc.Schema()
	attributes := func(m arrow.Metadata) (out []ingest.Attribute, unit string) {
		for i, k := range m.Keys() {
			if k == "unit" {
				unit = m.Values()[i]
			} else {
				out = append(out, ingest.Attribute{Name: k, Value: m.Values()[i]})
			}
		}

		return out, unit
	}

	r := arrays.New(ingest.Info{
		Path: src.Path, Format: "arrow",
		Encoding: fmt.Sprintf("Arrow IPC, %d batches", len(f.rows)),
	}, a, src)

	own, _ := attributes(schema.Metadata())
	for _, at := range own {
		r.Attribute(at.Name, at.Value)
	}

	for i, field := range schema.Fields() {
		if _, number := kinds[field.Type.ID()]; !number {
			r.Unread(field.Name, false, "a column of type "+typeName(field.Type)+", not of numbers")
			continue
		}

		c := arrays.Array{Name: field.Name, Dims: []int64{samples}, Plane: &plane{a, i}}
		c.Attributes, c.Unit = attributes(field.Metadata)
		c.Attributes = append(c.Attributes, ingest.Attribute{Name: "type", Value: field.Type.String()})
		if err := r.Add(c); err != nil {
			return nil, err
		}
	}

	if err := r.Finish(o); err != nil {
		return nil, errors.Join(err, a.Close())
	}

	return r, nil
}

// typeName names a type; of nested ones only the outermost: their full names can
// be many times as long as the file.
func typeName(t arrow.DataType) string {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}

	if _, ok := t.(arrow.NestedType); ok {
		return t.Name()
	}

	return t.String()
}

// recording gives access to the batches of a file.
type recording struct {
	f    *file
	ends []int64 // sample after the last of each batch
	kept [2]struct {
		number int // from 1; 0: none
		rec    arrow.Record
	}
}

// plane is a column as an array.
type plane struct {
	a     *recording
	index int
}

// Read implements arrays.Plane.
func (c *plane) Read(channels []int, start int64, dst [][]float64) (n int, err error) {
	for i := range channels {
		if n, err = c.a.read(c.index, start, dst[i]); err != nil {
			return n, err
		}
	}

	return n, nil
}

// Close lets go of the batches.
func (a *recording) Close() error {
	for _, k := range a.kept {
		if k.rec != nil {
			k.rec.Release()
		}
	}

	return a.f.ipc.Close()
}

func (a *recording) batch(i int) (arrow.Record, error) {
	for _, k := range a.kept {
		if k.number == i+1 {
			return k.rec, nil
		}
	}

	slot := &a.kept[i%len(a.kept)]
	if slot.rec != nil {
		slot.rec.Release()
		slot.number, slot.rec = 0, nil
	}

	rec, err := a.f.load(i)
	if err != nil {
		return nil, err
	}

	slot.number, slot.rec = i+1, rec

	return rec, nil
}

func (a *recording) read(column int, start int64, dst []float64) (n int, err error) {
	from := int64(0)
	for i, end := range a.ends {
		if at := start + int64(n); n < len(dst) && at < end {
			rec, err := a.batch(i)
			if err != nil {
				return n, err
			}

			err = guard(a.f.batches[i].place, func() error {
				n += numbers(dst[n:], rec.Column(column), int(at-from))
				return nil
			})
			if err != nil {
				return n, err
			}
		}

		from = end
	}

	if n < len(dst) {
		return n, io.EOF
	}

	return n, nil
}

// kinds are the types of columns that are read.
var kinds = map[arrow.Type]raw.Kind{
	arrow.FLOAT16: raw.F16, arrow.FLOAT32: raw.F32, arrow.FLOAT64: raw.F64,
	arrow.INT8: raw.I8, arrow.INT16: raw.I16, arrow.INT32: raw.I32, arrow.INT64: raw.I64,
	arrow.UINT8: raw.U8, arrow.UINT16: raw.U16, arrow.UINT32: raw.U32, arrow.UINT64: raw.U64,
}

// numbers copies numbers of an array from its element at on.
func numbers(dst []float64, a arrow.Array, at int) int {
	n := min(len(dst), a.Len()-at)

	kind := kinds[a.DataType().ID()]
	if buffer := a.Data().Buffers()[1]; n > 0 {
		b := buffer.Bytes()[(a.Data().Offset()+at)*kind.Bytes():]
		raw.Decode(dst[:n], b, kind, !raw.LittleEndian, kind.Bytes())
	}

	if a.NullN() > 0 {
		for i := range n {
			if a.IsNull(at + i) {
				dst[i] = math.NaN()
			}
		}
	}

	return n
}
