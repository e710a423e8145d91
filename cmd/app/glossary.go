package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"doubletake/docs"
	"doubletake/train/numbers"
	"doubletake/train/score"
)

// runGlossary prints the terms that the arguments name, or all terms.
func runGlossary(c *call) error {
	if len(c.args) == 0 {
		return c.printTerms(slices.Concat(docs.Glossary(), docs.Columns()))
	}

	var terms []docs.Term
	for _, word := range c.args {
		found := docs.Find(word, metrics()...)
		if found == nil {
			return usage("the glossary has no %q; pipeline glossary lists its words", word)
		}

		terms = append(terms, found...)
	}

	return c.printTerms(terms)
}

// printTerms prints terms as text or as JSON.
func (c *call) printTerms(terms []docs.Term) error {
	if !c.Bool("json") {
		return printTerms(c.stdout, terms)
	}

	return printJSON(c.stdout, numbers.Object{"terms", numbers.Objects(terms, func(term docs.Term) numbers.Object {
		return numbers.Object{"section", term.Section, "name", term.Name, "meaning", term.Meaning}
	})})
}

// metrics returns the metrics that reports have as terms.
func metrics() []docs.Term {
	var terms []docs.Term
	for _, metric := range score.Metrics {
		terms = append(terms, docs.Term{
			Section: "Metrics", Name: metric.Key + ", " + metric.Symbol, Meaning: metric.What,
		})
	}

	return terms
}

// printTerms prints terms below the names of their sections.
func printTerms(w io.Writer, terms []docs.Term) error {
	var b strings.Builder

	section := ""
	for _, term := range terms {
		if term.Section != section {
			if section != "" {
				b.WriteString("\n")
			}

			section = term.Section
			b.WriteString(section + "\n")
		}

		fmt.Fprintf(&b, "  %s: %s\n", term.Name, term.Meaning)
	}

	return emit(w, "print the glossary", []byte(b.String()))
}
