package role

import (
	"fmt"
	"slices"

	"doubletake/ingest/condition"
	"doubletake/ingest/vocabulary"
	"doubletake/internal/lists"
)

// AddNames adds a column for each part of the names of files. fileOf is the index of the file of each row. It
// adds no part that a column states already, in the same writing or another: MF8045 beside MF 8045. A part that
// contradicts the column of its name is left out.
func (s *Sheet) AddNames(names *Sheet, fileOf []int) {
	for _, part := range names.Columns {
		column := &Column{
			Name: part.Name, Head: part.Head, FromName: true, reading: part.reading, ofRuns: part.ofRuns,
			Values: lists.Pick(part.Values, fileOf), Texts: lists.Pick(part.Texts, fileOf),
		}
		if slices.ContainsFunc(s.Columns, column.isSame) {
			continue
		}

		isOfLog := !s.isOfResults()
		switch {
		case s.HasName(column.Name):
			s.LeaveOutIfDifferent(column, func(row int) string { return names.Files[fileOf[row]] })
		case part.Values == nil: // the sheet decides on texts
		case isOfLog && column.hasNoWord():
			column.SetRole(Run, "a number without a word, besides a log")
		case part.Role != Input && !part.HasWord(vocabulary.Days): // and on inputs and days
			column.SetRole(part.Role, part.Why)
		}

		s.Columns = append(s.Columns, column)
	}
}

// isSame reports whether another column states the same in each row, in the same writing or another.
func (c *Column) isSame(other *Column) bool {
	isSameNumbers := c.Values != nil && slices.Equal(other.Values, c.Values)
	if isSameNumbers || slices.Equal(other.Texts, c.Texts) {
		return true
	}

	return c.Values == nil && other.Values == nil && slices.EqualFunc(other.Texts, c.Texts, isAlike)
}

// isAlike reports whether texts are equal, or differ only in their writing.
func isAlike(a, b string) bool { return a == b || len(condition.Alike([]string{a, b})) > 0 }

// LeaveOutIfDifferent leaves out a new column if the sheet's column of its name states something else in a row, and
// reports whether it does. The sheet must have such a column. source returns what states the new column in a row.
func (s *Sheet) LeaveOutIfDifferent(column *Column, source func(row int) string) bool {
	known := s.ByName(column.Name)
	for row := range s.Rows {
		if known.Cell(row) != column.Cell(row) {
			column.SetRole(LeftOut, fmt.Sprintf("a column has its name; %s states %s, the column %s",
				source(row), column.Cell(row), known.Cell(row)))

			return true
		}
	}

	return false
}
