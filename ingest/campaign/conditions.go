package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
)

// Conditions is a table that ties files, channels and intervals to values.
type Conditions struct {
	Path   string
	Names  []string          // of the conditions, in column order
	Units  map[string]string // by name, where the header states one: "alpha (deg)"
	Labels []string          // names of the columns of text, in column order
	Rows   []ConditionRow
	// marks between thousands that may be decimal signs: "thousands"
	Warnings []ingest.Warning
	gaps     map[gap]cell
}

// gap is a value that a row does not state: the row's line and the condition's name.
type gap struct {
	line int
	name string
}

// cell is a place in a table, for messages, and what is written there.
type cell struct{ place, text string }

// ConditionRow is one row of the table.
type ConditionRow struct {
	Line    int
	File    string    // relative path, trailing part of one, or glob
	Channel string    // name or number from 1; "": all channels
	Row0    int64     // sample interval [Row0, Row1); Row1 < 0: to the end
	Row1    int64     //
	Timed   bool      // T0, T1 replace Row0, Row1
	T0, T1  float64   // s from the first sample; T1 may be infinite
	Values  []float64 // NaN: the table does not state it
	Labels  []string
}

// LogOptions tell what a table of conditions that people typed does not show itself.
type LogOptions struct {
	// Files are the recordings: the column that names them may have any name, and lines may come
	// before the header. nil: the column is called file.
	Files   []string
	Columns map[string]string // headers by name: {"rpm": "Drehzahl [1/min]"}
	Missing []string          // further texts for a value that is not there
	Ignore  []string          // names of columns that are no conditions
}

// missing are the texts that people and programs write for a value that is not there, in lower case.
var missing = strings.Fields("- -- – n/a na n.a. nan null none k.a. #n/a #nv #wert! #value! #div/0! #bezug! #ref! " +
	"#name? #num! #zahl!")

// missing reports whether a cell states no value.
func (o LogOptions) missing(cell string) bool {
	s := strings.ToLower(cell)
	return s == "" || slices.Contains(missing, s) || slices.ContainsFunc(o.Missing, func(m string) bool {
		return strings.EqualFold(m, cell)
	})
}

// maxConditions bounds the table, which is held in memory.
const maxConditions = 64 << 20

// ReadConditions is ReadLog of a table that has a column `file`.
func ReadConditions(path string) (*Conditions, error) { return ReadLog(path, LogOptions{}) }

// ReadLog reads a delimited table with a header, in UTF-8, UTF-16 or Windows-1252, with decimal
// points or commas, units in brackets or in a row below the header. A column `file` names the
// recordings: an exact path, the trailing part of one (base name) or a glob; with or without its
// ending, in any letter case. `channel` (number from 1, or name), `row0`, `row1` (samples, row0 ≤
// row < row1) or `t0_s`, `t1_s` (seconds from the first sample) are optional, empty cells meaning
// all channels, the beginning, the end. Every other column is a condition if its cells are finite
// numbers or state no value ("n/a"), and a label if none is a number; a mixed one is a
// *fault.Error, as are ragged and missing rows.
func ReadLog(path string, o LogOptions) (*Conditions, error) {
	b, err := fault.ReadFile(path, maxConditions, "a table of conditions")
	if err != nil {
		return nil, ingest.PathError(path, err)
	}

	return parseConditions(path, b, o)
}

// conditionsTable is a table of conditions while it is read.
type conditionsTable struct {
	LogOptions
	path     string
	delim    byte
	dec      byte // decimal sign
	headLine int
	head     []string
	names    []string   // "" of a column without a header
	cells    [][]string // below the head
	lines    []int      // the number of each row
	units    []string   // of the row of units; nil without one

	index          *fileIndex     // of Files
	special        map[string]int // column of each special name, −1: none
	values, labels []column
	warnings       []ingest.Warning
}

type column struct {
	index      int
	name, unit string
}

func parseConditions(path string, b []byte, o LogOptions) (*Conditions, error) {
	t := &conditionsTable{LogOptions: o, path: path, dec: '.', index: newFileIndex(o.Files)}
	if err := t.split(b); err != nil {
		return nil, err
	}

	if err := t.sort(); err != nil {
		return nil, err
	}

	c := &Conditions{Path: path, Units: map[string]string{}, Warnings: t.warnings, gaps: map[gap]cell{}}
	for _, v := range t.values {
		c.Names = append(c.Names, v.name)

		if v.unit != "" {
			c.Units[v.name] = v.unit
		}
	}

	for _, v := range t.labels {
		c.Labels = append(c.Labels, v.name)
	}

	for k := range t.cells {
		r, err := t.row(k)
		if err != nil {
			return nil, err
		}

		for i, x := range r.Values {
			if v := t.values[i]; math.IsNaN(x) {
				c.gaps[gap{r.Line, v.name}] = cell{place(r.Line, v.index, v.name), t.cells[k][v.index]}
			}
		}

		c.Rows = append(c.Rows, r)
	}

	return c, nil
}

// fail returns a fault in a line and, if it is not negative, a column.
func (t *conditionsTable) fail(line, col int, name, want, found, hint string) error {
	return &fault.Error{Path: t.path, Place: place(line, col, name), Want: want, Found: found, Hint: hint}
}

func place(line, col int, name string) string {
	if col < 0 {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d, column %d (%s)", line, col+1, name)
}

// quotedLine cuts the first line off b, with the lines below it that a quoted cell
// goes on in; below is their number. A quote that never closes belongs to its text.
func quotedLine(b []byte, delim byte) (line, rest []byte, below int) {
	line, rest, _ = bytes.Cut(b, []byte{'\n'})
	whole, after := line, rest

	if !openQuote(line, delim, false) {
		return line, rest, 0
	}

	for openQuote(whole, delim, true) {
		if len(after) == 0 || below == maxQuotedLines {
			return line, rest, 0
		}

		more, left, _ := bytes.Cut(after, []byte{'\n'})
		whole, after, below = b[:len(whole)+1+len(more)], left, below+1
	}

	return whole, after, below
}

// maxQuotedLines bounds the lines of one cell.
const maxQuotedLines = 100

// openQuote reports whether a cell of a line begins with a quote that does not
// close; strict: at the cell's end.
func openQuote(line []byte, delim byte, strict bool) bool {
	for p := 0; p <= len(line); p++ {
		for p < len(line) && line[p] == ' ' {
			p++
		}

		if p < len(line) && line[p] == '"' {
			for p++; ; p++ {
				if p >= len(line) {
					return true
				}

				if line[p] == '"' {
					if p+1 < len(line) && line[p+1] == '"' {
						p++
						continue
					}

					after := bytes.TrimLeft(line[p+1:], " \r")
					if !strict || len(after) == 0 || after[0] == delim {
						break
					}
				}
			}
		}

		i := bytes.IndexByte(line[min(p, len(line)):], delim)
		if i < 0 {
			return false
		}

		p += i
	}

	return false
}

// split reads the head and the rows of cells.
func (t *conditionsTable) split(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return &fault.Error{Path: t.path, Want: "a header and rows", Found: "an empty file"}
	}

	b, err := text.UTF8(t.path, b)
	if err != nil {
		return err
	}

	if bytes.IndexByte(b, 0) >= 0 {
		return &fault.Error{Path: t.path, Found: "binary data", Want: "a table of conditions as CSV"}
	}

	t.findHead(b)

	for no := 1; len(b) > 0; no++ {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})

		below := 0
		if t.head != nil {
			line, rest, below = quotedLine(b, t.delim)
		}

		first := no
		no += below
		b = rest

		line = bytes.TrimSuffix(line, []byte{'\r'})
		if trimmed := bytes.TrimSpace(line); first < t.headLine || len(trimmed) == 0 || t.comment(trimmed) ||
			t.head != nil && trimmed[0] == t.delim && text.Skipped(line, t.delim) {
			continue
		}

		if t.head == nil {
			t.head = texts(text.Cells(line, t.delim, 0))
			if n := len(t.head) - 1; n > 0 && t.head[n] == "" {
				t.head = t.head[:n]
			}

			if len(t.head) > text.MaxColumns {
				return t.fail(no, -1, "", "a table of conditions", fmt.Sprintf("more than %d columns", text.MaxColumns), "")
			}

			continue
		}

		row := text.Cells(line, t.delim, len(t.head))
		if len(row) != len(t.head) {
			hint := "the row is too short"
			if len(row) > len(t.head) {
				hint = "the row is too long"
			}

			return t.fail(first, -1, "", fault.Plural(int64(len(t.head)), "column"), strconv.Itoa(len(row)), hint)
		}

		t.cells = append(t.cells, texts(row))
		t.lines = append(t.lines, first)
	}

	switch {
	case t.head == nil:
		return &fault.Error{Path: t.path, Found: "only comments", Want: "a header and rows"}
	case len(t.cells) == 0:
		return t.fail(t.headLine, -1, "", "rows below the header", "none", "")
	}

	return nil
}

// comment reports whether a line is one: it begins with # and no cell like #N/A.
func (t *conditionsTable) comment(line []byte) bool {
	return line[0] == '#' && (t.head == nil || !t.missing(string(text.Cells(line, t.delim, 0)[0])))
}

func texts(cells [][]byte) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = string(c)
	}

	return out
}

// mostTitles is how many lines may come before the header.
const mostTitles = 100

// findHead finds the line of the header and the delimiter: the first line with a column called
// file; else the line of names above the rows whose cells name the recordings; else the first one.
func (t *conditionsTable) findHead(b []byte) {
	type headLine struct {
		no    int
		line  []byte
		delim byte // what the line holds most of
	}

	var lines []headLine
	for no := 1; len(b) > 0 && len(lines) < mostTitles; no++ {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		if line = bytes.TrimSuffix(line, []byte{'\r'}); len(bytes.TrimSpace(line)) == 0 || bytes.TrimSpace(line)[0] == '#' {
			continue
		}

		h := headLine{no, line, ','}
		for _, c := range []byte{';', '\t'} {
			if bytes.Count(line, []byte{c}) > bytes.Count(line, []byte{h.delim}) {
				h.delim = c
			}
		}

		lines = append(lines, h)
	}

	if len(lines) == 0 {
		return
	}

	t.headLine, t.delim = lines[0].no, lines[0].delim
	for _, h := range lines {
		for _, cell := range text.Cells(h.line, h.delim, 0) {
			if t.nameOf(string(cell)) == "file" {
				t.headLine, t.delim = h.no, h.delim
				return
			}
		}
	}

	for _, names := range []func(string) bool{t.isFile, t.isFileNumber} {
		i := slices.IndexFunc(lines, func(h headLine) bool {
			return slices.ContainsFunc(text.Cells(h.line, h.delim, 0), func(c []byte) bool { return names(string(c)) })
		})
		if i < 0 {
			continue
		}

		delim := lines[i].delim
		for i--; i >= 0; i-- { // rows of recordings that are not there, and of units
			cells := text.Cells(lines[i].line, delim, 0)
			if !slices.ContainsFunc(cells, t.isNumber) && text.UnitsBelow(cells) == nil {
				t.headLine, t.delim = lines[i].no, delim
				return
			}
		}

		return
	}
}

// number reads a cell with the first of the decimal signs that gives one.
func (t *conditionsTable) number(cell string, signs ...byte) (float64, bool) {
	for _, dec := range signs {
		if v, _, ok := text.Typed([]byte(cell), dec); ok {
			return v, true
		}
	}

	return 0, false
}

// isNumber reports whether a cell is a number with one of the decimal signs.
func (t *conditionsTable) isNumber(cell []byte) bool {
	_, ok := t.number(string(cell), '.', ',')
	return ok
}

// isFile reports whether a cell names a recording.
func (t *conditionsTable) isFile(cell string) bool {
	r := ConditionRow{File: cell}
	return cell != "" && !r.isGlob() && len(t.index.named(r)) > 0
}

// isFileNumber reports whether a cell is a number that one recording has in its name.
func (t *conditionsTable) isFileNumber(cell string) bool { return len(t.index.numbered(cell)) > 0 }

// nameOf returns the name of a column, which Columns gives or the header.
func (t *conditionsTable) nameOf(head string) string {
	name, _ := text.SplitUnit(head)
	for _, as := range slices.Sorted(maps.Keys(t.Columns)) {
		if h := t.Columns[as]; strings.EqualFold(h, head) || strings.EqualFold(h, name) {
			return as
		}
	}

	if strings.EqualFold(name, "file") {
		return "file"
	}

	return name
}

// findFiles finds the column that names the recordings, where none is called file: the one with
// the most cells that name one, else with the most numbers of one.
func (t *conditionsTable) findFiles() {
	for _, names := range []func(string) bool{t.isFile, t.isFileNumber} {
		most := 0
		for i := range t.head {
			n := 0
			for _, row := range t.cells {
				if names(row[i]) {
					n++
				}
			}

			if n > most {
				most, t.special["file"] = n, i
			}
		}

		if most > 0 {
			return
		}
	}
}

// takeUnits takes the row below the header off where it is one of units.
func (t *conditionsTable) takeUnits() {
	row := t.cells[0]
	if f := t.special["file"]; f >= 0 && (t.isFile(row[f]) || strings.ContainsAny(row[f], "./*")) {
		return
	}

	cells := make([][]byte, len(row))
	for i, c := range row {
		if cells[i] = []byte(c); t.isNumber(cells[i]) {
			return
		}
	}

	if t.units = text.UnitsBelow(cells); t.units != nil && len(t.cells) > 1 {
		t.cells, t.lines = t.cells[1:], t.lines[1:]
	}
}

// unitOf returns the unit of a column, "" of none.
func (t *conditionsTable) unitOf(i int) string {
	if t.units != nil && t.units[i] != "" {
		return t.units[i]
	}

	_, unit := text.SplitUnit(t.head[i])

	return unit
}

// findDecimal finds the decimal sign: a comma where some cell is a number with it alone, and none
// with a point alone. 1,234 between semicolons or tabs has a decimal comma too.
func (t *conditionsTable) findDecimal() {
	point, comma := false, false
	for _, row := range t.cells {
		for i, c := range row {
			if i == t.special["file"] {
				continue
			}

			_, doubtful, asPoint := text.Typed([]byte(c), '.')
			_, _, asComma := text.Typed([]byte(c), ',')
			point = point || asPoint && !asComma
			comma = comma || asComma && (!asPoint || doubtful && t.delim != ',')
		}
	}

	if comma && !point {
		t.dec = ','
	}
}

// layout finds the names and the units of the columns, the one that names the recordings, and the
// decimal sign.
func (t *conditionsTable) layout() error {
	t.special = map[string]int{"file": -1, "channel": -1, "row0": -1, "row1": -1, "t0_s": -1, "t1_s": -1}

	t.names = make([]string, len(t.head))
	seen := map[string]int{}
	for i, h := range t.head {
		if h == "" {
			if slices.ContainsFunc(t.cells, func(row []string) bool { return row[i] != "" }) {
				return t.fail(t.headLine, i, "", "a name", "an empty header", "")
			}

			continue
		}

		name := t.nameOf(h)
		if j, dup := seen[name]; dup {
			return t.fail(t.headLine, i, name, "names that differ", fmt.Sprintf("%q again, as in column %d", name, j+1), "")
		}

		seen[name], t.names[i] = i, name
		if j, ok := t.special[strings.ToLower(name)]; ok && j < 0 {
			t.special[strings.ToLower(name)] = i
		}
	}

	for _, as := range slices.Sorted(maps.Keys(t.Columns)) {
		if _, ok := seen[as]; !ok {
			return t.fail(t.headLine, -1, "", fmt.Sprintf("a column %q, which log.columns calls %s", t.Columns[as], as),
				"only "+fault.Quoted(t.head), "")
		}
	}

	for _, name := range t.Ignore {
		if _, ok := seen[name]; !ok {
			return t.fail(t.headLine, -1, "", fmt.Sprintf("a column %q, which log.ignore names", name),
				"only "+fault.Quoted(t.head), "")
		}
	}

	if t.special["file"] < 0 {
		t.findFiles()
	}

	t.takeUnits()
	t.findDecimal()

	return nil
}

// sort finds what each column is: special, a condition or a label.
func (t *conditionsTable) sort() error {
	if err := t.layout(); err != nil {
		return err
	}

	if t.special["file"] < 0 {
		hint := ""
		if len(t.Files) > 0 {
			hint = "no cell names a recording; name the column with log: {columns: {file: …}}"
		}

		return t.fail(t.headLine, -1, "", `a column "file"`, "only "+fault.Quoted(t.head), hint)
	}

	for i, name := range t.names {
		if name == "" || slices.Contains(slices.Collect(maps.Values(t.special)), i) || slices.Contains(t.Ignore, name) {
			continue
		}

		if err := t.sortColumn(i, name); err != nil {
			return err
		}
	}

	if t.inRows() && t.timed() {
		return &fault.Error{
			Path: t.path, Place: fmt.Sprintf("line %d", t.headLine), Want: "intervals in rows or in seconds",
			Found: "both (row0, row1 and t0_s, t1_s)",
		}
	}

	return nil
}

// sortColumn finds whether a column is a condition or a label.
func (t *conditionsTable) sortColumn(i int, name string) error {
	numbers, firstText, other, warned := 0, -1, -1, false
	for k, row := range t.cells {
		v, doubtful, ok := text.Typed([]byte(row[i]), t.dec)
		switch {
		case t.missing(row[i]):
		case ok:
			if numbers++; doubtful && !warned {
				warned = true
				t.warnings = append(t.warnings, ingest.Warning{Path: t.path, Code: "thousands", Text: fmt.Sprintf(
					"%s: %q is read as %g, since the decimal sign is %q", place(t.lines[k], i, name), row[i], v, t.dec)})
			}

		default:
			if other < 0 && t.isNumber([]byte(row[i])) {
				other = k
			}

			if firstText < 0 {
				firstText = k
			}
		}
	}

	switch {
	case firstText >= 0 && (numbers > 0 || other == firstText):
		hint := "correct the cell, or name its text under log: {missing: […]} if it is no value"
		if other == firstText {
			hint = fmt.Sprintf("write the decimal sign %q, as in the other columns", t.dec)
		}

		return t.fail(t.lines[firstText], i, name, "a number, as in other rows of the column",
			strconv.Quote(fault.Clip(t.cells[firstText][i])), hint)

	case numbers == 0:
		t.labels = append(t.labels, column{index: i, name: name})
	default:
		t.values = append(t.values, column{i, name, t.unitOf(i)})
	}

	return nil
}

// inRows and timed report how intervals are given.
func (t *conditionsTable) inRows() bool { return t.special["row0"] >= 0 || t.special["row1"] >= 0 }
func (t *conditionsTable) timed() bool  { return t.special["t0_s"] >= 0 || t.special["t1_s"] >= 0 }

// row reads a row of cells.
func (t *conditionsTable) row(k int) (ConditionRow, error) {
	row := t.cells[k]
	r := ConditionRow{Line: t.lines[k], File: row[t.special["file"]], Row1: -1, Timed: t.timed()}
	if r.File == "" {
		return r, t.fail(r.Line, t.special["file"], "file", "a file", "an empty cell", "")
	}

	if i := t.special["channel"]; i >= 0 {
		r.Channel = row[i]
	}

	if err := t.interval(&r, row); err != nil {
		return r, err
	}

	for _, v := range t.values {
		x, _ := t.number(row[v.index], t.dec)
		if t.missing(row[v.index]) {
			x = math.NaN()
		}

		if math.IsInf(x, 0) {
			return r, t.fail(r.Line, v.index, v.name, "a finite number", row[v.index], "")
		}

		r.Values = append(r.Values, x)
	}

	for _, v := range t.labels {
		r.Labels = append(r.Labels, row[v.index])
	}

	return r, nil
}

// interval reads the interval of a row.
func (t *conditionsTable) interval(r *ConditionRow, row []string) error {
	for _, b := range []struct {
		key string
		to  *int64
	}{{"row0", &r.Row0}, {"row1", &r.Row1}} {
		i := t.special[b.key]
		if i < 0 || row[i] == "" {
			continue
		}

		n, err := strconv.ParseInt(row[i], 10, 64)
		if err != nil || n < 0 {
			return t.fail(r.Line, i, b.key, "a sample number from 0", strconv.Quote(fault.Clip(row[i])), "")
		}

		*b.to = n
	}

	if t.inRows() && r.Row1 >= 0 && r.Row1 <= r.Row0 {
		return t.fail(r.Line, -1, "", "row0 below row1", fmt.Sprintf("row0 %d and row1 %d", r.Row0, r.Row1), "")
	}

	if !r.Timed {
		return nil
	}

	r.T1 = math.Inf(1)
	for _, b := range []struct {
		key string
		to  *float64
	}{{"t0_s", &r.T0}, {"t1_s", &r.T1}} {
		i := t.special[b.key]
		if i < 0 || row[i] == "" {
			continue
		}

		v, ok := t.number(row[i], t.dec)
		if !ok || !finite(v) || v < 0 {
			return t.fail(r.Line, i, b.key, "seconds from 0", strconv.Quote(fault.Clip(row[i])), "")
		}

		*b.to = v
	}

	if r.T1 <= r.T0 {
		return t.fail(r.Line, -1, "", "t0_s below t1_s", fmt.Sprintf("t0_s %g and t1_s %g", r.T0, r.T1), "")
	}

	return nil
}

// maxLabel bounds a label by which rows are grouped: a longer one is a comment.
const maxLabel = 100

// checkLabel reports a text that names no group.
func checkLabel(s string) *fault.Error {
	e := &fault.Error{Want: fmt.Sprintf("a name of at most %d bytes, by which rows are grouped", maxLabel)}
	switch {
	case s == "":
		e.Found = "an empty cell"
	case len(s) > maxLabel:
		e.Found = strconv.Quote(fault.Clip(s))
	case !utf8.ValidString(s):
		e.Found = "bytes that are not UTF-8"
	default:
		return nil
	}

	return e
}

// CheckLabels reports a cell of the named columns of text that names no group.
func (c *Conditions) CheckLabels(names []string) error {
	for k, name := range c.Labels {
		if !slices.Contains(names, name) {
			continue
		}

		for _, r := range c.Rows {
			if err := checkLabel(r.Labels[k]); err != nil {
				err.Path, err.Place = c.Path, fmt.Sprintf("line %d, column %s", r.Line, name)
				return err
			}
		}
	}

	return nil
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return v-v == 0 }

// fileIndex finds the files that a row means.
type fileIndex struct {
	elems         [][]string // of the files' paths
	exact         map[string]int
	byBase, loose map[string][]int // by the last element; loose: without its ending, in lower case; made when needed
	byNumber      map[string][]int // by the whole numbers in the last element, without leading zeros; likewise
}

// nameNumbers are the numbers in a name.
var nameNumbers = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)

func newFileIndex(files []string) *fileIndex {
	x := &fileIndex{exact: make(map[string]int, len(files))}
	for i, f := range files {
		elems := splitPath(f)
		x.elems = append(x.elems, elems)
		x.exact[strings.Join(elems, "/")] = i
	}

	return x
}

// byNames makes the maps by the last element.
func (x *fileIndex) byNames() {
	if x.byBase != nil {
		return
	}

	x.byBase, x.loose, x.byNumber = map[string][]int{}, map[string][]int{}, map[string][]int{}
	for i, elems := range x.elems {
		base := elems[len(elems)-1]
		x.byBase[base] = append(x.byBase[base], i)
		base = strings.ToLower(base)
		x.loose[base] = append(x.loose[base], i)
		if ext := path.Ext(base); strings.ContainsAny(ext, "abcdefghijklmnopqrstuvwxyz") {
			base = strings.TrimSuffix(base, ext)
			x.loose[base] = append(x.loose[base], i)
		}

		for _, n := range nameNumbers.FindAllString(base, -1) {
			if n = strings.TrimLeft(n, "0"); !slices.Contains(x.byNumber[n], i) {
				x.byNumber[n] = append(x.byNumber[n], i)
			}
		}
	}
}

// of lists the files of a row: those it names, else the one with its number.
func (x *fileIndex) of(r ConditionRow) (files []int) {
	if files = x.named(r); files == nil {
		return x.numbered(r.File)
	}

	return files
}

// numbered returns the only file that has a number in its name: 17 is rec_0017.wav.
func (x *fileIndex) numbered(cell string) []int {
	if cell == "" || strings.Trim(cell, "0123456789") != "" {
		return nil
	}

	x.byNames()

	if files := x.byNumber[strings.TrimLeft(cell, "0")]; len(files) == 1 {
		return files
	}

	return nil
}

// named lists the files that a row names: the one with exactly this path; else, for a glob, all
// that match it in their whole path or their trailing elements; else the ones whose
// trailing elements are the row's; else typed.
func (x *fileIndex) named(r ConditionRow) (files []int) {
	want := splitPath(r.File)
	if i, ok := x.exact[strings.Join(want, "/")]; ok {
		return []int{i}
	}

	tail := func(i int) []string { return x.elems[i][max(0, len(x.elems[i])-len(want)):] }

	if r.isGlob() {
		for i, elems := range x.elems {
			if matchElements(want, elems) || matchElements(want, tail(i)) {
				files = append(files, i)
			}
		}

		return files
	}

	x.byNames()

	for _, i := range x.byBase[want[len(want)-1]] {
		if slices.Equal(tail(i), want) {
			files = append(files, i)
		}
	}

	if files == nil {
		return x.typed(strings.ToLower(strings.ReplaceAll(r.File, `\`, "/")))
	}

	return files
}

// typed lists the files of a row in lower case whose name may lack its ending: those whose path
// ends as the row's does, as far as the shorter of the two goes. The folders of another computer,
// C:/data or /data, need not all be there: the files that agree in most of them are meant.
func (x *fileIndex) typed(file string) (files []int) {
	want := splitPath(file)
	away := strings.HasPrefix(file, "/") || len(want[0]) == 2 && want[0][1] == ':'
	most := 0
	for _, i := range x.loose[want[len(want)-1]] {
		elems, n := x.elems[i], 1
		least := min(len(elems), len(want))
		for n < least && strings.ToLower(elems[len(elems)-1-n]) == want[len(want)-1-n] {
			n++
		}

		switch {
		case n < least && !away || n < most:
		case n > most:
			most, files = n, []int{i}
		default:
			files = append(files, i)
		}
	}

	return files
}

// Without drops the rows that mean nothing but files left out: of all files,
// those that keep does not hold. A table may list a whole campaign of which only
// a part is used. Rows that mean no file at all are dropped with a warning where each
// file that is kept has another row; else they are errors to report, as misspelled ones.
func (c *Conditions) Without(all, keep []string) (*Conditions, []ingest.Warning) {
	kept := map[string]bool{}
	for _, f := range keep {
		kept[f] = true
	}

	index := newFileIndex(all)
	d := *c
	d.Rows = nil
	var unknown []string
	var known []ConditionRow

	stated := map[string]bool{}
	for _, r := range c.Rows {
		m := index.of(r)
		used := false
		for _, i := range m {
			if kept[all[i]] {
				used, stated[all[i]] = true, true
			}
		}

		switch {
		case used:
			d.Rows, known = append(d.Rows, r), append(known, r)
		case len(m) == 0:
			d.Rows, unknown = append(d.Rows, r), append(unknown, fmt.Sprintf("%s (line %d)", r.File, r.Line))
		}
	}

	if len(unknown) == 0 || len(stated) < len(kept) {
		return &d, nil
	}

	d.Rows = known

	return &d, []ingest.Warning{{Path: c.Path, Code: "rows-without-file", Text: fmt.Sprintf(
		"%s of no file left out: %s", fault.Plural(int64(len(unknown)), "row"), some(unknown))}}
}

// some writes the first of many names.
func some(names []string) string {
	const few = 10
	if n := len(names); n > few {
		names = append(slices.Clone(names[:few]), fmt.Sprintf("… and %d more", n-few))
	}

	return strings.Join(names, ", ")
}

// FillGaps settles values that the table does not state. A condition that needed names and that no
// other source gives is an error; a column that nothing needs is left out with a warning.
func (c *Conditions) FillGaps(needed func(name string) bool, given []string) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	for k := len(c.Names) - 1; k >= 0; k-- {
		name := c.Names[k]
		gaps := slices.DeleteFunc(slices.Clone(c.Rows), func(r ConditionRow) bool { return !math.IsNaN(r.Values[k]) })
		if len(gaps) == 0 || slices.Contains(given, name) {
			continue
		}

		first := c.gaps[gap{gaps[0].Line, name}]
		found := strconv.Quote(first.text)
		if first.text == "" {
			found = "an empty cell"
		}

		if needed(name) {
			return nil, &fault.Error{
				Path: c.Path, Place: first.place, Want: "a number, since the configuration uses " + name, Found: found,
				Hint: fmt.Sprintf("write it, or leave %s out with exclude", gaps[0].File),
			}
		}

		warnings = append(warnings, ingest.Warning{Path: c.Path, Code: "missing-values", Text: fmt.Sprintf(
			"%s: %s; %d of %d rows have no number there, and nothing uses it: the column is left out", first.place, found,
			len(gaps), len(c.Rows))})

		c.Names = slices.Delete(slices.Clone(c.Names), k, k+1)
		for i, r := range c.Rows {
			c.Rows[i].Values = slices.Delete(slices.Clone(r.Values), k, k+1)
		}
	}

	return warnings, nil
}

func (r ConditionRow) isGlob() bool { return strings.ContainsAny(r.File, "*?[") }

var errNoRate = errors.New("the file states no sampling rate: give the rate, or row0 and row1")

// Convert turns the values into those of the units that the conditions' names state
// (units.ToName). stated holds units by name; they replace those of the header. It
// returns a description of each conversion by name. An unknown unit, or one of
// another dimension, is a *fault.Error.
func (c *Conditions) Convert(stated map[string]string) (map[string]string, error) {
	text := map[string]string{}
	for k, name := range c.Names {
		unit, ok := stated[name]
		if !ok {
			unit = c.Units[name]
		}

		n, err := units.ToName(name, unit)
		if err != nil {
			return nil, unitFault(c.Path, "column "+name, err, fmt.Sprintf("state the unit with units: {%s: …}", name))
		}

		if n.From == "" {
			continue
		}

		for i := range c.Rows {
			c.Rows[i].Values[k] = n.Apply(c.Rows[i].Values[k])
		}

		c.Units[name], text[name] = n.Unit, n.String()
	}

	return text, nil
}
