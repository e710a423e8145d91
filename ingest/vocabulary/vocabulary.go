// Package vocabulary lists the words that people write in headers of columns and in names of files, and what they mean:
// a setting, an outcome, a day, a counter, a unit, a recording without wind. The words are those of laboratories in
// several languages.
//
// A column or a name is judged by its words alone here. Package filename splits names into words and numbers, and
// package role weighs the words of a column against its values.
package vocabulary

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression that is compiled when it is first used.
type Pattern func() *regexp.Regexp

// Whole returns a pattern that matches whole texts, in upper or lower case.
func Whole(expr string) Pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(?:` + expr + `)$`) })
}

// MatchString reports whether the pattern matches a text.
func (p Pattern) MatchString(s string) bool { return p().MatchString(s) }

var (
	// anyWord matches a word, or the sign of a number.
	anyWord = regexp.MustCompile(`\pL+|#`)
	// unitEnd matches a unit at the end of the name of a column.
	unitEnd = regexp.MustCompile(`(?i)_(mm|cm|m|deg|m_s|mps|rpm|n|pa|hz|c|k)$`)
)

// Identifier matches names of conditions that patterns, expressions and YAML read as they are.
var Identifier = Whole(`[A-Za-z_][A-Za-z0-9_]*`)

// HasWord reports whether the name of a column without its unit, or a word of the name or of the header as it was
// written, matches a pattern. A single letter counts only if it is the whole name.
func HasWord(words Pattern, name, head string) bool {
	whole := unitEnd.ReplaceAllString(name, "")
	if words.MatchString(whole) {
		return true
	}

	for _, word := range anyWord.FindAllString(name+" "+head, -1) {
		if len(word) > 1 && words.MatchString(word) {
			return true
		}
	}

	return false
}

// UnitEnd returns the unit at the end of a column's name with the sign before it, as _mm, or "".
func UnitEnd(name string) string { return unitEnd.FindString(name) }

// AreCounted reports whether all words of a name are of numbers that count, such as Run_nr.
func AreCounted(name string) bool {
	all := anyWord.FindAllString(name, -1)
	for _, word := range all {
		if !Counters.MatchString(word) {
			return false
		}
	}

	return len(all) > 0
}
