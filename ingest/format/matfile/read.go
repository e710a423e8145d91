package matfile

import (
	"fmt"
	"io"
	"strconv"

	"doubletake/ingest/format/internal/raw"
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

// ReadFloat64 fills dst with the values from start on, in column-major order:
// for a vector, (N,1) or (1,N), its samples. It returns how many it read, fewer
// than asked only at the end of the array, then with io.EOF. 64-bit integers
// beyond 2^53 are rounded.
func (v *Var) ReadFloat64(dst []float64, start int64) (int, error) {
	return v.read(dst, start, v.count)
}

// ReadChannels reads time series. Axis is the one along which time runs; every
// combination of the other axes' indices is a channel, counted from 0, the first
// axis running fastest: of a matrix with axis 0 channel c is column c, with axis 1
// row c. dst[i] receives the samples of channels[i] from start on; all dst[i] have
// one length. It returns how many it read per channel, fewer than asked only at
// the end, then with io.EOF. Where axis is not the first, channels lie interleaved
// and one pass serves them all, so ask for them together.
func (v *Var) ReadChannels(axis int, channels []int, start int64, dst [][]float64) (n int, err error) {
	if len(channels) != len(dst) {
		panic("matfile: as many slices as channels are needed")
	}

	length, total := v.Dims[axis], int64(0)
	if length > 0 {
		total = v.count / length
	}

	if start < 0 || start > length {
		return 0, v.fail("there is no sample %d of %d", start, length)
	}

	for i, c := range channels {
		if c < 0 || int64(c) >= total {
			return 0, v.fail("there is no channel %d of %d", c, total)
		}

		if len(dst[i]) != len(dst[0]) {
			panic("matfile: slices of one length are needed")
		}
	}

	stride, _ := product(v.Dims[:axis])
	if stride == 1 {
		v.byColumn = v.byColumn || total > 1
		for i, c := range channels {
			n, err = v.read(dst[i], int64(c)*length+start, int64(c+1)*length)
			if err != nil && err != io.EOF {
				return n, err
			}
		}

		return n, err
	}

	done := make([]bool, len(channels))
	for i, c := range channels {
		if done[i] {
			continue
		}

		block := int64(c) / stride // of stride interleaved channels
		var rows []int64

		var to [][]float64
		for j := i; j < len(channels); j++ {
			if int64(channels[j])/stride == block {
				rows, to, done[j] = append(rows, int64(channels[j])%stride), append(to, dst[j]), true
			}
		}

		if n, err = v.readRows(block*length, stride, start, length, rows, to); err != nil && err != io.EOF {
			return n, err
		}
	}

	return n, err
}

// readRows fills dst[i] with row rows[i] of a matrix of that height and width,
// from column start on. The matrix begins at column first of the array's values
// in columns of that height.
func (v *Var) readRows(first, height, start, width int64, rows []int64, dst [][]float64) (int, error) {
	if height > blockSize {
		return 0, v.fail("a matrix of %d rows is not read by rows", height)
	}

	want := int64(len(dst[0]))
	n := min(want, width-start)
	frames := max(1, blockSize/8/height)
	block := make([]float64, min(frames, n)*height)
	for done := int64(0); done < n; {
		k := min(frames, n-done)
		if m, err := v.read(block[:k*height], (first+start+done)*height, v.count); int64(m) < k*height {
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
			return int(done), &Error{
				Place: fmt.Sprintf("variable %s, value %d", strconv.Quote(v.Name), start+done),
				Err:   fmt.Errorf("read: %w", err), Hint: "the file is damaged",
			}
		}

		raw.Decode(dst[done:done+k], b, kinds[v.typ].kind, v.file.BigEndian, int(width))
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
				copy(f.cache[1:], f.cache[:i]) // the last used comes first
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
		v.damaged = true // the sound part can be read, and the error names the place
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
