// Package inflate decompresses deflate (RFC 1951) and zlib (RFC 1950) streams, and frames of Zstandard (RFC 8878), by
// github.com/klauspost/compress. Its callers find the compressed data in archives, chunks and variables.
package inflate

import (
	"bufio"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// MaxRatio is the largest number of bytes that one compressed byte of deflate may stand for: two bits may stand for 258
// bytes.
const MaxRatio = 1032

// Reader decompresses one stream after another. It may read its source beyond
// the stream's end.
type Reader struct {
	src  source
	buf  *bufio.Reader // reads src; nil before the first Read
	zlib bool          // the streams are zlib; otherwise they are deflate
	z    io.ReadCloser // reads buf; nil before the first Read
	open bool          // z was set to the stream of src
	err  error         // the error that ended the stream
}

// NewReader returns a Reader of a deflate stream.
func NewReader(src io.Reader) *Reader { return &Reader{src: source{src}} }

// NewZlibReader returns a Reader of a zlib stream; its checksum is compared at
// the end.
func NewZlibReader(src io.Reader) *Reader { return &Reader{src: source{src}, zlib: true} }

// Reset makes the Reader read another stream, of the same kind.
func (r *Reader) Reset(src io.Reader) {
	r.src = source{src}
	r.open = false
	r.err = nil
}

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

// begin makes z decompress the stream of src.
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

// source passes compressed data on, and returns io.ErrUnexpectedEOF at their end. The last block of a stream is marked,
// so that no decompressor needs to reach the end of the data. The library would take io.EOF within a block for the
// regular end of the stream.
type source struct{ r io.Reader }

func (s source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err == io.EOF { // io.Reader returns it bare
		err = io.ErrUnexpectedEOF
	}

	return n, err
}

// zstandard returns the one decoder of all frames: its buffers take a megabyte. The decoder does not write beyond the
// capacity of the slice that it is given.
var zstandard = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(1<<31))
})

// Zstandard decompresses frames of Zstandard to at most size bytes. size may come from a damaged file, so Zstandard
// begins with room for 64 times the compressed bytes and allocates more only if that is too little. The library has
// several errors for too little room, so Zstandard tries again after any error.
func Zstandard(b []byte, size int64) ([]byte, error) {
	z, err := zstandard()
	if err != nil {
		return nil, err
	}

	for room := min(size, int64(len(b))<<6); ; room = min(size, room<<3) {
		data, err := z.DecodeAll(b, make([]byte, 0, room))
		if room == size || err == nil {
			return data, err
		}
	}
}
