package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
)

// readCells reads the header and the cells of all rows.
func (t *conditionsTable) readCells(path string, b []byte) error {
	hasForm := func(form condition.Form) func(cell string) bool {
		return func(cell string) bool { return condition.Read(cell, t.Missing...).Form == form }
	}
	reader, err := text.OpenLog(path, b, text.Log{
		Header: func(cell string) bool { return t.nameFor(cell) == "file" },
		Rows:   []func(string) bool{t.isFile, t.isFileNumber},
		Number: hasForm(condition.Number), Missing: hasForm(condition.Missing),
	})
	if err != nil {
		return err
	}

	line, unitTexts := reader.Header()
	t.headLine = int(line)
	t.Cells = newCells(reader)
	if err := t.Cells.read(reader); err != nil {
		return err
	}

	for i, unit := range unitTexts {
		t.columns = append(t.columns, &typedColumn{index: i, Column: condition.Column{Unit: unit}})
	}

	if reader.Info().Encoding == "comma separated" { // then the decimal sign is not a comma
		t.defaultDecimal = condition.Point
	}

	return nil
}

// isFile reports whether a cell names a recording.
func (t *conditionsTable) isFile(cell string) bool {
	return cell != "" && !isGlob(cell) && len(t.index.filesNamed(cell)) > 0
}

// isFileNumber reports whether a cell is a whole number that exactly one recording has in its name: 17 means
// rec_0017.wav.
func (t *conditionsTable) isFileNumber(cell string) bool { return len(t.index.fileNumbered(cell)) > 0 }

// findColumns names the columns and finds the special ones: the files, the channels, and the edges of intervals. It
// returns an error if no column names files, or if the options name a column that the table does not have.
func (t *conditionsTable) findColumns() error {
	indices, err := t.nameColumns()
	if err != nil {
		return err
	}

	for _, name := range slices.Concat(slices.Sorted(maps.Keys(t.LogOptions.Columns)), t.Ignore) {
		if _, isThere := indices[name]; isThere {
			continue
		}

		want := fmt.Sprintf("a column %q, which log.ignore names", name)
		if head, ok := t.LogOptions.Columns[name]; ok {
			want = fmt.Sprintf("a column %q, which log.columns calls %s", head, name)
		}

		return t.fail(t.headLine, wholeLine, "", want, "only "+fault.Quoted(t.Heads), "")
	}

	hint := ""
	if t.special["file"] == nil {
		t.special["file"] = t.findFileColumn()
		if len(t.Files) > 0 {
			hint = "no cell names a recording; name the column with log: {columns: {file: …}}"
		}
	}

	if t.special["file"] == nil {
		return t.fail(t.headLine, wholeLine, "", `a column "file"`, "only "+fault.Quoted(t.Heads), hint)
	}

	first := t.Heads[t.special["file"].index]
	if t.isFile(first) {
		return t.fail(t.headLine, wholeLine, "", "a header", fmt.Sprintf("a row, of %q", first),
			"name the columns in a first line")
	}

	if t.hasAny(sampleEdges) && t.hasAny(secondEdges) {
		return t.fail(t.headLine, wholeLine, "", "intervals in rows or in seconds", "both (row0, row1 and t0_s, t1_s)", "")
	}

	return nil
}

// nameColumns sets the names of the columns and the special columns. It returns the indices of the columns by name. It
// returns an error if two columns have one name, or if a column of values has none.
func (t *conditionsTable) nameColumns() (map[string]int, error) {
	t.special = map[string]*typedColumn{}
	indices := map[string]int{}
	for i, head := range t.Heads {
		if head == "" {
			cells := t.Column(nil, i)
			switch {
			case !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" }): // nothing to name
			case areRemarks(cells):
				t.remarks = append(t.remarks, i)
			default:
				return nil, t.fail(t.headLine, i, "", "a name", "an empty header",
					"name the column; of merged cells each needs its own")
			}

			continue
		}

		name := t.nameFor(head)
		if first, isThere := indices[name]; isThere {
			return nil, t.fail(t.headLine, i, name, "names that differ",
				fmt.Sprintf("%q again, as in column %d", name, first+1), "")
		}

		indices[name] = i
		t.columns[i].name = name
		role := strings.ToLower(name)
		isEdge := slices.Contains(sampleEdges, role) || slices.Contains(secondEdges, role)
		isSpecial := role == "file" || role == "channel" || isEdge
		if isSpecial && t.special[role] == nil {
			t.special[role] = t.columns[i]
		}
	}

	return indices, nil
}

// areRemarks reports whether the cells of a column without a name are remarks, not values: at least one is a text, none
// is a number, and most are empty or differ from the others.
func areRemarks(cells []string) bool {
	seen := map[string]int{}
	for _, cell := range cells {
		if cell == "" {
			continue
		}

		if condition.Read(cell).Form == condition.Number {
			return false
		}

		seen[cell]++
	}

	filled := 0
	for _, n := range seen {
		filled += n
	}

	return len(seen) > 0 && (2*filled <= len(cells) || 2*len(seen) > filled)
}

// nameFor returns the name of the column with a header: the name that the options give it, otherwise the header
// without its unit.
func (t *conditionsTable) nameFor(head string) string {
	bare, _ := text.SplitUnit(head)
	for _, name := range slices.Sorted(maps.Keys(t.LogOptions.Columns)) {
		header := t.LogOptions.Columns[name]
		if strings.EqualFold(header, head) || strings.EqualFold(header, bare) {
			return name
		}
	}

	if strings.EqualFold(bare, "file") {
		return "file"
	}

	return bare
}

// findFileColumn returns the column that names the recordings if no column is called file: the column with the most
// cells that name a recording, otherwise with the most numbers of recordings. It returns nil if no cell does.
func (t *conditionsTable) findFileColumn() *typedColumn {
	for _, namesFile := range []func(string) bool{t.isFile, t.isFileNumber} {
		var best *typedColumn
		most := 0
		for _, column := range t.columns {
			count := 0
			for k := range t.Rows {
				if namesFile(t.Text(k, column.index)) {
					count++
				}
			}

			if count > most {
				most = count
				best = column
			}
		}

		if best != nil {
			return best
		}
	}

	return nil
}

// hasAny reports whether one of the special columns is there.
func (t *conditionsTable) hasAny(special []string) bool {
	return slices.ContainsFunc(special, func(name string) bool { return t.special[name] != nil })
}

// readColumns reads the columns that are not special as conditions or labels, and the columns of seconds as numbers.
// The other special columns are read row by row.
func (t *conditionsTable) readColumns() ([]ingest.Warning, error) {
	special := slices.Collect(maps.Values(t.special))
	var columns []*typedColumn
	for _, column := range t.columns {
		inSeconds := column == t.special["t0_s"] || column == t.special["t1_s"]
		isIgnored := column.name == "" || slices.Contains(t.Ignore, column.name)
		if inSeconds || !isIgnored && !slices.Contains(special, column) {
			columns = append(columns, column)
		}
	}

	warnings, err := t.readTyped(columns, cellOptions{
		ColumnOptions: condition.ColumnOptions{Missing: t.Missing, Decimal: t.Decimal, Default: t.defaultDecimal},
		names:         t.Names,
		isName:        t.IsName,
		hint:          "correct the cell, or name its text under log: {missing: […]} if it is no value",
	})
	if err != nil {
		return nil, err
	}

	for _, column := range columns {
		if !unitHeader.MatchString(column.name) {
			continue // before its cells are copied, since there may be very many rows
		}

		distinct := unitsOf(column.name, t.Column(nil, column.index))
		if len(distinct) > 1 {
			return nil, t.fail(t.headLine, column.index, column.name, "one unit in all rows", fault.Quoted(distinct),
				"write the units behind the numbers, or log: {ignore: [NAME]} if they are not those of a condition")
		}
	}

	var names []*typedColumn
	for _, column := range columns {
		switch {
		case slices.Contains(special, column): // in seconds
		case column.Values == nil:
			names = append(names, column)
		default:
			t.stating = append(t.stating, column)
		}
	}

	t.stating = append(t.stating, names...)

	return warnings, nil
}
