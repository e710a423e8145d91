package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// Sheet is tables of texts between sentences: an uncertainty budget, a comparison of two configurations.
type Sheet struct {
	Title  string
	Before []string // sentences above the tables
	Grids  []Grid
	After  []string // sentences below
	Notes  []string // what limits the trust in the numbers
}

// Grid is a table of texts. The first column has the labels of the rows.
type Grid struct {
	Title string
	Heads []string
	Words []string // heads of the columns of words, which are set flush left
	Rows  [][]string
	Below string // a sentence
}

func (g Grid) table() table {
	t := table{Title: clean(g.Title), Corner: clean(g.Heads[0]), Below: clean(g.Below)}
	for _, name := range g.Heads[1:] {
		t.Heads = append(t.Heads, head{Name: clean(name), Words: slices.Contains(g.Words, name)})
	}

	for _, r := range g.Rows {
		var cells []number
		for _, c := range r[1:] {
			cells = append(cells, words(c))
		}
		t.add(r[0], cells...)
	}

	return t
}

func (s Sheet) tables() (out []table) {
	for _, g := range s.Grids {
		if t := g.table(); !t.empty() {
			out = append(out, t)
		}
	}

	return out
}

// Sheets writes sheets for a terminal of so many columns, as Terminal does.
func Sheets(w io.Writer, list []Sheet, width int, color bool) error {
	var documents []document
	for _, s := range list {
		d := document{title: clean(s.Title), verdicts: s.Before, tables: s.tables()}
		for _, text := range s.After {
			d.words = append(d.words, clean(text))
		}

		if len(s.Notes) > 0 {
			d.findings = []findings{{kind: "note", items: s.Notes}}
		}
		documents = append(documents, d)
	}

	return newTerminal(width, color).write(w, documents...)
}

// SheetsLaTeX returns the tables of sheets as floats, like LaTeX.
func SheetsLaTeX(list []Sheet) []byte {
	b := bytes.NewBufferString(texPreamble)
	for _, s := range list {
		for k, t := range s.tables() {
			var notes []string
			if k == len(s.Grids)-1 {
				notes = slices.Concat(s.After, s.Notes)
			}
			texTable(b, s.Title, fmt.Sprintf("%s-%d", slug(s.Title), k+1), t, nil, notes)
		}
	}

	return b.Bytes()
}
