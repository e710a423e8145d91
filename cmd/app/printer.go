package app

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"unicode"
	"unicode/utf8"
)

// printer writes text to a stream. Control characters, which contents and names of
// files may hold, are written as escapes, so that no file commands the terminal:
// \x1b, \u009b, \u202e. Line ends and tabs pass, and styles where the stream is a
// terminal that shows them.
type printer struct {
	w    io.Writer
	rest []byte // of a character whose end comes with the next Write
}

// raw is the stream of a printer, for files, whose bytes are no text.
func raw(w io.Writer) io.Writer {
	if p, ok := w.(*printer); ok {
		return p.w
	}
	return w
}

// styles are what package report paints words with.
var styles = [][]byte{[]byte("\x1b[1m"), []byte("\x1b[33m"), []byte("\x1b[0m")}

// Write implements io.Writer.
func (p *printer) Write(b []byte) (int, error) {
	n := len(b)

	if len(p.rest) > 0 {
		b = append(p.rest, b...)
		p.rest = nil
	}

	painted := colour(p.w)

	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		if painted && b[0] == 0x1b {
			i := slices.IndexFunc(styles, func(s []byte) bool { return bytes.HasPrefix(b, s) })
			if i >= 0 {
				out, b = append(out, styles[i]...), b[len(styles[i]):]
				continue
			}
		}

		if !utf8.FullRune(b) {
			p.rest = bytes.Clone(b)
			break
		}

		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1, r < ' ' && r != '\n' && r != '\t':
			out = fmt.Appendf(out, `\x%02x`, b[0])
		case unicode.IsControl(r) && r >= 0x7f, unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			out = fmt.Appendf(out, `\u%04x`, r) // as in JSON too
		default:
			out = append(out, b[:size]...)
		}

		b = b[size:]
	}

	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}

	return n, nil
}

// file returns the file a stream is, nil if it is none.
func file(w io.Writer) *os.File {
	if p, ok := w.(*printer); ok {
		w = p.w
	}

	f, _ := w.(*os.File)

	return f
}
