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

	"doubletake/train/numbers"
	"doubletake/train/score"
)

// Sheet is tables of texts between sentences, such as an uncertainty budget or a comparison of two configurations.
// Other packages fill it in; this package writes it for a terminal and in LaTeX.
type Sheet struct {
	Title   string
	Opening []string // sentences above the tables
	Grids   []Grid
	Closing []string // sentences below
	Notes   []string // limits of the trust in the numbers
}

// Grid is a table of texts. The first column contains the labels of the rows.
type Grid struct {
	Title string
	Heads []string
	Words []string // heads of the columns of words, which are set flush left
	Rows  [][]string
	Below string // a sentence
}

// asTable returns the grid as a table of cleaned texts.
func (g Grid) asTable() table {
	t := table{Title: clean(g.Title), Corner: clean(g.Heads[0]), Below: clean(g.Below)}
	for _, name := range g.Heads[1:] {
		t.Heads = append(t.Heads, columnHead{Name: clean(name), Words: slices.Contains(g.Words, name)})
	}

	for _, texts := range g.Rows {
		var cells []number
		for _, text := range texts[1:] {
			cells = append(cells, wordsCell(text))
		}

		t.addRow(texts[0], cells...)
	}

	return t
}

// tables returns the grids that have rows.
func (s Sheet) tables() []table {
	var tables []table
	for _, grid := range s.Grids {
		tables = append(tables, grid.asTable())
	}

	return notEmptyTables(tables)
}

// document returns the sheet in the order of reading.
func (s Sheet) document() document {
	doc := document{title: clean(s.Title), tables: s.tables()}
	for _, text := range s.Opening {
		doc.verdicts = append(doc.verdicts, clean(text))
	}

	for _, text := range s.Closing {
		doc.words = append(doc.words, clean(text))
	}

	if len(s.Notes) > 0 {
		doc.findings = []findingList{{kind: "note", items: s.Notes}}
	}

	return doc
}

// Sheets writes sheets for a terminal with the given number of columns, as Terminal does.
func Sheets(w io.Writer, list []Sheet, width int, color bool) error {
	var documents []document
	for _, sheet := range list {
		documents = append(documents, sheet.document())
	}

	return newTerminal(width, color).write(w, documents...)
}

// SheetsLaTeX returns the tables of sheets as floats, as LaTeX does. The closing sentences and the notes of a sheet
// follow its last table. The opening sentences are left out, as is a sheet without a table.
func SheetsLaTeX(list []Sheet) []byte {
	b := bytes.NewBufferString(texPreamble)
	written := map[string]int{} // tables, by the label of the sheet's title
	for _, sheet := range list {
		tables := sheet.tables()
		label := slug(sheet.Title)
		for k, t := range tables {
			var notes []string
			if k == len(tables)-1 {
				notes = slices.Concat(sheet.Closing, sheet.Notes)
			}

			written[label]++
			id := fmt.Sprintf("%s-%d", label, written[label])
			texTable{id: id, content: t, notes: notes}.write(b, sheet.Title)
		}
	}

	return b.Bytes()
}

// Listing is a table of texts without a title for a terminal, flush left. The first column labels the rows.
type Listing struct {
	Heads  []string   // of all columns, including the labels
	Rows   [][]string // one text for each of Heads
	Graded string     // heading of the column whose texts say a grade; "" if there is none

	// Grades has the grade of each row, and Colour says whether the terminal shows it in its colour.
	Grades []score.Grade
	Colour bool
}

// Add adds a row.
func (l *Listing) Add(cells ...string) { l.Rows = append(l.Rows, cells) }

// leaveOutEmpty removes the columns that are empty in all rows, except for the labels. It removes none without rows.
func (l *Listing) leaveOutEmpty() {
	for column := len(l.Heads) - 1; column > 0 && len(l.Rows) > 0; column-- {
		isFilled := func(cells []string) bool { return column < len(cells) && cells[column] != "" }
		if slices.ContainsFunc(l.Rows, isFilled) {
			continue
		}

		l.Heads = slices.Concat(l.Heads[:column], l.Heads[column+1:])
		l.Rows = slices.Clone(l.Rows)
		for i, cells := range l.Rows {
			if column < len(cells) {
				l.Rows[i] = slices.Concat(cells[:column], cells[column+1:])
			}
		}
	}
}

// Write writes the rows for a terminal with the given number of columns, as Terminal does. If width is 0, lines are as
// long as they need to be. Write leaves out columns that are empty in all rows.
func (l Listing) Write(w io.Writer, width int) error {
	l.leaveOutEmpty()

	t := newTerminal(width, l.Colour)
	if width <= 0 {
		t.columns = math.MaxInt32
	}

	list := table{Corner: l.Heads[0], open: true}
	list.addWordColumns(l.Heads[1:]...)
	for i, texts := range l.Rows {
		cells := make([]number, len(list.Heads))
		for k, text := range texts[1:] {
			cells[k].text = clean(text)
			if list.Heads[k].Name == l.Graded && i < len(l.Grades) {
				cells[k].grade = l.Grades[i]
			}
		}

		list.Rows = append(list.Rows, tableRow{Label: clean(texts[0]), Cells: cells})
	}

	t.writeTable(list)

	if _, err := io.WriteString(w, strings.TrimPrefix(t.b.String(), "\n")); err != nil {
		return fmt.Errorf("write listing: %w", err)
	}

	return nil
}

// CSV writes records as rows below a row with the names of the first record's members. All records must have the same
// members. The members of an object inside a record have columns too. Lists of texts are joined by "; ", NaN is an
// empty cell, and floats read back to the same bits.
func CSV(w io.Writer, records []numbers.Object) error {
	sheet := NewRecordWriter(w)
	sheet.Add(records)

	return sheet.Flush()
}

// RecordWriter writes CSV as function CSV does, in parts.
type RecordWriter struct {
	writer  *csv.Writer // keeps its errors for Flush
	hasHead bool
}

// NewRecordWriter returns a writer that has written nothing.
func NewRecordWriter(w io.Writer) *RecordWriter { return &RecordWriter{writer: csv.NewWriter(w)} }

// Add adds a row for each record.
func (r *RecordWriter) Add(records []numbers.Object) {
	for _, record := range records {
		head, cells := flat(record)
		if !r.hasHead {
			r.writer.Write(head)
			r.hasHead = true
		}

		r.writer.Write(cells)
	}
}

// Flush writes what is left, and returns the first error.
func (r *RecordWriter) Flush() error {
	r.writer.Flush()

	if err := r.writer.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}

	return nil
}

// flat returns the names and the texts of a record's members.
func flat(record numbers.Object) (head, cells []string) {
	head = make([]string, 0, len(record)/2)
	cells = make([]string, 0, len(record)/2)
	for name, member := range record.All() {
		text := ""
		switch value := member.(type) {
		case numbers.Object:
			names, texts := flat(value)
			head = append(head, names...)
			cells = append(cells, texts...)
			continue
		case float64:
			text = fullDigits(value)
		case *float64:
			if value != nil {
				text = fullDigits(*value)
			}
		case string:
			text = numbers.Harmless(value)
		case []string:
			text = numbers.Harmless(strings.Join(value, "; "))
		default:
			text = fmt.Sprint(value)
		}

		head = append(head, name)
		cells = append(cells, text)
	}

	return head, cells
}

// fullDigits writes a number so that it reads back to the same bits, and NaN as "".
func fullDigits(value float64) string {
	switch {
	case math.IsNaN(value):
		return ""
	case math.IsInf(value, 1):
		return "inf"
	case math.IsInf(value, -1):
		return "-inf"
	}

	return strconv.FormatFloat(value, 'g', -1, 64)
}
