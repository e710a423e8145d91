package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"

	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/inflate"
)

// part is where the values of a column lie in a batch.
type part struct {
	place    string // names the column and the batch for people
	codec    int64  // compression of the buffers
	missing  bool   // some values may be missing
	validity span   // buffer that says which values are missing
	values   span   // buffer of the values
}

// span is a buffer in the file.
type span struct {
	begin int64 // offset in the file
	n     int64 // length in bytes, as stored
}

// The compressions of buffers (format/Message.fbs, enum CompressionType).
const (
	noCodec = iota - 1
	codecLZ4
	codecZstd
)

const (
	versionV5 = 4          // of the format (format/Schema.fbs, enum MetadataVersion)
	maxRatio  = 255        // largest number of bytes that one compressed byte of LZ4 may stand for
	lz4Magic  = 0x184D2204 // first bytes of a frame (LZ4 Frame Format)
)

// batch is the metadata of a batch (format/Message.fbs, table RecordBatch). The file states the lengths and the buffers
// of all columns in one sequence each, a parent before its children. column and the take functions walk through both
// sequences; lengths and next say where they are.
type batch struct {
	block
	version int64 // of the format
	rows    int64
	codec   int64  // compression of the buffers
	lengths []byte // nodes that were not taken yet: the number of values and of missing values, 8 bytes each
	counts  []byte // numbers of additional buffers of views that were not taken yet, 8 bytes each
	spans   []span // all buffers

	unpacked []int64 // sizes of the buffers after decompression; nil if they are not known
	next     int     // index in spans of the next buffer
}

// readBatches reads the metadata of all batches. It adds the place of each column of numbers to the column's parts.
func (f *file) readBatches() {
	sum := int64(0)
	for _, k := range f.batches {
		b := f.batch(k)
		for i, part := range b.checkColumns(f.columns) {
			if column := f.columns[i]; column.number {
				column.parts = append(column.parts, part)
			}
		}

		sum += b.rows
		unless(sum <= maxRows, k.place, fmt.Sprintf("at most %d rows in all", int64(maxRows)), "%d", sum)
		f.ends = append(f.ends, sum)
	}
}

// batch reads the metadata of a batch. It raises an error if a buffer does not lie in the body of the batch.
func (f *file) batch(k block) *batch {
	m, kind := f.message(k)
	header, ok := m.table(2, k.place)
	unless(kind == messageBatch && ok, k.place, fmt.Sprintf("a message of kind %d", messageBatch), "kind %d", kind)

	b := &batch{block: k, version: m.number(0, 2), rows: header.number(0, 8), codec: noCodec}
	vector := func(slot, size int, name string) []byte {
		begin, n := header.vector(slot, size, name)
		return header.b[begin : begin+n*size]
	}

	b.lengths = vector(1, 16, "nodes")
	b.counts = vector(4, 8, "counts")
	buffers := vector(2, 16, "buffers")
	unless(b.rows >= 0 && b.rows <= maxRows, k.place, fmt.Sprintf("0 to %d rows", int64(maxRows)), "%d", b.rows)

	if compression, ok := header.table(3, k.place+", compression"); ok {
		b.codec = compression.number(0, 1)
		method := compression.number(1, 1) // 0: each buffer is compressed by itself
		isKnown := b.codec == codecLZ4 || b.codec == codecZstd
		unless(isKnown && method == 0, k.place, "LZ4 or Zstandard for each buffer", "compression %d, method %d", b.codec,
			method)
	}

	b.buffers(buffers)

	return b
}

// buffers takes the buffers of the batch, which must lie in its data.
func (b *batch) buffers(list []byte) {
	left := b.body
	for i := range len(list) / 16 {
		begin, n := pair(list, i)
		isInside := begin >= 0 && begin <= b.body && n <= b.body-begin
		if n < 0 || n > 0 && !isInside { // writers give an empty buffer any offset
			decode.Raise(damaged(b.place, fmt.Sprintf("buffer %d within %d bytes of data", i+1, b.body),
				"%d bytes at byte %d", n, begin))
		}

		left -= n
		unless(left >= 0, b.place, fmt.Sprintf("buffers of %d bytes in all", b.body), "more at buffer %d", i+1)

		b.spans = append(b.spans, span{begin: b.begin + b.meta + begin, n: n})
		if b.codec == noCodec {
			b.unpacked = append(b.unpacked, n)
		}
	}
}

// pair returns element i of a list of pairs of numbers of 8 bytes.
func pair(b []byte, i int) (first, second int64) {
	return int64(binary.LittleEndian.Uint64(b[16*i:])), int64(binary.LittleEndian.Uint64(b[16*i+8:]))
}

// checkColumns takes the lengths and buffers of all columns. It raises an error if a column does not have as many
// values as the batch has rows, or if a buffer is too short for them. It returns where the values of each column lie;
// the parts of columns without numbers are empty.
func (b *batch) checkColumns(columns []*column) []part {
	parts := make([]part, len(columns))
	for i, c := range columns {
		place := fmt.Sprintf("%s, column %d", b.place, i+1)
		first := b.next

		length, missing := b.column(c, place)
		if length != b.rows {
			decode.Raise(&fault.Error{
				Place: place, Want: fmt.Sprintf("%d rows, as the batch", b.rows), Found: fmt.Sprint(length),
			})
		}

		if c.number {
			parts[i] = part{
				place: place, codec: b.codec, missing: missing, validity: b.spans[first], values: b.spans[first+1],
			}
		}
	}

	return parts
}

// column takes the lengths and buffers of a column and its children, in the order in which they are in the batch. It
// returns the number of values of the column, and whether some may be missing.
func (b *batch) column(c *column, place string) (length int64, missing bool) {
	length, missing = b.takeLength(place)

	if b.hasValidity(c) {
		n := int64(0) // if no value is missing, the buffer may be empty
		if missing {
			n = length
		}

		b.takeBuffer(n, 1, place)
	}

	if c.indexed { // the indices are the only other buffer
		b.takeBuffer(0, 0, place)
		return length, missing
	}

	b.takeValues(c, length, place)
	b.takeAdditional(c, place)

	for i, child := range c.children {
		b.column(child, fmt.Sprintf("%s, child %d", place, i+1))
	}

	return length, missing
}

// takeLength takes the number of values of the next column, and whether some may be missing.
func (b *batch) takeLength(place string) (length int64, missing bool) {
	unless(len(b.lengths) > 0, place, "a length for each column", "fewer")

	length, nulls := pair(b.lengths, 0) // nulls is −1 if the writer did not count them
	b.lengths = b.lengths[16:]

	isLength := length >= 0 && length <= maxRows
	unless(isLength && nulls >= -1 && nulls <= length, place,
		fmt.Sprintf("0 to %d values, and no more of them missing", int64(maxRows)), "%d, %d missing", length, nulls)

	return length, nulls != 0
}

// hasValidity reports whether a column has a buffer that says which values are missing.
func (b *batch) hasValidity(c *column) bool {
	switch {
	case c.indexed:
		return true
	case c.kind == typeUnion || c.kind == typeRunEndEncoded:
		return b.version < versionV5
	}

	return c.kind != typeNull
}

// takeValues takes the buffers that a column of its type has behind the validity.
func (b *batch) takeValues(c *column, length int64, place string) {
	for _, buffer := range kinds[c.kind].buffers {
		switch {
		case buffer.values:
			b.takeBuffer(length, c.bits, place)
		case buffer.ends && length > 0: // if there are no values, the buffer may be empty
			b.takeBuffer(length+1, 32, place)
		default:
			b.takeBuffer(0, 0, place)
		}
	}
}

// takeAdditional takes the buffers that a column has behind the buffers of its type. A column of views has as many as
// the batch states. A dense union has one, which contains offsets. Other columns have none.
func (b *batch) takeAdditional(c *column, place string) {
	n := int64(0)

	switch {
	case c.kind == typeBinaryView || c.kind == typeUtf8View:
		unless(len(b.counts) > 0, place, "the number of its buffers", "none")
		n = int64(binary.LittleEndian.Uint64(b.counts))
		b.counts = b.counts[8:]
		unless(n >= 0 && n <= int64(len(b.spans)), place, fmt.Sprintf("0 to %d buffers", len(b.spans)), "%d", n)
	case c.dense:
		n = 1
	}

	for range n {
		b.takeBuffer(0, 0, place)
	}
}

// takeBuffer takes the next buffer. It raises an error if the buffer has no room for n values of the given number of
// bits.
func (b *batch) takeBuffer(n, bits int64, place string) {
	i := b.next
	b.next++
	if i >= len(b.spans) {
		decode.Raise(damaged(place, "buffers for each column", "%d buffers", len(b.spans)))
	}

	want := (n*bits + 7) / 8 // bytes; n is at most maxRows and bits at most 64, so this does not overflow
	if b.unpacked != nil && b.unpacked[i] < want {
		decode.Raise(damaged(place, fmt.Sprintf("%d bytes for %d values", want, n), "%d bytes in buffer %d", b.unpacked[i],
			i+1))
	}
}

// unpack reads a buffer and decompresses it. A compressed buffer begins with its decompressed length in 8 bytes; −1
// means that the rest is not compressed.
func (f *file) unpack(place string, codec int64, s span) []byte {
	b := make([]byte, s.n)
	readFull(f.r, b, s.begin, place)
	if codec == noCodec || s.n == 0 {
		return b
	}

	unless(len(b) >= 8, place, "compressed data", "%d bytes", len(b))
	length := int64(binary.LittleEndian.Uint64(b))
	b = b[8:]

	switch {
	case length == -1:
		return b
	case length > f.most:
		decode.Raise(fault.At("", place,
			fmt.Sprintf("at most %d bytes of a column of a batch in a file of %d", f.most, f.size), fmt.Sprint(length),
			"write it in smaller batches, or uncompressed"))
	}

	unless(length >= 0, place, "its decompressed length", "%d", length)

	var unpacked []byte
	var err error
	if codec == codecZstd {
		unpacked, err = inflate.Zstandard(b, length)
		if err == nil && int64(len(unpacked)) < length {
			err = io.ErrUnexpectedEOF
		}
	} else {
		unpacked, err = lz4Frame(place, b, length)
	}

	if err != nil {
		decode.Raise(&fault.Error{Place: place, Err: fmt.Errorf("decompress: %w", err), Hint: "the file is damaged"})
	}

	return unpacked
}

// lz4Frame decompresses a frame of LZ4 to length bytes. It raises an error if the frame is too short for this length,
// or if it is a frame of the legacy format, whose blocks would take much memory.
func lz4Frame(place string, b []byte, length int64) ([]byte, error) {
	unless(len(b) >= 4 && binary.LittleEndian.Uint32(b) == lz4Magic, place, "a frame of LZ4", "%q", b[:min(4, len(b))])

	most := maxRatio * int64(len(b))
	unless(length <= most, place, fmt.Sprintf("at most %d bytes from %d", most, len(b)), "%d", length)

	unpacked := make([]byte, length)
	_, err := io.ReadFull(lz4.NewReader(bytes.NewReader(b)), unpacked)

	return unpacked, err
}
