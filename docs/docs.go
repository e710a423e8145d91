// Package docs contains the documents, and looks up terms in their tables for the program and its page. It parses two
// kinds of tables and no other Markdown. In glossary.md and reference/columns.md a row is "| **word**, symbol |
// meaning |". In the generated reference a row begins with "| `name` |" and ends with the meaning.
package docs

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed glossary.md
var glossary string

//go:embed reference/columns.md
var columns string

//go:embed reference/tables.md
var tables string

//go:embed reference/configuration.md
var keys string

// Term is a row of a table, as plain text.
type Term struct {
	Section string // heading above the table
	Name    string // names of the term, separated by commas, with their units
	Meaning string
}

// Markup that plain removes.
var (
	link     = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	moreLink = regexp.MustCompile(`\[More\]\([^)]*\)`)
	markup   = strings.NewReplacer("**", "", "`", "", `\|`, "|")
)

// reference has the terms of all documents: the glossary, the columns, the Arrow tables and the keys of the
// configuration.
type reference struct{ glossary, columns, tables, keys []Term }

// read returns the terms of all documents. It parses the documents once.
var read = sync.OnceValue(func() reference {
	return reference{
		glossary: parse(glossary, "| **"),
		columns:  parse(columns, "| **"),
		tables:   parse(tables, "| `"),
		keys:     parse(keys, "| `"),
	}
})

// Glossary returns the terms in the order of glossary.md.
func Glossary() []Term { return read().glossary }

// Columns returns the headings and parts of columns' names, in the order of reference/columns.md.
func Columns() []Term { return read().columns }

// parse returns the rows of the tables in a text. The lines of rows begin with the given prefix.
func parse(text, prefix string) []Term {
	var terms []Term

	section := ""
	for _, line := range strings.Split(text, "\n") {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(heading)
		}

		if !strings.HasPrefix(line, prefix) {
			continue
		}

		line = strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |")
		name, _, _ := strings.Cut(line, " | ")
		meaning := line[strings.LastIndex(line, " | ")+len(" | "):]
		terms = append(terms, Term{section, plain(name), plain(meaning)})
	}

	return terms
}

// plain removes markup. It replaces a link by its text, and removes links with the text "More".
func plain(text string) string {
	text = moreLink.ReplaceAllString(text, "")
	text = link.ReplaceAllString(text, "$1")

	return strings.TrimSpace(markup.Replace(text))
}

// Find returns the terms that Named returns. If there are none, it returns the terms of the glossary and of the columns
// whose name or meaning contains the word.
func Find(word string, more ...Term) []Term {
	if named := Named(word, more...); len(named) > 0 {
		return named
	}

	word = strings.ToLower(strings.TrimSpace(word))
	if word == "" {
		return nil
	}

	var found []Term
	for _, term := range slices.Concat(Glossary(), Columns()) {
		if strings.Contains(strings.ToLower(term.Name+" "+term.Meaning), word) {
			found = append(found, term)
		}
	}

	return found
}

// Named returns the terms that have the word as one of their names. It looks in the glossary, in the columns, in more,
// in the Arrow tables and in the keys of the configuration, and returns the terms of the first of these that has any.
// If none has, Named returns the terms of the parts of columns' names, such as _low or network_, with which the word
// ends or begins. It ignores case, the s of a plural, units and factors, and the numbers in columns' names: "e ×10⁻²"
// is "e", and bpf3_db is bpf1_db.
func Named(word string, more ...Term) []Term {
	word = base(word)
	known := read()
	for _, terms := range [][]Term{known.glossary, known.columns, more, known.tables, known.keys} {
		var named []Term
		for _, term := range terms {
			if term.isNamed(word) && !explained(named, term.Meaning) {
				named = append(named, term)
			}
		}

		if len(named) > 0 {
			return named
		}
	}

	return parts(word)
}

// explained reports whether one of the terms has the meaning.
func explained(terms []Term, meaning string) bool {
	for _, term := range terms {
		if term.Meaning == meaning {
			return true
		}
	}

	return false
}

// parts returns the terms of parts of columns' names: those with which the word begins, such as network_, and the
// longest one with which it ends, such as _low.
func parts(word string) []Term {
	var beginnings, ending []Term

	longest := 0
	for _, term := range Columns() {
		begins := false
		for _, name := range term.names() {
			if strings.HasSuffix(name, "_") && strings.HasPrefix(word, name) {
				begins = true
			}

			if strings.HasPrefix(name, "_") && strings.HasSuffix(word, name) && len(name) > longest {
				longest = len(name)
				ending = []Term{term}
			}
		}

		if begins {
			beginnings = append(beginnings, term)
		}
	}

	return append(beginnings, ending...)
}

// names returns the names of the term in lower case, without units.
func (t Term) names() []string {
	names := strings.Split(t.Name, ", ")
	for i, name := range names {
		names[i] = base(name)
	}

	return names
}

// isNamed reports whether the word, or the word without an s at its end, is a name of the term.
func (t Term) isNamed(word string) bool {
	names := t.names()
	isNumbered := strings.Contains(word, "_") && slices.ContainsFunc(names, func(name string) bool {
		return digits.ReplaceAllString(name, "1") == digits.ReplaceAllString(word, "1")
	})

	return isNumbered || slices.Contains(names, word) || slices.Contains(names, strings.TrimSuffix(word, "s"))
}

// digits are the digits in the name of a column, such as the number of a harmonic.
var digits = regexp.MustCompile(`\d+`)

// base returns a name in lower case, without its unit, factor or error.
func base(name string) string {
	name = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(name, "\u00a0", " ")))
	for _, separator := range []string{" (", " ×", " ±", ", "} {
		name, _, _ = strings.Cut(name, separator)
	}

	return name
}
