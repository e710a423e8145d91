package app

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"doubletake/docs"
	"doubletake/train/score"
)

func newGlossaryCommand(stdout io.Writer) *cli.Command {
	return &cli.Command{
		Name: "glossary", Usage: "explain the words, columns and keys of tables, pages and the configuration",
		ArgsUsage: "[WORD …]",
		Description: "Without a word it prints the whole glossary.\n\n" +
			"Example: pipeline glossary C κ halton-1024\n\nExit status: 0 success, 2 usage error.",
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return printTerms(stdout, slices.Concat(docs.Glossary(), docs.Columns()))
			}

			var list []docs.Term
			for _, w := range c.Args().Slice() {
				found := docs.Find(w, metrics()...)
				if found == nil {
					return usage("the glossary has no %q; pipeline glossary lists its words", w)
				}

				list = append(list, found...)
			}

			return printTerms(stdout, list)
		},
	}
}

// metrics are the names of numbers in metrics.json, metrics.arrow and methods.arrow.
func metrics() []docs.Term {
	var out []docs.Term
	for _, m := range score.Metrics {
		out = append(out, docs.Term{Section: "Metrics", Name: m.Key + ", " + m.Symbol, Meaning: m.What})
	}

	return out
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

	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print the glossary: %w", err)
	}

	return nil
}
