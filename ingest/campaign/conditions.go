package campaign

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
)

// Conditions is a table that ties files, channels and intervals to values: a log.
type Conditions struct {
	Path   string
	Names  []string          // of the conditions, in column order
	Units  map[string]string // by name, if the header states one: "alpha (deg)"
	Labels []string          // names of the columns of text, in column order
	Rows   []ConditionRow    // rows that mean one of LogOptions.Files, or all rows if no files are given
	Others int               // the number of further rows, which mean no file
	// Converted describes, by condition, how its values became values in the unit of its name.
	Converted map[string]string
	// Warnings are of cells that may be meant otherwise: "thousands", "missing-code", "bare-number", "names-with-numbers".
	Warnings []ingest.Warning

	firstOthers []ConditionRow // the first few of the further rows, for messages
}

// ConditionRow is one row of the table.
type ConditionRow struct {
	Line    int
	File    string // relative path, trailing part of one, or glob
	Channel string // name or number from 1; "": all channels
	// Begin and End are the interval [Begin, End) in samples or, if it is Timed, in s from the first sample. End may be
	// infinite.
	Begin, End float64
	Timed      bool
	// States are the statements of the row, in the order of Names and then of Labels. A number that is not there is NaN,
	// with the text of the cell as its name and the place of the cell as its origin.
	States []condition.Condition
}

// Given returns the statements of the row without numbers that are not there, which another source may give.
func (r ConditionRow) Given() []condition.Condition {
	var given []condition.Condition
	for _, cond := range r.States {
		if !math.IsNaN(cond.Value) {
			given = append(given, cond)
		}
	}

	return given
}

// Name returns the name that the row states in a column.
func (r ConditionRow) Name(column string) (name string, ok bool) {
	for _, cond := range r.States {
		if cond.Column == column && cond.IsName {
			return cond.Name, true
		}
	}

	return "", false
}

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

// readRows reads the rows into the table. Rows that mean no file are counted, and the first few are kept for messages:
// a table may list a whole campaign of which some files are read.
//
// A row that means no file and has no value is an error if it is above other rows and no file is called like it: it
// may be a heading, such as APC 8x6 or Day 2, without which the rows below it would be repeats of the rows above.
func (t *conditionsTable) readRows(table *Conditions) error {
	headings := map[string]int{} // the first line of rows without a file and values, by kind
	for k := range t.Rows {
		row, err := t.row(k)
		if err != nil {
			return err
		}

		if t.Files == nil || len(t.index.filesFor(row.File)) > 0 {
			table.Rows = append(table.Rows, t.withStates(row, k))
			continue
		}

		table.Others++
		if table.Others <= fault.MostNamed+1 {
			table.firstOthers = append(table.firstOthers, t.withStates(row, k))
		}

		if !t.hasValues(k) {
			kind := kindOf(row)
			headings[kind] = cmp.Or(headings[kind], row.Line)
		}
	}

	if len(headings) == 0 || len(table.Rows) == 0 {
		return nil
	}

	for _, row := range table.Rows {
		delete(headings, kindOf(row))
	}

	lastLine := table.Rows[len(table.Rows)-1].Line
	for _, line := range slices.Sorted(maps.Values(headings)) {
		if line <= lastLine {
			k, _ := slices.BinarySearch(t.lineOf, line)
			return t.fail(line, wholeLine, "", "a recording and its conditions", fmt.Sprintf("only %q", t.cell(k, "file")),
				"write the heading as a column of the rows below it, and delete it")
		}
	}

	return nil
}

// hasValues reports whether row k states a number, or, in a table without columns of numbers, a name.
func (t *conditionsTable) hasValues(k int) bool {
	hasNumbers := slices.ContainsFunc(t.stating, func(column *typedColumn) bool { return column.Values != nil })
	for _, column := range t.stating {
		if column.Values != nil && !math.IsNaN(column.Values[k]) {
			return true
		}

		if !hasNumbers && t.Text(k, column.index) != "" {
			return true
		}
	}

	return false
}

// kindOf returns the file of a row in lower case with 0 in place of all numbers, which is the same for r1 and R17.
func kindOf(row ConditionRow) string {
	return nameNumbers.ReplaceAllString(strings.ToLower(row.File), "0")
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

// row reads the file, the channel and the interval of row k.
func (t *conditionsTable) row(k int) (ConditionRow, error) {
	r := ConditionRow{
		Line: t.lineOf[k], File: t.cell(k, "file"), Channel: t.cell(k, "channel"), Timed: t.hasAny(secondEdges),
	}
	if r.File == "" {
		return r, t.fail(r.Line, t.special["file"].index, "file", "a file", "an empty cell",
			"name the recording, or delete a row of means or remarks; write a heading as a column of the rows below it")
	}

	names := sampleEdges
	if r.Timed {
		names = secondEdges
	}

	begin := names[0]
	end := names[1]

	var err error
	r.Begin, err = t.edge(k, begin, 0)
	if err != nil {
		return r, err
	}

	r.End, err = t.edge(k, end, math.Inf(1))
	if err != nil {
		return r, err
	}

	if r.Begin >= r.End {
		return r, t.fail(r.Line, wholeLine, "", begin+" below "+end,
			fmt.Sprintf("%s %s and %s %s", begin, plain(r.Begin), end, plain(r.End)), "")
	}

	for _, column := range t.stating {
		if column.Values != nil && math.IsInf(column.Values[k], 0) {
			return r, t.fail(r.Line, column.index, column.name, "a finite number", t.Text(k, column.index), "")
		}
	}

	return r, nil
}

// withStates returns a row with the values and the labels of row k. It copies all texts, which are parts of the cells.
func (t *conditionsTable) withStates(row ConditionRow, k int) ConditionRow {
	origin := fmt.Sprintf("%s, line %d", t.path, row.Line)
	row.States = slices.Grow(row.States, len(t.stating)) // there may be very many rows
	for _, column := range t.stating {
		cond := condition.Condition{Column: column.name, IsName: column.Values == nil, Origin: origin}
		if !cond.IsName {
			cond.Value = column.Values[k]
		}

		if cond.IsName || math.IsNaN(cond.Value) {
			cond.Name = strings.Clone(t.Spellings.NameOf(t.Text(k, column.index)))
		}

		if math.IsNaN(cond.Value) {
			cond.Origin = t.place(k, column)
		}

		row.States = append(row.States, cond)
	}

	row.File = strings.Clone(row.File)
	row.Channel = strings.Clone(row.Channel)

	return row
}

// edge reads one of the edges of row k. It returns open if no such column exists, or the cell is empty.
func (t *conditionsTable) edge(k int, name string, open float64) (float64, error) {
	cell := t.cell(k, name)
	if cell == "" {
		return open, nil
	}

	column := t.special[name]
	inSeconds := slices.Contains(secondEdges, name)
	want := "a sample number from 0"
	if inSeconds {
		want = "seconds from 0"
	}

	v := math.NaN()
	switch {
	case inSeconds && column.Values != nil:
		v = column.Values[k]
	case !inSeconds:
		if n, err := strconv.ParseInt(cell, 10, 64); err == nil {
			v = float64(n)
		}
	}

	if v < 0 || !ingest.Finite(v) {
		return 0, t.fail(t.lineOf[k], column.index, name, want, strconv.Quote(fault.Clip(cell)), "")
	}

	return v, nil
}

// CheckLabels returns an error about a cell of the named columns of text that cannot name a group. The table may be
// nil.
func (c *Conditions) CheckLabels(names []string) error {
	if c == nil {
		return nil
	}

	for _, row := range c.Rows {
		for _, cond := range row.States {
			if !cond.IsName || !slices.Contains(names, cond.Column) {
				continue
			}

			if err := condition.CheckName(cond.Name); err != nil {
				err.Path = c.Path
				err.Place = fmt.Sprintf("line %d, column %s", row.Line, cond.Column)
				return err
			}
		}
	}

	return nil
}

// Without returns the table without the rows that mean only files that are left out. all are the files of
// LogOptions.Files, keep the files that are used: a table may list a whole campaign of which only a part is used. If
// each file that is kept has a row, Without also drops the rows that mean no file at all, with a warning. Otherwise
// such rows stay, since a file may be misspelled in them: ForFiles reports them.
func (c *Conditions) Without(all, keep []string) (*Conditions, []ingest.Warning) {
	kept := slices.Compact(slices.Sorted(slices.Values(keep)))
	dropped := *c
	dropped.Rows = nil
	hasRow := map[int]bool{} // by index of the file
	for k, files := range c.FilesOf(all) {
		isUsed := false
		for _, i := range files {
			if _, isKept := slices.BinarySearch(kept, all[i]); isKept {
				hasRow[i] = true
				isUsed = true
			}
		}

		if isUsed {
			dropped.Rows = append(dropped.Rows, c.Rows[k])
		}
	}

	if c.Others == 0 || len(hasRow) < len(kept) {
		return &dropped, nil
	}

	dropped.firstOthers = nil
	dropped.Others = 0

	return &dropped, []ingest.Warning{ingest.Warn(c.Path, "rows-without-file", "%s of no file left out: %s",
		fault.Plural(int64(c.Others), "row"), someRows(c.firstOthers, c.Others))}
}

// FillGaps settles the conditions that some rows do not state. given are the conditions that other sources state: they
// may have gaps. A gap in another condition is an error if needed returns true for the condition, or if there is no
// other condition. FillGaps removes the columns of the other conditions with gaps from the table, with a warning each.
func (c *Conditions) FillGaps(needed func(name string) bool, given []string) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	for k := len(c.Names) - 1; k >= 0; k-- {
		name := c.Names[k]
		gaps := c.gaps(k)
		if len(gaps) == 0 || slices.Contains(given, name) {
			continue
		}

		gap := gaps[0].States[k]
		found := strconv.Quote(gap.Name)
		if gap.Name == "" {
			found = "an empty cell"
		}

		reason := ""
		switch {
		case needed(name):
			reason = "since the configuration uses " + name
		case len(c.Names) == 1 && len(given) == 0:
			reason = "since no other condition is known"
		}

		if reason != "" {
			return nil, fault.At(c.Path, gap.Origin, "a number, "+reason, found,
				fmt.Sprintf("write it, or leave %s out with exclude under ingest", gaps[0].File))
		}

		warnings = append(warnings, ingest.Warn(c.Path, "missing-values",
			"%s: %s, of %s; %d of %d rows have no number there, and nothing uses it: the column is left out", gap.Origin, found,
			gaps[0].File, len(gaps), len(c.Rows)))

		c.Names = slices.Delete(slices.Clone(c.Names), k, k+1)
		for i, row := range c.Rows {
			c.Rows[i].States = slices.Delete(slices.Clone(row.States), k, k+1)
		}
	}

	return warnings, nil
}

// gaps returns the rows that state no number for condition k.
func (c *Conditions) gaps(k int) []ConditionRow {
	var gaps []ConditionRow
	for _, row := range c.Rows {
		if math.IsNaN(row.States[k].Value) {
			gaps = append(gaps, row)
		}
	}

	return gaps
}

// Describe returns a text for each row: its channel, interval and numbers as name=value pairs. Rows that state the
// same have the same text, wherever in the table they are.
func (c *Conditions) Describe() []string {
	var texts []string
	for _, row := range c.Rows {
		texts = append(texts, row.describe())
	}

	return texts
}

// describe returns the channel, the interval and the numbers of a row as name=value pairs.
func (r ConditionRow) describe() string {
	var parts []string
	if r.Channel != "" {
		parts = append(parts, "channel="+strconv.Quote(r.Channel))
	}

	isOpen := math.IsInf(r.End, 1)
	switch {
	case r.Timed:
		parts = append(parts, "t0_s="+shortest(r.Begin), "t1_s="+shortest(r.End))
	case isOpen && r.Begin > 0:
		parts = append(parts, "row0="+plain(r.Begin), "row1=-1")
	case !isOpen:
		parts = append(parts, "row0="+plain(r.Begin), "row1="+plain(r.End))
	}

	for _, cond := range r.States {
		if !cond.IsName {
			parts = append(parts, cond.Column+"="+shortest(cond.Value))
		}
	}

	return strings.Join(parts, " ")
}

// FilesOf returns the files that each row of the table means, by index, and none for a row that means no file.
func (c *Conditions) FilesOf(files []string) [][]int { return FilesOf(c.files(), files) }
