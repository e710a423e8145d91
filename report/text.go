package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wideRanges are the characters that occupy two columns of a terminal (Unicode
// East_Asian_Width W and F), joined over code points that are not assigned.
var wideRanges = [][2]rune{
	{0x1100, 0x115F},
	{0x231A, 0x231B},
	{0x2329, 0x232A},
	{0x23E9, 0x23EC},
	{0x23F0, 0x23F0},
	{0x23F3, 0x23F3},
	{0x25FD, 0x25FE},
	{0x2614, 0x2615},
	{0x2648, 0x2653},
	{0x267F, 0x267F},
	{0x2693, 0x2693},
	{0x26A1, 0x26A1},
	{0x26AA, 0x26AB},
	{0x26BD, 0x26BE},
	{0x26C4, 0x26C5},
	{0x26CE, 0x26CE},
	{0x26D4, 0x26D4},
	{0x26EA, 0x26EA},
	{0x26F2, 0x26F3},
	{0x26F5, 0x26F5},
	{0x26FA, 0x26FA},
	{0x26FD, 0x26FD},
	{0x2705, 0x2705},
	{0x270A, 0x270B},
	{0x2728, 0x2728},
	{0x274C, 0x274C},
	{0x274E, 0x274E},
	{0x2753, 0x2755},
	{0x2757, 0x2757},
	{0x2795, 0x2797},
	{0x27B0, 0x27B0},
	{0x27BF, 0x27BF},
	{0x2B1B, 0x2B1C},
	{0x2B50, 0x2B50},
	{0x2B55, 0x2B55},
	{0x2E80, 0x303E},
	{0x3041, 0x3247},
	{0x3250, 0x4DBF},
	{0x4E00, 0xA4C6},
	{0xA960, 0xA97C},
	{0xAC00, 0xD7A3},
	{0xF900, 0xFAD9},
	{0xFE10, 0xFE19},
	{0xFE30, 0xFE6B},
	{0xFF01, 0xFF60},
	{0xFFE0, 0xFFE6},
	{0x16FE0, 0x1B2FB},
	{0x1F004, 0x1F004},
	{0x1F0CF, 0x1F0CF},
	{0x1F18E, 0x1F18E},
	{0x1F191, 0x1F19A},
	{0x1F200, 0x1F320},
	{0x1F32D, 0x1F335},
	{0x1F337, 0x1F37C},
	{0x1F37E, 0x1F393},
	{0x1F3A0, 0x1F3CA},
	{0x1F3CF, 0x1F3D3},
	{0x1F3E0, 0x1F3F0},
	{0x1F3F4, 0x1F3F4},
	{0x1F3F8, 0x1F43E},
	{0x1F440, 0x1F440},
	{0x1F442, 0x1F4FC},
	{0x1F4FF, 0x1F53D},
	{0x1F54B, 0x1F54E},
	{0x1F550, 0x1F567},
	{0x1F57A, 0x1F57A},
	{0x1F595, 0x1F596},
	{0x1F5A4, 0x1F5A4},
	{0x1F5FB, 0x1F64F},
	{0x1F680, 0x1F6C5},
	{0x1F6CC, 0x1F6CC},
	{0x1F6D0, 0x1F6D2},
	{0x1F6D5, 0x1F6DF},
	{0x1F6EB, 0x1F6EC},
	{0x1F6F4, 0x1F6FC},
	{0x1F7E0, 0x1F7F0},
	{0x1F90C, 0x1F93A},
	{0x1F93C, 0x1F945},
	{0x1F947, 0x1F9FF},
	{0x1FA70, 0x1FAF6},
	{0x20000, 0x3134A},
}

// runeWidth returns the columns a character occupies: 0 for combining and
// format characters, 2 for wide ones, else 1. Sequences that some terminals
// join to one picture (flags, joined emoji) count as their parts.
func runeWidth(r rune) int {
	switch {
	case r < 0x20 || r == 0x7f:
		return 0
	case r < 0x300:
		if r >= 0x80 && r < 0xa0 || r == 0xad {
			return 0
		}
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf), r >= 0x1160 && r <= 0x11ff:
		return 0
	}
	lo, hi := 0, len(wideRanges)
	for lo < hi {
		mid := (lo + hi) / 2
		switch {
		case r < wideRanges[mid][0]:
			hi = mid
		case r > wideRanges[mid][1]:
			lo = mid + 1
		default:
			return 2
		}
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
func clean(s string) string { return strings.TrimSpace(cleanPart(s)) }

func cleanPart(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\u2028' || r == '\u2029' || r == '\u0085' || unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == '\u200c' || r == '\u200d':
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// rightToLeft reports whether s holds a character of a script written from right
// to left.
func rightToLeft(s string) bool {
	for _, r := range s {
		if r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfefc ||
			r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff {
			return true
		}
	}
	return false
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
	head := w - 1 - tail
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n += runeWidth(r); n > head {
			break
		}
		b.WriteRune(r)
	}
	b.WriteString("…")
	// From the end, whole characters with the marks that follow them.
	runes := []rune(s)
	start, n := len(runes), 0
	for i := len(runes) - 1; i >= 0; i-- {
		n += runeWidth(runes[i])
		if n > tail {
			break
		}
		if runeWidth(runes[i]) > 0 {
			start = i
		}
	}
	b.WriteString(string(runes[start:]))
	return b.String()
}

// wrap breaks text at blanks into lines of at most w columns; a word longer
// than a line is broken inside.
func wrap(text string, w int) []string {
	w = max(w, 10)
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(text) {
		k := width(word)
		if line != "" && n+1+k <= w {
			line, n = line+" "+word, n+1+k
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for k > w {
			cut, c := 0, 0
			for i, r := range word {
				if c+runeWidth(r) > w {
					cut = i
					break
				}
				c += runeWidth(r)
			}
			lines = append(lines, word[:cut])
			word = word[cut:]
			k = width(word)
		}
		line, n = word, k
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// sentence begins with a capital letter.
func sentence(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}
