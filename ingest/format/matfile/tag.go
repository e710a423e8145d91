package matfile

import (
	"fmt"
	"io"
	"slices"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// tag is the beginning of a data element. In the usual format, it is the data type and the length of the data, in 4
// bytes each. In the small format, it is the data type and the length in 2 bytes each, and up to 4 bytes of data. The
// upper 2 bytes of the first number are 0 only in the usual format.
type tag struct {
	typ   uint32  // data type
	n     int64   // length of the data, in bytes
	small bool    // the element is in the small format
	data  [4]byte // the data, in the small format
	start int64   // offset of the data in the element of the top level
}

// pad returns the number of bytes of padding behind the data, up to the next multiple of eight bytes.
func (t tag) pad() int64 {
	if t.small {
		return 0
	}
	return -t.n & 7
}

// fail returns an error at the next byte.
func (w *walker) fail(format string, args ...any) error {
	where := place(w.next)
	if w.e.typ == miCOMPRESSED {
		where = fmt.Sprintf("byte %d, decompressed byte %d", w.e.offset, w.next)
	}

	return &fault.Error{Place: where, Err: fmt.Errorf(format, args...)}
}

// unless raises an error at the next byte if ok is false.
func (w *walker) unless(ok bool, format string, args ...any) {
	if !ok {
		decode.Raise(w.fail(format, args...))
	}
}

// full raises an error if the lists have become too long.
func (w *walker) full() { decode.Raise(w.f.full()) }

// read returns the next n bytes. what names them in errors.
func (w *walker) read(n int64, what string) []byte {
	b := make([]byte, n)
	err := io.ErrUnexpectedEOF
	if n <= w.e.end-w.next {
		err = raw.ReadFull(w.e.data, b, w.next)
	}

	w.unless(err == nil, "read %s: %w", what, err)
	w.next += n

	return b
}

// tag reads the next tag.
func (w *walker) tag() tag {
	b := w.read(tagSize, "a tag")

	t := tag{typ: w.f.order.Uint32(b), n: int64(w.f.order.Uint32(b[4:])), start: w.next}
	if t.typ>>16 != 0 {
		t.n = int64(t.typ >> 16)
		t.typ &= 0xffff
		t.small = true
		t.start = w.next - 4
		copy(t.data[:], b[4:])
		w.unless(t.n <= 4, "a small element claims %d bytes", t.n)
	}

	return t
}

// data returns the data of the element with a tag that was just read, and skips the padding. It raises an error if
// there are more than most bytes, or if they do not end before end, the end of the array around them.
func (w *walker) data(t tag, most, end int64) []byte {
	if t.small {
		return t.data[:t.n]
	}

	w.unless(t.n <= most, "expected at most %d bytes, found %d", most, t.n)
	w.unless(t.n <= end-w.next, "an element of %d bytes overruns its array", t.n)

	b := w.read(t.n, fmt.Sprintf("%d bytes", t.n))
	w.next += min(t.pad(), end-w.next)

	return b
}

// part reads the next element and returns its data. It raises an error if the element has none of the types. what
// names it in errors; data explains most and end.
func (w *walker) part(what string, most, end int64, types ...uint32) []byte {
	tag := w.tag()
	w.unless(slices.Contains(types, tag.typ), "expected %s, found data type %d", what, tag.typ)

	return w.data(tag, most, end)
}
