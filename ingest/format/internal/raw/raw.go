// Package raw reads uncompressed samples of fixed size, such as the samples of WAV and NPY files. The samples lie in a
// file as frames (all channels of one instant together) or as planes (all instants of one channel together). The reader
// of the format reads the header and describes the samples by a [Layout]; package raw reads the samples.
//
// Kind decodes single numbers, and source.go has what readers of all formats need to read bytes and to report files
// that end too early.
package raw

import (
	"encoding/binary"
	"io"
	"math"
	"sync"
	"unsafe"

	"doubletake/ingest"
	"doubletake/ingest/kernel"
)

// Layout is the place of samples in a file and their encoding.
type Layout struct {
	Offset    int64 // offset of the first sample in the file, in bytes
	Frames    int64 // samples per channel
	Channels  int
	Kind      Kind
	BigEndian bool
	Planar    bool // the samples lie in planes, not in frames

	// A stored integer v has the value (v − Bias)·Scale. Only U8 has a Bias. Floats are values as they are.
	Bias, Scale float64
}

// Frames are read in chunks of chunk bytes, or one by one if a frame is longer. A chunk fits into the second-level
// cache of a processor. The channels of a chunk are picked out block by block, because a block stays in the first-level
// cache while channel after channel is picked out.
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

	buf *[]byte // from buffers; nil before the first read and after Close
}

// New returns a Reader of src. Close closes src. info describes the file and must
// have as many channels as the layout.
func New(src ingest.Source, info ingest.Info, l Layout) *Reader {
	return &Reader{src: src, info: info, Layout: l}
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

// buffers keeps the buffers of closed files for the next files.
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

// Exact32 implements ingest.Float32. A float32 has room for integers of up to 24 bits, and scaling them by a power of
// two changes no digit.
func (r *Reader) Exact32() bool { return r.Kind.Bytes() < 4 || r.Kind == F32 }

// Read32 implements ingest.Float32.
func (r *Reader) Read32(channels []int, start int64, dst [][]float32) (int, error) {
	return readRaw(r, channels, start, dst)
}

// ByChannel implements ingest.ByChannel.
func (r *Reader) ByChannel() bool { return r.Planar }

// readRaw reads samples as ingest.Reader's Read does, as float64 or as float32.
func readRaw[T floats](r *Reader, channels []int, start int64, dst [][]T) (int, error) {
	want := ingest.CheckRead(len(r.info.Channels), channels, start, dst)
	if want == 0 {
		return 0, nil
	}

	if start >= r.Frames {
		return 0, io.EOF
	}

	n := int(min(int64(want), r.Frames-start))

	var err error
	if r.Planar {
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

// readFrames reads n samples of each channel from frames.
func readFrames[T floats](r *Reader, channels []int, start int64, dst [][]T, n int) error {
	frame := r.Kind.Bytes() * r.Channels // bytes
	chunkFrames := max(1, chunk/frame)
	blockFrames := max(1, block/frame)
	if blockFrames >= 8 {
		blockFrames &^= 7 // a multiple of eight, the number of frames that the kernel unpacks at a time
	}

	for done := 0; done < n; {
		m := min(chunkFrames, n-done)
		b, err := r.fetch(r.Offset+(start+int64(done))*int64(frame), m*frame)
		if err != nil {
			return err
		}

		for k := 0; k < m; k += blockFrames {
			unpack(r, channels, dst, done+k, min(blockFrames, m-k), b[k*frame:], frame)
		}

		done += m
	}

	return nil
}

// unpack picks m samples of each channel out of frames, which begin at b and are frame bytes long. The samples of
// channels[i] go to dst[i] from index done on. Eight adjacent channels are picked out at a time if there is a kernel
// for their kind.
func unpack[T floats](r *Reader, channels []int, dst [][]T, done, m int, b []byte, frame int) {
	size := r.Kind.Bytes()
	narrow, isNarrow := any(dst).([][]float32)
	hasKernel := isNarrow && !r.BigEndian && (r.Kind == F32 || r.Kind == I16 || r.Kind == I24)

	for i := 0; i < len(channels); i++ {
		// If fewer than eight channels are left, the eight begin with channels that were picked out before.
		first := min(i, len(channels)-8)
		if !hasKernel || first < 0 || !areNeighbours(channels[first:first+8]) {
			decode(&r.Layout, dst[i][done:done+m], b[channels[i]*size:], frame)
			continue
		}

		c := channels[first]
		k := kernel.Unpack8((*[8][]float32)(narrow[first:first+8]), done, b[c*size:], frame, m, size, float32(r.Scale))
		if k < m { // the kernel leaves the last frames over if there are too few
			for j := range 8 {
				decode(&r.Layout, dst[first+j][done+k:done+m], b[k*frame+(c+j)*size:], frame)
			}
		}

		i = first + 7
	}
}

// areNeighbours reports whether the channels are consecutive.
func areNeighbours(channels []int) bool {
	if last := len(channels) - 1; channels[last] != channels[0]+last {
		return false
	}

	for i, c := range channels {
		if c != channels[0]+i {
			return false
		}
	}

	return true
}

// readPlanes reads n samples of each channel from planes.
func readPlanes[T floats](r *Reader, channels []int, start int64, dst [][]T, n int) error {
	size := r.Kind.Bytes()
	blockSamples := block / size

	for i, c := range channels {
		offset := r.Offset + (int64(c)*r.Frames+start)*int64(size)
		if b := r.asStored(dst[i][:n]); b != nil {
			if err := Fill(r.src, b, offset); err != nil {
				return err
			}

			continue
		}

		for done := 0; done < n; {
			m := min(blockSamples, n-done)
			b, err := r.fetch(offset+int64(done*size), m*size)
			if err != nil {
				return err
			}

			decode(&r.Layout, dst[i][done:done+m], b, size)
			done += m
		}
	}

	return nil
}

// fetch returns n bytes of the file from an offset on. They are part of the file's contents if these are in memory, and
// otherwise lie in the buffer, which the next call overwrites.
func (r *Reader) fetch(offset int64, n int) ([]byte, error) {
	if held := r.src.Held; offset+int64(n) <= int64(len(held)) {
		return held[offset:][:n:n], nil
	}

	if r.buf == nil {
		r.buf = buffers.Get().(*[]byte)
	}

	if len(*r.buf) < n {
		*r.buf = make([]byte, n)
	}

	b := (*r.buf)[:n]
	if err := Fill(r.src, b, offset); err != nil {
		return nil, err
	}

	return b, nil
}

// LittleEndian reports whether this machine stores numbers in little-endian order.
var LittleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// asStored returns the memory of dst, a []float32 or []float64, as bytes if the file stores numbers just as memory
// does: then the file can be read into it. It returns nil if the numbers must be decoded.
func (r *Reader) asStored(dst any) []byte {
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
