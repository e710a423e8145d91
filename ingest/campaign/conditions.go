package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"math"
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
}

// ConditionRow is one row of the table.
type ConditionRow struct {
	Line    int
	File    string  // relative path, trailing part of one, or glob
	Channel string  // name or number from 1; "": all channels
	Row0    int64   // sample interval [Row0, Row1); Row1 < 0: to the end
	Row1    int64   //
	Timed   bool    // T0, T1 replace Row0, Row1
	T0, T1  float64 // s from the first sample; T1 may be infinite
	Values  []float64
	Labels  []string
}

// maxConditions bounds the table, which is held in memory.
const maxConditions = 64 << 20

// ReadConditions reads a delimited table with a header. The column `file` is
// required: an exact path, the trailing part of one (base name) or a glob.
// `channel` (number from 1, or name), `row0`, `row1` (samples, row0 ≤ row < row1)
// or `t0_s`, `t1_s` (seconds from the first sample) are optional, empty cells
// meaning all channels, the beginning, the end. Every other column is a
// condition if all its cells are finite numbers, and a label if none is a
// number; a mixed one is a *fault.Error, as are ragged and missing rows.
func ReadConditions(path string) (*Conditions, error) {
	b, err := fault.ReadFile(path, maxConditions, "a table of conditions")
	if err != nil {
		return nil, ingest.PathError(path, err)
	}

	return parseConditions(path, b)
}

// conditionsTable is a table of conditions while it is read.
type conditionsTable struct {
	path  string
	head  []string
	cells [][]string // below the head
	lines []int      // the number of each row

	special        map[string]int // column of each special name, −1: none
	values, labels []column
}

type column struct {
	index int
	name  string
}

func parseConditions(path string, b []byte) (*Conditions, error) {
	t := &conditionsTable{path: path}
	if err := t.split(b); err != nil {
		return nil, err
	}

	c := &Conditions{Path: path, Units: map[string]string{}}
	if err := t.sort(c.Units); err != nil {
		return nil, err
	}

	for _, v := range t.values {
		c.Names = append(c.Names, v.name)
	}

	for _, v := range t.labels {
		c.Labels = append(c.Labels, v.name)
	}

	for k := range t.cells {
		r, err := t.row(k)
		if err != nil {
			return nil, err
		}

		c.Rows = append(c.Rows, r)
	}

	return c, nil
}

// fail returns a fault in a line and, if it is not negative, a column.
func (t *conditionsTable) fail(line, col int, name, want, found, hint string) error {
	e := &fault.Error{Path: t.path, Place: fmt.Sprintf("line %d", line), Want: want, Found: found, Hint: hint}
	if col >= 0 {
		e.Place += fmt.Sprintf(", column %d (%s)", col+1, name)
	}

	return e
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

	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(b, 0) >= 0 {
		return &fault.Error{Path: t.path, Found: "binary data", Want: "a table of conditions as CSV"}
	}

	var delim byte
	for no := 1; len(b) > 0; no++ {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})

		below := 0
		if t.head != nil {
			line, rest, below = quotedLine(b, delim)
		}

		first := no
		no += below
		b = rest

		line = bytes.TrimSuffix(line, []byte{'\r'})
		if trimmed := bytes.TrimSpace(line); len(trimmed) == 0 || trimmed[0] == '#' || t.head != nil && trimmed[0] == delim &&
			text.Skipped(line, delim) {
			continue
		}

		if t.head == nil {
			// The delimiter is what the header holds most of.
			delim = ','
			for _, c := range []byte{';', '\t'} {
				if bytes.Count(line, []byte{c}) > bytes.Count(line, []byte{delim}) {
					delim = c
				}
			}

			for _, c := range text.Cells(line, delim, 0) {
				t.head = append(t.head, strings.ToValidUTF8(string(c), "\uFFFD"))
			}

			if n := len(t.head) - 1; n > 0 && t.head[n] == "" {
				t.head = t.head[:n]
			}

			if len(t.head) > text.MaxColumns {
				return t.fail(no, -1, "", "a table of conditions", fmt.Sprintf("more than %d columns", text.MaxColumns), "")
			}

			continue
		}

		row := text.Cells(line, delim, len(t.head))
		if len(row) != len(t.head) {
			hint := "the row is too short"
			if len(row) > len(t.head) {
				hint = "the row is too long"
			}

			return t.fail(first, -1, "", fault.Plural(int64(len(t.head)), "column"), strconv.Itoa(len(row)), hint)
		}

		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = string(c)
		}

		t.cells = append(t.cells, texts)
		t.lines = append(t.lines, first)
	}

	switch {
	case t.head == nil:
		return &fault.Error{Path: t.path, Found: "only comments", Want: "a header and rows"}
	case len(t.cells) == 0:
		return &fault.Error{Path: t.path, Place: "line 1", Want: "rows below the header", Found: "none"}
	}

	return nil
}

// sort finds what each column is: special, a condition or a label.
func (t *conditionsTable) sort(units map[string]string) error {
	t.special = map[string]int{"file": -1, "channel": -1, "row0": -1, "row1": -1, "t0_s": -1, "t1_s": -1}

	seen := map[string]int{}
	for i, h := range t.head {
		if h == "" {
			return t.fail(1, i, "", "a name", "an empty header", "")
		}

		name, unit := text.SplitUnit(h)
		if j, dup := seen[name]; dup {
			return t.fail(1, i, name, "names that differ", fmt.Sprintf("%q again, as in column %d", name, j+1), "")
		}

		seen[name] = i
		key := strings.ToLower(name)
		if j, ok := t.special[key]; ok && j < 0 {
			t.special[key] = i
			continue
		}

		numbers, firstText := 0, -1
		for k, row := range t.cells {
			if _, ok := text.Number([]byte(row[i]), '.'); ok {
				numbers++
			} else if firstText < 0 {
				firstText = k
			}
		}

		switch {
		case numbers == 0:
			t.labels = append(t.labels, column{i, name})

		case firstText >= 0:
			found := strconv.Quote(fault.Clip(t.cells[firstText][i]))
			if t.cells[firstText][i] == "" {
				found = "an empty cell"
			}

			return t.fail(t.lines[firstText], i, name, "a number, as in other rows of the column", found,
				"correct the cell; a column of labels holds no numbers")

		default:
			t.values = append(t.values, column{i, name})
			if unit != "" {
				units[name] = unit
			}
		}
	}

	if t.special["file"] < 0 {
		return &fault.Error{Path: t.path, Place: "line 1", Want: `a column "file"`, Found: "only " + fault.Quoted(t.head)}
	}

	if t.inRows() && t.timed() {
		return &fault.Error{
			Path: t.path, Place: "line 1", Want: "intervals in rows or in seconds",
			Found: "both (row0, row1 and t0_s, t1_s)",
		}
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
		x, _ := text.Number([]byte(row[v.index]), '.')
		if !finite(x) {
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

		v, ok := text.Number([]byte(row[i]), '.')
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
	elems  [][]string // of the files' paths
	exact  map[string]int
	byBase map[string][]int
}

func newFileIndex(files []string) *fileIndex {
	x := &fileIndex{exact: map[string]int{}, byBase: map[string][]int{}}
	for i, f := range files {
		elems := splitPath(f)
		base := elems[len(elems)-1]
		x.elems = append(x.elems, elems)
		x.exact[strings.Join(elems, "/")] = i
		x.byBase[base] = append(x.byBase[base], i)
	}

	return x
}

// of lists the files of a row: the one with exactly this path; else, for a glob, all
// that match it in their whole path or their trailing elements; else the ones whose
// trailing elements are the row's.
func (x *fileIndex) of(r ConditionRow) (files []int) {
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

	for _, i := range x.byBase[want[len(want)-1]] {
		if slices.Equal(tail(i), want) {
			files = append(files, i)
		}
	}

	return files
}

// Without drops the rows that mean nothing but files left out: of all files,
// those that keep does not hold. A table may list a whole campaign of which only
// a part is used.
func (c *Conditions) Without(all, keep []string) *Conditions {
	kept := map[string]bool{}
	for _, f := range keep {
		kept[f] = true
	}

	index := newFileIndex(all)
	d := *c
	d.Rows = nil
	for _, r := range c.Rows {
		m := index.of(r)

		// A row without any file is an error to report.
		used := len(m) == 0 || slices.ContainsFunc(m, func(i int) bool { return kept[all[i]] })
		if used {
			d.Rows = append(d.Rows, r)
		}
	}

	return &d
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
