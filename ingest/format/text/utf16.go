package text

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf16"

	"doubletake/ingest"
	"doubletake/ingest/fault"
)

// maxUTF16 is the largest file of UTF-16 that is read: it is decoded in memory.
const maxUTF16 = 64 << 20

// decodeUTF16 returns a source of UTF-8 where src begins with the byte order mark
// of UTF-16, else src. LabVIEW and Excel write such text.
func decodeUTF16(src ingest.Source) (ingest.Source, error) {
	var mark [2]byte
	if n, _ := src.ReadAt(mark[:], 0); n < len(mark) {
		return src, nil
	}

	var order binary.ByteOrder
	switch string(mark[:]) {
	case "\xff\xfe":
		order = binary.LittleEndian
	case "\xfe\xff":
		order = binary.BigEndian
	default:
		return src, nil
	}

	if src.Size > maxUTF16 {
		return src, &fault.Error{
			Path: src.Path, Want: fmt.Sprintf("at most %d MiB of UTF-16", maxUTF16>>20),
			Found: fault.Plural(src.Size, "byte"), Hint: "save it as UTF-8",
		}
	}

	b := make([]byte, src.Size)
	if n, err := src.ReadAt(b, 0); n < len(b) {
		return src, &fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", n), Err: fmt.Errorf("read: %w", err)}
	}

	if len(b)%2 != 0 {
		return src, &fault.Error{
			Path: src.Path, Place: fmt.Sprintf("byte %d", len(b)-1), Want: "characters of two bytes", Found: "half of one",
			Hint: "the file is cut short",
		}
	}

	units := make([]uint16, len(b)/2-1)
	for i := range units {
		units[i] = order.Uint16(b[2+2*i:])
	}

	text := []byte(string(utf16.Decode(units)))

	return ingest.Source{Path: src.Path, ReaderAt: bytes.NewReader(text), Size: int64(len(text)), Closer: src.Closer}, nil
}
