package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unsafe"

	"doubletake/ingest/kernel"
)

// sampleKind is how one sample is stored.
type sampleKind int

const (
	kindU8 sampleKind = iota
	kindI8
	kindU16
	kindI16
	kindI24
	kindU32
	kindI32
	kindU64
	kindI64
	kindF32
	kindF64
)

// bytes returns the size of one sample.
func (k sampleKind) bytes() int {
	switch k {
	case kindU8, kindI8:
		return 1
	case kindU16, kindI16:
		return 2
	case kindI24:
		return 3
	case kindU32, kindI32, kindF32:
		return 4
	default:
		return 8
	}
}

// integer reports whether samples are quantised.
func (k sampleKind) integer() bool { return k != kindF32 && k != kindF64 }

// rawBlock is how many bytes are taken at a time: what the first-level cache
// holds while channel after channel is picked out of it.
const rawBlock = 1 << 15

// rawReader reads samples of fixed size that lie in the file as frames (all
// channels of one instant together) or planes (all instants of one channel
// together). WAV and NPY share it.
type rawReader struct {
	src    io.ReaderAt
	closer io.Closer
	info   Info

	off    int64 // of the first sample
	frames int64 // samples per channel
	chans  int
	kind   sampleKind
	big    bool // big-endian
	planar bool

	// A stored number v is delivered as (v − bias)·scale. For floats scale is 1.
	bias, scale float64

	buf     []byte
	window  *window // nil: files are read, not mapped
	kernels *kernel.Set
}

// Info implements Reader.
func (r *rawReader) Info() Info { return r.info }

// Close implements Reader.
func (r *rawReader) Close() error {
	if r.window != nil {
		r.window.close()
	}
	if r.closer == nil {
		return nil
	}
	return r.closer.Close()
}

// quantum is the distance of two neighbouring values, 0 when samples are not
// quantised. full is the largest magnitude the format can hold, 0 if it has no
// meaning (Scan judges clipping by both).
func (r *rawReader) quantum() (step, low, high float64) {
	if !r.kind.integer() {
		return 0, 0, 0
	}
	bits := 8 * r.kind.bytes()
	switch r.kind {
	case kindU8, kindU16, kindU32, kindU64:
		return r.scale, (0 - r.bias) * r.scale, (math.Ldexp(1, bits) - 1 - r.bias) * r.scale
	default:
		return r.scale, -math.Ldexp(1, bits-1) * r.scale, (math.Ldexp(1, bits-1) - 1) * r.scale
	}
}

// Read implements Reader. It panics if channels and dst do not fit together.
func (r *rawReader) Read(channels []int, start int64, dst [][]float64) (int, error) {
	return readRaw(r, channels, start, dst)
}

// Exact32 reports whether every sample is a float32 exactly: integers of up to
// 24 bits, times a power of two, and float32 themselves.
func (r *rawReader) Exact32() bool { return r.kind.bytes() < 4 || r.kind == kindF32 }

// Read32 is Read to float32, which for samples that are Exact32 loses nothing
// and moves half the memory.
func (r *rawReader) Read32(channels []int, start int64, dst [][]float32) (int, error) {
	return readRaw(r, channels, start, dst)
}

// ByChannel reports whether channels lie one after the other in the file.
func (r *rawReader) ByChannel() bool { return r.planar }

func readRaw[T floats](r *rawReader, channels []int, start int64, dst [][]T) (int, error) {
	want := checkRead(len(r.info.Channels), channels, start, dst)
	if want == 0 {
		return 0, nil
	}
	if start >= r.frames {
		return 0, io.EOF
	}
	n := int(min(int64(want), r.frames-start))
	var err error
	if r.planar {
		err = readPlanes(r, channels, start, dst, n)
	} else {
		err = readFrames(r, channels, start, dst, n)
	}
	if err != nil {
		return 0, err
	}
	if n < want {
		return n, io.EOF
	}
	return n, nil
}

// checkRead panics on misuse of Read and returns the number of samples asked.
func checkRead[T floats](have int, channels []int, start int64, dst [][]T) int {
	if len(channels) != len(dst) {
		panic("ingest: as many destinations as channels are needed")
	}
	if start < 0 {
		panic("ingest: negative start")
	}
	want := 0
	for i, c := range channels {
		if c < 0 || c >= have {
			panic("ingest: channel index out of range")
		}
		if i > 0 && len(dst[i]) != want {
			panic("ingest: destinations differ in length")
		}
		want = len(dst[i])
	}
	return want
}

func readFrames[T floats](r *rawReader, channels []int, start int64, dst [][]T, n int) error {
	if r.kernels == nil { // the first time
		r.kernels = kernel.Best()
		if f, ok := r.src.(*os.File); ok && r.frames*int64(r.kind.bytes()*r.chans) >= leastMapped {
			r.window = &window{f: f}
		}
	}
	if r.window != nil {
		if readMapped(r, channels, start, dst, n) {
			return nil
		}
		r.window.close()
		r.window = nil // and never again
	}
	return eachBlock(r, channels, start, dst, n, r.fetch)
}

// eachBlock takes samples out of frames, a block that fetch gives after the
// other.
func eachBlock[T floats](r *rawReader, channels []int, start int64, dst [][]T, n int, fetch func(at int64, n int) ([]byte, error)) error {
	size := r.kind.bytes()
	frame := size * r.chans
	if frame > rawBlock {
		// So many channels that a frame does not fit the buffer: sample by sample.
		for k := range n {
			for i, c := range channels {
				at := r.off + (start+int64(k))*int64(frame) + int64(c*size)
				b, err := fetch(at, size)
				if err != nil {
					return err
				}
				decode(r, dst[i][k:k+1], b, size)
			}
		}
		return nil
	}
	per := rawBlock / frame
	if per >= 8 {
		per &^= 7
	}
	for done := 0; done < n; {
		m := min(per, n-done)
		b, err := fetch(r.off+(start+int64(done))*int64(frame), m*frame)
		if err != nil {
			return err
		}
		unpack(r, channels, dst, done, m, b, frame)
		done += m
	}
	return nil
}

// unpack picks m samples of each channel out of frames, to dst from done on:
// eight channels at a time where the samples are as they are wanted and the
// channels lie side by side.
func unpack[T floats](r *rawReader, channels []int, dst [][]T, done, m int, b []byte, frame int) {
	size := r.kind.bytes()
	narrow, ok := any(dst).([][]float32)
	ok = ok && r.kind == kindF32 && !r.big
	for i := 0; i < len(channels); i++ {
		// The last eight may repeat some of those before them.
		if at := min(i, len(channels)-8); ok && at >= 0 && channels[at+7] == channels[at]+7 && neighbours(channels[at:at+8]) {
			c := channels[at]
			k := r.kernels.Unpack8((*[8][]float32)(narrow[at:at+8]), done, b[c*size:], frame, m)
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

func readPlanes[T floats](r *rawReader, channels []int, start int64, dst [][]T, n int) error {
	size := r.kind.bytes()
	per := rawBlock / size
	for i, c := range channels {
		at := r.off + (int64(c)*r.frames+start)*int64(size)
		if b := r.same(dst[i][:n]); b != nil {
			if err := r.fill(b, at); err != nil {
				return err
			}
			continue
		}
		for done := 0; done < n; {
			m := min(per, n-done)
			b, err := r.fetch(at+int64(done*size), m*size)
			if err != nil {
				return err
			}
			decode(r, dst[i][done:done+m], b, size)
			done += m
		}
	}
	return nil
}

// fetch reads n ≤ rawBlock bytes at an offset into the reusable buffer.
func (r *rawReader) fetch(at int64, n int) ([]byte, error) {
	if r.buf == nil {
		r.buf = make([]byte, rawBlock)
	}
	b := r.buf[:n]
	return b, r.fill(b, at)
}

// fill reads len(b) bytes at an offset.
func (r *rawReader) fill(b []byte, at int64) error {
	got, err := r.src.ReadAt(b, at)
	if got == len(b) {
		return nil
	}
	place := fmt.Sprintf("byte %d", at+int64(got))
	if err == nil || errors.Is(err, io.EOF) {
		return &DataError{Path: r.info.Path, Place: place, Found: "the file became shorter while it was read", Hint: "is it still being written?"}
	}
	return &DataError{Path: r.info.Path, Place: place, Err: fmt.Errorf("read samples: %w", err)}
}

// littleEndian tells how this machine stores numbers.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// same shows dst as the bytes to read into, where the file holds the numbers as
// they stand in memory; nil where they must be decoded.
func (r *rawReader) same(dst any) []byte {
	if r.big == littleEndian {
		return nil
	}
	switch x := dst.(type) {
	case []float32:
		if r.kind == kindF32 {
			return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
		}
	case []float64:
		if r.kind == kindF64 {
			return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 8*len(x))
		}
	}
	return nil
}

// floats is what samples are decoded to.
type floats interface{ float32 | float64 }

// decode fills dst from samples that lie stride bytes apart in b.
func decode[T floats](r *rawReader, dst []T, b []byte, stride int) {
	if len(dst) == 0 {
		return
	}
	b = b[:(len(dst)-1)*stride+r.kind.bytes()] // the last sample's end: one check for all
	scale, bias := T(r.scale), T(r.bias)
	p := 0
	if r.big && r.kind.bytes() > 1 {
		decodeBig(r, dst, b, stride)
		return
	}
	switch r.kind {
	case kindU8:
		for i := range dst {
			dst[i] = (T(b[p]) - bias) * scale
			p += stride
		}
	case kindI8:
		for i := range dst {
			dst[i] = T(int8(b[p])) * scale
			p += stride
		}
	case kindU16:
		for i := range dst {
			dst[i] = T(binary.LittleEndian.Uint16(b[p:])) * scale
			p += stride
		}
	case kindI16:
		for i := range dst {
			dst[i] = T(int16(binary.LittleEndian.Uint16(b[p:]))) * scale
			p += stride
		}
	case kindI24:
		// The three bytes fill the upper part of an int32, whose arithmetic
		// shift then restores the sign.
		for i := range dst {
			v := b[p : p+3 : p+3]
			dst[i] = T(int32(uint32(v[2])<<24|uint32(v[1])<<16|uint32(v[0])<<8)>>8) * scale
			p += stride
		}
	case kindU32:
		for i := range dst {
			dst[i] = T(binary.LittleEndian.Uint32(b[p:])) * scale
			p += stride
		}
	case kindI32:
		for i := range dst {
			dst[i] = T(int32(binary.LittleEndian.Uint32(b[p:]))) * scale
			p += stride
		}
	case kindU64:
		for i := range dst {
			dst[i] = T(binary.LittleEndian.Uint64(b[p:])) * scale
			p += stride
		}
	case kindI64:
		for i := range dst {
			dst[i] = T(int64(binary.LittleEndian.Uint64(b[p:]))) * scale
			p += stride
		}
	case kindF32:
		for len(dst) >= 4 { // four at a time: the loop costs as much as its body
			v := b[p : p+3*stride+4]
			dst[0] = T(math.Float32frombits(binary.LittleEndian.Uint32(v)))
			dst[1] = T(math.Float32frombits(binary.LittleEndian.Uint32(v[stride:])))
			dst[2] = T(math.Float32frombits(binary.LittleEndian.Uint32(v[2*stride:])))
			dst[3] = T(math.Float32frombits(binary.LittleEndian.Uint32(v[3*stride:])))
			dst = dst[4:]
			p += 4 * stride
		}
		for i := range dst {
			dst[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(b[p:])))
			p += stride
		}
	case kindF64:
		for i := range dst {
			dst[i] = T(math.Float64frombits(binary.LittleEndian.Uint64(b[p:])))
			p += stride
		}
	}
}

// decodeBig is decode for numbers whose highest byte comes first.
func decodeBig[T floats](r *rawReader, dst []T, b []byte, stride int) {
	be := binary.BigEndian
	scale := T(r.scale)
	for i := range dst {
		v := b[i*stride:]
		switch r.kind {
		case kindU16:
			dst[i] = T(be.Uint16(v)) * scale
		case kindI16:
			dst[i] = T(int16(be.Uint16(v))) * scale
		case kindI24:
			dst[i] = T(int32(uint32(v[0])<<24|uint32(v[1])<<16|uint32(v[2])<<8)>>8) * scale
		case kindU32:
			dst[i] = T(be.Uint32(v)) * scale
		case kindI32:
			dst[i] = T(int32(be.Uint32(v))) * scale
		case kindU64:
			dst[i] = T(be.Uint64(v)) * scale
		case kindI64:
			dst[i] = T(int64(be.Uint64(v))) * scale
		case kindF32:
			dst[i] = T(math.Float32frombits(be.Uint32(v)))
		case kindF64:
			dst[i] = T(math.Float64frombits(be.Uint64(v)))
		}
	}
}
