package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	eastasian "golang.org/x/text/width"
)

// This file treats texts as a terminal shows them: their widths in columns, what is dangerous in them, and their breaks
// into lines.

// runeWidth returns the columns a character occupies: 0 for combining and
// format characters, 2 for wide ones, and 1 otherwise. Sequences that some terminals
// join to one picture (flags, joined emoji) count as their parts.
func runeWidth(r rune) int {
	switch {
	case unicode.IsControl(r), unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r <= 0x11ff:
		return 0
	}

	switch eastasian.LookupRune(r).Kind() {
	case eastasian.EastAsianWide, eastasian.EastAsianFullwidth:
		return 2
	}

	return 1
}

// textWidth returns the columns a text occupies.
func textWidth(text string) int {
	columns := 0
	for _, r := range text {
		columns += runeWidth(r)
	}

	return columns
}

// pad fills a text with blanks to the given number of columns, on its right or (left true) its left.
func pad(text string, columns int, left bool) string {
	blanks := columns - textWidth(text)
	if blanks <= 0 {
		return text
	}

	if left {
		return strings.Repeat(" ", blanks) + text
	}

	return text + strings.Repeat(" ", blanks)
}

// clean makes a foreign text harmless on one line. Each line break, tab or other
// blank becomes a space. Control characters, characters that change the direction of
// the text, other invisible characters and broken UTF-8 become "�". Joiners inside
// words stay, because some scripts cannot be read without them.
func clean(text string) string { return cleanBut(text, "") }

// cleanBut cleans a text like clean, but keeps some characters.
func cleanBut(text, kept string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\u2028' || r == '\u2029' || r == '\u0085' || unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == '\u200c' || r == '\u200d' || strings.ContainsRune(kept, r):
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}

	return strings.TrimSpace(b.String())
}

// rightToLeft reports whether a text contains a character of a script written from right
// to left.
func rightToLeft(text string) bool {
	for _, r := range text {
		properties, _ := bidi.LookupRune(r)
		if class := properties.Class(); class == bidi.R || class == bidi.AL {
			return true
		}
	}

	return false
}

// isolate puts a text written from right to left between FIRST STRONG ISOLATE and
// POP DIRECTIONAL ISOLATE, so that it does not turn its neighbours around. Both
// characters occupy no column. isolate returns other texts unchanged.
func isolate(text string) string {
	if rightToLeft(text) {
		return "\u2068" + text + "\u2069"
	}
	return text
}

// shorten cuts the middle out of a text, so that the rest occupies at most the given number of columns. Names
// differ at their beginning and end more than in the middle.
func shorten(text string, columns int) string {
	if textWidth(text) <= columns {
		return text
	}

	if columns < 1 {
		return ""
	}

	tailWidth := (columns - 1) / 3
	runes := []rune(text)

	head := 0     // number of characters before the cut
	occupied := 0 // columns of the characters on one side of the cut
	for occupied+runeWidth(runes[head]) < columns-tailWidth {
		occupied += runeWidth(runes[head])
		head++
	}

	tail := len(runes) // index of the first character after the cut
	occupied = 0
	for tail > head && occupied+runeWidth(runes[tail-1]) <= tailWidth {
		tail--
		occupied += runeWidth(runes[tail])
	}

	for tail < len(runes) && runeWidth(runes[tail]) == 0 { // a mark belongs to the character before it, which is cut
		tail++
	}

	return string(runes[:head]) + "…" + string(runes[tail:])
}

// wrap breaks a text at blanks into lines with at most the given number of columns. It does not break it at blanks that
// keep words together (U+00A0), as in "50 %". It breaks a word inside if it is longer than a line.
func wrap(text string, columns int) []string {
	p := &wrapper{columns: max(columns, 10)}
	isBlank := func(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' }
	for _, word := range strings.FieldsFunc(text, isBlank) {
		p.add(word)
	}

	p.end()

	return p.lines
}

// wrapper collects the lines of a text.
type wrapper struct {
	columns  int             // of a line at most
	lines    []string        // complete lines
	line     strings.Builder // the line that is being filled
	occupied int             // columns of line
}

// add adds a word to the line, or to a new line if it does not fit.
func (p *wrapper) add(word string) {
	if p.line.Len() > 0 && p.occupied+1+textWidth(word) <= p.columns {
		p.line.WriteByte(' ')
		p.occupied++
	} else {
		p.end()
	}

	for _, r := range word {
		if p.occupied+runeWidth(r) > p.columns {
			p.end()
		}

		p.line.WriteRune(r)
		p.occupied += runeWidth(r)
	}
}

// end completes the line, unless it is empty, and begins a new one.
func (p *wrapper) end() {
	if p.line.Len() > 0 {
		p.lines = append(p.lines, p.line.String())
	}

	p.line.Reset()
	p.occupied = 0
}

// capitalise returns a text with a capital letter at its beginning. It changes the letters a to z only.
func capitalise(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}
