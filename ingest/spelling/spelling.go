// Package spelling finds the known names that are most like a misspelt one, for
// error messages, and writes names in one form. It is the only edit distance of the program and
// imports no other package of it, so that readers and the configuration can both use it.
package spelling

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"doubletake/internal/lists"
)

// Composed returns a name with its accents composed (NFC), as most keyboards write it: macOS decomposes those
// of files, which look the same.
func Composed(name string) string { return norm.NFC.String(name) }

// longest bounds the names that are compared letter by letter: the work grows
// with the product of their lengths.
const longest = 256

// Distance returns the number of insertions, deletions, substitutions and swaps
// of neighbours that turn a into b (optimal string alignment), letter case
// ignored. Names longer than 256 characters are only compared for equality.
func Distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	if len(x) > longest || len(y) > longest {
		if a == b {
			return 0
		}
		return max(len(x), len(y))
	}

	prev2, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
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
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}

		prev2, prev, cur = prev, cur, prev2
	}

	return prev[len(y)]
}

// Nearest returns up to n of the known names, the most alike first; names that
// are equally alike keep their order.
func Nearest(name string, known []string, n int) []string {
	type ranked struct {
		name     string
		distance int
	}

	list := lists.Each(known, func(k string) ranked { return ranked{k, Distance(name, k)} })

	slices.SortStableFunc(list, func(a, b ranked) int { return a.distance - b.distance })

	return lists.Each(list[:max(0, min(n, len(list)))], func(r ranked) string { return r.name })
}

// Meant returns the known name that name probably misspells, or "" when none is
// near: at most half of its letters may be wrong, in names of up to three
// letters one.
func Meant(name string, known []string) string {
	most := len(name) / 2
	if len(name) <= 3 {
		most = 1
	}

	if near := Nearest(name, known, 1); len(near) > 0 && Distance(name, near[0]) <= most {
		return near[0]
	}

	return ""
}

// DidYouMean returns `; did you mean "NAME"?` with the name that Meant finds, or
// "": the end of an error message.
func DidYouMean(name string, known []string) string {
	if n := Meant(name, known); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}
