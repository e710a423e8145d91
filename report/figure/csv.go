package figure

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
)

// CSV returns the numbers behind the figure, one row per point of each mark. Numbers read
// back to the same bits. Absent and infinite numbers are empty.
func (f *Figure) CSV() []byte {
	rows := [][]string{{
		"panel", "series", "x_quantity", "y_quantity", "x", "y", "lo", "hi", "z", "z_quantity", "text",
	}}
	for i := range f.Panels {
		panel := &f.Panels[i]
		for k := range panel.Marks {
			rows = append(rows, panel.csvRows(&panel.Marks[k])...)
		}
	}

	var b bytes.Buffer
	_ = csv.NewWriter(&b).WriteAll(rows) // cannot fail: it writes to memory

	return b.Bytes()
}

// csvRows returns the rows of a mark. The columns z and z_quantity are always empty: scripts count columns, and no
// figure has a third axis any more.
func (p *Panel) csvRows(mark *Mark) [][]string {
	rows := make([][]string, max(len(mark.X), len(mark.Y), len(mark.Lo)))
	for i := range rows {
		text := ""
		if i < len(mark.Text) {
			text = mark.Text[i]
		}

		rows[i] = []string{
			notFormula(p.Title), notFormula(mark.Name), notFormula(p.X.Label), notFormula(p.Y.Label),
			csvNumber(mark.X, i), csvNumber(mark.Y, i), csvNumber(mark.Lo, i), csvNumber(mark.Hi, i), "", "", notFormula(text),
		}
	}

	return rows
}

// csvNumber writes number i in full digits. It returns "" if the list is shorter or the number is not finite.
func csvNumber(values []float64, i int) string {
	if i >= len(values) || !finite(values[i]) {
		return ""
	}
	return strconv.FormatFloat(values[i], 'g', -1, 64)
}

// notFormula returns a text that a spreadsheet does not take for a formula: it adds an apostrophe if necessary.
func notFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
