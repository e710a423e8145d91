// Package inflate decompresses deflate (RFC 1951) and zlib (RFC 1950) streams,
// and frames of Zstandard (RFC 8878). The work is that of
// github.com/klauspost/compress; the compressed data (archives, chunks, variables)
// is the callers' matter.
package inflate

import (
	"bufio"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// MaxRatio is the most bytes that deflate makes of one: 258 of two bits.
const MaxRatio = 1032

// Reader decompresses one stream after another. It may read its source beyond
// the stream's end.
type Reader struct {
	src  source
	buf  *bufio.Reader // of src
	zlib bool
	z    io.ReadCloser // made by the first Read
	open bool          // z reads src
	err  error
}

// NewReader returns a Reader of a deflate stream.
func NewReader(src io.Reader) *Reader { return &Reader{src: source{src}} }

// NewZlibReader returns a Reader of a zlib stream; its checksum is compared at
// the end.
func NewZlibReader(src io.Reader) *Reader { return &Reader{src: source{src}, zlib: true} }

// Reset makes the Reader read another stream, of the same kind.
func (r *Reader) Reset(src io.Reader) { r.src, r.open, r.err = source{src}, false, nil }

// Close implements io.Closer; it does nothing.
func (r *Reader) Close() error { return nil }

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (n int, err error) {
	if r.err == nil && !r.open {
		r.err = r.begin()
	}

	if r.err == nil {
		n, r.err = r.z.Read(p)
	}

	return n, r.err
}

// begin opens the stream of src.
func (r *Reader) begin() (err error) {
	if r.buf == nil {
		r.buf = bufio.NewReaderSize(r.src, 16<<10)
	} else {
		r.buf.Reset(r.src)
	}

	switch {
	case r.z != nil:
		err = r.z.(flate.Resetter).Reset(r.buf, nil)
	case r.zlib:
		r.z, err = zlib.NewReader(r.buf)
	default:
		r.z = flate.NewReader(r.buf)
	}

	r.open = err == nil

	return err
}

// source is compressed data whose end is always unexpected: the last block of a
// stream is marked. The library takes io.EOF within a length or a distance for
// the stream's end.
type source struct{ r io.Reader }

func (s source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err == io.EOF { //nolint:errorlint // as io.Reader defines it
		err = io.ErrUnexpectedEOF
	}

	return n, err
}

// zstandard makes the decoder of all frames, whose buffers take a megabyte. It writes no
// further than the capacity that it is given.
var zstandard = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<31))
})

// Zstandard decompresses frames of Zstandard, which may become at most size bytes. They
// may claim more than they hold, so memory for all of it comes last. The library has
// several errors for too little room, so any makes it try again.
func Zstandard(b []byte, size int64) (out []byte, err error) {
	z, err := zstandard()
	if err != nil {
		return nil, err
	}

	for room := min(size, int64(len(b))<<6); ; room = min(size, room<<3) {
		out, err = z.DecodeAll(b, make([]byte, 0, room))
		if room == size || err == nil {
			return out, err
		}
	}
}
