package campaign

import (
	"bytes"
	"cmp"
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
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// Conditions is a table that ties files, channels and intervals to values.
type Conditions struct {
	Path   string
	Names  []string          // of the conditions, in column order
	Units  map[string]string // by name, where the header states one: "alpha (deg)"
	Labels []string          // names of the columns of text, in column order
	Rows   []ConditionRow    // those that mean one of LogOptions.Files, where there are some
	Others int               // further rows
	// cells that may be meant otherwise: "thousands", "missing-code", "bare-number", "names-with-numbers"
	Warnings []ingest.Warning
	first    []ConditionRow   // of the others
	typed    *conditionsTable // as it is written; nil of a table that nobody typed
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
	// what the row states, in the order of the columns: numbers, NaN of one that is not there, then names
	States []condition.Condition
}

// Given returns what the row states, without numbers that are not there: another source gives them.
func (r ConditionRow) Given() []condition.Condition {
	return slices.DeleteFunc(slices.Clone(r.States), func(c condition.Condition) bool { return math.IsNaN(c.Value) })
}

// Name returns the name that the row states in a column.
func (r ConditionRow) Name(column string) (name string, ok bool) {
	for _, c := range r.States {
		if c.Column == column && c.IsName {
			return c.Name, true
		}
	}

	return "", false
}

// LogOptions tell what a table of conditions that people typed does not show itself.
type LogOptions struct {
	// Files are the recordings: the column that names them may have any name, and lines may come
	// before the header. nil: the column is called file.
	Files   []string
	Columns map[string]string // headers by name: {"rpm": "Drehzahl [1/min]"}
	Missing []string          // further texts for a value that is not there
	Ignore  []string          // names of columns that are no conditions
	Names   []string          // of columns whose cells are names, whatever they look like
	Decimal byte              // decimal sign of numbers that do not show it; 0: not known
}

// maxConditions bounds the table, which is held in memory.
const maxConditions = 64 << 20

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

	return ParseConditions(path, b, o)
}

// conditionsTable is a table of conditions while it is read.
type conditionsTable struct {
	LogOptions
	*Texts   // below the head
	headLine int
	head     []string
	columns  []string // their names; "" of one without a header
	units    []string // "" of a column that states none
	usual    byte     // decimal sign of numbers; 0: not known

	index   *fileIndex     // of Files
	special map[string]int // column of each special name, −1: none

	values, labels []*typedColumn
	seconds        map[string]*typedColumn // t0_s and t1_s
}

// ParseConditions is ReadLog of the bytes of a file.
func ParseConditions(path string, b []byte, o LogOptions) (_ *Conditions, err error) {
	defer fault.Catch(&err)
	fault.Unless(len(bytes.TrimSpace(b)) > 0, fault.At(path, "", "a header and rows", "an empty file", ""))
	fault.Raise(ingest.NoTable(path, b))

	t := &conditionsTable{LogOptions: o, index: newFileIndex(o.Files)}
	t.split(path, b)
	t.layout()
	warnings := t.readColumns()

	name := func(c *typedColumn) string { return c.name }
	c := &Conditions{
		Path: path, Units: map[string]string{}, Warnings: warnings, typed: t, Names: lists.Each(t.values, name),
		Labels: lists.Each(t.labels, name),
	}
	for _, v := range t.values {
		if v.Unit != "" {
			c.Units[v.name] = v.Unit
		}
	}

	for k := range t.Rows {
		r := t.row(k)
		if t.Files == nil || len(t.index.of(r)) > 0 {
			c.Rows = append(c.Rows, t.stated(r, k))
		} else if c.Others++; c.Others <= few+1 {
			c.first = append(c.first, t.stated(r, k))
		}
	}

	return c, nil
}

// fail returns a fault in a line and, if it is not negative, a column.
func (t *conditionsTable) fail(line, col int, name, want, found, hint string) error {
	return fault.At(t.path, place(line, col, name), want, found, hint)
}

func place(line, col int, name string) string {
	if col < 0 {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("line %d, column %d (%s)", line, col+1, name)
}

// split reads the head and the rows of cells.
func (t *conditionsTable) split(path string, b []byte) {
	is := func(form condition.Form) func(cell string) bool {
		return func(cell string) bool { return condition.Read(cell, t.Missing...).Form == form }
	}
	r := fault.Get(text.OpenLog(path, b, text.Log{
		Header: func(cell string) bool { return t.nameOf(cell) == "file" },
		Rows:   []func(string) bool{t.isFile, t.isFileNumber},
		Number: is(condition.Number), Missing: is(condition.Missing),
	}))

	_, t.head = r.Columns()
	line, units := r.Header()
	t.Texts, t.headLine, t.units = readTexts(r), int(line), units
	if r.Info().Encoding == "comma separated" { // numbers have a point where commas are between cells
		t.usual = condition.Point
	}
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
// the most cells that name one, else with the most numbers of one; −1: none does.
func (t *conditionsTable) findFiles() int {
	for _, names := range []func(string) bool{t.isFile, t.isFileNumber} {
		best, most := -1, 0
		for i := range t.head {
			if n := len(lists.Where(t.Rows, func(k int) bool { return names(t.Text(k, i)) })); n > most {
				best, most = i, n
			}
		}

		if best >= 0 {
			return best
		}
	}

	return -1
}

// layout finds the names and the units of the columns, and the special ones.
func (t *conditionsTable) layout() {
	t.special = map[string]int{"file": -1, "channel": -1, "row0": -1, "row1": -1, "t0_s": -1, "t1_s": -1}
	t.columns = make([]string, len(t.head))
	seen := map[string]int{}
	for i, h := range t.head {
		if h == "" {
			filled := slices.ContainsFunc(t.Column(nil, i), func(cell string) bool { return cell != "" })
			fault.Unless(!filled, t.fail(t.headLine, i, "", "a name", "an empty header", ""))
			continue
		}

		name := t.nameOf(h)
		j, dup := seen[name]
		fault.Unless(!dup,
			t.fail(t.headLine, i, name, "names that differ", fmt.Sprintf("%q again, as in column %d", name, j+1), ""))

		seen[name], t.columns[i] = i, name
		if j, ok := t.special[strings.ToLower(name)]; ok && j < 0 {
			t.special[strings.ToLower(name)] = i
		}
	}

	for _, name := range slices.Concat(slices.Sorted(maps.Keys(t.Columns)), t.Ignore) {
		want := fmt.Sprintf("a column %q, which log.ignore names", name)
		if head, ok := t.Columns[name]; ok {
			want = fmt.Sprintf("a column %q, which log.columns calls %s", head, name)
		}

		_, ok := seen[name]
		fault.Unless(ok, t.fail(t.headLine, -1, "", want, "only "+fault.Quoted(t.head), ""))
	}

	hint := ""
	if t.special["file"] < 0 {
		t.special["file"] = t.findFiles()
		if len(t.Files) > 0 {
			hint = "no cell names a recording; name the column with log: {columns: {file: …}}"
		}
	}

	fault.Unless(t.special["file"] >= 0,
		t.fail(t.headLine, -1, "", `a column "file"`, "only "+fault.Quoted(t.head), hint))
	fault.Unless(!t.inRows() || !t.timed(),
		t.fail(t.headLine, -1, "", "intervals in rows or in seconds", "both (row0, row1 and t0_s, t1_s)", ""))
}

// readColumns reads the columns that are no special ones, as conditions or labels, and those of seconds.
func (t *conditionsTable) readColumns() []ingest.Warning {
	special := slices.Collect(maps.Values(t.special))
	t.seconds = map[string]*typedColumn{}
	var cols []*typedColumn
	for i, name := range t.columns {
		c := &typedColumn{index: i, name: name, Column: condition.Column{Unit: t.units[i]}}
		of := strings.ToLower(name)
		switch {
		case (of == "t0_s" || of == "t1_s") && t.special[of] == i:
			t.seconds[of] = c
		case name == "" || slices.Contains(special, i) || slices.Contains(t.Ignore, name):
			continue
		}

		cols = append(cols, c)
	}

	warnings := t.read(cols, reading{
		missing: t.Missing, names: t.Names, decimal: t.Decimal, usual: t.usual,
		hint: "correct the cell, or name its text under log: {missing: […]} if it is no value",
	})
	for _, c := range cols {
		switch {
		case slices.Contains(special, c.index):
		case c.Values == nil:
			t.labels = append(t.labels, c)
		default:
			t.values = append(t.values, c)
		}
	}

	return warnings
}

// inRows and timed report how intervals are given.
func (t *conditionsTable) inRows() bool { return t.special["row0"] >= 0 || t.special["row1"] >= 0 }
func (t *conditionsTable) timed() bool  { return t.special["t0_s"] >= 0 || t.special["t1_s"] >= 0 }

// cell returns a special cell of row k; "" without such a column.
func (t *conditionsTable) cell(k int, special string) string {
	if i := t.special[special]; i >= 0 {
		return t.Text(k, i)
	}

	return ""
}

// row reads a row of cells, but for what it states.
func (t *conditionsTable) row(k int) ConditionRow {
	r := ConditionRow{
		Line: t.lines[k], File: t.cell(k, "file"), Channel: t.cell(k, "channel"), Row1: -1, Timed: t.timed(), T1: math.Inf(1),
	}
	if r.File == "" {
		fault.Raise(t.fail(r.Line, t.special["file"], "file", "a file", "an empty cell", ""))
	}

	// take stores what a special cell states, unless it is empty.
	take := func(key, want string, store func(cell string) bool) {
		if cell := t.cell(k, key); cell != "" && !store(cell) {
			fault.Raise(t.fail(r.Line, t.special[key], key, want, strconv.Quote(fault.Clip(cell)), ""))
		}
	}
	sample := func(key string, to *int64) {
		take(key, "a sample number from 0", func(cell string) bool {
			n, err := strconv.ParseInt(cell, 10, 64)
			*to = n

			return err == nil && n >= 0
		})
	}
	second := func(key string, to *float64) {
		take(key, "seconds from 0", func(string) bool {
			values := t.seconds[key].Values
			if values != nil {
				*to = values[k]
			}

			return values != nil && *to >= 0 && finite(*to)
		})
	}

	sample("row0", &r.Row0)
	sample("row1", &r.Row1)
	second("t0_s", &r.T0)
	second("t1_s", &r.T1)
	switch {
	case r.Row1 >= 0 && r.Row1 <= r.Row0:
		fault.Raise(t.fail(r.Line, -1, "", "row0 below row1", fmt.Sprintf("row0 %d and row1 %d", r.Row0, r.Row1), ""))
	case r.T1 <= r.T0:
		fault.Raise(t.fail(r.Line, -1, "", "t0_s below t1_s", fmt.Sprintf("t0_s %g and t1_s %g", r.T0, r.T1), ""))
	}

	for _, v := range t.values {
		if math.IsInf(v.Values[k], 0) {
			fault.Raise(t.fail(r.Line, v.index, v.name, "a finite number", t.Text(k, v.index), ""))
		}
	}

	return r
}

// stated adds the values and the labels of row k.
func (t *conditionsTable) stated(r ConditionRow, k int) ConditionRow {
	from := fmt.Sprintf("%s, line %d", t.path, r.Line)
	for _, v := range t.values {
		r.States = append(r.States, condition.Condition{Column: v.name, Value: v.Values[k], Origin: from})
	}

	for _, v := range t.labels {
		name := strings.Clone(t.Text(k, v.index))
		r.States = append(r.States, condition.Condition{Column: v.name, Name: name, IsName: true, Origin: from})
	}

	r.File, r.Channel = strings.Clone(r.File), strings.Clone(r.Channel)

	return r
}

// maxLabel bounds a label by which rows are grouped: a longer one is a comment.
const maxLabel = 100

// checkLabel reports a text that names no group.
func checkLabel(s string) *fault.Error {
	found := ""
	switch {
	case s == "":
		found = "an empty cell"
	case len(s) > maxLabel:
		found = strconv.Quote(fault.Clip(s))
	case !utf8.ValidString(s):
		found = "bytes that are not UTF-8"
	default:
		return nil
	}

	return fault.At("", "", fmt.Sprintf("a name of at most %d bytes, by which rows are grouped", maxLabel), found, "")
}

// CheckLabels reports a cell of the named columns of text that names no group; without a table there is none.
func (c *Conditions) CheckLabels(names []string) error {
	if c == nil {
		return nil
	}

	for _, r := range c.Rows {
		for _, s := range r.States {
			if err := checkLabel(s.Name); err != nil && s.IsName && slices.Contains(names, s.Column) {
				err.Path, err.Place = c.Path, fmt.Sprintf("line %d, column %s", r.Line, s.Column)
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
	elems [][]string // of the files' paths
	exact map[string]int
	// by the last element in lower case, with and without its ending, and by the whole numbers in it, without
	// leading zeros; made when needed
	byName, byNumber map[string][]int
	sorted           []int // by the last element, for globs; made when needed
}

// nameNumbers are the numbers in a name.
var nameNumbers = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)

func newFileIndex(files []string) *fileIndex {
	x := &fileIndex{exact: make(map[string]int, len(files))}
	for i, f := range files {
		elems := splitPath(spelling.Composed(f))
		x.elems = append(x.elems, elems)
		x.exact[strings.Join(elems, "/")] = i
	}

	return x
}

// byNames makes the maps by the last element.
func (x *fileIndex) byNames() {
	if x.byName != nil {
		return
	}

	x.byName, x.byNumber = map[string][]int{}, map[string][]int{}
	for i := range x.elems {
		base := strings.ToLower(x.last(i))
		x.byName[base] = append(x.byName[base], i)
		if ext := path.Ext(base); strings.ContainsAny(ext, "abcdefghijklmnopqrstuvwxyz") {
			base = strings.TrimSuffix(base, ext)
			x.byName[base] = append(x.byName[base], i)
		}

		for _, n := range nameNumbers.FindAllString(base, -1) {
			if n = strings.TrimLeft(n, "0"); !slices.Contains(x.byNumber[n], i) {
				x.byNumber[n] = append(x.byNumber[n], i)
			}
		}
	}
}

// last is the last element of a path.
func (x *fileIndex) last(i int) string { return x.elems[i][len(x.elems[i])-1] }

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
	want := splitPath(spelling.Composed(r.File))
	if i, ok := x.exact[strings.Join(want, "/")]; ok {
		return []int{i}
	}

	tail := func(i int) []string { return x.elems[i][max(0, len(x.elems[i])-len(want)):] }
	last := want[len(want)-1]
	if r.isGlob() {
		files = lists.Keep(x.beginning(last), func(i int) bool {
			return matchElements(want, x.elems[i]) || matchElements(want, tail(i))
		})
		slices.Sort(files)

		return files
	}

	x.byNames()

	files = lists.Keep(x.byName[strings.ToLower(last)], func(i int) bool { return slices.Equal(tail(i), want) })

	if files == nil {
		return x.typed(strings.ToLower(strings.ReplaceAll(r.File, `\`, "/")))
	}

	return files
}

// beginning lists the files whose last element begins as a glob does.
func (x *fileIndex) beginning(glob string) []int {
	if x.sorted == nil {
		x.sorted = lists.Numbers(len(x.elems))
		slices.SortFunc(x.sorted, func(a, b int) int { return cmp.Compare(x.last(a), x.last(b)) })
	}

	begin, _, _ := strings.Cut(strings.NewReplacer("*", "?", "[", "?", `\`, "?").Replace(glob), "?")
	find := func(s string) int {
		at, _ := slices.BinarySearchFunc(x.sorted, s, func(i int, s string) int { return cmp.Compare(x.last(i), s) })
		return at
	}

	return x.sorted[find(begin):find(begin+"\xff")]
}

// typed lists the files of a row in lower case whose name may lack its ending: those whose path
// ends as the row's does, as far as the shorter of the two goes. The folders of another computer,
// C:/data or /data, need not all be there: the files that agree in most of them are meant.
func (x *fileIndex) typed(file string) (files []int) {
	want := splitPath(spelling.Composed(file))
	away := strings.HasPrefix(file, "/") || len(want[0]) == 2 && want[0][1] == ':'
	most := 0
	for _, i := range x.byName[want[len(want)-1]] {
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

// Without drops the rows that mean nothing but files left out: of all files, LogOptions.Files,
// those that keep does not hold. A table may list a whole campaign of which only
// a part is used. Rows that mean no file at all are dropped with a warning where each
// file that is kept has another row; else they are errors to report, as misspelled ones.
func (c *Conditions) Without(all, keep []string) (*Conditions, []ingest.Warning) {
	kept := slices.Compact(slices.Sorted(slices.Values(keep)))
	d, stated := *c, map[string]bool{}
	d.Rows = nil
	for k, of := range c.FilesOf(all) {
		used := false
		for _, i := range of {
			if _, keeps := slices.BinarySearch(kept, all[i]); keeps {
				used, stated[all[i]] = true, true
			}
		}

		if used {
			d.Rows = append(d.Rows, c.Rows[k])
		}
	}

	if c.Others == 0 || len(stated) < len(kept) {
		return &d, nil
	}

	d.first, d.Others = nil, 0

	return &d, []ingest.Warning{ingest.Warn(c.Path, "rows-without-file", "%s of no file left out: %s",
		fault.Plural(int64(c.Others), "row"), someRows(c.first, c.Others))}
}

// few is how many names a message has.
const few = 10

// someRows writes the first of n rows, with their lines.
func someRows(rows []ConditionRow, n int) string {
	return someOf(n, lists.Each(rows[:min(len(rows), few)], func(r ConditionRow) string {
		return fmt.Sprintf("%s (line %d)", r.File, r.Line)
	}))
}

// Some writes the first of many names.
func Some(names []string) string { return someOf(len(names), names) }

// someOf writes the first of n names.
func someOf(n int, names []string) string {
	if n > few {
		names = append(slices.Clone(names[:min(len(names), few)]), fmt.Sprintf("… and %d more", n-few))
	}

	return strings.Join(names, ", ")
}

// FillGaps settles values that the table does not state. A condition that needed names and that no
// other source gives is an error; a column that nothing needs is left out with a warning.
func (c *Conditions) FillGaps(needed func(name string) bool, given []string) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	for k := len(c.Names) - 1; k >= 0; k-- {
		name := c.Names[k]
		gaps := slices.DeleteFunc(slices.Clone(c.Rows), func(r ConditionRow) bool { return !math.IsNaN(r.States[k].Value) })
		if len(gaps) == 0 || slices.Contains(given, name) {
			continue
		}

		place, text := c.typed.written(gaps[0].Line, name)
		found := strconv.Quote(text)
		if text == "" {
			found = "an empty cell"
		}

		why := ""
		switch {
		case needed(name):
			why = "since the configuration uses " + name
		case len(c.Names) == 1 && len(given) == 0:
			why = "since no other condition is known"
		}

		if why != "" {
			return nil, fault.At(c.Path, place, "a number, "+why, found,
				fmt.Sprintf("write it, or leave %s out with exclude", gaps[0].File))
		}

		warnings = append(warnings, ingest.Warn(c.Path, "missing-values",
			"%s: %s, of %s; %d of %d rows have no number there, and nothing uses it: the column is left out", place, found,
			gaps[0].File, len(gaps), len(c.Rows)))

		c.Names = slices.Delete(slices.Clone(c.Names), k, k+1)
		for i, r := range c.Rows {
			c.Rows[i].States = slices.Delete(slices.Clone(r.States), k, k+1)
		}
	}

	return warnings, nil
}

// written is a place in the table, for messages, and what is written there.
func (t *conditionsTable) written(line int, name string) (at, cell string) {
	i, k := slices.Index(t.columns, name), slices.Index(t.lines, line)
	return place(line, i, name), t.Text(k, i)
}

func (r ConditionRow) isGlob() bool { return strings.ContainsAny(r.File, "*?[") }

// Convert turns the values into those of the units that the conditions' names state
// (units.ToName). stated holds units by name; they replace those of the header. It
// returns a description of each conversion by name. An unknown unit, or one of
// another dimension, is a *fault.Error.
func (c *Conditions) Convert(stated map[string]string) (text map[string]string, err error) {
	defer fault.Catch(&err)
	text = map[string]string{}
	for k, name := range c.Names {
		unit, ok := stated[name]
		if !ok {
			unit = c.Units[name]
		}

		n := toName(c.Path, name, name, unit)
		if n.From == "" {
			continue
		}

		for i := range c.Rows {
			c.Rows[i].States[k].Value = n.Apply(c.Rows[i].States[k].Value)
		}

		c.Units[name], text[name] = n.Unit, n.String()
	}

	return text, nil
}
