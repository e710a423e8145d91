package role

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/ingest/vocabulary"
)

// A table of results has one row for each run, with columns of settings, at which rows are repeated, and columns of
// measured values. A table of pairs has two columns for each outcome: CT_1 and CT_2. Every other table is of samples in
// time: it has a clock or many rows, or no setting tells its rows apart. These bounds tell them apart.
const (
	MostRows    = 2000  // of a file of results
	mostResults = 20000 // rows of all files
	mostSamples = 100   // rows of a file of results with a clock, or with settings that scatter
	mostRepeats = 50    // rows of equal settings, in the median
	fewGroups   = 3     // of equal settings: results have at least as many
)

// ReadTables reads files of the folder dir into one sheet. source names the files for people. A column has the rows of
// all files, even if they write its header in different ways. The clock is the clock of the first file. ReadTables
// returns nil if there are no files, if one cannot be read, or if the files cannot be results.
func ReadTables(dir string, files []string, source string) *Sheet {
	if len(files) == 0 {
		return nil
	}

	s := &Sheet{Source: source}
	var tables []*campaign.Cells
	for i, file := range files {
		cells, err := campaign.ReadCells(filepath.Join(dir, file), MostRows)
		if err != nil || cells.Rows == 0 || s.Rows+cells.Rows > mostResults {
			return nil
		}

		if cells.Rows >= mostSamples && (cells.Clock != "" || areNumbered(cells.Columns)) {
			return nil
		}

		for k, name := range cells.Columns {
			if i == 0 || campaign.ColumnOf(NamesOf(s.Columns), name) < 0 {
				s.Columns = append(s.Columns, &Column{Name: name, Head: cells.Heads[k], Unit: cells.Units[name]})
			}
		}

		s.Rows += cells.Rows
		s.FileOf = append(s.FileOf, slices.Repeat([]int{i}, cells.Rows)...)
		s.Warnings = append(s.Warnings, cells.Warnings...)
		tables = append(tables, cells)
	}

	s.Clock = tables[0].Clock
	for _, column := range s.Columns {
		column.readCells(tables)
	}

	s.readNumbers()

	return s
}

// areNumbered reports whether the columns have only numbers as names. Loggers write such columns, and nothing shows
// which one is the clock.
func areNumbered(columns []string) bool {
	return !slices.ContainsFunc(columns, func(name string) bool { return !isWholeNumber(name) })
}

// isWholeNumber reports whether a text is a whole number.
func isWholeNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// readCells sets the texts of a column from the tables. A table without the column adds an empty text for each row, and
// the column is left out.
func (c *Column) readCells(tables []*campaign.Cells) {
	for _, cells := range tables {
		if k := campaign.ColumnOf(cells.Columns, c.Name); k >= 0 {
			c.Texts = cells.Column(c.Texts, k)
			continue
		}

		c.Texts = append(c.Texts, make([]string, cells.Rows)...)
		c.SetRole(LeftOut, "not all files have it")
	}
}

// readNumbers sets the values and units of the columns that are numbers, and leaves out columns in which only some
// cells are numbers.
func (s *Sheet) readNumbers() {
	var options []condition.ColumnOptions
	for _, column := range s.Columns {
		_, unit := text.SplitUnit(column.Head)
		usual, _ := units.OfName(cmp.Or(vocabulary.TermOf(column.Name, unit), column.Name))
		options = append(options, condition.ColumnOptions{Usual: usual.Text})
	}

	columns, errs := condition.ReadColumns(func(k int) []string { return s.Columns[k].Texts }, options)
	for k, column := range s.Columns {
		column.Values = columns[k].Values
		column.Unit = cmp.Or(columns[k].Unit, column.Unit)
		if errs[k] != nil && !column.isCalledText() {
			column.SetRole(LeftOut, errs[k].Error())
		}
	}
}

// isCalledText reports whether a column is called as things, days, times, remarks or numbers of runs, which may be
// texts.
func (c *Column) isCalledText() bool {
	return c.IsNumbered() ||
		c.HasWord(vocabulary.Things, vocabulary.Days, vocabulary.Clocks, vocabulary.Remarks)
}
