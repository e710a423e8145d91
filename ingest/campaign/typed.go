package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// reading tells what cells that people typed do not show themselves.
type reading struct {
	missing []string // further texts for a value that is not there
	names   []string // columns whose cells are names, whatever they look like
	decimal byte     // sign that is stated; 0: the one that a column shows
	usual   byte     // sign where no column shows one; 0: not known
	codes   []string // numbers that are known to mean no value
	hint    string   // for a cell that does not fit
}

// typedColumn is a column of cells, as it is written and as it is read.
type typedColumn struct {
	condition.Column
	index   int
	name    string
	isName  bool     // of a table of results: its cells are names, whatever they look like
	texts   []string // by row, of a column of names of a table of results
	remarks bool     // a column with both names and numbers is a column of names
}

// place is that of a cell, for messages.
func (t *Texts) place(row int, c *typedColumn) string { return place(t.lines[row], c.index, c.name) }

// read reads columns, whose units are those of their headers. The sign that one of numbers shows is
// that of those that show none. It returns warnings of cells that may be meant otherwise.
func (t *Texts) read(cols []*typedColumn, o reading) (warnings []ingest.Warning) {
	cells := make([]condition.Cells, len(cols))
	var all []condition.Cells
	var texts []string // of one column
	for k, c := range cols {
		texts = t.Column(texts[:0], c.index)
		cells[k] = condition.ReadCells(texts, o.missing...)
		if !slices.Contains(o.names, c.name) {
			all = append(all, cells[k])
		}
	}

	decimal := cmp.Or(o.decimal, condition.Shown(all...), o.usual)
	for k, c := range cols {
		texts = t.Column(texts[:0], c.index)
		usual, _ := units.OfName(c.name)
		read, err := condition.NewColumn(texts, cells[k], condition.ColumnOptions{
			Missing: o.missing, Unit: c.Unit, Usual: usual.Text, Decimal: decimal,
			Names: slices.Contains(o.names, c.name),
		})

		var bad *condition.CellError
		switch {
		case errors.As(err, &bad) && c.remarks && cells[k].Named():
			continue
		case bad != nil:
			fault.Raise(fault.At(t.path, t.place(bad.Row, c), bad.Want, bad.Found, cmp.Or(bad.Hint, o.hint)))
		}

		c.Column = read
		warnings = append(warnings, t.otherwise(c, o)...)
	}

	return warnings
}

// otherwise warns of cells of a column that may be meant otherwise.
func (t *Texts) otherwise(c *typedColumn, o reading) (warnings []ingest.Warning) {
	add := func(row int, code, format string, args ...any) {
		warnings = append(warnings, ingest.Warn(t.path, code, "%s: %q %s", t.place(row, c), t.Text(row, c.index),
			fmt.Sprintf(format, args...)))
	}

	if i := c.Numeric; i >= 0 {
		add(i, "names-with-numbers", "begins with a number, but is none: the column is one of names")
	}

	if i := c.Thousands; i >= 0 {
		add(i, "thousands", "is read as %g, since the decimal sign is %q", c.Values[i], c.Decimal)
	}

	warnings = append(warnings, t.code(c, c.Code, o)...)

	if i := c.Bare; i >= 0 {
		add(i, "bare-number", "states no unit, but other cells do: it is read as %g %s", c.Values[i], c.Unit)
	}

	return warnings
}

// code warns of a number that may mean that there is none; row −1: of none.
func (t *Texts) code(c *typedColumn, row int, o reading) []ingest.Warning {
	known := func(code string) bool {
		v, _ := text.Number([]byte(code), condition.Point)
		return v == c.Values[row]
	}
	if row < 0 || slices.ContainsFunc(o.codes, known) {
		return nil
	}

	return []ingest.Warning{ingest.Warn(t.path, "missing-code", "%s: %v is far from all others: if it is a code for no "+
		"value, ingest: {missing: [%[2]v]}", t.place(row, c), c.Values[row])}
}

// readResults reads columns of a table of results: of numbers and of names; those without an index are none of the
// file. It returns what to warn of, and the table, without cells where programs wrote all numbers: it may have
// millions of rows.
func readResults(t *text.Reader, o TableOptions, cols []*typedColumn) (*Texts, []ingest.Warning) {
	info := t.Info()
	_, heads := t.Columns()
	cols = lists.Keep(cols, func(c *typedColumn) bool { return c.index >= 0 })
	rows, _ := t.Size()
	var names []*typedColumn
	var channels []int
	var values [][]float64
	tolerated := make([]bool, len(info.Channels))
	for _, c := range cols {
		if c.isName {
			c.texts, names = make([]string, 0, rows), append(names, c)
			continue
		}

		_, c.Unit = text.SplitUnit(heads[c.index])
		c.remarks = true
		for ch, of := range info.Channels {
			if t.Column(ch) == c.index {
				c.Unit, c.remarks, c.Values, tolerated[ch] = of.Unit, false, make([]float64, rows), true
				channels, values = append(channels, ch), append(values, c.Values)
			}
		}
	}

	t.Tolerate(tolerated)
	if len(channels) > 0 {
		_, err := t.Read(channels, 0, values)
		fault.Raise(err)
	}

	table := &Texts{Rows: int(rows), path: info.Path, lines: make([]int, 0, rows)}
	known := map[string]string{} // equal names are kept once
	fault.Raise(t.Rows(func(line int64, cells [][]byte) {
		table.lines = append(table.lines, int(line))
		for _, c := range names {
			name, ok := known[string(cells[c.index])]
			if !ok {
				if name = string(cells[c.index]); len(known) < maxKnown {
					known[name] = name
				}
			}

			c.texts = append(c.texts, name)
		}
	}))

	// Numbers that are none for programs are read as people write them.
	comma, german := strings.HasSuffix(info.Encoding, "decimal comma"), strings.HasPrefix(info.Encoding, "semicolon")
	hundreds := func(v float64) bool { return v >= 100 && v < 1000 && v == math.Trunc(v) } // 900 beside 1.200
	people := lists.Keep(cols, func(c *typedColumn) bool {
		return !c.isName && (comma || c.Values == nil || slices.ContainsFunc(c.Values, math.IsNaN) ||
			german && slices.ContainsFunc(c.Values, hundreds))
	})

	as := reading{
		names: o.Names, decimal: o.Decimal, codes: o.Missing,
		hint: "correct the cell; name the column under things where its cells are names",
	}

	var warnings []ingest.Warning
	for _, c := range cols {
		if !slices.Contains(people, c) {
			warnings = append(warnings, table.code(c, condition.Code(c.Values), as)...)
		}
	}

	if len(people) == 0 {
		return table, warnings
	}

	if !comma && !german {
		as.usual = condition.Point
	}

	table = readTexts(t)

	return table, append(warnings, table.read(people, as)...)
}
