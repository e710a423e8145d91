package figure

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tickText writes the number of a tick, as a power of ten if power is true.
func tickText(value float64, power bool) string {
	if power {
		return "10" + superscript(int(math.Round(math.Log10(value))))
	}

	return tickNumber(value)
}

// tickNumber writes the number of a tick without trailing zeros and with a true minus sign.
// From a million on and below a ten-thousandth it writes a power of ten.
func tickNumber(value float64) string {
	if value == 0 {
		return "0"
	}

	text := strconv.FormatFloat(value, 'g', 6, 64)
	if size := math.Abs(value); size >= 1e6 || size < 1e-4 {
		text = scientific(value)
	}

	return strings.Replace(text, "-", "−", 1)
}

// scientific writes a number with a power of ten: "2.5·10⁶", "10⁶".
func scientific(value float64) string {
	text := strconv.FormatFloat(value, 'e', -1, 64)
	mantissa, exponent, ok := strings.Cut(text, "e")
	if !ok { // infinite
		return text
	}

	if len(mantissa) > 6 { // too long for a tick: two decimals are enough
		decade := math.Pow(10, math.Floor(math.Log10(math.Abs(value))))
		mantissa = strconv.FormatFloat(value/decade, 'f', 2, 64)
	}

	power, _ := strconv.Atoi(exponent)
	if mantissa == "1" {
		return "10" + superscript(power)
	}

	return mantissa + "·10" + superscript(power)
}

// superscript writes a number with raised digits.
func superscript(n int) string {
	replacer := strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶",
		"7", "⁷", "8", "⁸", "9", "⁹")
	return replacer.Replace(strconv.Itoa(n))
}

// fittedText cuts the middle out of a text until it is no wider than room, in px, or has
// eight characters.
func fittedText(text string, room float64) string {
	const most = 400 // more do not fit into any figure
	for count := min(utf8.RuneCountInString(text), most); ; count-- {
		if short := shorten(text, count); count <= 8 || textWidth(short) <= room {
			return short
		}
	}
}

// textWidth estimates the width of a text in a sans serif of fontSize, px. It asks no font, so that the same figure is
// drawn on every machine.
func textWidth(text string) float64 {
	sum := 0.0
	for _, r := range text {
		sum += runeWidth(r)
	}

	return sum * fontSize
}

// runeWidth estimates the width of a character as a share of the font's size.
func runeWidth(r rune) float64 {
	switch {
	case strings.ContainsRune("iljI.,:;'|!()[] ", r):
		return 0.3
	case strings.ContainsRune("mwMW", r):
		return 0.85
	case unicode.IsUpper(r):
		return 0.68
	case unicode.In(r, unicode.Mn):
		return 0
	case r > 0x2e80:
		return 1
	default:
		return 0.56
	}
}

// shorten cuts the middle out of a text longer than n characters.
func shorten(text string, n int) string {
	if utf8.RuneCountInString(text) <= n || n < 2 {
		return text
	}

	runes := []rune(text)
	tail := (n - 1) / 3

	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// oneLine replaces tabs and line breaks by spaces.
var oneLine = strings.NewReplacer("\t", " ", "\n", " ")

// Escape returns a text in one line that is safe in XML and HTML, as text and as an
// attribute in double quotes. It replaces characters as Printable does.
func Escape(text string) string {
	return html.EscapeString(strings.Map(Printable, oneLine.Replace(text)))
}

// Printable returns the character to write for r in XML and HTML: a space for line breaks
// other than "\n", "�" for characters that XML forbids or that turn the direction of the
// text around, and otherwise r.
func Printable(r rune) rune {
	isInvisible := unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs)
	isNoCharacter := r&0xfffe == 0xfffe // U+FFFE, U+FFFF, U+1FFFE, …
	switch r {
	case '\t', '\n', 0x200c, 0x200d, 0x2068, 0x2069: // the last four are joiners and isolates
		return r
	case '\r', 0x85, 0x2028, 0x2029:
		return ' '
	}

	if isInvisible || isNoCharacter {
		return utf8.RuneError
	}

	return r // utf8.RuneError is "�" itself
}
