package scaffold

import (
	"fmt"
	"path/filepath"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/format/text"
	"doubletake/ingest/role"
	"doubletake/ingest/vocabulary"
)

// ofHeaders is the reason for a column of numbers from the headers of text files.
const ofHeaders = "the header of each file states it"

// addStatements adds to the sheet of the names the settings that the headers of all text files state and that differ
// between the files: "# AoA: 5.00 deg". The names of texts alone would make recordings of different settings repeats.
func (p *plan) addStatements(s *role.Sheet) {
	if p.Format != "text" || s.Pieces == nil || len(s.Files) < 2 || len(s.Files) > maxOpened {
		return
	}

	infos := make([]ingest.Info, len(s.Files))
	for i, file := range s.Files {
		info, err := readHeader(filepath.Join(p.dir, file))
		if err != nil || len(info.Attributes) == 0 {
			return
		}

		infos[i] = info
	}

	var added []string
	for _, attribute := range infos[0].Attributes {
		column := newStatementColumn(infos, attribute.Name)
		if column == nil {
			continue
		}

		if s.HasName(column.Name) {
			s.LeaveOutIfDifferent(column, func(row int) string { return fmt.Sprintf("the header of %s", s.Files[row]) })
			if column.Role != role.LeftOut {
				continue
			}
		} else {
			added = append(added, column.Name)
		}

		s.Columns = append(s.Columns, column)
	}

	if len(added) > 0 {
		p.note("the headers of the files state %s: conditions.csv holds the values", strings.Join(added, ", "))
	}
}

// newStatementColumn returns the column of a setting that the headers of all files state as a number and that differs
// between them, or nil if the attribute is not such a setting.
func newStatementColumn(infos []ingest.Info, attribute string) *role.Column {
	name, _ := text.SplitUnit(attribute)
	column := newAttributeColumn(name)
	column.Head = attribute
	column.Name = strings.Join(strings.FieldsFunc(column.Name, isNoLetter), "_")
	if column.IsAir() || column.IsNumbered() || !identifier.MatchString(column.Name) {
		return nil
	}

	stated := statedIn(infos, attribute, column.Name)
	if stated == nil || stated[0].IsName {
		return nil
	}

	column.SetStated(stated)
	isSetting := column.IsCondition || column.HasWord(vocabulary.Inputs) || column.RepeatsValues()
	if !isSetting || column.CountDistinct() < 2 {
		return nil
	}

	column.SetRole(role.Input, ofHeaders)

	return column
}

// isNoLetter reports whether a character cannot be a part of the name of a column.
func isNoLetter(r rune) bool { return !identifier.MatchString("a" + string(r)) }
