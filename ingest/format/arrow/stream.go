package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"doubletake/ingest/fault"
)

// maxMessages bounds the messages of a stream.
const maxMessages = 1 << 20

const messageSchema = 1

// formStream is formMessage with the schema, which no message of a file is.
var formStream = &form{"Message", slices.Clone(formMessage.slots)}

func init() {
	of := maps.Clone(formMessage.slots[2].one)
	of[messageSchema] = formSchema
	formStream.slots[2].one = of
}

// IsFile reports whether bytes begin an Arrow IPC file, not a stream.
func IsFile(head []byte) bool { return len(head) >= 6 && string(head[:6]) == "ARROW1" }

// Header is what comes before a stream to make a file of it, with [Footer] behind it.
const Header = "ARROW1\x00\x00"

// Footer makes a file of a stream: r holds Header and then an Arrow IPC stream, and
// is size bytes long. It returns where the stream ends, and the bytes of the footer
// that belong there. Messages are verified as far as their places need it; the file
// is verified when it is opened. Errors are *fault.Error.
func Footer(r io.ReaderAt, size int64) (end int64, footer []byte, err error) {
	var schema []byte // the message
	var schemaAt int  // of the table in it
	var blocks [2][]byte

	at := int64(len(Header))
	for n := 0; ; n++ {
		place := fmt.Sprintf("message %d", n+1)
		bad := func(want, found string, args ...any) (int64, []byte, error) {
			return 0, nil, &fault.Error{Place: place, Want: want, Found: fmt.Sprintf(found, args...)}
		}

		if at == size && n > 0 {
			break // no mark of the end: the writer closed the stream
		}

		var p [8]byte
		if _, err := readFull(r, p[:], at); err != nil {
			return bad("an Arrow IPC stream", "the end of the output at its byte %d", size-int64(len(Header)))
		}

		if binary.LittleEndian.Uint32(p[:]) != math.MaxUint32 {
			return bad("an Arrow IPC stream: a message that begins with 0xFFFFFFFF", "%q", p)
		}

		meta := int64(binary.LittleEndian.Uint32(p[4:]))
		if meta == 0 {
			if at+8 != size {
				return bad("the end of the output after the end of the stream", "%d bytes more", size-at-8)
			}
			break
		}

		if n == maxMessages {
			return bad(fmt.Sprintf("at most %d messages", maxMessages), "more")
		}

		if meta%8 != 0 || meta > size-at-8 {
			return bad("metadata in multiples of 8 bytes within the output", "%d bytes of %d", meta, size-at-8)
		}

		b := make([]byte, meta)
		if _, err := readFull(r, b, at+8); err != nil {
			return 0, nil, &fault.Error{Place: place, Err: fmt.Errorf("read: %w", err)}
		}

		m, err := verifyFlat(b, formStream, place)
		if err != nil {
			return 0, nil, err
		}

		body := m.long(3)
		if body < 0 || body%8 != 0 || body > size-at-8-meta {
			return bad("data in multiples of 8 bytes within the output", "%d bytes of %d: was it cut short?", body,
				size-at-8-meta)
		}

		header, ok := m.table(2)
		kind := m.byte(1)
		block := binary.LittleEndian.AppendUint64(nil, uint64(at))
		block = binary.LittleEndian.AppendUint64(block, uint64(meta+8))
		block = binary.LittleEndian.AppendUint64(block, uint64(body))
		switch {
		case !ok:
			return bad("a schema, a dictionary or a batch", "none")
		case kind == messageSchema && n == 0:
			schema, schemaAt = b, header.at
		case kind == messageDictionary && n > 0:
			blocks[0] = append(blocks[0], block...)
		case kind == messageBatch && n > 0:
			blocks[1] = append(blocks[1], block...)
		default:
			return bad("a schema and then batches", "a message of kind %d", kind)
		}

		at += 8 + meta + body
	}

	if schema == nil {
		return 0, nil, errors.New("unreachable: a stream without messages")
	}

	return at, assemble(schema, schemaAt, blocks[0], blocks[1]), nil
}

// assemble returns the end of an Arrow file: the mark of the stream's end, a footer, its
// length and the magic. The footer is a table of four slots (version, schema,
// dictionaries, batches), the vectors of blocks, and the message that holds the schema.
func assemble(schema []byte, schemaAt int, dictionaries, batches []byte) []byte {
	le := binary.LittleEndian
	const table, vectors = 16, 44
	after := vectors + 4 + len(dictionaries) + 4 // of the length of the second vector
	message := after + 4 + len(batches)

	b := le.AppendUint32(nil, table)
	for _, v := range []uint16{12, 20, 16, 4, 8, 12} { // the vtable: its size, the table's, where the slots are
		b = le.AppendUint16(b, v)
	}

	b = le.AppendUint32(b, table-4)
	b = le.AppendUint32(b, uint32(message+schemaAt-(table+4)))
	b = le.AppendUint32(b, uint32(vectors-(table+8)))
	b = le.AppendUint32(b, uint32(after-(table+12)))
	b = le.AppendUint32(b, 4) // version 5 of the metadata
	b = append(b, make([]byte, vectors-len(b))...)
	b = append(le.AppendUint32(b, uint32(len(dictionaries)/24)), dictionaries...)
	b = append(b, 0, 0, 0, 0)
	b = append(le.AppendUint32(b, uint32(len(batches)/24)), batches...)
	b = append(b, schema...)
	out := append([]byte("\xff\xff\xff\xff\x00\x00\x00\x00"), b...)

	return append(le.AppendUint32(out, uint32(len(b))), "ARROW1"...)
}
