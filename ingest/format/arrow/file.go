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
	"doubletake/ingest/format/internal/raw"
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
func openFile(r io.ReaderAt, size int64) (_ *file, err error) {
	defer fault.Catch(&err)

	var head, tail [10]byte

	if size < 18 {
		return nil, &fault.Error{Want: "an Arrow IPC file", Found: fmt.Sprintf("%d bytes", size)}
	}

	readFull(r, head[:], 0, "")
	readFull(r, tail[:], size-10, "")

	if string(head[:6]) != magic || string(tail[4:]) != magic {
		return nil, fault.At("", "", "an Arrow IPC file, which begins and ends with ARROW1",
			fmt.Sprintf("%q … %q", head[:6], tail[4:]), "was it copied whole?")
	}

	long := int64(binary.LittleEndian.Uint32(tail[:]))
	end := size - 10 - long // of what lies before the footer
	if long == 0 || end < 8 {
		return nil, fault.At("", "footer", fmt.Sprintf("a footer in a file of %d bytes", size),
			fmt.Sprintf("one of %d bytes", long), "")
	}

	b := make([]byte, long)
	readFull(r, b, end, "footer")

	f := newFile(r, size)
	footer := root(b, "footer")

	schema, ok := footer.table(1, "schema")
	_, f.dictionaries = footer.vector(2, 24, "dictionaries")
	at, n := footer.vector(3, 24, "batches")

	if !ok {
		return nil, &fault.Error{Place: "footer", Want: "a schema", Found: "none"}
	}

	f.schema(schema)

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

	disjoint(f.batches)
	f.readBatches()

	return f, nil
}

// newFile returns a file without batches. Of columns that are read, at most 32 MiB
// and twice the file are held decompressed.
func newFile(r io.ReaderAt, size int64) *file { return &file{r: r, size: size, most: 32<<20 + 2*size} }

// openStream reads the metadata of a stream of size bytes. Errors are *fault.Error.
func openStream(r io.ReaderAt, size int64) (_ *file, err error) {
	defer fault.Catch(&err)

	f := newFile(r, size)

	for n, at := 0, int64(0); at < size || n == 0; n++ { // without the mark of the end: the writer closed the stream
		place := fmt.Sprintf("message %d", n+1)
		bad := func(so bool, want, found string, args ...any) {
			if so {
				fault.Raise(&fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...)})
			}
		}

		bad(size-at < 8, "an Arrow IPC stream", "the end of the output at its byte %d", size)

		var p [8]byte
		readFull(r, p[:], at, place)
		bad(binary.LittleEndian.Uint32(p[:]) != math.MaxUint32,
			"an Arrow IPC stream: a message that begins with 0xFFFFFFFF", "%q", p)

		left := size - at - 8
		meta := int64(binary.LittleEndian.Uint32(p[4:]))
		bad(meta == 0 && left > 0, "the end of the output after the end of the stream", "%d bytes more", left)
		bad(meta == 0 && n == 0, "an Arrow IPC stream", "the end of the stream")

		if meta == 0 {
			break
		}

		bad(n == maxMessages, fmt.Sprintf("at most %d messages", maxMessages), "more")
		bad(meta%8 != 0 || meta > left, "metadata in multiples of 8 bytes within the output", "%d bytes of %d", meta, left)

		k := block{place: place, at: at, meta: 8 + meta}
		m, kind := f.message(k)
		k.body = m.number(3, 8, 0)
		bad(k.body < 0 || k.body%8 != 0 || k.body > left-meta, "data in multiples of 8 bytes within the output",
			"%d bytes of %d: was it cut short?", k.body, left-meta)

		header, ok := m.table(2, "schema")
		bad(!ok, "a schema, a dictionary or a batch", "none")

		switch {
		case kind == messageSchema && n == 0:
			f.schema(header)
		case kind == messageDictionary && n > 0:
			f.dictionaries++
		case kind == messageBatch && n > 0:
			k.place = fmt.Sprintf("batch %d", len(f.batches)+1)
			f.batches = append(f.batches, k)
		default:
			bad(true, "a schema and then batches", "a message of kind %d", kind)
		}

		at += k.meta + k.body
	}

	f.readBatches()

	return f, nil
}

// message reads the metadata of a block (format/Message.fbs, table Message).
func (f *file) message(k block) (m table, kind int64) {
	b := make([]byte, k.meta)
	readFull(f.r, b, k.at, k.place)

	if binary.LittleEndian.Uint32(b) == math.MaxUint32 {
		b = b[8:]
	} else { // before Arrow 0.15
		b = b[4:]
	}

	m = root(b, k.place)

	return m, m.number(1, 1, 0)
}

// disjoint refuses blocks that share bytes: a small file could name one batch a
// million times.
func disjoint(blocks []block) {
	sorted := slices.SortedFunc(slices.Values(blocks), func(a, b block) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		end := a.at + a.meta + a.body
		unless(end <= b.at, b.place, fmt.Sprintf("it behind %s, which ends at byte %d", a.place, end), "it at byte %d", b.at)
	}
}

// readFull reads b at a byte; the end of the file right behind it is no error.
func readFull(r io.ReaderAt, b []byte, at int64, place string) {
	if err := raw.ReadFull(r, b, at); err != nil {
		fault.Raise(&fault.Error{Place: place, Err: fmt.Errorf("read: %w", err)})
	}
}
