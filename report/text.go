package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	eastasian "golang.org/x/text/width"
)

// runeWidth returns the columns a character occupies: 0 for combining and
// format characters, 2 for wide ones, else 1. Sequences that some terminals
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

// width returns the columns s occupies.
func width(s string) int {
	w := 0
	for _, r := range s {
		w += runeWidth(r)
	}

	return w
}

// pad fills s with blanks to w columns, on its right or (left true) its left.
func pad(s string, w int, left bool) string {
	n := w - width(s)
	if n <= 0 {
		return s
	}

	if left {
		return strings.Repeat(" ", n) + s
	}

	return s + strings.Repeat(" ", n)
}

// clean makes a foreign text harmless on one line: line breaks, tabs and other
// blanks become one space, control characters, characters that change the
// direction of the text, other invisible ones and broken UTF-8 become "�". Joiners
// inside words stay: some scripts are not readable without.
func clean(s string) string { return cleanBut(s, "") }

// cleanBut is clean, but keeps some characters.
func cleanBut(s, kept string) string {
	var b strings.Builder
	for _, r := range s {
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

// rightToLeft reports whether s holds a character of a script written from right
// to left.
func rightToLeft(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		p, _ := bidi.LookupRune(r)
		return p.Class() == bidi.R || p.Class() == bidi.AL
	})
}

// isolate keeps a text written from right to left from turning its
// neighbours around: it puts it between FIRST STRONG ISOLATE and POP
// DIRECTIONAL ISOLATE, which occupy no column.
func isolate(s string) string {
	if rightToLeft(s) {
		return "\u2068" + s + "\u2069"
	}
	return s
}

// shorten cuts the middle of s out, so that the rest occupies at most w columns;
// names differ at their beginning and end more than in the middle.
func shorten(s string, w int) string {
	if width(s) <= w {
		return s
	}

	if w < 1 {
		return ""
	}

	tail := (w - 1) / 3
	runes := []rune(s)

	head, n := 0, 0
	for n+runeWidth(runes[head]) < w-tail {
		n += runeWidth(runes[head])
		head++
	}

	at, n := len(runes), 0
	for at > head && n+runeWidth(runes[at-1]) <= tail {
		at--
		n += runeWidth(runes[at])
	}

	for at < len(runes) && runeWidth(runes[at]) == 0 { // marks go with the character before them
		at++
	}

	return string(runes[:head]) + "…" + string(runes[at:])
}

// wrap breaks text at blanks into lines of at most w columns; a word longer
// than a line is broken inside.
func wrap(text string, w int) []string {
	w = max(w, 10)
	var lines []string
	var line strings.Builder

	n := 0 // columns of the line
	end := func() {
		if line.Len() > 0 {
			lines = append(lines, line.String())
		}

		line.Reset()
		n = 0
	}

	for _, word := range strings.Fields(text) {
		if line.Len() > 0 && n+1+width(word) <= w {
			line.WriteByte(' ')
			n++
		} else {
			end()
		}

		for _, r := range word {
			if n+runeWidth(r) > w {
				end()
			}

			line.WriteRune(r)
			n += runeWidth(r)
		}
	}

	end()

	return lines
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}
