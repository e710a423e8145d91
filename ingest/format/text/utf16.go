package text

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
	"doubletake/internal/lists"
)

// maxUTF16 is the largest file of UTF-16 that is read: it is decoded in memory.
const maxUTF16 = 64 << 20

// utf16Order returns the order of the bytes of a text of UTF-16 that begins with head, and how
// many of them are its byte order mark; nil of any other text. Excel and LabVIEW write the mark.
// Some programs leave it out: there every second byte of plain text is zero.
func utf16Order(head []byte) (order binary.ByteOrder, mark int) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return binary.BigEndian, 2
	}

	var zeros [2]int // at even and at odd bytes
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}

	switch n := len(head) / 2; {
	case n < 4:
	case zeros[0] == 0 && 10*zeros[1] >= 9*n:
		return binary.LittleEndian, 0
	case zeros[1] == 0 && 10*zeros[0] >= 9*n:
		return binary.BigEndian, 0
	}

	return nil, 0
}

// utf16Head is how many bytes utf16Order looks at.
const utf16Head = 512

// toUTF8 returns a whole text as UTF-8 without a byte order mark.
func toUTF8(path string, b []byte) []byte {
	if order, mark := utf16Order(b[:min(len(b), utf16Head)]); order != nil {
		return decodeUTF16(path, b[mark:], order, mark)
	}

	if b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")); utf8.Valid(b) {
		return b
	}

	lines := bytes.SplitAfter(b, []byte{'\n'})
	for i, line := range lines {
		lines[i] = []byte(Western(path, fmt.Sprintf("line %d", i+1), line))
	}

	return bytes.Join(lines, nil)
}

// strange matches text that was written in another encoding and read as Windows-1252: lone letters with accents, three
// such characters in a row, signs within words, letters that neither Western languages nor laboratories use.
var strange = regexp.MustCompile(`[�‚ƒ†‡ˆ‹›ŠŽšžŸ˜ÐðÞþÝý]|[^\x00-\x7f°²³]{3}|(?:^|\PL)(?:[À-ÖØ-öø-ÿ]{2}|` +
	`[Á-ÃÆÇÊ-ÕÙ-ÛÝ-ßá-ãæçê-õù-ûý-ÿ])(?:\PL|$)|(?:^|\PL)[à-öø-ÿ][A-Z]|\pL[¡-©«¬¯³¶¸¹»-¿€„…‰“”•™]+\pL|` +
	`(?:^|[^\pL\d])[³™]\pL|\pL§|[–—‘’“”•][¡-¬´¶-¿]|[Œœ](?:[^uUiIeE]|$)|[Ìì]\pL|è[ikyí]|õ(?:[^e]|$)|¡[C\])]`)

// Western returns the text of a line as UTF-8, unless it was written in another encoding than that and Windows-1252.
func Western(path, place string, b []byte) string {
	s := raw.Latin1(b)
	if strange.MatchString(s) && !utf8.Valid(b) {
		fault.Raise(fault.At(path, place, "text in UTF-8, UTF-16 or Windows-1252",
			"another encoding: "+strconv.Quote(fault.Clip(s)), "save the file as UTF-8"))
	}

	return s
}

// openUTF16 returns a source of UTF-8 where src is UTF-16, else src.
func openUTF16(src ingest.Source) ingest.Source {
	head := make([]byte, min(src.Size, utf16Head))
	n, _ := src.ReadAt(head, 0)

	order, mark := utf16Order(head[:n])
	if order == nil {
		return src
	}

	fault.Unless(src.Size <= maxUTF16, fault.At(src.Path, "", fmt.Sprintf("at most %d MiB of UTF-16", maxUTF16>>20),
		fault.Plural(src.Size, "byte"), "save it as UTF-8"))

	b := make([]byte, src.Size)
	if n, err := src.ReadAt(b, 0); n < len(b) {
		fault.Raise(&fault.Error{Path: src.Path, Place: fmt.Sprintf("byte %d", n), Err: fmt.Errorf("read: %w", err)})
	}

	text := decodeUTF16(src.Path, b[mark:], order, mark)

	return ingest.Source{Path: src.Path, ReaderAt: bytes.NewReader(text), Size: int64(len(text)), Closer: src.Closer}
}

// decodeUTF16 decodes the bytes after the mark.
func decodeUTF16(path string, b []byte, order binary.ByteOrder, mark int) []byte {
	fault.Unless(len(b)%2 == 0, fault.At(path, fmt.Sprintf("byte %d", mark+len(b)-1), "characters of two bytes",
		"half of one", "the file is cut short"))

	return []byte(string(utf16.Decode(lists.Make(len(b)/2, func(i int) uint16 { return order.Uint16(b[2*i:]) }))))
}
