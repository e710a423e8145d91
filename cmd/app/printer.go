package app

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"doubletake/report"
)

// printer writes text to a stream. Control characters may occur in files and in their names. The printer writes them as
// escapes such as \x1b, \u009b and \u202e, so that no file can command the terminal. It passes line ends and tabs, and
// styles if the stream is a terminal that shows them.
type printer struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end comes with the next Write
	err  error  // the first error of Write, since most commands print without looking at errors; nil: none
}

// styles are the escapes with which package report paints words.
var styles = report.Styles()

// Write writes text with escapes. It implements io.Writer.
func (p *printer) Write(b []byte) (int, error) {
	text := b
	if len(p.rest) > 0 {
		text = append(p.rest, b...)
		p.rest = nil
	}

	showsStyles := colour(p.w)

	escaped := make([]byte, 0, len(text))
	for len(text) > 0 {
		if plain := leadingPlain(text); plain > 0 {
			escaped = append(escaped, text[:plain]...)
			text = text[plain:]
			continue
		}

		if style := leadingStyle(text); showsStyles && style != "" {
			escaped = append(escaped, style...)
			text = text[len(style):]
			continue
		}

		if !utf8.FullRune(text) {
			p.rest = bytes.Clone(text)
			break
		}

		r, size := utf8.DecodeRune(text)
		escaped = appendEscaped(escaped, r, text[:size])
		text = text[size:]
	}

	if _, err := p.w.Write(escaped); err != nil {
		p.err = cmp.Or(p.err, err)
		return 0, err
	}

	return len(b), nil
}

// leadingPlain returns the number of printable ASCII characters, line ends and tabs with which a text begins. They
// never need an escape.
func leadingPlain(text []byte) int {
	for i, b := range text {
		isPrintable := b >= ' ' && b <= '~'
		if !isPrintable && b != '\n' && b != '\t' {
			return i
		}
	}

	return len(text)
}

// leadingStyle returns the style with which a text begins, or "" if there is none.
func leadingStyle(text []byte) string {
	for _, style := range styles {
		if bytes.HasPrefix(text, []byte(style)) {
			return style
		}
	}

	return ""
}

// appendEscaped appends the character r, whose encoding is b, or its escape if it is a control character, changes the
// direction or the lines of the text, or is not valid UTF-8.
func appendEscaped(dst []byte, r rune, b []byte) []byte {
	isInvalid := r == utf8.RuneError && len(b) == 1
	isControl := unicode.IsControl(r) && r != '\n' && r != '\t'
	changesLayout := unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' // the latter end lines

	switch {
	case isInvalid, isControl && r < ' ':
		return fmt.Appendf(dst, `\x%02x`, b[0])
	case isControl, changesLayout:
		return fmt.Appendf(dst, `\u%04x`, r) // the form of JSON, so that JSON stays valid
	}

	return append(dst, b...)
}
