package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"doubletake/internal/lists"
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
	t.Heads = lists.Each(g.Heads[1:], func(name string) head {
		return head{Name: clean(name), Words: slices.Contains(g.Words, name)}
	})

	for _, r := range g.Rows {
		t.add(r[0], lists.Each(r[1:], words)...)
	}

	return t
}

func (s Sheet) tables() []table {
	return slices.DeleteFunc(lists.Each(s.Grids, Grid.table), table.empty)
}

// Sheets writes sheets for a terminal of so many columns, as Terminal does.
func Sheets(w io.Writer, list []Sheet, width int, color bool) error {
	return newTerminal(width, color).write(w, lists.Each(list, func(s Sheet) document {
		d := document{title: clean(s.Title), verdicts: s.Before, tables: s.tables(), words: lists.Each(s.After, clean)}
		if len(s.Notes) > 0 {
			d.findings = []findings{{kind: "note", items: s.Notes}}
		}

		return d
	})...)
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
