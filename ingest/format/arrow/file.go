package arrow

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/decode"
	"doubletake/ingest/format/internal/raw"
)

// maxRows bounds the rows of a file. Columns without values (of nulls, of runs) may state any number of rows. A file
// with values has fewer.
const maxRows = 1 << 48

// maxMessages bounds the messages of a stream.
const maxMessages = 1 << 20

// Layout of a file: it begins with magic, padded to headSize bytes, and ends with the length of the footer in 4 bytes
// and magic.
const (
	magic    = "ARROW1"
	headSize = 8
	tailSize = 10
)

// A message begins with 0xFFFFFFFF and the length of its metadata in 4 bytes.
const (
	continuation = math.MaxUint32
	prefixSize   = 8
)

// blockSize is the size of a Block in the footer (format/File.fbs): the offset of a message in 8 bytes, the length of
// its metadata in 4 bytes and 4 bytes of padding, and the length of its body in 8 bytes.
const blockSize = 24

// maxDecompressed is the number of bytes of decompressed data that any file may need.
const maxDecompressed = 32 << 20

// The kinds of messages (format/Message.fbs, union MessageHeader).
const (
	messageSchema = 1 + iota
	messageDictionary
	messageBatch
)

// file is an Arrow IPC file or stream whose metadata were read.
type file struct {
	r            io.ReaderAt
	size         int64 // of the file, in bytes
	most         int64 // most bytes of decompressed data, of all columns together
	attributes   []ingest.Attribute
	columns      []*column
	dictionaries int      // number of dictionaries
	batches      []block  // where the batches are
	ends         []int64  // for each batch, the number of the row behind its last row
	held         []*plane // columns with decompressed data
}

// block is where a message lies in the file.
type block struct {
	place string // the name of the message for people, such as "batch 3"
	begin int64  // offset in the file
	meta  int64  // bytes of metadata, with the prefix
	body  int64  // bytes of data behind the metadata
}

// openFile reads the metadata of a file of size bytes. Errors are *fault.Error.
func openFile(r io.ReaderAt, size int64) (_ *file, err error) {
	defer decode.Catch(&err)

	b, end, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}

	f := newFile(r, size)
	footer := root(b, "footer")

	// format/File.fbs, table Footer
	schema, ok := footer.table(1, "schema")
	_, f.dictionaries = footer.vector(2, blockSize, "dictionaries")
	first, n := footer.vector(3, blockSize, "batches")

	if !ok {
		return nil, &fault.Error{Place: "footer", Want: "a schema", Found: "none"}
	}

	f.schema(schema)

	for i := range n {
		stored := b[first+blockSize*i:]
		k := block{
			place: fmt.Sprintf("batch %d", i+1),
			begin: int64(binary.LittleEndian.Uint64(stored)),
			meta:  int64(int32(binary.LittleEndian.Uint32(stored[8:]))),
			body:  int64(binary.LittleEndian.Uint64(stored[16:])),
		}

		if !k.fits(end) {
			return nil, damaged(k.place, fmt.Sprintf("multiples of 8 bytes between byte 8 and %d", end),
				"%d bytes of metadata and %d of data at byte %d", k.meta, k.body, k.begin)
		}

		f.batches = append(f.batches, k)
	}

	disjoint(f.batches)
	f.readBatches()

	return f, nil
}

// readFooter returns the footer of a file of size bytes, and its offset. It compares the beginning and the end of the
// file with magic.
func readFooter(r io.ReaderAt, size int64) (footer []byte, offset int64, err error) {
	if size < headSize+tailSize {
		return nil, 0, &fault.Error{Want: "an Arrow IPC file", Found: fmt.Sprintf("%d bytes", size)}
	}

	var head [headSize]byte
	var tail [tailSize]byte
	readFull(r, head[:], 0, "")
	readFull(r, tail[:], size-tailSize, "")

	if string(head[:6]) != magic || string(tail[4:]) != magic {
		return nil, 0, fault.At("", "", "an Arrow IPC file, which begins and ends with ARROW1",
			fmt.Sprintf("%q … %q", head[:6], tail[4:]), "was it copied whole?")
	}

	footerSize := int64(binary.LittleEndian.Uint32(tail[:]))
	offset = size - tailSize - footerSize
	if footerSize == 0 || offset < headSize {
		return nil, 0, fault.At("", "footer", fmt.Sprintf("a footer in a file of %d bytes", size),
			fmt.Sprintf("one of %d bytes", footerSize), "")
	}

	footer = make([]byte, footerSize)
	readFull(r, footer, offset, "footer")

	return footer, offset, nil
}

// fits reports whether a block lies between the head of the file and the given offset, and whether its offset and its
// lengths are multiples of 8.
func (k block) fits(end int64) bool {
	if (k.begin|k.meta|k.body)%8 != 0 {
		return false
	}

	if k.begin < headSize || k.meta < prefixSize || k.body < 0 {
		return false
	}

	return k.begin <= end && k.meta <= end-k.begin && k.body <= end-k.begin-k.meta
}

// newFile returns a file without columns and batches.
func newFile(r io.ReaderAt, size int64) *file {
	return &file{r: r, size: size, most: maxDecompressed + 2*size}
}

// openStream reads the metadata of a stream of size bytes. Errors are *fault.Error.
func openStream(r io.ReaderAt, size int64) (_ *file, err error) {
	defer decode.Catch(&err)

	f := newFile(r, size)

	begin := int64(0)                         // offset of the next message
	for n := 0; begin < size || n == 0; n++ { // some writers close the stream without the mark of its end
		k, ok := f.streamBlock(begin, n)
		if !ok {
			break
		}

		begin += k.meta + k.body
	}

	f.readBatches()

	return f, nil
}

// streamBlock reads the metadata of message n of a stream, which begins at offset begin. n counts from 0. It adds the
// schema or the batch in the message to f. ok is false for the mark of the end of the stream.
func (f *file) streamBlock(begin int64, n int) (k block, ok bool) {
	place := fmt.Sprintf("message %d", n+1)
	checkOutput(f.size-begin >= prefixSize, place, "an Arrow IPC stream", "the end of the output at its byte %d", f.size)

	var prefix [prefixSize]byte
	readFull(f.r, prefix[:], begin, place)
	checkOutput(binary.LittleEndian.Uint32(prefix[:]) == continuation, place,
		"an Arrow IPC stream: a message that begins with 0xFFFFFFFF", "%q", prefix)

	left := f.size - begin - prefixSize // bytes behind the prefix
	meta := int64(binary.LittleEndian.Uint32(prefix[4:]))
	if meta == 0 {
		checkOutput(left <= 0, place, "the end of the output after the end of the stream", "%d bytes more", left)
		checkOutput(n > 0, place, "an Arrow IPC stream", "the end of the stream")

		return block{}, false
	}

	checkOutput(n != maxMessages, place, fmt.Sprintf("at most %d messages", maxMessages), "more")
	checkOutput(meta%8 == 0 && meta <= left, place, "metadata in multiples of 8 bytes within the output",
		"%d bytes of %d", meta, left)

	k = block{place: place, begin: begin, meta: prefixSize + meta}
	m, kind := f.message(k)
	k.body = m.number(3, 8)
	checkOutput(k.body >= 0 && k.body%8 == 0 && k.body <= left-meta, place,
		"data in multiples of 8 bytes within the output", "%d bytes of %d: was it cut short?", k.body, left-meta)

	header, ok := m.table(2, "schema")
	checkOutput(ok, place, "a schema, a dictionary or a batch", "none")

	switch {
	case kind == messageSchema && n == 0:
		f.schema(header)
	case kind == messageDictionary && n > 0:
		f.dictionaries++
	case kind == messageBatch && n > 0:
		k.place = fmt.Sprintf("batch %d", len(f.batches)+1)
		f.batches = append(f.batches, k)
	default:
		checkOutput(false, place, "a schema and then batches", "a message of kind %d", kind)
	}

	return k, true
}

// checkOutput raises an error about the output of a program if ok is false. The program is wrong rather than a file
// damaged.
func checkOutput(ok bool, place, want, found string, args ...any) {
	if !ok {
		decode.Raise(&fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...)})
	}
}

// message reads the metadata of a block (format/Message.fbs, table Message). It returns the kind of the message too.
func (f *file) message(k block) (m table, kind int64) {
	b := make([]byte, k.meta)
	readFull(f.r, b, k.begin, k.place)

	if binary.LittleEndian.Uint32(b) == continuation {
		b = b[prefixSize:]
	} else { // writers before Arrow 0.15 wrote only the length
		b = b[4:]
	}

	m = root(b, k.place)

	return m, m.number(1, 1)
}

// disjoint raises an error if blocks share bytes: a small file could name one batch a million times.
func disjoint(blocks []block) {
	sorted := slices.SortedFunc(slices.Values(blocks), func(a, b block) int { return cmp.Compare(a.begin, b.begin) })
	for i := 1; i < len(sorted); i++ {
		a := sorted[i-1]
		b := sorted[i]
		end := a.begin + a.meta + a.body
		unless(end <= b.begin, b.place, fmt.Sprintf("it behind %s, which ends at byte %d", a.place, end), "it at byte %d",
			b.begin)
	}
}

// readFull fills b from an offset of the file on. It raises an error if it cannot. place names the bytes for people.
func readFull(r io.ReaderAt, b []byte, begin int64, place string) {
	if err := raw.ReadFull(r, b, begin); err != nil {
		decode.Raise(&fault.Error{Place: place, Err: fmt.Errorf("read: %w", err)})
	}
}
