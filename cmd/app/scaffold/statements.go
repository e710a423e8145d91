package scaffold

import (
	"fmt"
	"path/filepath"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/format/text"
	"doubletake/ingest/vocabulary"
)

// ofHeaders is the reason for a column of numbers from the headers of text files.
const ofHeaders = "the header of each file states it"

// addStatements adds to the sheet of the names the settings that the headers of all text files state and that differ
// between the files: "# AoA: 5.00 deg". The names of texts alone would make recordings of different settings repeats.
func (p *plan) addStatements(s *sheet) {
	if p.Format != "text" || s.pieces == nil || len(s.files) < 2 || len(s.files) > maxOpened {
		return
	}

	infos := make([]ingest.Info, len(s.files))
	for i, file := range s.files {
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

		if s.hasName(column.name) {
			s.leaveOutIfDifferent(column, func(row int) string { return fmt.Sprintf("the header of %s", s.files[row]) })
			if column.role != leftOut {
				continue
			}
		} else {
			added = append(added, column.name)
		}

		s.fields = append(s.fields, column)
	}

	if len(added) > 0 {
		p.note("the headers of the files state %s: conditions.csv holds the values", strings.Join(added, ", "))
	}
}

// newStatementColumn returns the column of a setting that the headers of all files state as a number and that differs
// between them, or nil if the attribute is not such a setting.
func newStatementColumn(infos []ingest.Info, attribute string) *field {
	name, _ := text.SplitUnit(attribute)
	column := newAttributeColumn(name)
	column.head = attribute
	column.name = strings.Join(strings.FieldsFunc(column.name, isNoLetter), "_")
	if column.isAir() || column.isNumbered() || !identifier.MatchString(column.name) {
		return nil
	}

	stated := statedIn(infos, attribute, column.name)
	if stated == nil || stated[0].IsName {
		return nil
	}

	column.setStated(stated)
	isSetting := column.isCondition || column.hasWord(vocabulary.Inputs) || column.repeatsValues()
	if !isSetting || column.countDistinct() < 2 {
		return nil
	}

	column.setRole(input, ofHeaders)

	return column
}

// isNoLetter reports whether a character cannot be a part of the name of a column.
func isNoLetter(r rune) bool { return !identifier.MatchString("a" + string(r)) }
