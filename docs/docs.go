// Package docs holds the glossary for the program and its page. It parses the tables
// of glossary.md, whose rows are "| **word**, symbol | meaning |", and no other Markdown.
package docs

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed glossary.md
var glossary string

// Term is one row of the glossary, as plain text.
type Term struct{ Section, Name, Meaning string }

var (
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	markup = strings.NewReplacer("**", "", "`", "", `\|`, "|")
)

// Glossary returns the terms in the order of glossary.md.
func Glossary() []Term {
	var out []Term

	section := ""
	for _, l := range strings.Split(glossary, "\n") {
		if h, ok := strings.CutPrefix(l, "## "); ok {
			section = h
		}

		if !strings.HasPrefix(l, "| **") {
			continue
		}

		l = strings.TrimSuffix(strings.TrimPrefix(l, "| "), " |")
		name, meaning, _ := strings.Cut(l, " | ")
		out = append(out, Term{section, plain(name), plain(meaning)})
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

// Find returns the terms that have the word as one of their names, or without any those
// that contain it; upper and lower case are the same.
func Find(word string) []Term {
	var named, holding []Term

	word = strings.ToLower(strings.TrimSpace(word))
	for _, t := range Glossary() {
		for _, n := range strings.Split(strings.ToLower(t.Name), ", ") {
			if bare, _, _ := strings.Cut(n, " ("); n == word || bare == word {
				named = append(named, t)
				break
			}
		}

		if word != "" && strings.Contains(strings.ToLower(t.Name+" "+t.Meaning), word) {
			holding = append(holding, t)
		}
	}

	if len(named) > 0 {
		return named
	}

	return holding
}
