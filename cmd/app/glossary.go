package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"doubletake/docs"
	"doubletake/internal/lists"
	"doubletake/train/score"
)

func runGlossary(c *call) error {
	if len(c.args) == 0 {
		return printTerms(c.stdout, slices.Concat(docs.Glossary(), docs.Columns()))
	}

	var list []docs.Term
	for _, w := range c.args {
		found := docs.Find(w, metrics()...)
		if found == nil {
			return usage("the glossary has no %q; pipeline glossary lists its words", w)
		}

		list = append(list, found...)
	}

	return printTerms(c.stdout, list)
}

// metrics are the names of numbers in metrics.json and metrics.arrow.
func metrics() []docs.Term {
	return lists.Each(score.Metrics, func(m score.Metric) docs.Term {
		return docs.Term{Section: "Metrics", Name: m.Key + ", " + m.Symbol, Meaning: m.What}
	})
}

// printTerms writes terms below their sections.
func printTerms(w io.Writer, list []docs.Term) error {
	var b strings.Builder

	section := ""
	for _, t := range list {
		if t.Section != section {
			if section != "" {
				b.WriteString("\n")
			}

			section = t.Section
			b.WriteString(section + "\n")
		}

		fmt.Fprintf(&b, "  %s: %s\n", t.Name, t.Meaning)
	}

	return emit(w, "print the glossary", []byte(b.String()))
}
