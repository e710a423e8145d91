package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"doubletake/internal/testfile"
)

// Expected widths: East_Asian_Width of Python's unicodedata (testdata/wide.py).
func TestRuneWidthAgainstPython(t *testing.T) {
	raw := testfile.Read(t, "testdata/wide.txt")

	wide := map[rune]bool{}
	for _, l := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		var a, b rune
		_, err := fmt.Sscanf(l, "%X %X", &a, &b)
		require.NoError(t, err)

		for ; a <= b; a++ {
			wide[a] = true
		}
	}

	for r := rune(0x20); r <= unicode.MaxRune; r++ {
		if !unicode.IsGraphic(r) || unicode.In(r, unicode.Mn, unicode.Me) || r >= 0x1160 && r <= 0x11ff {
			continue // zero width, or not assigned
		}

		if got := runeWidth(r); (got == 2) != wide[r] {
			t.Fatalf("U+%04X occupies %d columns, wide %v", r, got, wide[r])
		}
	}
}

// Expected widths by hand.
func TestWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "rotor": 5, "±": 1, "E|μδ| ×10⁻²": 11, "羽根": 4, "e\u0301": 1, "אבג": 3, "\u2068אבג\u2069": 3, "Prüfstand": 9,
		"🚁": 2,
	} {
		assert.Equal(t, want, textWidth(s), "width(%q)", s)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		s    string
		w    int
		want string // by hand: two thirds from the beginning, a third from the end
	}{
		{"rotor", 5, "rotor"},
		{"abcdefghij", 7, "abcd…ij"},
		{"羽根羽根羽根", 7, "羽根…根"},
		{"abcdefghij", 1, "…"},
		{"abcdefghij", 0, ""},
		{"abcdefe\u0301", 5, "abc…e\u0301"},
	} {
		assert.Equal(t, c.want, shorten(c.s, c.w), "shorten(%q, %d)", c.s, c.w)
	}

	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		w := rapid.IntRange(0, 50).Draw(t, "w")
		if got := textWidth(shorten(s, w)); got > w {
			t.Fatalf("%d columns", got)
		}
	})
}

func TestClean(t *testing.T) {
	for s, want := range map[string]string{ // by hand
		"a\nb\tc":           "a b c",
		"\x1b[31mred":       "�[31mred", // no terminal commands from a file name
		"\u202egnp.exe":     "�gnp.exe", // no reversed file names
		"a\u200db":          "a\u200db",
		"caf\xe9":           "caf�",
		" spaces around  ":  "spaces around",
		"null\x00and\x7fde": "null�and�de",
	} {
		assert.Equal(t, want, clean(s), "clean(%q)", s)
	}
}

// Wrapping loses nothing but blanks, keeps to the width, and keeps a number with its unit.
func TestWrap(t *testing.T) {
	assert.Equal(t, []string{"inside: 95", "%"}, wrap("inside: 95 %", 10))
	assert.Equal(t, []string{"inside:", "95\u00a0%"}, wrap("inside: 95\u00a0%", 10))

	rapid.Check(t, func(t *rapid.T) {
		s := clean(rapid.String().Draw(t, "s"))
		w := rapid.IntRange(10, 80).Draw(t, "w")
		lines := wrap(s, w)
		for _, l := range lines {
			require.LessOrEqual(t, textWidth(l), w, "a line of %d columns in %d", textWidth(l), w)
		}

		strip := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got, want := strip(strings.Join(lines, "")), strip(s); got != want {
			t.Fatalf("%q became %q", want, got)
		}
	})
}
