package campaign

import (
	"bytes"
	"regexp"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
)

// LogOptions tell how to read a table of conditions that people typed.
type LogOptions struct {
	// Files are the recordings: with them, the column that names them may have any name, and lines may come before the
	// header. nil: the column is called file.
	Files   []string
	Columns map[string]string        // headers by name: {"rpm": "Drehzahl [1/min]"}
	Missing []string                 // further texts that mean no value
	Ignore  []string                 // names of columns that are not conditions
	Names   []string                 // of columns whose cells are names, whatever they look like
	IsName  func(column string) bool // finds further such columns; nil: none
	Decimal byte                     // decimal sign of numbers that do not show it; 0: not known
	// Units are the units of conditions by name, which replace the units of the headers. Values are turned into the units
	// of the names. nil: values stay as they are.
	Units     map[string]string
	Spellings condition.Spellings // of names in cells
}

// maxConditions is the greatest size of a table in bytes, since it is held in memory.
const maxConditions = 64 << 20

// ReadLog reads a delimited table with a header, in UTF-8, UTF-16 or Windows-1252, with decimal
// points or commas, units in brackets or in a row below the header. A column `file` names the
// recordings: an exact path, the trailing part of one (base name) or a glob; with or without its
// ending, in any letter case. `channel` (number from 1, or name), `row0`, `row1` (samples, row0 ≤
// row < row1) or `t0_s`, `t1_s` (seconds from the first sample) are optional; empty cells mean
// all channels, the beginning, the end. Every other column is a condition if its cells are finite
// numbers or state no value ("n/a"), and a label if none is a number. A column with both is a
// *fault.Error, as are ragged and missing rows.
func ReadLog(path string, options LogOptions) (*Conditions, error) {
	b, err := fault.ReadFile(path, maxConditions, "a table of conditions")
	if err != nil {
		return nil, ingest.PathError(path, err)
	}

	return ParseConditions(path, b, options)
}

// conditionsTable is a table of conditions while it is read: readCells cuts it into cells, findColumns finds the
// special columns, readColumns reads the others, and readRows makes a ConditionRow of each row.
type conditionsTable struct {
	LogOptions
	*Cells         // below the header
	headLine       int
	defaultDecimal byte // decimal sign of numbers in columns that do not show it; 0: not known

	index   *fileIndex // of Files
	columns []*typedColumn
	remarks []int                   // indices of columns without a name whose cells are remarks
	special map[string]*typedColumn // the columns file, channel and of edges, as far as they are there
	stating []*typedColumn          // what rows state: columns of numbers, then columns of names
}

// The columns of the first and the last edge of an interval, in samples and in seconds.
var (
	sampleEdges = []string{"row0", "row1"}
	secondEdges = []string{"t0_s", "t1_s"}
)

// ParseConditions does the same as ReadLog with the bytes of a file.
func ParseConditions(path string, b []byte, options LogOptions) (*Conditions, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fault.At(path, "", "a header and rows", "an empty file", "")
	}

	if err := ingest.NoTable(path, b); err != nil {
		return nil, err
	}

	b, err := text.Normalise(path, b)
	if err != nil {
		return nil, err
	}

	t := &conditionsTable{LogOptions: options, index: newFileIndex(options.Files)}
	if err := t.readCells(path, b); err != nil {
		return nil, err
	}

	if err := t.findColumns(); err != nil {
		return nil, err
	}

	warnings, err := t.readColumns()
	if err != nil {
		return nil, err
	}

	table := &Conditions{Path: path, Units: map[string]string{}, Warnings: warnings, Converted: map[string]string{}}
	if err := t.takeColumns(table); err != nil {
		return nil, err
	}

	if err := t.readRows(table); err != nil {
		return nil, err
	}

	table.Warnings = append(table.Warnings, t.warnOfHeadings(b)...)
	for _, i := range t.remarks {
		table.Warnings = append(table.Warnings, ingest.Warn(path, "unnamed-column",
			"column %d has no name: its texts are taken for remarks; name it if it is a condition", i+1))
	}

	return table, nil
}

// takeColumns puts the names and units of the columns of conditions and labels into the table. It converts conditions
// to the units of their names.
func (t *conditionsTable) takeColumns(table *Conditions) error {
	for _, column := range t.stating {
		if column.Values == nil {
			table.Labels = append(table.Labels, column.name)
			continue
		}

		table.Names = append(table.Names, column.name)
		if t.LogOptions.Units != nil {
			conversion, err := Convert(table.Path, column.name, column.name, column.Unit, t.LogOptions.Units, column.Values)
			if err != nil {
				return err
			}

			if conversion.Original != "" {
				column.Unit = conversion.Unit
				table.Converted[column.name] = conversion.String()
			}
		}

		if column.Unit != "" {
			table.Units[column.name] = column.Unit
		}
	}

	return nil
}

// headingComment matches a comment that states something: # alpha = 5.
var headingComment = regexp.MustCompile(`^#\s*(\pL[^=:]*?)\s*[=:]\s*(.+?)[\s,;]*$`)

// warnOfHeadings warns of comments between the rows that state several values of one thing, as headings do. b is the
// table in UTF-8.
func (t *conditionsTable) warnOfHeadings(b []byte) []ingest.Warning {
	stated := map[string]string{}
	number := 0
	for line := range bytes.Lines(b) {
		number++
		m := headingComment.FindSubmatch(bytes.TrimSpace(line))
		if m == nil || number <= t.headLine {
			continue
		}

		name := string(m[1])
		value := string(m[2])
		if above := stated[name]; above != "" && above != value {
			return []ingest.Warning{ingest.Warn(t.path, "commented", "line %d: a comment states %s as %s, one above as %s: if "+
				"that is true of the rows below them, write it in a column", number, name, value, above)}
		}

		stated[name] = value
	}

	return nil
}

// wholeLine stands for the index of a column in errors about a line as a whole.
const wholeLine = -1

// fail returns the error of a line and, unless col is wholeLine, of the column with that index and name.
func (t *conditionsTable) fail(line, col int, name, want, found, hint string) error {
	return fault.At(t.path, describeCell(line, col, name), want, found, hint)
}

// cell returns the cell of a special column in row k, and "" if no such column exists.
func (t *conditionsTable) cell(k int, special string) string {
	if column := t.special[special]; column != nil {
		return t.Text(k, column.index)
	}

	return ""
}
