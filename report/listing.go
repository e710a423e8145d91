package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"doubletake/train/numbers"
)

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
