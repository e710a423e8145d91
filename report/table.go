package report

import (
	"slices"
	"strconv"

	"doubletake/internal/lists"
	"doubletake/train/score"
)

// table is rows of cells under named columns. tables.go decides the contents of a table; terminal.go, markdown.go,
// latex.go and page.html.tmpl write it.
type table struct {
	Title  string // a few words; "" if there is none
	Corner string // heading of the column of labels
	Heads  []columnHead
	Rows   []tableRow
	Below  string   // a sentence below the table in all formats; "" if there is none
	lines  []string // sentences that only a terminal writes below, each on lines of its own
	open   bool     // a terminal draws no rule below the heads
}

// trainHead is the heading of the columns of the training part.
const trainHead = "train"

// columnHead is the heading of a column.
type columnHead struct {
	Group string // heading over neighbouring columns of the same group; "" if there is none
	Name  string
	Words bool // cells are words, set flush left
}

// tableRow is a label with the cells of all columns.
type tableRow struct {
	Label string
	Cells []number // of numbers, words and grades; one for each of Heads
}

// addNumberColumns adds columns of numbers under the heading of a group, which is "" for columns without a group.
func (t *table) addNumberColumns(group string, names ...string) {
	for _, name := range names {
		t.Heads = append(t.Heads, columnHead{Group: group, Name: name})
	}
}

// addWordColumns adds columns of words, which are set flush left.
func (t *table) addWordColumns(names ...string) {
	for _, name := range names {
		t.Heads = append(t.Heads, columnHead{Name: name, Words: true})
	}
}

// addRow adds a row. It cuts a long label.
func (t *table) addRow(label string, cells ...number) {
	t.Rows = append(t.Rows, tableRow{Label: shorten(clean(label), longName), Cells: cells})
}

// isEmpty reports whether the table has no rows or no columns.
func (t table) isEmpty() bool { return len(t.Rows) == 0 || len(t.Heads) == 0 }

// wordsCell returns a cell of words that data or a user may have chosen: it cleans them, and cuts long ones.
func wordsCell(text string) number { return number{text: shorten(clean(text), longName)} }

// gradeCell returns a cell with the name of a grade.
func gradeCell(grade score.Grade) number { return number{text: string(grade), grade: grade} }

// countCell writes a whole number.
func countCell(n int) number { return number{text: strconv.Itoa(n)} }

// columnGroup is a run of columns under one heading, or a column without a heading.
type columnGroup struct {
	Head    string
	Columns []columnHead
	first   int // index of the first column
}

// Groups returns the columns in groups.
func (t table) Groups() []columnGroup {
	var groups []columnGroup
	for k, head := range t.Heads {
		last := len(groups) - 1
		if last >= 0 && head.Group != "" && groups[last].Head == head.Group {
			groups[last].Columns = append(groups[last].Columns, head)
			continue
		}

		groups = append(groups, columnGroup{Head: head.Group, Columns: []columnHead{head}, first: k})
	}

	return groups
}

// Grouped reports whether any column has the heading of a group.
func (t table) Grouped() bool {
	for _, head := range t.Heads {
		if head.Group != "" {
			return true
		}
	}

	return false
}

// withoutTrainSpread returns the table without the spreads of the numbers on the training part.
func (t table) withoutTrainSpread() table {
	rows := make([]tableRow, len(t.Rows))
	for i, row := range t.Rows {
		cells := slices.Clone(row.Cells)
		for k := range cells {
			if t.Heads[k].Name == trainHead {
				cells[k].std = ""
			}
		}

		rows[i] = tableRow{row.Label, cells}
	}

	t.Rows = rows

	return t
}

// columnRange returns the table with the columns from first to end−1.
func (t table) columnRange(first, end int) table {
	var kept []int
	for k := first; k < end; k++ {
		kept = append(kept, k)
	}

	return t.columns(kept)
}

// without returns the table without the columns that have the given name.
func (t table) without(name string) table {
	var kept []int
	for k, head := range t.Heads {
		if head.Name != name {
			kept = append(kept, k)
		}
	}

	return t.columns(kept)
}

// columns returns the table with the columns of the given numbers.
func (t table) columns(kept []int) table {
	t.Heads = lists.Pick(t.Heads, kept)
	rows := make([]tableRow, len(t.Rows))
	for i, all := range t.Rows {
		rows[i] = tableRow{all.Label, lists.Pick(all.Cells, kept)}
	}

	t.Rows = rows

	return t
}

// breakAtWidth divides the columns of a table over tables that are no wider than room, each with the labels. width
// returns the width of a table's columns. breakAtWidth keeps the columns of a group together, unless the group alone is
// too wide. A single column may exceed room.
func (t table) breakAtWidth(room float64, width func(table) float64) []table {
	var parts []table

	first := 0 // first column of the part that is being filled
	for start := 0; start < len(t.Heads); {
		end := start + 1 // the columns from start to end−1 stay together
		for end < len(t.Heads) && t.Heads[start].Group != "" && t.Heads[end].Group == t.Heads[start].Group {
			end++
		}

		if width(t.columnRange(start, end)) > room {
			end = start + 1
		}

		if first < start && width(t.columnRange(first, end)) > room {
			parts = append(parts, t.columnRange(first, start))
			first = start
		}

		start = end
	}

	return append(parts, t.columnRange(first, len(t.Heads)))
}
