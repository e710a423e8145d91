package role

import (
	"encoding/csv"
	"slices"
	"strings"

	"doubletake/ingest/campaign"
	"doubletake/ingest/condition"
)

// Pattern returns the pattern that reads the conditions from all names, or "" if there is none. It is the first name
// with a field in place of each piece that differs, from the last folder before the first field.
func (s *Sheet) Pattern() string {
	name := s.Files[0]
	written := ""
	end := 0
	for _, p := range s.Pieces[0] {
		column := s.byHead(p.Key)
		if column == nil || column.CountDistinct() < 2 {
			continue
		}

		written += name[end:p.TextBegin] + "{" + column.patternField() + "}"
		end = p.TextEnd
	}

	written += name[end:]
	if i := strings.IndexByte(written, '{'); i >= 0 {
		written = written[strings.LastIndexByte(written[:i], '/')+1:]
	}

	pattern, err := campaign.ParsePattern(written)
	if err != nil || !s.isReadBy(pattern) {
		return ""
	}

	return written
}

// patternField returns the field of a pattern that reads a column: "_" of a column that is not a condition, and the
// name with the type of texts.
func (c *Column) patternField() string {
	isCondition := c.Role == Input || c.Role == Thing || c.Role == Day
	switch {
	case !isCondition:
		return "_"
	case c.Values == nil || c.Role != Input:
		return c.Name + ":text"
	}

	return c.Name
}

// isReadBy reports whether a pattern reads all inputs and things that vary from all names, with the values of the
// sheet. Things that some names do not state are not read.
func (s *Sheet) isReadBy(pattern *campaign.Pattern) bool {
	varying := 0
	for _, column := range s.WithRole(Input, Thing) {
		isStated := column.Role == Input || !slices.Contains(column.Texts, "")
		if isStated && column.CountDistinct() > 1 {
			varying++
		}
	}

	for row, file := range s.Files {
		stated, err := pattern.Match(file)
		if err != nil || len(stated) < varying {
			return false
		}

		for _, c := range stated {
			column := s.ByName(c.Column)
			if column == nil || !column.states(row, c) { // braces in a name of a file look like a field
				return false
			}
		}
	}

	return true
}

// states reports whether the column has the stated name or number in a row.
func (c *Column) states(row int, stated condition.Condition) bool {
	if stated.IsName {
		return c.Texts[row] == stated.Name
	}

	return c.Values[row] == stated.Value
}

// ConditionsTable returns the text of conditions.csv: a row for each file with its inputs, things and days. Things and
// days that a row does not state are left out, since every row must state them.
func (s *Sheet) ConditionsTable() string {
	var columns []*Column
	for _, column := range s.WithRole(Input, Thing, Day) {
		if column.Role == Input || !slices.Contains(column.Texts, "") {
			columns = append(columns, column)
		}
	}

	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(append([]string{"file"}, NamesOf(columns)...)) // a strings.Builder takes every text
	for i, file := range s.Files {
		row := []string{file}
		for _, column := range columns {
			if column.Values != nil && column.Role != Day {
				row = append(row, Decimal(column.Values[i]))
			} else {
				row = append(row, column.Texts[i])
			}
		}

		_ = w.Write(row)
	}

	w.Flush()

	return b.String()
}
