package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/internal/lists"
	"doubletake/train/numbers"
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

// Listing is the rows of an answer in a terminal: texts below the names of their columns, flush left. The first
// column labels the rows.
type Listing struct {
	Heads []string
	Rows  [][]string
}

// Add adds a row.
func (l *Listing) Add(cells ...string) { l.Rows = append(l.Rows, cells) }

// Write writes the rows for a terminal of so many columns, as Terminal does; 0: lines as long as they are.
func (l Listing) Write(w io.Writer, width int) error {
	t := newTerminal(width, false)
	if width <= 0 {
		t.columns = math.MaxInt32
	}

	tab := table{Corner: l.Heads[0], open: true}
	tab.words(l.Heads[1:]...)
	for _, r := range l.Rows {
		cells := make([]number, len(tab.Heads))
		for k, text := range r[1:] {
			cells[k].text = text
		}

		tab.Rows = append(tab.Rows, row{Label: r[0], Cells: cells})
	}

	t.table(tab)

	if _, err := io.WriteString(w, strings.TrimPrefix(t.b.String(), "\n")); err != nil {
		return fmt.Errorf("write listing: %w", err)
	}

	return nil
}

// CSV writes records as rows below the names of their members. The members of an object in a record are columns
// too, lists are joined, a number that is NaN is empty, and floats read back to the same bits.
func CSV(w io.Writer, records []numbers.Object) error {
	c := csv.NewWriter(w)
	for i, r := range records {
		head, cells := flat(r)
		if i == 0 {
			c.Write(head)
		}

		c.Write(cells)
	}

	c.Flush()

	if err := c.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}

	return nil
}

// flat returns the names and the texts of a record's members.
func flat(record numbers.Object) (head, cells []string) {
	head, cells = make([]string, 0, len(record)/2), make([]string, 0, len(record)/2)
	for name, v := range record.All() {
		text := ""
		switch v := v.(type) {
		case numbers.Object:
			names, texts := flat(v)
			head, cells = append(head, names...), append(cells, texts...)
			continue
		case float64:
			text = full(v)
		case string:
			text = numbers.Harmless(v)
		case []string:
			text = numbers.Harmless(strings.Join(v, "; "))
		default:
			text = fmt.Sprint(v)
		}

		head, cells = append(head, name), append(cells, text)
	}

	return head, cells
}

// full writes a number in full digits.
func full(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case math.IsInf(v, 1):
		return "inf"
	}

	return strconv.FormatFloat(v, 'g', -1, 64)
}
