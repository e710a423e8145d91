package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
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
	Timed   bool    // T0, T1 stand for Row0, Row1
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
// number; a mixed one is a *DataError, as are ragged and missing rows.
func ReadConditions(path string) (*Conditions, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConditions+1))
	if err != nil {
		return nil, openError(path, err)
	}
	if len(b) > maxConditions {
		return nil, &DataError{Path: path, Found: "more than 64 MiB", Want: "a table of conditions", Hint: "is this a recording?"}
	}
	return parseConditions(path, b)
}

func parseConditions(path string, b []byte) (*Conditions, error) {
	fail := func(line, col int, name, want, found, hint string) error {
		e := &DataError{Path: path, Place: fmt.Sprintf("line %d", line), Want: want, Found: found, Hint: hint}
		if col >= 0 {
			e.Place += fmt.Sprintf(", column %d (%s)", col+1, name)
		}
		return e
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, &DataError{Path: path, Want: "a header and rows", Found: "an empty file"}
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, &DataError{Path: path, Found: "binary data", Want: "a table of conditions as CSV"}
	}
	var head []string
	var cells [][]string
	var lines []int
	l := &layout{dec: '.'}
	for no := 1; len(b) > 0; no++ {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		b = rest
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if head == nil {
			if t := bytes.TrimSpace(line); len(t) == 0 || t[0] == '#' {
				continue
			}
			// The header tells the delimiter: what it holds most of.
			l.delim = ','
			for _, c := range []byte{';', '\t'} {
				if bytes.Count(line, []byte{c}) > bytes.Count(line, []byte{l.delim}) {
					l.delim = c
				}
			}
			for _, c := range l.split(nil, line) {
				head = append(head, strings.ToValidUTF8(string(c), "\uFFFD"))
			}
			if len(head) > 1 && head[len(head)-1] == "" {
				head = head[:len(head)-1]
			}
			l.cols = len(head)
			if l.cols > maxColumns {
				return nil, fail(no, -1, "", "a table of conditions", fmt.Sprintf("more than %d columns", maxColumns), "")
			}
			continue
		}
		if t := bytes.TrimSpace(line); len(t) == 0 || t[0] == '#' || skipped(line, l.delim) && t[0] == l.delim {
			continue
		}
		row := l.split(nil, line)
		if len(row) != l.cols {
			hint := "the row is too short"
			if len(row) > l.cols {
				hint = "the row is too long"
			}
			return nil, fail(no, -1, "", plural(int64(l.cols), "column"), strconv.Itoa(len(row)), hint)
		}
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = string(c)
		}
		cells = append(cells, texts)
		lines = append(lines, no)
	}
	if head == nil {
		return nil, &DataError{Path: path, Found: "only comments", Want: "a header and rows"}
	}
	if len(cells) == 0 {
		return nil, &DataError{Path: path, Place: "line 1", Want: "rows below the header", Found: "none"}
	}

	c := &Conditions{Path: path, Units: map[string]string{}}
	special := map[string]int{"file": -1, "channel": -1, "row0": -1, "row1": -1, "t0_s": -1, "t1_s": -1}
	type column struct {
		col  int
		name string
	}
	var values, labels []column
	seen := map[string]int{}
	for i, h := range head {
		if h == "" {
			return nil, fail(1, i, "", "a name", "an empty header", "")
		}
		name, unit := splitUnit(h)
		if j, dup := seen[name]; dup {
			return nil, fail(1, i, name, "names that differ", fmt.Sprintf("%q again, as in column %d", name, j+1), "")
		}
		seen[name] = i
		key := strings.ToLower(name)
		if _, ok := special[key]; ok && (special[key] < 0) {
			special[key] = i
			continue
		}
		numbers, firstText := 0, -1
		for k, row := range cells {
			if _, ok := parseNumber([]byte(row[i]), '.'); ok {
				numbers++
			} else if firstText < 0 {
				firstText = k
			}
		}
		switch {
		case numbers == 0:
			labels = append(labels, column{i, name})
		case firstText >= 0:
			found := strconv.Quote(clip(cells[firstText][i]))
			if cells[firstText][i] == "" {
				found = "an empty cell"
			}
			return nil, fail(lines[firstText], i, name, "a number, as in other rows of the column", found, "correct the cell; a column of labels holds no numbers")
		default:
			values = append(values, column{i, name})
			if unit != "" {
				c.Units[name] = unit
			}
		}
	}
	if special["file"] < 0 {
		e := &DataError{Path: path, Place: "line 1", Want: `a column "file"`, Found: "only " + quoteList(head)}
		return nil, e
	}
	hasRows := special["row0"] >= 0 || special["row1"] >= 0
	hasTime := special["t0_s"] >= 0 || special["t1_s"] >= 0
	if hasRows && hasTime {
		return nil, &DataError{Path: path, Place: "line 1", Want: "intervals in rows or in seconds", Found: "both (row0, row1 and t0_s, t1_s)"}
	}
	for _, v := range values {
		c.Names = append(c.Names, v.name)
	}
	for _, v := range labels {
		c.Labels = append(c.Labels, v.name)
	}
	for k, row := range cells {
		r := ConditionRow{Line: lines[k], File: row[special["file"]], Row1: -1, Timed: hasTime}
		if r.File == "" {
			return nil, fail(r.Line, special["file"], "file", "a file", "an empty cell", "")
		}
		if i := special["channel"]; i >= 0 {
			r.Channel = row[i]
		}
		for _, b := range []struct {
			key string
			to  *int64
		}{{"row0", &r.Row0}, {"row1", &r.Row1}} {
			i := special[b.key]
			if i < 0 || row[i] == "" {
				continue
			}
			n, err := strconv.ParseInt(row[i], 10, 64)
			if err != nil || n < 0 {
				return nil, fail(r.Line, i, b.key, "a sample number from 0", strconv.Quote(clip(row[i])), "")
			}
			*b.to = n
		}
		if hasRows && r.Row1 >= 0 && r.Row1 <= r.Row0 {
			return nil, fail(r.Line, -1, "", "row0 below row1", fmt.Sprintf("row0 %d and row1 %d", r.Row0, r.Row1), "")
		}
		if hasTime {
			r.T1 = inf
			for _, b := range []struct {
				key string
				to  *float64
			}{{"t0_s", &r.T0}, {"t1_s", &r.T1}} {
				i := special[b.key]
				if i < 0 || row[i] == "" {
					continue
				}
				v, ok := parseNumber([]byte(row[i]), '.')
				if !ok || !finite(v) || v < 0 {
					return nil, fail(r.Line, i, b.key, "seconds from 0", strconv.Quote(clip(row[i])), "")
				}
				*b.to = v
			}
			if r.T1 <= r.T0 {
				return nil, fail(r.Line, -1, "", "t0_s below t1_s", fmt.Sprintf("t0_s %g and t1_s %g", r.T0, r.T1), "")
			}
		}
		for _, v := range values {
			x, _ := parseNumber([]byte(row[v.col]), '.')
			if !finite(x) {
				return nil, fail(r.Line, v.col, v.name, "a finite number", row[v.col], "")
			}
			r.Values = append(r.Values, x)
		}
		for _, v := range labels {
			r.Labels = append(r.Labels, row[v.col])
		}
		c.Rows = append(c.Rows, r)
	}
	return c, nil
}

// matches lists which of the files a row means: the one with exactly this
// path; else, for a glob, all that match it in their whole path or their
// trailing elements; else the ones whose trailing elements are the row's.
func (r ConditionRow) matches(files []string) []int {
	want := splitPath(r.File)
	name := strings.Join(want, "/")
	var out []int
	for i, f := range files {
		if strings.Join(splitPath(f), "/") == name {
			return []int{i}
		}
	}
	glob := r.isGlob()
	for i, f := range files {
		elems := splitPath(f)
		tail := elems[max(0, len(elems)-len(want)):]
		switch {
		case glob && (matchElements(want, elems) || matchElements(want, tail)):
			out = append(out, i)
		case !glob && strings.Join(tail, "/") == name:
			out = append(out, i)
		}
	}
	return out
}

// Without drops the rows that mean nothing but files left out: of all files,
// those that keep does not hold. A table may speak of a whole campaign of which
// only a part is used.
func (c *Conditions) Without(all, keep []string) *Conditions {
	kept := map[string]bool{}
	for _, f := range keep {
		kept[f] = true
	}
	d := *c
	d.Rows = nil
	for _, r := range c.Rows {
		m := r.matches(all)
		used := len(m) == 0 // a row that means no file at all is a mistake to be told
		for _, i := range m {
			used = used || kept[all[i]]
		}
		if used {
			d.Rows = append(d.Rows, r)
		}
	}
	return &d
}

func (r ConditionRow) isGlob() bool { return strings.ContainsAny(r.File, "*?[") }

var errNoRate = errors.New("the file states no sampling rate: give the rate, or row0 and row1")
