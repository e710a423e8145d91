// Package raw reads samples of fixed size that lie in a file uncompressed, as
// WAV and NPY files hold them: as frames (all channels of one instant together)
// or planes (all instants of one channel together). Headers are the formats'
// matter.
package raw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/kernel"
	"doubletake/internal/lists"
)

// Kind is how one sample is stored: U unsigned, I signed integers of that many
// bits, F floats.
type Kind int

// The kinds there are.
const (
	U8 Kind = iota
	I8
	U16
	I16
	I24
	U32
	I32
	U64
	I64
	F32
	F64
	F16
)

// names are the kinds' usual ones.
var names = [...]string{
	U8: "uint8", I8: "int8", U16: "uint16", I16: "int16", U32: "uint32", I32: "int32", U64: "uint64", I64: "int64",
	F32: "float32", F64: "float64", F16: "float16",
}

// String returns the usual name: "int16", "float64", …; "" for I24.
func (k Kind) String() string { return names[k] }

// Named returns the kind of a usual name, and whether there is one.
func Named(name string) (Kind, bool) {
	i := slices.Index(names[:], name)
	return Kind(i), i >= 0 && name != ""
}

// Signed reports whether samples are signed integers.
func (k Kind) Signed() bool { return k == I8 || k == I16 || k == I24 || k == I32 || k == I64 }

// Bytes returns the size of one sample.
func (k Kind) Bytes() int {
	switch k {
	case U8, I8:
		return 1
	case U16, I16, F16:
		return 2
	case I24:
		return 3
	case U32, I32, F32:
		return 4
	default:
		return 8
	}
}

// Integer reports whether samples are quantised.
func (k Kind) Integer() bool { return k < F32 }

// Layout is the place of samples in a file and their encoding.
type Layout struct {
	Offset    int64 // of the first sample, in bytes
	Frames    int64 // samples per channel
	Channels  int
	Kind      Kind
	BigEndian bool
	Planar    bool // in planes, not frames

	// A stored number v is delivered as (v − Bias)·Scale. For floats Scale is 1.
	Bias, Scale float64
}

// Frames are read chunk bytes at a time, or one at a time if they are longer;
// the second-level cache holds so much. They are unpacked block bytes at a time:
// the first-level cache holds them while channel after channel is picked out.
const (
	chunk = 1 << 18
	block = 1 << 15
)

// Reader reads samples of a Layout. It implements ingest.Reader, Quantized,
// Float32 and ByChannel.
type Reader struct {
	src  ingest.Source
	info ingest.Info
	Layout

	buf *[]byte // of buffers, once there is one
}

// New returns a Reader of src, which it closes. info describes the file; its
// channels are as many as the layout's.
func New(src ingest.Source, info ingest.Info, l Layout) *Reader {
	return &Reader{src: src, info: info, Layout: l}
}

// Hints of errors about files that end too early, and about others.
const (
	CutShort = "the file is cut short: copy it again, or leave it out with exclude"
	Damaged  = "is the file damaged? copy it again, or leave it out with exclude"
)

// Short settles what is done with a file that holds less than it claims: an error or, with
// truncated: use, where there is something to be used, a warning. whole is what would be.
func Short(src ingest.Source, o ingest.Options, at int64, found, whole string, some bool) ([]ingest.Warning, error) {
	switch {
	case !some:
		return nil, src.Fault(at, "", found, CutShort)
	case o.Truncated != "use":
		return nil, src.Fault(at, "", found, "copy the file again, or use its "+whole+" with truncated: use")
	}

	return []ingest.Warning{{Path: src.Path, Code: "truncated", Text: found + ": these are used"}}, nil
}

// ReadFull fills b from a byte on, or returns io.ErrUnexpectedEOF where r ends before.
func ReadFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}

	return err
}

// ReadHeader fills b from a byte of a file on; want is what a person expects there.
func ReadHeader(src ingest.Source, b []byte, at int64, want string) error {
	n, err := src.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return &fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", at), Err: fmt.Errorf("read header: %w", err)}
	}

	return fault.At(src.Path, fmt.Sprintf("byte %d", at+int64(n)), want, "the end of the file", CutShort)
}

// Window is the bytes of a file that were read last.
type Window struct {
	of any
	at int64
	b  []byte
}

// Bytes returns n bytes from a byte of r on, which are valid until the next call, and reads up to ahead of them.
// Bytes of another file have another name.
func (w *Window) Bytes(of any, r io.ReaderAt, at, n, ahead int64) ([]byte, error) {
	if rel := at - w.at; of == w.of && rel >= 0 && rel+n <= int64(len(w.b)) {
		return w.b[rel : rel+n], nil
	}

	size := max(n, ahead)
	if int64(cap(w.b)) < size {
		w.b = make([]byte, size)
	}

	got, err := r.ReadAt(w.b[:size], at)
	w.of, w.at, w.b = of, at, w.b[:got]
	switch {
	case int64(got) >= n:
		return w.b[:n], nil
	case err == nil || errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}

	w.b = w.b[:0]

	return nil, err
}

// Text ends a text at its zero byte and cuts blanks off; see Latin1.
func Text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.TrimSpace(Latin1(b))
}

// Latin1 returns b as text: as Windows-1252, which has the characters of Latin-1, where it is no UTF-8, as which
// writers mark ° and µ often enough.
func Latin1(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}

	return string(lists.Each(b, func(c byte) rune {
		if c >= 0x80 && c < 0xa0 {
			return upper1252[c-0x80]
		}

		return rune(c)
	}))
}

// upper1252 are the characters 0x80 to 0x9f of Windows-1252. In names there are no control characters, which YAML
// cannot write.
var upper1252 = []rune("€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ")

// Decode fills dst with numbers of a kind that lie stride bytes apart in b.
func Decode(dst []float64, b []byte, kind Kind, bigEndian bool, stride int) {
	decode(&Reader{Layout: Layout{Kind: kind, BigEndian: bigEndian, Scale: 1}}, dst, b, stride)
}

// Value decodes one number of that kind from the beginning of b.
func Value(kind Kind, bigEndian bool, b []byte) float64 {
	var v [1]float64
	Decode(v[:], b, kind, bigEndian, kind.Bytes())
	return v[0]
}

// Info implements ingest.Reader.
func (r *Reader) Info() ingest.Info { return r.info }

// Close implements ingest.Reader.
func (r *Reader) Close() error {
	if r.buf != nil {
		buffers.Put(r.buf)
		r.buf = nil
	}

	return r.src.Close()
}

// buffers serve one file after the other.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Quantum implements ingest.Quantized.
func (r *Reader) Quantum() (step, low, high float64) {
	if !r.Kind.Integer() {
		return 0, 0, 0
	}

	bits := 8 * r.Kind.Bytes()
	if r.Kind.Signed() {
		return r.Scale, -math.Ldexp(1, bits-1) * r.Scale, (math.Ldexp(1, bits-1) - 1) * r.Scale
	}

	return r.Scale, (0 - r.Bias) * r.Scale, (math.Ldexp(1, bits) - 1 - r.Bias) * r.Scale
}

// Read implements ingest.Reader. It panics if channels and dst do not fit together.
func (r *Reader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	return readRaw(r, channels, start, dst)
}

// Exact32 implements ingest.Float32. Integers of up to 24 bits, times a power of
// two, are float32 exactly.
func (r *Reader) Exact32() bool { return r.Kind.Bytes() < 4 || r.Kind == F32 }

// Read32 implements ingest.Float32.
func (r *Reader) Read32(channels []int, start int64, dst [][]float32) (int, error) {
	return readRaw(r, channels, start, dst)
}

// ByChannel implements ingest.ByChannel.
func (r *Reader) ByChannel() bool { return r.Planar }

func readRaw[T floats](r *Reader, channels []int, start int64, dst [][]T) (_ int, err error) {
	defer fault.Catch(&err)

	want := ingest.CheckRead(len(r.info.Channels), channels, start, dst)
	if want == 0 {
		return 0, nil
	}

	if start >= r.Frames {
		return 0, io.EOF
	}

	n := int(min(int64(want), r.Frames-start))

	if r.Planar {
		readPlanes(r, channels, start, dst, n)
	} else {
		readFrames(r, channels, start, dst, n)
	}

	if n < want {
		return n, io.EOF
	}

	return n, nil
}

func readFrames[T floats](r *Reader, channels []int, start int64, dst [][]T, n int) {
	size := r.Kind.Bytes()
	frame := size * r.Channels
	per := max(1, block/frame)
	if per >= 8 {
		per &^= 7
	}

	for done := 0; done < n; {
		m := min(max(1, chunk/frame), n-done)
		b := r.fetch(r.Offset+(start+int64(done))*int64(frame), m*frame)

		for k := 0; k < m; k += per {
			unpack(r, channels, dst, done+k, min(per, m-k), b[k*frame:], frame)
		}

		done += m
	}
}

// unpack picks m samples of each channel out of frames, to dst from done on:
// eight adjacent channels at a time where there is a kernel for it.
func unpack[T floats](r *Reader, channels []int, dst [][]T, done, m int, b []byte, frame int) {
	size := r.Kind.Bytes()
	narrow, ok := any(dst).([][]float32)
	ok = ok && (r.Kind == F32 || r.Kind == I16 || r.Kind == I24) && !r.BigEndian
	for i := 0; i < len(channels); i++ {
		// The last eight may repeat some of those before them.
		if at := min(i, len(channels)-8); ok && at >= 0 && channels[at+7] == channels[at]+7 && neighbours(channels[at:at+8]) {
			c := channels[at]
			k := kernel.Unpack8((*[8][]float32)(narrow[at:at+8]), done, b[c*size:], frame, m, size, float32(r.Scale))
			for j := range 8 {
				if k < m {
					decode(r, dst[at+j][done+k:done+m], b[k*frame+(c+j)*size:], frame)
				}
			}

			i = at + 7
			continue
		}

		decode(r, dst[i][done:done+m], b[channels[i]*size:], frame)
	}
}

func neighbours(channels []int) bool {
	for i, c := range channels {
		if c != channels[0]+i {
			return false
		}
	}

	return true
}

func readPlanes[T floats](r *Reader, channels []int, start int64, dst [][]T, n int) {
	size := r.Kind.Bytes()
	per := block / size
	for i, c := range channels {
		at := r.Offset + (int64(c)*r.Frames+start)*int64(size)
		if b := r.same(dst[i][:n]); b != nil {
			fault.Raise(Fill(r.src, b, at))
			continue
		}

		for done := 0; done < n; {
			m := min(per, n-done)
			b := r.fetch(at+int64(done*size), m*size)

			decode(r, dst[i][done:done+m], b, size)
			done += m
		}
	}
}

// fetch returns n bytes at an offset, read into the reusable buffer.
func (r *Reader) fetch(at int64, n int) []byte {
	if held := r.src.Held; at+int64(n) <= int64(len(held)) {
		return held[at:][:n:n]
	}

	if r.buf == nil {
		r.buf = buffers.Get().(*[]byte)
	}

	if len(*r.buf) < n {
		*r.buf = make([]byte, n)
	}

	b := (*r.buf)[:n]

	fault.Raise(Fill(r.src, b, at))

	return b
}

// Fill reads len(b) bytes of samples from a byte of a file on.
func Fill(src ingest.Source, b []byte, at int64) error {
	got, err := src.ReadAt(b, at)
	if got == len(b) {
		return nil
	}

	at += int64(got)
	if err == nil || errors.Is(err, io.EOF) {
		return src.Fault(at, "", "the file became shorter while it was read", "is it still being written?")
	}

	return &fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", at), Err: fmt.Errorf("read samples: %w", err)}
}

// LittleEndian reports how this machine stores numbers.
var LittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// same returns dst as the bytes to read into, where the file stores numbers as
// memory does; nil where they must be decoded.
func (r *Reader) same(dst any) []byte {
	if r.BigEndian == LittleEndian {
		return nil
	}

	switch x := dst.(type) {
	case []float32:
		if r.Kind == F32 {
			return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
		}

	case []float64:
		if r.Kind == F64 {
			return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 8*len(x))
		}
	}

	return nil
}

// floats is what samples are decoded to.
type floats interface{ float32 | float64 }

// decode fills dst from samples that lie stride bytes apart in b. What recordings mostly are has a
// loop of its own.
func decode[T floats](r *Reader, dst []T, b []byte, stride int) {
	if len(dst) == 0 {
		return
	}

	b = b[:(len(dst)-1)*stride+r.Kind.Bytes()] // the last sample's end: one check for all
	scale, p := T(r.Scale), 0

	le := binary.LittleEndian

	kind := r.Kind
	if r.BigEndian {
		kind = -1
	}

	switch kind {
	case I16:
		for i := range dst {
			dst[i] = T(int16(le.Uint16(b[p:]))) * scale
			p += stride
		}

	case I24:
		// The three bytes fill the upper part of an int32, whose arithmetic
		// shift then restores the sign.
		for i := range dst {
			v := b[p : p+3 : p+3]
			dst[i] = T(int32(uint32(v[2])<<24|uint32(v[1])<<16|uint32(v[0])<<8)>>8) * scale
			p += stride
		}

	case I32:
		for i := range dst {
			dst[i] = T(int32(le.Uint32(b[p:]))) * scale
			p += stride
		}

	case F32:
		for len(dst) >= 4 { // four at a time: the loop costs as much as its body
			v := b[p : p+3*stride+4]
			dst[0] = T(math.Float32frombits(le.Uint32(v)))
			dst[1] = T(math.Float32frombits(le.Uint32(v[stride:])))
			dst[2] = T(math.Float32frombits(le.Uint32(v[2*stride:])))
			dst[3] = T(math.Float32frombits(le.Uint32(v[3*stride:])))
			dst = dst[4:]
			p += 4 * stride
		}

		for i := range dst {
			dst[i] = T(math.Float32frombits(le.Uint32(b[p:])))
			p += stride
		}

	case F64:
		for i := range dst {
			dst[i] = T(math.Float64frombits(le.Uint64(b[p:])))
			p += stride
		}

	default:
		decodeAny(r, dst, b, stride)
	}
}

// half is the value of a float of IEEE 754's binary16.
func half(bits uint16) float64 {
	exp, frac := int(bits>>10&31), float64(bits&1023)

	v := 0.0
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 31:
		if v = math.Inf(1); frac != 0 {
			v = math.NaN()
		}

	default:
		v = math.Ldexp(1024+frac, exp-25)
	}

	if bits&0x8000 != 0 {
		v = math.Copysign(v, -1)
	}

	return v
}

// decodeAny is decode for every kind and both orders.
func decodeAny[T floats](r *Reader, dst []T, b []byte, stride int) {
	scale, bias := T(r.Scale), T(r.Bias)

	order := binary.ByteOrder(binary.LittleEndian)
	if r.BigEndian {
		order = binary.BigEndian
	}

	for i := range dst {
		switch v := b[i*stride:]; r.Kind {
		case U8:
			dst[i] = (T(v[0]) - bias) * scale
		case I8:
			dst[i] = T(int8(v[0])) * scale
		case U16:
			dst[i] = T(order.Uint16(v)) * scale
		case I16:
			dst[i] = T(int16(order.Uint16(v))) * scale
		case I24: // big-endian
			dst[i] = T(int32(uint32(v[0])<<24|uint32(v[1])<<16|uint32(v[2])<<8)>>8) * scale
		case U32:
			dst[i] = T(order.Uint32(v)) * scale
		case I32:
			dst[i] = T(int32(order.Uint32(v))) * scale
		case U64:
			dst[i] = T(order.Uint64(v)) * scale
		case I64:
			dst[i] = T(int64(order.Uint64(v))) * scale
		case F32:
			dst[i] = T(math.Float32frombits(order.Uint32(v)))
		case F64:
			dst[i] = T(math.Float64frombits(order.Uint64(v)))
		case F16:
			dst[i] = T(half(order.Uint16(v)))
		}
	}
}
