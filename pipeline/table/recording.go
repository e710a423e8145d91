package table

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"doubletake/ingest"
)

func init() { ingest.RegisterFormat("arrow", "ARROW1", openRecording) }

// openRecording reads an Arrow IPC file (Feather version 2) as a recording: a
// channel for each column of numbers, the unit from the field's metadata
// ("unit"), the rate from the field's or the schema's ("rate_hz" and the like)
// or from a column of time. A missing number is NaN. Other columns are listed as
// not read.
//
// What the file says of itself is verified before Arrow's library reads it: see
// [verify]. Batches are read one at a time; two are kept. Reading one takes at
// most 16 MiB and 256 times the file.
func openRecording(path string, f *os.File, o ingest.Options) (rd ingest.Reader, err error) {
	st, err := f.Stat()
	if err == nil {
		rd, err = newRecording(path, f, st.Size(), f, o)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return rd, nil
}

// newRecording opens size bytes; closer is closed with the recording.
func newRecording(path string, r ipc.ReadAtSeeker, size int64, closer io.Closer, o ingest.Options) (ingest.Reader, error) {
	f, err := openFile(r, size)
	if err != nil {
		return nil, err
	}
	a := &recording{path: path, closer: closer, f: f, ends: make([]int64, len(f.rows))}
	samples := int64(0)
	for i, n := range f.rows {
		samples += n
		a.ends[i] = samples
	}
	schema := f.ipc.Schema()
	info := ingest.Info{Path: path, Format: "arrow", Encoding: fmt.Sprintf("Arrow IPC, %d batches", len(f.rows))}
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
	info.Attributes, _ = attributes(schema.Metadata())
	var columns []ingest.Array
	for i, field := range schema.Fields() {
		if !isNumber(field.Type) {
			info.Unread = append(info.Unread, ingest.Unread{Name: field.Name, Reason: "a column of type " + typeName(field.Type) + ", not of numbers"})
			continue
		}
		c := ingest.Array{Name: field.Name, Samples: samples, Read: func(start int64, dst []float64) (int, error) { return a.read(i, start, dst) }}
		c.Attributes, c.Unit = attributes(field.Metadata)
		c.Attributes = append(c.Attributes, ingest.Attribute{Name: "type", Value: field.Type.String()})
		columns = append(columns, c)
	}
	return ingest.NewArrays(info, columns, o, a)
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

func isNumber(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

type recording struct {
	path   string
	closer io.Closer
	f      *file
	ends   []int64 // sample after the last of each batch
	kept   [2]struct {
		number int // from 1; 0: none
		rec    arrow.Record
	}
}

// Close closes the file.
func (a *recording) Close() error {
	for _, k := range a.kept {
		if k.rec != nil {
			k.rec.Release()
		}
	}
	return errors.Join(a.f.ipc.Close(), a.closer.Close())
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
				n += take(dst[n:], rec.Column(column), int(at-from))
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

// take copies numbers of an array from its element at on.
func take(dst []float64, a arrow.Array, at int) int {
	n := min(len(dst), a.Len()-at)
	switch v := a.(type) {
	case *array.Float64:
		copy(dst[:n], v.Float64Values()[at:])
	case *array.Float32:
		convert(dst[:n], v.Float32Values()[at:])
	case *array.Int8:
		convert(dst[:n], v.Int8Values()[at:])
	case *array.Int16:
		convert(dst[:n], v.Int16Values()[at:])
	case *array.Int32:
		convert(dst[:n], v.Int32Values()[at:])
	case *array.Int64:
		convert(dst[:n], v.Int64Values()[at:])
	case *array.Uint8:
		convert(dst[:n], v.Uint8Values()[at:])
	case *array.Uint16:
		convert(dst[:n], v.Uint16Values()[at:])
	case *array.Uint32:
		convert(dst[:n], v.Uint32Values()[at:])
	case *array.Uint64:
		convert(dst[:n], v.Uint64Values()[at:])
	case *array.Float16:
		for i := range n {
			dst[i] = float64(v.Value(at + i).Float32())
		}
	default:
		panic("table: column of type " + a.DataType().String())
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

func convert[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32](dst []float64, src []T) {
	for i := range dst {
		dst[i] = float64(src[i])
	}
}
