package arrow

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// maxRows bounds the rows of a file. Columns without values (of nulls, of runs)
// may claim any number; so many no file of values holds.
const maxRows = 1 << 48

// maxMessages bounds the messages of a stream.
const maxMessages = 1 << 20

// The kinds of messages (format/Message.fbs, union MessageHeader).
const (
	messageSchema = 1 + iota
	messageDictionary
	messageBatch
)

const magic = "ARROW1"

// file is an Arrow IPC file or stream whose metadata were read.
type file struct {
	r            io.ReaderAt
	size, most   int64 // of the file; of what is held decompressed
	bigEndian    bool
	attributes   []ingest.Attribute
	columns      []*column
	dictionaries int
	batches      []block
	ends         []int64 // sample after the last of each batch
	held         []*plane
}

// block is where a batch lies.
type block struct {
	place          string
	at, meta, body int64
}

// openFile reads the metadata of a file of size bytes. Errors are *fault.Error.
func openFile(r io.ReaderAt, size int64) (*file, error) {
	var head, tail [10]byte

	if size < 18 {
		return nil, &fault.Error{Want: "an Arrow IPC file", Found: fmt.Sprintf("%d bytes", size)}
	}

	if err := readFull(r, head[:], 0, ""); err != nil {
		return nil, err
	}

	if err := readFull(r, tail[:], size-10, ""); err != nil {
		return nil, err
	}

	if string(head[:6]) != magic || string(tail[4:]) != magic {
		return nil, &fault.Error{
			Want:  "an Arrow IPC file, which begins and ends with ARROW1",
			Found: fmt.Sprintf("%q … %q", head[:6], tail[4:]), Hint: "was it copied whole?",
		}
	}

	long := int64(binary.LittleEndian.Uint32(tail[:]))
	end := size - 10 - long // of what lies before the footer
	if long == 0 || end < 8 {
		return nil, &fault.Error{
			Place: "footer", Want: fmt.Sprintf("a footer in a file of %d bytes", size),
			Found: fmt.Sprintf("one of %d bytes", long),
		}
	}

	b := make([]byte, long)
	if err := readFull(r, b, end, "footer"); err != nil {
		return nil, err
	}

	f := newFile(r, size)
	footer := root(b, "footer")

	schema, ok := footer.table(1, "schema")
	_, f.dictionaries = footer.vector(2, 24, "dictionaries")
	at, n := footer.vector(3, 24, "batches")

	switch {
	case footer.err != nil:
		return nil, footer.err
	case !ok:
		return nil, &fault.Error{Place: "footer", Want: "a schema", Found: "none"}
	}

	if err := f.schema(schema); err != nil {
		return nil, err
	}

	for i := range n {
		e := b[at+24*i:]
		k := block{
			place: fmt.Sprintf("batch %d", i+1), at: int64(binary.LittleEndian.Uint64(e)),
			meta: int64(int32(binary.LittleEndian.Uint32(e[8:]))), body: int64(binary.LittleEndian.Uint64(e[16:])),
		}

		if k.at < 8 || k.meta < 8 || k.body < 0 || (k.at|k.meta|k.body)%8 != 0 ||
			k.at > end || k.meta > end-k.at || k.body > end-k.at-k.meta {
			return nil, damaged(k.place, fmt.Sprintf("multiples of 8 bytes between byte 8 and %d", end),
				"%d bytes of metadata and %d of data at byte %d", k.meta, k.body, k.at)
		}

		f.batches = append(f.batches, k)
	}

	if err := disjoint(f.batches); err != nil {
		return nil, err
	}

	return f, f.readBatches()
}

// newFile returns a file without batches. Of columns that are read, at most 32 MiB
// and twice the file are held decompressed.
func newFile(r io.ReaderAt, size int64) *file { return &file{r: r, size: size, most: 32<<20 + 2*size} }

// openStream reads the metadata of a stream of size bytes. Errors are *fault.Error.
func openStream(r io.ReaderAt, size int64) (*file, error) {
	f := newFile(r, size)
	for n, at := 0, int64(0); at < size || n == 0; n++ { // without the mark of the end: the writer closed the stream
		place := fmt.Sprintf("message %d", n+1)
		bad := func(want, found string, args ...any) (*file, error) {
			return nil, &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...)}
		}

		var p [8]byte
		if size-at < 8 {
			return bad("an Arrow IPC stream", "the end of the output at its byte %d", size)
		}

		if err := readFull(r, p[:], at, place); err != nil {
			return nil, err
		}

		if binary.LittleEndian.Uint32(p[:]) != math.MaxUint32 {
			return bad("an Arrow IPC stream: a message that begins with 0xFFFFFFFF", "%q", p)
		}

		left := size - at - 8
		meta := int64(binary.LittleEndian.Uint32(p[4:]))

		switch {
		case meta == 0 && left > 0:
			return bad("the end of the output after the end of the stream", "%d bytes more", left)
		case meta == 0 && n == 0:
			return bad("an Arrow IPC stream", "the end of the stream")
		case meta == 0:
			return f, f.readBatches()
		case n == maxMessages:
			return bad(fmt.Sprintf("at most %d messages", maxMessages), "more")
		case meta%8 != 0 || meta > left:
			return bad("metadata in multiples of 8 bytes within the output", "%d bytes of %d", meta, left)
		}

		k := block{place: place, at: at, meta: 8 + meta}

		m, kind, err := f.message(k)
		if err != nil {
			return nil, err
		}

		if k.body = m.number(3, 8, 0); k.body < 0 || k.body%8 != 0 || k.body > left-meta {
			return bad("data in multiples of 8 bytes within the output", "%d bytes of %d: was it cut short?", k.body, left-meta)
		}

		header, ok := m.table(2, "schema")
		switch {
		case !ok:
			return bad("a schema, a dictionary or a batch", "none")
		case kind == messageSchema && n == 0:
			if err := f.schema(header); err != nil {
				return nil, err
			}

		case kind == messageDictionary && n > 0:
			f.dictionaries++
		case kind == messageBatch && n > 0:
			k.place = fmt.Sprintf("batch %d", len(f.batches)+1)
			f.batches = append(f.batches, k)
		default:
			return bad("a schema and then batches", "a message of kind %d", kind)
		}

		at += k.meta + k.body
	}

	return f, f.readBatches()
}

// message reads the metadata of a block (format/Message.fbs, table Message).
func (f *file) message(k block) (m table, kind int64, err error) {
	b := make([]byte, k.meta)
	if err := readFull(f.r, b, k.at, k.place); err != nil {
		return m, 0, err
	}

	if binary.LittleEndian.Uint32(b) == math.MaxUint32 {
		b = b[8:]
	} else { // before Arrow 0.15
		b = b[4:]
	}

	m = root(b, k.place)

	return m, m.number(1, 1, 0), m.err
}

// disjoint refuses blocks that share bytes: a small file could name one batch a
// million times.
func disjoint(blocks []block) error {
	sorted := slices.SortedFunc(slices.Values(blocks), func(a, b block) int { return int(max(-1, min(a.at-b.at, 1))) })
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		if end := a.at + a.meta + a.body; end > b.at {
			return damaged(b.place, fmt.Sprintf("it behind %s, which ends at byte %d", a.place, end), "it at byte %d", b.at)
		}
	}

	return nil
}

// readFull reads b at a byte; the end of the file right behind it is no error.
func readFull(r io.ReaderAt, b []byte, at int64, place string) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}

	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}

	return &fault.Error{Place: place, Err: fmt.Errorf("read: %w", err)}
}
