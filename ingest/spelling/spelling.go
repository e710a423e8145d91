// Package spelling finds the known names that are most similar to a misspelt one, for error messages. It also brings
// names into one form (Composed), and writes them as a configuration has them (YAML). It imports no other package of
// the program, so that readers of files and the configuration can both use it.
package spelling

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Composed returns a name with composed accents (NFC), as most keyboards write them. macOS decomposes the accents of
// file names: such names look the same, but differ in their bytes.
func Composed(name string) string { return norm.NFC.String(name) }

// longest is the length of the longest names that are compared letter by letter, in
// characters. The work grows with the product of the two lengths.
const longest = 256

// Distance returns the number of insertions, deletions, substitutions and swaps
// of neighbours that turn a into b (optimal string alignment). It ignores letter case.
// Names longer than 256 characters are only compared for equality: if they differ,
// Distance returns the length of the longer one.
func Distance(a, b string) int {
	x := []rune(strings.ToLower(a))
	y := []rune(strings.ToLower(b))
	if len(x) > longest || len(y) > longest {
		if slices.Equal(x, y) {
			return 0
		}

		return max(len(x), len(y))
	}

	// Element j of a row is the distance of the first letters of a to the first j letters of b: cur for
	// the first i letters of a, prev for i−1, prev2 for i−2.
	prev2 := make([]int, len(y)+1)
	prev := make([]int, len(y)+1)
	cur := make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}

	for i := 1; i <= len(x); i++ {
		cur[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}

			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i < 2 || j < 2 {
				continue
			}

			swapped := x[i-1] == y[j-2] && x[i-2] == y[j-1]
			if swapped {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}

		prev2, prev, cur = prev, cur, prev2
	}

	return prev[len(y)]
}

// Nearest returns the n known names that are most similar to name, the most similar first. It returns fewer if fewer
// are known. Names that are equally similar keep their order.
func Nearest(name string, known []string, n int) []string {
	type ranked struct {
		name     string
		distance int
	}

	list := make([]ranked, len(known))
	for i, k := range known {
		list[i] = ranked{k, Distance(name, k)}
	}

	slices.SortStableFunc(list, func(a, b ranked) int { return a.distance - b.distance })

	var nearest []string
	for _, r := range list[:max(0, min(n, len(list)))] {
		nearest = append(nearest, r.name)
	}

	return nearest
}

// Meant returns the known name that the user probably meant by name, or "" if there is none. At most half of the
// letters of name may be wrong, so that nobody can mean anything by an empty name.
func Meant(name string, known []string) string {
	maxWrong := utf8.RuneCountInString(name) / 2
	if near := Nearest(name, known, 1); len(near) > 0 && Distance(name, near[0]) <= maxWrong {
		return near[0]
	}

	return ""
}

// DidYouMean returns the end of an error message, `; did you mean "NAME"?`, with the name that Meant returns. If Meant
// finds none, it returns "".
func DidYouMean(name string, known []string) string {
	if n := Meant(name, known); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
