package scaffold

import (
	"fmt"
	"path/filepath"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/role"
)

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
		column := role.ReadHeaderSetting(infos, attribute.Name)
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
