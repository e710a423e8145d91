package matfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
)

const (
	blockSize = 64 << 10
	maxSmall  = 4 << 20  // an array that is held decompressed, whatever is read of it
	maxHeld   = 64 << 20 // all that is held; one array whose columns are read
)

// cached is a compressed array that is held decompressed.
type cached struct {
	v *Var
	b []byte
}

// Len is the number of values.
func (v *Var) Len() int64 { return v.count }

// Rows is the number of values of a column: the first dimension.
func (v *Var) Rows() int64 { return v.Dims[0] }

// Columns is the product of the other dimensions; 0 if the array is empty.
func (v *Var) Columns() int64 {
	if v.count == 0 {
		return 0
	}
	return v.count / v.Dims[0]
}

// Vector reports whether the array is one column or one row.
func (v *Var) Vector() bool {
	return v.count > 0 && (v.count == v.Dims[0] || v.Dims[0] == 1 && v.count == v.Dims[1])
}

// ReadFloat64 fills dst with the values from start on, in column-major order:
// for a vector, (N,1) or (1,N), its samples. It returns how many it read, fewer
// than asked only at the end of the array, then with io.EOF. 64-bit integers
// beyond 2^53 are rounded.
func (v *Var) ReadFloat64(dst []float64, start int64) (int, error) {
	return v.read(dst, start, v.count)
}

// ReadColumn is ReadFloat64 within column c (from 0) of a matrix; start counts
// from the column's first value.
func (v *Var) ReadColumn(c int64, dst []float64, start int64) (int, error) {
	if c < 0 || c >= v.Columns() {
		return 0, v.fail("there is no column %d of %d", c, v.Columns())
	}
	if start < 0 || start > v.Dims[0] {
		return 0, v.fail("there is no value %d of %d", start, v.Dims[0])
	}
	if v.Columns() > 1 {
		v.byColumn = true
	}
	return v.read(dst, c*v.Dims[0]+start, (c+1)*v.Dims[0])
}

// ReadRows fills dst[i] with the values of row rows[i] (from 0) of a matrix
// from column start on, for recordings that hold one channel per row. All
// dst[i] have one length. The rows lie interleaved: one pass serves them all,
// so ask for them together.
func (v *Var) ReadRows(rows []int64, start int64, dst [][]float64) (int, error) {
	if len(rows) != len(dst) {
		panic("matfile: as many slices as rows are needed")
	}
	if start < 0 || start > v.Columns() {
		return 0, v.fail("there is no column %d of %d", start, v.Columns())
	}
	for _, r := range rows {
		if r < 0 || r >= v.Dims[0] {
			return 0, v.fail("there is no row %d of %d", r, v.Dims[0])
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	want := int64(len(dst[0]))
	n := min(want, v.Columns()-start)
	for _, d := range dst {
		if int64(len(d)) != want {
			panic("matfile: slices of one length are needed")
		}
	}
	height := v.Dims[0]
	if height > blockSize {
		return 0, v.fail("a matrix of %d rows is not read by rows", height)
	}
	frames := max(1, blockSize/8/max(1, height))
	block := make([]float64, min(frames, n)*height)
	for done := int64(0); done < n; {
		k := min(frames, n-done)
		if m, err := v.read(block[:k*height], (start+done)*height, v.count); int64(m) < k*height {
			return int(done), unexpected(err)
		}
		for i, r := range rows {
			for j := range k {
				dst[i][done+j] = block[j*height+r]
			}
		}
		done += k
	}
	if n < want {
		return int(n), io.EOF
	}
	return int(n), nil
}

func (v *Var) fail(format string, args ...any) error {
	return &Error{Place: "variable " + strconv.Quote(v.Name), Found: fmt.Sprintf(format, args...)}
}

// read fills dst with the values start … end.
func (v *Var) read(dst []float64, start, end int64) (int, error) {
	if start < 0 || start > end {
		return 0, v.fail("there is no value %d of %d", start, end)
	}
	n := min(int64(len(dst)), end-start)
	_, width := numeric(v.typ)
	for done := int64(0); done < n; {
		k := min(n-done, blockSize/width)
		b, err := v.bytes((start+done)*width, k*width)
		if err != nil {
			return int(done), &Error{Place: fmt.Sprintf("variable %s, value %d", strconv.Quote(v.Name), start+done), Err: fmt.Errorf("read: %w", err), Hint: "the file is damaged"}
		}
		decode(dst[done:done+k], b, v.typ, v.file.BigEndian)
		done += k
	}
	if n < int64(len(dst)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// bytes returns n stored bytes of the array from at on, at most blockSize; they
// are valid until the next call.
func (v *Var) bytes(at, n int64) ([]byte, error) {
	f := v.file
	if v.Compressed {
		if held := v.held(); held != nil {
			return held[at : at+n], nil
		}
	}
	if f.scratch == nil {
		f.scratch = make([]byte, blockSize)
	}
	p := f.scratch[:n]
	if v.Compressed {
		return p, v.inflate(p, at)
	}
	if m, err := readAt(f.src, p, v.off+at); int64(m) < n {
		return nil, unexpected(err)
	}
	return p, nil
}

// backs is how often an array that was pushed out is read backwards before it is
// held again: each time costs a decompression, and so does holding it, so that
// arrays that push each other out cost a quarter more than if none were held.
const backs = 4

// held returns the array decompressed, if it is or can be held; else nil.
func (v *Var) held() []byte {
	f := v.file
	for i, c := range f.cache {
		if c.v == v {
			if i > 0 {
				copy(f.cache[1:], f.cache[:i]) // the last used stands first
				f.cache[0] = c
			}
			return c.b
		}
	}
	_, width := numeric(v.typ)
	total := v.count * width
	most := min(maxSmall, f.hold)
	if v.byColumn {
		most = f.hold
	}
	if total > most || v.damaged || v.out && v.back < backs {
		return nil
	}
	sum := total
	for i, c := range f.cache {
		if sum += int64(len(c.b)); sum > f.hold {
			for _, old := range f.cache[i:] {
				old.v.out, old.v.back = true, 0
			}
			clear(f.cache[i:])
			f.cache = f.cache[:i]
			break
		}
	}
	b := make([]byte, total)
	if v.inflate(b, 0) != nil {
		v.damaged = true // what is sound of it can be read, and the place is told
		return nil
	}
	v.out, v.back = false, 0
	f.cache = append([]cached{{v, b}}, f.cache...)
	return b
}

func (v *Var) inflate(p []byte, at int64) error {
	c, err := v.file.cursor(v.elem, v.off+at)
	if err != nil {
		return err
	}
	if c.fresh && v.out {
		v.back++
	}
	if err := c.read(p); err != nil {
		return err
	}
	// The padding and nothing else may be between the last value and the end
	// of the element: reading it checks the sum.
	if left := v.elem.end - c.at; left > 0 && left < 8 {
		return c.skip(left)
	}
	return nil
}

// decode converts stored values; len(b) is that of dst times the width.
func decode(dst []float64, b []byte, typ uint32, big bool) {
	if big {
		decodeOrder(dst, b, typ, binary.BigEndian)
	} else {
		decodeOrder(dst, b, typ, binary.LittleEndian)
	}
}

// decodeOrder is compiled once per byte order, which keeps calls out of the loops.
func decodeOrder[O binary.ByteOrder](dst []float64, b []byte, typ uint32, o O) {
	switch typ {
	case miINT8:
		for i := range dst {
			dst[i] = float64(int8(b[i]))
		}
	case miUINT8:
		for i := range dst {
			dst[i] = float64(b[i])
		}
	case miINT16:
		for i := range dst {
			dst[i] = float64(int16(o.Uint16(b[2*i:])))
		}
	case miUINT16:
		for i := range dst {
			dst[i] = float64(o.Uint16(b[2*i:]))
		}
	case miINT32:
		for i := range dst {
			dst[i] = float64(int32(o.Uint32(b[4*i:])))
		}
	case miUINT32:
		for i := range dst {
			dst[i] = float64(o.Uint32(b[4*i:]))
		}
	case miSINGLE:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(o.Uint32(b[4*i:])))
		}
	case miDOUBLE:
		for i := range dst {
			dst[i] = math.Float64frombits(o.Uint64(b[8*i:]))
		}
	case miINT64:
		for i := range dst {
			dst[i] = float64(int64(o.Uint64(b[8*i:])))
		}
	case miUINT64:
		for i := range dst {
			dst[i] = float64(o.Uint64(b[8*i:]))
		}
	}
}
