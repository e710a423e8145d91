package raw

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Text returns the bytes before the first zero byte as text, without white space around it. Decoded says how bytes
// become text.
func Text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.TrimSpace(Decoded(b))
}

// Decoded returns b as text: as UTF-8 if b is valid UTF-8, and as Windows-1252 otherwise. Many writers store ° and µ in
// Latin-1, whose characters are part of Windows-1252.
func Decoded(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}

	text := make([]rune, len(b))
	for i, c := range b {
		text[i] = rune(c)
		if c >= 0x80 && c < 0xa0 {
			text[i] = upper1252[c-0x80]
		}
	}

	return string(text)
}

// upper1252 are the characters 0x80 to 0x9f of Windows-1252. U+FFFD stands for the codes without a character: names
// must not contain control characters, because YAML cannot write them.
var upper1252 = []rune("€\ufffd‚ƒ„…†‡ˆ‰Š‹Œ\ufffdŽ\ufffd\ufffd‘’“”•–—˜™š›œ\ufffdžŸ")
