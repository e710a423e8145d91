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
	"github.com/apache/arrow/go/v17/arrow/memory"

	"doubletake/ingest"
)

func init() { ingest.RegisterFormat("arrow", "ARROW1", openRecording) }

// openRecording reads an Arrow IPC file (Feather version 2) as a recording: a
// channel for each column of numbers, the unit from the field's metadata
// ("unit"), the rate from the field's or the schema's ("rate_hz" and the like)
// or from a column of time. A missing number is NaN. Other columns are listed as
// not read. Batches are read one at a time; two are kept. No buffer is larger than
// 16 MiB and 256 times the file.
func openRecording(path string, f *os.File, o ingest.Options) (rd ingest.Reader, err error) {
	bad := func(err error) error {
		return &ingest.DataError{Path: path, Want: "an Arrow IPC file", Err: fmt.Errorf("read Arrow: %w", err)}
	}
	defer func() { // the library panics on some damaged files
		if p := recover(); p != nil {
			rd, err = nil, bad(fmt.Errorf("damaged file (%v)", p))
		}
		if err != nil {
			f.Close()
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, bad(err)
	}
	r, err := ipc.NewFileReader(f, ipc.WithAllocator(bounded{memory.NewGoAllocator(), 16<<20 + 256*st.Size()}))
	if err != nil {
		return nil, bad(err)
	}
	a := &recording{path: path, file: f, r: r, ends: make([]int64, r.NumRecords())}
	for i := range a.ends { // the footer does not say how long the batches are
		b, err := a.batch(i)
		if err != nil {
			return nil, err
		}
		a.ends[i] = b.NumRows()
		if i > 0 {
			a.ends[i] += a.ends[i-1]
		}
	}
	samples := int64(0)
	if n := len(a.ends); n > 0 {
		samples = a.ends[n-1]
	}
	info := ingest.Info{Path: path, Format: "arrow", Encoding: fmt.Sprintf("Arrow IPC, %d batches", r.NumRecords())}
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
	info.Attributes, _ = attributes(r.Schema().Metadata())
	var columns []ingest.Array
	for i, field := range r.Schema().Fields() {
		if !isNumber(field.Type) {
			info.Unread = append(info.Unread, ingest.Unread{Name: field.Name, Reason: "a column of type " + field.Type.String() + ", not of numbers"})
			continue
		}
		c := ingest.Array{Name: field.Name, Samples: samples, Read: func(start int64, dst []float64) (int, error) { return a.read(i, start, dst) }}
		c.Attributes, c.Unit = attributes(field.Metadata)
		c.Attributes = append(c.Attributes, ingest.Attribute{Name: "type", Value: field.Type.String()})
		columns = append(columns, c)
	}
	return ingest.NewArrays(info, columns, o, a)
}

// bounded refuses what no file of its size can hold: a damaged one claims
// buffers of any length.
type bounded struct {
	memory.Allocator
	most int64
}

func (b bounded) check(size int) {
	if size < 0 || int64(size) > b.most {
		panic(fmt.Sprintf("a buffer of %d bytes", size))
	}
}

// Allocate implements memory.Allocator.
func (b bounded) Allocate(size int) []byte {
	b.check(size)
	return b.Allocator.Allocate(size)
}

// Reallocate implements memory.Allocator.
func (b bounded) Reallocate(size int, old []byte) []byte {
	b.check(size)
	return b.Allocator.Reallocate(size, old)
}

func isNumber(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return true
	}
	return false
}

type recording struct {
	path string
	file *os.File
	r    *ipc.FileReader
	ends []int64 // sample after the last of each batch
	kept [2]struct {
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
	return errors.Join(a.r.Close(), a.file.Close())
}

func (a *recording) batch(i int) (rec arrow.Record, err error) {
	for _, k := range a.kept {
		if k.number == i+1 {
			return k.rec, nil
		}
	}
	defer func() {
		if p := recover(); p != nil {
			rec, err = nil, &ingest.DataError{Path: a.path, Place: fmt.Sprintf("batch %d", i+1), Found: fmt.Sprintf("damaged (%v)", p)}
		}
	}()
	rec, err = a.r.RecordAt(i)
	if err != nil {
		return nil, &ingest.DataError{Path: a.path, Place: fmt.Sprintf("batch %d", i+1), Err: fmt.Errorf("read Arrow: %w", err)}
	}
	slot := &a.kept[i%len(a.kept)]
	if slot.rec != nil {
		slot.rec.Release()
	}
	slot.number, slot.rec = i+1, rec
	return rec, nil
}

func (a *recording) read(column int, start int64, dst []float64) (int, error) {
	n := 0
	from := int64(0)
	for i, end := range a.ends {
		if at := start + int64(n); n < len(dst) && at < end {
			rec, err := a.batch(i)
			if err != nil {
				return n, err
			}
			n += take(dst[n:], rec.Column(column), int(at-from))
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
