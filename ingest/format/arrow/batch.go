package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/inflate"
)

// part is where a column lies in a batch.
type part struct {
	place            string
	codec            int64
	missing          bool // values may be missing
	validity, values span // the bytes in the file
}

// span is a buffer in the file.
type span struct{ at, n int64 }

const (
	noCodec = iota - 1
	codecLZ4
	codecZstd
)

// batch goes through the lengths and buffers of a batch
// (format/Message.fbs, table RecordBatch), column by column.
type batch struct {
	block
	version, rows, codec int64
	lengths              []byte // of columns and their children, with the numbers of missing values
	spans                []span
	counts               []byte // of the buffers of views

	// unpacked are the bytes of the buffers, nil where they are not known.
	unpacked []int64
	next     int // buffer
}

// readBatches reads the metadata of all batches.
func (f *file) readBatches() {
	sum := int64(0)
	for _, k := range f.batches {
		b := f.batch(k)
		b.columns(f.columns, true)

		sum += b.rows
		unless(sum <= maxRows, k.place, fmt.Sprintf("at most %d rows in all", int64(maxRows)), "%d", sum)
		f.ends = append(f.ends, sum)
	}
}

// batch reads the metadata of a batch, and that its buffers lie in its data.
func (f *file) batch(k block) *batch {
	m, kind := f.message(k)
	header, ok := m.table(2, k.place)
	unless(kind == messageBatch && ok, k.place, fmt.Sprintf("a message of kind %d", messageBatch), "kind %d", kind)

	b := &batch{block: k, version: m.number(0, 2, 0), rows: header.number(0, 8, 0), codec: noCodec}
	vector := func(slot, size int, name string) []byte {
		at, n := header.vector(slot, size, name)
		return header.b[at : at+n*size]
	}

	b.lengths, b.counts = vector(1, 16, "nodes"), vector(4, 8, "counts")
	buffers := vector(2, 16, "buffers")
	unless(b.rows >= 0 && b.rows <= maxRows, k.place, fmt.Sprintf("0 to %d rows", int64(maxRows)), "%d", b.rows)

	if c, compressed := header.table(3, k.place+", compression"); compressed {
		b.codec = c.number(0, 1, 0)
		method := c.number(1, 1, 0)
		unless((b.codec == codecLZ4 || b.codec == codecZstd) && method == 0, k.place, "LZ4 or Zstandard for each buffer",
			"compression %d, method %d", b.codec, method)
	}

	left := k.body
	for i := range len(buffers) / 16 {
		at, n := pair(buffers, i)
		if n < 0 || n > 0 && (at < 0 || at > k.body || n > k.body-at) {
			fault.Raise(damaged(k.place, fmt.Sprintf("buffer %d within %d bytes of data", i+1, k.body),
				"%d bytes at byte %d", n, at))
		}

		if left -= n; left < 0 {
			fault.Raise(damaged(k.place, fmt.Sprintf("buffers of %d bytes in all", k.body), "more at buffer %d", i+1))
		}

		b.spans = append(b.spans, span{k.at + k.meta + at, n})
		if b.codec == noCodec {
			b.unpacked = append(b.unpacked, n)
		}
	}

	return b
}

// pair returns two numbers of 64 bits, element i of b.
func pair(b []byte, i int) (x, y int64) {
	return int64(binary.LittleEndian.Uint64(b[16*i:])), int64(binary.LittleEndian.Uint64(b[16*i+8:]))
}

// columns finds the buffers of the columns and verifies that they hold as many
// values as the batch has rows. It keeps those of numbers where it is asked to.
func (b *batch) columns(columns []*column, keep bool) {
	for i, c := range columns {
		place := fmt.Sprintf("%s, column %d", b.place, i+1)
		first := b.next

		length, missing := b.column(c, place)
		if length != b.rows {
			fault.Raise(&fault.Error{
				Place: place, Want: fmt.Sprintf("%d rows, as the batch", b.rows), Found: fmt.Sprint(length),
			})
		}

		if c.number && keep {
			c.parts = append(c.parts, part{
				place: place, codec: b.codec, missing: missing, validity: b.spans[first], values: b.spans[first+1],
			})
		}
	}
}

// column goes through a column and its children and returns its length and whether
// values may be missing.
func (b *batch) column(c *column, place string) (length int64, missing bool) {
	unless(len(b.lengths) > 0, place, "a length for each column", "fewer")

	length, nulls := pair(b.lengths, 0)
	b.lengths = b.lengths[16:]
	unless(length >= 0 && length <= maxRows && nulls >= -1 && nulls <= length, place, // −1: not counted
		fmt.Sprintf("0 to %d values, and no more of them missing", int64(maxRows)), "%d, %d missing", length, nulls)

	missing = nulls != 0
	bare := c.kind == typeNull || b.version >= 4 && (c.kind == typeUnion || c.kind == typeRunEndEncoded) // 4 is V5

	buffers := kinds[c.kind].buffers
	if c.indexed {
		bare, buffers = false, values
	}

	switch {
	case bare:
	case missing:
		b.need(length, 1, place)
	default:
		b.need(0, 1, place) // not looked at
	}

	for _, k := range buffers {
		switch {
		case k.values && !c.indexed:
			b.need(length, c.bits, place)
		case k.ends && length > 0: // of no values they may lack
			b.need(length+1, 32, place)
		default:
			b.need(0, 0, place)
		}
	}

	if c.indexed {
		return length, missing
	}

	more := int64(0)

	switch {
	case c.kind == typeBinaryView || c.kind == typeUtf8View:
		unless(len(b.counts) > 0, place, "the number of its buffers", "none")
		more = int64(binary.LittleEndian.Uint64(b.counts))
		b.counts = b.counts[8:]
		unless(more >= 0 && more <= int64(len(b.spans)), place, fmt.Sprintf("0 to %d buffers", len(b.spans)), "%d", more)
	case c.dense:
		more = 1
	}

	for range more {
		b.need(0, 0, place)
	}

	for i, child := range c.children {
		b.column(child, fmt.Sprintf("%s, child %d", place, i+1))
	}

	return length, missing
}

// need goes to the next buffer, which must hold n values of some bits.
func (b *batch) need(n, bits int64, place string) {
	i := b.next
	if b.next++; i >= len(b.spans) {
		fault.Raise(damaged(place, "buffers for each column", "%d buffers", len(b.spans)))
	}

	if want := (n*bits + 7) / 8; b.unpacked != nil && b.unpacked[i] < want { // of 2^48 values of 64 bits at most
		fault.Raise(damaged(place, fmt.Sprintf("%d bytes for %d values", want, n), "%d bytes in buffer %d", b.unpacked[i],
			i+1))
	}
}

// unpack reads a buffer and decompresses it.
func (f *file) unpack(place string, codec int64, s span) []byte {
	b := make([]byte, s.n)
	if readFull(f.r, b, s.at, place); codec == noCodec || s.n == 0 {
		return b
	}

	unless(len(b) >= 8, place, "compressed data", "%d bytes", len(b))
	length := int64(binary.LittleEndian.Uint64(b))
	b = b[8:]

	switch {
	case length == -1: // not compressed
		return b
	case length > f.most:
		fault.Raise(fault.At("", place,
			fmt.Sprintf("at most %d bytes of a column of a batch in a file of %d", f.most, f.size), fmt.Sprint(length),
			"write it in smaller batches, or uncompressed"))
	}

	unless(length >= 0, place, "its decompressed length", "%d", length)

	var out []byte
	var err error
	if codec == codecZstd {
		out, err = inflate.Zstandard(b, length)
		if err == nil && int64(len(out)) < length {
			err = io.ErrUnexpectedEOF
		}
	} else {
		out, err = lz4Frame(place, b, length)
	}

	if err != nil {
		fault.Raise(&fault.Error{Place: place, Err: fmt.Errorf("decompress: %w", err), Hint: "the file is damaged"})
	}

	return out
}

// lz4Frame decompresses a frame of LZ4 to length bytes; a byte becomes at most 255. The
// older frame's blocks are larger.
func lz4Frame(place string, b []byte, length int64) ([]byte, error) {
	unless(len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0x184D2204, place, "a frame of LZ4", "%q", b[:min(4, len(b))])

	most := 255 * int64(len(b))
	unless(length <= most, place, fmt.Sprintf("at most %d bytes from %d", most, len(b)), "%d", length)

	out := make([]byte, length)
	_, err := io.ReadFull(lz4.NewReader(bytes.NewReader(b)), out)

	return out, err
}
