package matfile

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/format/internal/decode"
)

// text lists a character array with count characters as a text, with a line for each of its rows. The characters are in
// column-major order. If they take more than maxText bytes, the array is listed as unread, and text
// returns false.
func (w *walker) text(path string, dims []int64, count, end int64) bool {
	var units []uint16 // of UTF-16

	if w.next < end {
		tag := w.tag()
		if tag.n > maxText && tag.n <= end-w.next {
			w.f.refuse(path, fmt.Errorf("variable %q: a text of %d bytes is more than %d", path, tag.n, maxText))
			return false
		}

		units = w.characters(path, tag.typ, w.data(tag, maxText, end), count)
	}

	lines := w.lines(path, units, dims, count)
	w.f.budget -= int64(len(path)) + 128 + 32*int64(len(lines)) + 3*int64(len(units))
	w.f.texts = append(w.f.texts, ingest.Attribute{Name: path, Value: strings.Join(lines, "\n")})
	w.full()

	return true
}

// lines returns the rows of a character array with count characters, given as units of UTF-16 in column-major order.
func (w *walker) lines(path string, units []uint16, dims []int64, count int64) []string {
	rows := dims[0]

	switch {
	case count == 0:
		return nil
	case int64(len(units)) == count:
	case rows == 1 && len(units) > 0:
		// Writers count a character of two units as one or as two. In a single row, the order does not depend on it.
		return []string{string(utf16.Decode(units))}
	default:
		decode.Raise(w.fail("%s: a text of dimensions %v has %d characters", path, dims, len(units)))
	}

	w.unless(rows <= maxRows, "%s: %d rows of text", path, rows)

	var lines []string
	line := make([]uint16, count/rows)
	for r := range rows {
		for c := range line {
			line[c] = units[int64(c)*rows+r]
		}

		lines = append(lines, string(utf16.Decode(line)))
	}

	return lines
}

// characters returns the count characters in b as units of UTF-16. typ is their data type.
func (w *walker) characters(path string, typ uint32, b []byte, count int64) []uint16 {
	var units []uint16
	switch typ {
	case miUINT16, miINT16, miUTF16:
		for ; len(b) >= 2; b = b[2:] {
			units = append(units, w.f.order.Uint16(b))
		}
	case miUINT8, miINT8: // Latin-1, one byte a character
		for _, c := range b {
			units = append(units, uint16(c))
		}
	case miUTF8:
		w.unless(utf8.Valid(b), "%s: the text is not UTF-8", path)
		units = utf16.Encode([]rune(string(b)))
	case miUTF32, miUINT32, miINT32:
		for ; len(b) >= 4; b = b[4:] {
			units = utf16.AppendRune(units, rune(w.f.order.Uint32(b)))
		}
	default: // an empty text may be of any type
		w.unless(count == 0, "%s: expected characters, found data type %d", path, typ)
	}

	return units
}
