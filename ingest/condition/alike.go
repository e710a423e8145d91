package condition

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// mostNames bounds the names that Alike compares, each with each.
const mostNames = 500

var loneLetter = regexp.MustCompile(`\b[A-Za-z]\b`)

var (
	written = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "×", "x",
		" ", "", "\u00a0", "", "-", "", "_", "", ".", "", "‐", "", "‑", "", "–", "")
	letter = regexp.MustCompile(`\pL`)
)

// Alike lists names that are probably one: they differ by letter case, blanks, hyphens, underlines or the writing
// of an umlaut alone, or, of five letters and more, by one letter. Names that differ by a digit or a letter on its own
// are two: APC 8x6 and APC 8x7, wing A and wing B.
func Alike(names []string) (pairs [][2]string) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > mostNames {
		return nil
	}

	plain := lists.Each(names, func(n string) string { return written.Replace(strings.ToLower(spelling.Composed(n))) })

	for i := range names {
		for k := range i {
			lettered := loneLetter.ReplaceAllString(names[i], "") == loneLetter.ReplaceAllString(names[k], "")
			if plain[i] == plain[k] || !lettered && oneLetter(plain[i], plain[k]) {
				pairs = append(pairs, [2]string{names[k], names[i]})
			}
		}
	}

	return pairs
}

// oneLetter reports whether names of five letters and more differ by one of them.
func oneLetter(a, b string) bool {
	others := letter.ReplaceAllString(a, "")
	letters := min(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) - utf8.RuneCountInString(others)

	return letters >= 5 && others == letter.ReplaceAllString(b, "") && spelling.Distance(a, b) == 1
}
