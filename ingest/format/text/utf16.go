package text

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/internal/raw"
)

// byteOrderMark begins texts in UTF-8 of some programs.
const byteOrderMark = "\xef\xbb\xbf"

// maxUTF16 is the largest file of UTF-16 that is read: it is decoded in memory.
const maxUTF16 = 64 << 20

// utf16Order returns the byte order of a text of UTF-16 that begins with head, and the length of
// its byte order mark. It returns nil for any other text. Excel and LabVIEW write the mark.
// Some programs leave it out: in their texts, almost every second byte is zero, and no other byte is.
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

	pairs := len(head) / 2
	switch {
	case pairs < 4:
		return nil, 0
	case zeros[0] == 0 && 10*zeros[1] >= 9*pairs:
		return binary.LittleEndian, 0
	case zeros[1] == 0 && 10*zeros[0] >= 9*pairs:
		return binary.BigEndian, 0
	}

	return nil, 0
}

// utf16Head is the number of bytes that utf16Order looks at.
const utf16Head = 512

// toUTF8 returns a whole text as UTF-8 without a byte order mark.
func toUTF8(path string, b []byte) ([]byte, error) {
	if order, mark := utf16Order(b[:min(len(b), utf16Head)]); order != nil {
		return decodeUTF16(path, b[mark:], order, mark)
	}

	b = bytes.TrimPrefix(b, []byte(byteOrderMark))
	if utf8.Valid(b) {
		return b, nil
	}

	lines := bytes.SplitAfter(b, []byte{'\n'})
	for i, line := range lines {
		text, err := Western(path, fmt.Sprintf("line %d", i+1), line)
		if err != nil {
			return nil, err
		}

		lines[i] = []byte(text)
	}

	return bytes.Join(lines, nil), nil
}

// otherEncoding matches text that was written in another encoding and read as Windows-1252.
var otherEncoding = regexp.MustCompile(strings.Join([]string{
	`[�‚ƒ†‡ˆ‹›ŠŽšžŸ˜ÐðÞþÝý]`, // neither Western languages nor laboratories use these
	`[^\x00-\x7f°²³]{3}`,     // three characters beyond ASCII in a row

	// Lone letters with accents. A lone ß is not one: it stands for β in many laboratories.
	`(?:^|\PL)(?:[À-ÖØ-öø-ÿ]{2}|[Á-ÃÆÇÊ-ÕÙ-ÛÝÞá-ãæçê-õù-ûý-ÿ])(?:\PL|$)`,
	`(?:^|\PL)[à-öø-ÿ][A-Z]`,

	// Signs within words, and before them.
	`\pL[¡-©«¬¯³¶¸¹»-¿€„…‰“”•™]+\pL`, `(?:^|[^\pL\d])[³™]\pL`, `\pL§`,
	`[–—‘’“”•][¡-¬´¶-¿]`, `¡[C\])]`,

	// Letters with accents before letters that they do not precede in Western languages.
	`[Œœ](?:[^uUiIeE]|$)`, `[Ìì]\pL`, `è[ikyí]`, `õ(?:[^e]|$)`,
}, "|"))

// Western returns the text of a line as UTF-8. A line in another encoding than UTF-8 and Windows-1252 is an error.
func Western(path, place string, b []byte) (string, error) {
	s := raw.Decoded(b)
	if otherEncoding.MatchString(s) && !utf8.Valid(b) {
		return "", fault.At(path, place, "text in UTF-8, UTF-16 or Windows-1252",
			"another encoding: "+strconv.Quote(fault.Clip(s)), "save the file as UTF-8")
	}

	return s, nil
}

// openUTF16 returns a source of UTF-8 if src is UTF-16, and src itself otherwise.
func openUTF16(src ingest.Source) (ingest.Source, error) {
	head := make([]byte, min(src.Size, utf16Head))
	n, _ := src.ReadAt(head, 0) // readSample reads these bytes again and returns the error

	order, mark := utf16Order(head[:n])
	if order == nil {
		return src, nil
	}

	if src.Size > maxUTF16 {
		return ingest.Source{}, fault.At(src.Path, "", fmt.Sprintf("at most %d MiB of UTF-16", maxUTF16>>20),
			fault.Plural(src.Size, "byte"), "save it as UTF-8")
	}

	b := make([]byte, src.Size)
	if n, err := src.ReadAt(b, 0); n < len(b) {
		return ingest.Source{}, &fault.Error{
			Path: src.Path, Place: fmt.Sprintf("byte %d", n), Err: fmt.Errorf("read: %w", err),
		}
	}

	text, err := decodeUTF16(src.Path, b[mark:], order, mark)
	if err != nil {
		return ingest.Source{}, err
	}

	return ingest.Source{
		Path: src.Path, ReaderAt: bytes.NewReader(text), Size: int64(len(text)), Closer: src.Closer,
	}, nil
}

// decodeUTF16 returns a text of UTF-16 as UTF-8. b are the bytes of the text, and mark is the number of bytes of the
// byte order mark before them, for errors.
func decodeUTF16(path string, b []byte, order binary.ByteOrder, mark int) ([]byte, error) {
	if len(b)%2 != 0 {
		return nil, fault.At(path, fmt.Sprintf("byte %d", mark+len(b)-1), "characters of two bytes",
			"half of one", "the file is cut short")
	}

	codes := make([]uint16, len(b)/2)
	for i := range codes {
		codes[i] = order.Uint16(b[2*i:])
	}

	return []byte(string(utf16.Decode(codes))), nil
}
