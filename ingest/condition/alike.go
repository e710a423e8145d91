package condition

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"doubletake/ingest/spelling"
)

// mostNames is the greatest number of names that Alike compares, each with each.
const mostNames = 500

var (
	// freePoint matches a point that is not between two digits. The point of 8.5x6 is a part of a number.
	freePoint = regexp.MustCompile(`(^|\D)\.|\.(\D|$)`)
	// plainWriting removes the differences between writings of one name.
	plainWriting = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "ß", "ss", "×", "x",
		" ", "", "\u00a0", "", "-", "", "_", "", "‐", "", "‑", "", "–", "")
	letter = regexp.MustCompile(`\pL`)
)

// Pair are two names that are probably meant as one.
type Pair struct{ First, Second string }

// Alike returns pairs of names that are probably meant as one. They differ only by letter case, blanks, hyphens,
// underlines, points that are not between digits, or the writing of an umlaut or of ×, or they have at least
// leastLetters letters and differ by one. Names that differ by a digit, a decimal point or a letter on its own are two
// names: APC 8x6 and APC 8x7, APC 8.5x6 and APC 85x6, wing A and wing B. Alike returns nil for more than mostNames
// names.
func Alike(names []string) []Pair {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) > mostNames {
		return nil
	}

	plain := make([]string, len(names)) // without the differences between writings
	lone := make([][]string, len(names))
	for i, n := range names {
		lower := strings.ToLower(spelling.Composed(n))
		plain[i] = plainWriting.Replace(freePoint.ReplaceAllString(lower, "$1$2"))
		lone[i] = loneLetters(lower)
	}

	var pairs []Pair
	for i := range names {
		for k := range i {
			isMisspelt := slices.Equal(lone[i], lone[k]) && differByLetter(plain[i], plain[k])
			if plain[i] == plain[k] || isMisspelt {
				pairs = append(pairs, Pair{names[k], names[i]})
			}
		}
	}

	return pairs
}

// loneLetters returns the letters of a name that have no letter or digit beside them: the a of "wing a" and "wing_a".
func loneLetters(name string) []string {
	isBetween := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	isWord := func(word string) bool { return utf8.RuneCountInString(word) > 1 || !letter.MatchString(word) }

	return slices.DeleteFunc(strings.FieldsFunc(name, isBetween), isWord)
}

// leastLetters is the number of letters from which names that differ by one letter are probably meant as one.
const leastLetters = 5

// differByLetter reports whether two names of at least leastLetters letters differ by one letter.
func differByLetter(a, b string) bool {
	others := letter.ReplaceAllString(a, "")
	letters := min(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) - utf8.RuneCountInString(others)

	return letters >= leastLetters && others == letter.ReplaceAllString(b, "") && spelling.Distance(a, b) == 1
}
