// Package docs holds the glossary for the program and its page. It parses the tables
// of glossary.md and reference/columns.md, whose rows are "| **word**, symbol | meaning |", and those
// of the generated reference, whose rows begin with "| `name` |" and end with the meaning, and no other
// Markdown.
package docs

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"

	"doubletake/internal/lists"
)

//go:embed glossary.md
var glossary string

//go:embed reference/columns.md
var columns string

//go:embed reference/tables.md
var tables string

//go:embed reference/configuration.md
var keys string

// Term is one row of the glossary, as plain text.
type Term struct{ Section, Name, Meaning string }

var (
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	markup = strings.NewReplacer("**", "", "`", "", `\|`, "|")
)

// read parses the glossary, the columns, the Arrow tables and the keys once.
var read = sync.OnceValue(func() [4][]Term {
	return [4][]Term{terms(glossary, "| **"), terms(columns, "| **"), terms(tables, "| `"), terms(keys, "| `")}
})

// Glossary returns the terms in the order of glossary.md.
func Glossary() []Term { return read()[0] }

// Columns returns the headings and parts of columns' names, in the order of reference/columns.md.
func Columns() []Term { return read()[1] }

// terms are the rows of a text that begin so.
func terms(text, begin string) []Term {
	var out []Term

	section := ""
	for _, l := range strings.Split(text, "\n") {
		if h, ok := strings.CutPrefix(l, "## "); ok {
			section = strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(h)
		}

		if !strings.HasPrefix(l, begin) {
			continue
		}

		l = strings.TrimSuffix(strings.TrimPrefix(l, "| "), " |")
		name, _, _ := strings.Cut(l, " | ")
		out = append(out, Term{section, plain(name), plain(l[strings.LastIndex(l, " | ")+len(" | "):])})
	}

	return out
}

// plain removes markup; of a link its text stays, except "More".
func plain(s string) string {
	s = link.ReplaceAllStringFunc(s, func(m string) string {
		if text := link.FindStringSubmatch(m)[1]; text != "More" {
			return text
		}
		return ""
	})

	return strings.TrimSpace(markup.Replace(s))
}

// Find returns the terms of Named, or without any those of the glossary and of the columns that
// contain the word.
func Find(word string, more ...Term) []Term {
	if named := Named(word, more...); len(named) > 0 {
		return named
	}

	word = strings.ToLower(strings.TrimSpace(word))

	return lists.Keep(slices.Concat(Glossary(), Columns()), func(t Term) bool {
		return word != "" && strings.Contains(strings.ToLower(t.Name+" "+t.Meaning), word)
	})
}

// Named returns the terms that have the word as one of their names: of the glossary, or else
// of the columns, of more, of the Arrow tables, of the keys of the configuration; or else those
// of the columns whose name, such as _low or network_, the word ends or begins with. Upper
// and lower case are the same, and so are "runs" and "run", "e ×10⁻²" and "e".
func Named(word string, more ...Term) []Term {
	word = base(word)
	known := read()
	for _, list := range [][]Term{known[0], known[1], more, known[2], known[3]} {
		var named []Term
		for _, t := range list {
			again := slices.ContainsFunc(named, func(n Term) bool { return n.Meaning == t.Meaning })
			if !again && t.has(func(name string) bool { return name == word || name+"s" == word }) {
				named = append(named, t)
			}
		}

		if len(named) > 0 {
			return named
		}
	}

	return parts(word)
}

// parts returns the terms of the beginning and of the longest ending of a column's name, such
// as network_ and _low.
func parts(word string) []Term {
	var begin, end []Term

	longest := 0
	for _, t := range Columns() {
		if t.has(func(name string) bool { return strings.HasSuffix(name, "_") && strings.HasPrefix(word, name) }) {
			begin = append(begin, t)
		}

		if t.has(func(name string) bool {
			longer := strings.HasPrefix(name, "_") && strings.HasSuffix(word, name) && len(name) > longest
			if longer {
				longest = len(name)
			}
			return longer
		}) {
			end = []Term{t}
		}
	}

	return append(begin, end...)
}

// has reports whether a name of the term is as asked.
func (t Term) has(is func(name string) bool) bool {
	return slices.ContainsFunc(strings.Split(t.Name, ", "), func(n string) bool { return is(base(n)) })
}

// base is a name without its unit, factor or error, in lower case.
func base(s string) string {
	s = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(s, "\u00a0", " ")))
	for _, after := range []string{" (", " ×", " ±", ", "} {
		if before, _, ok := strings.Cut(s, after); ok {
			s = before
		}
	}

	return s
}
