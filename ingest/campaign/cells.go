package campaign

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
)

// Cells holds the cells of a table in one text, since there may be very many. All rows have the same number of cells.
type Cells struct {
	Columns []string          // names
	Heads   []string          // headers as they are written
	Clock   string            // the column that holds the time; "": none does
	Units   map[string]string // of columns of numbers, as their headers state them
	Rows    int

	Warnings []ingest.Warning // about the header

	path      string
	lineOf    []int           // of each row, the number of its line
	content   strings.Builder // the cells of all rows, one behind the other
	rowBegins []int           // of each row, its offset in content
	cellEnds  []uint32        // of each cell, row by row: its end, as an offset from the beginning of its row
}

// newCells returns the cells of a table without its rows: the names and headers of the columns.
func newCells(reader *text.Reader) *Cells {
	rows, _ := reader.Size()
	info := reader.Info()
	t := &Cells{path: info.Path, Warnings: info.Warnings, lineOf: make([]int, 0, rows)}
	t.Columns, t.Heads = reader.Columns()

	return t
}

// read adds the cells of all rows.
func (t *Cells) read(reader *text.Reader) error {
	rows, size := reader.Size()
	columns := len(t.Columns)
	t.rowBegins = make([]int, 0, rows)
	t.cellEnds = make([]uint32, 0, min(int(rows)*columns, int(size)+columns)) // each cell has a delimiter behind it
	t.content.Grow(int(size))

	return reader.Rows(nil, nil, func(line int64, cells [][]byte) {
		t.rowBegins = append(t.rowBegins, t.content.Len())
		t.lineOf = append(t.lineOf, int(line))
		n := 0
		for _, c := range cells {
			t.content.Write(c)
			n += len(c)
			t.cellEnds = append(t.cellEnds, uint32(n))
		}

		t.Rows++
	})
}

// ReadCells reads all cells of a table. If the table has more than most rows, it reads no cells: Rows is 0, and Units
// and Clock may not be complete.
func ReadCells(path string, most int64) (*Cells, error) {
	reader, err := openText(TableFile{Path: path}, ingest.TextOptions{})
	if err != nil {
		return nil, err
	}
	defer reader.Close()

	c := newCells(reader)
	c.Units = map[string]string{}
	for _, ch := range reader.Info().Channels {
		c.Units[ch.Name] = ch.Unit
		if ch.IsTime() {
			c.Clock = ch.Name
		}

		if ch.Samples > most {
			return c, nil
		}
	}

	if err := c.read(reader); err != nil {
		return nil, err
	}

	return c, nil
}

// NewCells returns a table whose cells are known: cell returns the text of each. names and units belong to the columns.
func NewCells(path string, names, units []string, rows int, cell func(row, column int) string) *Cells {
	t := &Cells{Columns: names, Heads: names, Units: map[string]string{}, Rows: rows, path: path}
	for k, name := range names {
		t.Units[name] = units[k]
	}

	for row := range rows {
		begin := t.content.Len()
		t.rowBegins = append(t.rowBegins, begin)
		t.lineOf = append(t.lineOf, row+1)
		for column := range names {
			t.content.WriteString(cell(row, column))
			t.cellEnds = append(t.cellEnds, uint32(t.content.Len()-begin))
		}
	}

	return t
}

// Text returns a cell by the indices of its row and column.
func (t *Cells) Text(row, column int) string {
	ends := t.cellEnds[row*len(t.Columns):][:len(t.Columns)]
	begin := uint32(0)
	if column > 0 {
		begin = ends[column-1]
	}

	return t.content.String()[t.rowBegins[row]:][begin:ends[column]]
}

// Column appends the cells of a column to dst.
func (t *Cells) Column(dst []string, column int) []string {
	dst = slices.Grow(dst, t.Rows)
	for k := range t.Rows {
		dst = append(dst, t.Text(k, column))
	}

	return dst
}

// cellOptions tell how to read cells that people typed.
type cellOptions struct {
	condition.ColumnOptions                          // of all columns
	names                   []string                 // columns whose cells are names, whatever they look like
	isName                  func(column string) bool // finds further such columns; nil: none
	codes                   []float64                // numbers that are known to mean no value
	hint                    string                   // for a cell that does not fit
}

// typedColumn is a column of a table as it is written. The embedded Column is what was read: its Values are nil in a
// column of names.
type typedColumn struct {
	condition.Column
	index   int // in the table; −1: the file gives one value for all rows
	name    string
	isName  bool     // in a table of results: the cells are names, whatever they look like
	texts   []string // by row, if isName; nil otherwise
	remarks bool     // a column with both names and numbers is a column of names
}

// isOfFile reports whether the column is not in the table, since the file gives one value for all rows.
func (c *typedColumn) isOfFile() bool { return c.index < 0 }

// place returns the place of a cell, for messages.
func (t *Cells) place(row int, column *typedColumn) string {
	return describeCell(t.lineOf[row], column.index, column.name)
}

// readTyped reads columns in the units of their headers, and sets the Column of each. It returns warnings of cells
// that may have another meaning.
func (t *Cells) readTyped(columns []*typedColumn, r cellOptions) ([]ingest.Warning, error) {
	options := make([]condition.ColumnOptions, len(columns))
	for k, column := range columns {
		usual, _ := units.OfName(column.name)
		options[k] = r.ColumnOptions
		options[k].Unit = column.Unit
		options[k].Usual = usual.Text
		options[k].Remarks = column.remarks
		options[k].Names = slices.Contains(r.names, column.name) || r.isName != nil && r.isName(column.name)
	}

	var texts []string // of one column
	read, errs := condition.ReadColumns(func(k int) []string {
		texts = t.Column(texts[:0], columns[k].index)
		return texts
	}, options)

	var warnings []ingest.Warning
	for k, column := range columns {
		if bad, ok := errors.AsType[*condition.CellError](errs[k]); ok {
			return nil, fault.At(t.path, t.place(bad.Row, column), bad.Want, bad.Found, cmp.Or(bad.Hint, r.hint))
		}

		column.Column = read[k]
		warnings = append(warnings, t.warnOfDoubts(column, r.codes)...)
	}

	return warnings, nil
}

// warnOfDoubts warns of cells of a column that may have another meaning, except of codes that are known.
func (t *Cells) warnOfDoubts(column *typedColumn, codes []float64) []ingest.Warning {
	var warnings []ingest.Warning
	for _, d := range column.Doubts {
		if d.Code != "missing-code" || !slices.Contains(codes, column.Values[d.Row]) {
			warnings = append(warnings, ingest.Warn(t.path, d.Code, "%s: %s", t.place(d.Row, column), d.Text))
		}
	}

	return warnings
}

// mostKnown bounds the names that are kept to be given again.
const mostKnown = 1 << 16

// keptNames shares the memory of names that occur again and again.
type keptNames map[string]string

// keep returns a name as a string, which equal names share.
func (k keptNames) keep(name []byte) string {
	kept, known := k[string(name)]
	if known {
		return kept
	}

	kept = string(name)
	if len(k) < mostKnown {
		k[kept] = kept
	}

	return kept
}
