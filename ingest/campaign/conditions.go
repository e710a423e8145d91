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

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/spelling"
	"doubletake/ingest/units"
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
	// Converted describes, by condition, how its values became values in the unit of its name.
	Converted map[string]string
	// cells that may be meant otherwise: "thousands", "missing-code", "bare-number", "names-with-numbers"
	Warnings []ingest.Warning
	first    []ConditionRow // of the others
}

// ConditionRow is one row of the table.
type ConditionRow struct {
	Line    int
	File    string // relative path, trailing part of one, or glob
	Channel string // name or number from 1; "": all channels
	// the interval [Begin, End) in samples or, if it is Timed, in s from the first one; End may be infinite
	Begin, End float64
	Timed      bool
	// what the row states, in the order of the columns: numbers, then names. A number that is not there is NaN, with
	// what is written instead as its name and the place as its origin
	States []condition.Condition
}

// Given returns what the row states, without numbers that are not there: another source gives them.
func (r ConditionRow) Given() []condition.Condition {
	return slices.DeleteFunc(slices.Clone(r.States), func(c condition.Condition) bool { return math.IsNaN(c.Value) })
}

// Name returns the name that the row states in a column.
func (r ConditionRow) Name(column string) (name string, ok bool) {
	c, ok := lists.Find(r.States, func(c condition.Condition) bool { return c.Column == column && c.IsName })
	return c.Name, ok
}

// LogOptions tell what a table of conditions that people typed does not show itself.
type LogOptions struct {
	// Files are the recordings: the column that names them may have any name, and lines may come
	// before the header. nil: the column is called file.
	Files   []string
	Columns map[string]string        // headers by name: {"rpm": "Drehzahl [1/min]"}
	Missing []string                 // further texts for a value that is not there
	Ignore  []string                 // names of columns that are no conditions
	Names   []string                 // of columns whose cells are names, whatever they look like
	IsName  func(column string) bool // finds further such columns; nil: none
	Decimal byte                     // decimal sign of numbers that do not show it; 0: not known
	// Units are those of conditions by name, which replace the headers': values are turned into the units of the
	// names. nil: they stay as they are.
	Units map[string]string
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
	*Cells   // below the head
	headLine int
	usual    byte // decimal sign of numbers; 0: not known

	index   *fileIndex // of Files
	columns []*typedColumn
	special map[string]*typedColumn // by their names: file, channel and edges; nil of one that is not there
	values  []*typedColumn          // that rows state: those of numbers, then those of names
}

// edges are the columns of intervals, in samples and in seconds.
var edges = []string{"row0", "row1", "t0_s", "t1_s"}

// ParseConditions is ReadLog of the bytes of a file.
func ParseConditions(path string, b []byte, o LogOptions) (_ *Conditions, err error) {
	defer fault.Catch(&err)
	fault.Unless(len(bytes.TrimSpace(b)) > 0, fault.At(path, "", "a header and rows", "an empty file", ""))
	fault.Raise(ingest.NoTable(path, b))

	t := &conditionsTable{LogOptions: o, index: newFileIndex(o.Files)}
	t.split(path, b)
	t.layout()
	c := &Conditions{Path: path, Units: map[string]string{}, Warnings: t.readColumns(), Converted: map[string]string{}}
	for _, v := range t.values {
		if v.Values == nil {
			c.Labels = append(c.Labels, v.name)
			continue
		}

		c.Names = append(c.Names, v.name)
		if o.Units != nil {
			if n := Convert(path, v.name, v.name, v.Unit, o.Units, v.Values); n.From != "" {
				v.Unit, c.Converted[v.name] = n.Unit, n.String()
			}
		}

		if v.Unit != "" {
			c.Units[v.name] = v.Unit
		}
	}

	t.readRows(c)
	c.Warnings = append(c.Warnings, t.commented(b)...)

	return c, nil
}

// heading matches a comment that states something: # alpha = 5.
var heading = regexp.MustCompile(`^#\s*(\pL[^=:]*?)\s*[=:]\s*(.+?)[\s,;]*$`)

// commented warns of comments between the rows that state one thing in several ways, as headings do.
func (t *conditionsTable) commented(b []byte) []ingest.Warning {
	said, no := map[string]string{}, 0
	for line := range bytes.Lines(b) {
		no++
		m := heading.FindSubmatch(bytes.TrimSpace(line))
		if m == nil || no <= t.headLine {
			continue
		}

		what, value := string(m[1]), string(m[2])
		if before := said[what]; before != "" && before != value {
			return []ingest.Warning{ingest.Warn(t.path, "commented", "line %d: a comment states %s as %s, one above as %s: if "+
				"that is true of the rows below them, write it in a column", no, what, value, before)}
		}

		said[what] = value
	}

	return nil
}

// readRows reads the rows; of those that mean no file, which may be those of a whole campaign, the first few. A row
// of no file and no value above others is a heading unless a file is called like it: without APC 8x6, or Day 2,
// the rows below it would be repeats of those above.
func (t *conditionsTable) readRows(c *Conditions) {
	says := func(k int) bool {
		return slices.ContainsFunc(t.values, func(v *typedColumn) bool {
			isName := v.Values == nil
			return isName && len(c.Names) == 0 && t.Text(k, v.index) != "" || !isName && !math.IsNaN(v.Values[k])
		})
	}
	kind := func(r ConditionRow) string { return nameNumbers.ReplaceAllString(strings.ToLower(r.File), "0") }
	bare := map[string]int{} // the first line, by kind
	for k := range t.Rows {
		r := t.row(k)
		if t.Files == nil || len(t.index.of(r.File)) > 0 {
			c.Rows = append(c.Rows, t.stated(r, k))
			continue
		}

		if c.Others++; c.Others <= few+1 {
			c.first = append(c.first, t.stated(r, k))
		}

		if !says(k) {
			bare[kind(r)] = cmp.Or(bare[kind(r)], r.Line)
		}
	}

	if len(bare) == 0 || len(c.Rows) == 0 {
		return
	}

	for _, r := range c.Rows {
		delete(bare, kind(r))
	}

	for _, line := range slices.Sorted(maps.Values(bare)) {
		k, _ := slices.BinarySearch(t.lines, line)
		fault.Unless(line > c.Rows[len(c.Rows)-1].Line, t.fail(line, -1, "", "a recording and its conditions",
			fmt.Sprintf("only %q", t.cell(k, "file")),
			"write the heading as a column of the rows below it, and delete it"))
	}
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

	line, of := r.Header()
	t.Cells, t.headLine = newCells(r).read(r), int(line)
	for i, unit := range of {
		t.columns = append(t.columns, &typedColumn{index: i, Column: condition.Column{Unit: unit}})
	}

	if r.Info().Encoding == "comma separated" { // numbers have a point where commas are between cells
		t.usual = condition.Point
	}
}

// isFile reports whether a cell names a recording.
func (t *conditionsTable) isFile(cell string) bool {
	return cell != "" && !isGlob(cell) && len(t.index.named(cell)) > 0
}

// isFileNumber reports whether a cell is a number that one recording has in its name.
func (t *conditionsTable) isFileNumber(cell string) bool { return len(t.index.numbered(cell)) > 0 }

// nameOf returns the name of a column, which Columns gives or the header.
func (t *conditionsTable) nameOf(head string) string {
	name, _ := text.SplitUnit(head)
	for _, as := range slices.Sorted(maps.Keys(t.LogOptions.Columns)) {
		if h := t.LogOptions.Columns[as]; strings.EqualFold(h, head) || strings.EqualFold(h, name) {
			return as
		}
	}

	if strings.EqualFold(name, "file") {
		return "file"
	}

	return name
}

// findFiles finds the column that names the recordings, where none is called file: the one with
// the most cells that name one, else with the most numbers of one; nil: none does.
func (t *conditionsTable) findFiles() *typedColumn {
	for _, names := range []func(string) bool{t.isFile, t.isFileNumber} {
		counts := lists.Each(t.columns, func(c *typedColumn) int {
			return len(lists.Where(t.Rows, func(k int) bool { return names(t.Text(k, c.index)) }))
		})
		if most := slices.Max(counts); most > 0 {
			return t.columns[slices.Index(counts, most)]
		}
	}

	return nil
}

// layout finds the names of the columns, and the special ones.
func (t *conditionsTable) layout() {
	t.special = map[string]*typedColumn{}
	seen := map[string]int{}
	for i, h := range t.Heads {
		if h == "" {
			filled := slices.ContainsFunc(t.Column(nil, i), func(cell string) bool { return cell != "" })
			fault.Unless(!filled, t.fail(t.headLine, i, "", "a name", "an empty header",
				"name the column; of merged cells each needs its own"))
			continue
		}

		name := t.nameOf(h)
		j, dup := seen[name]
		fault.Unless(!dup,
			t.fail(t.headLine, i, name, "names that differ", fmt.Sprintf("%q again, as in column %d", name, j+1), ""))

		seen[name], t.columns[i].name = i, name
		of := strings.ToLower(name)
		if t.special[of] == nil && (of == "file" || of == "channel" || slices.Contains(edges, of)) {
			t.special[of] = t.columns[i]
		}
	}

	for _, name := range slices.Concat(slices.Sorted(maps.Keys(t.LogOptions.Columns)), t.Ignore) {
		want := fmt.Sprintf("a column %q, which log.ignore names", name)
		if head, ok := t.LogOptions.Columns[name]; ok {
			want = fmt.Sprintf("a column %q, which log.columns calls %s", head, name)
		}

		_, ok := seen[name]
		fault.Unless(ok, t.fail(t.headLine, -1, "", want, "only "+fault.Quoted(t.Heads), ""))
	}

	hint := ""
	if t.special["file"] == nil {
		t.special["file"] = t.findFiles()
		if len(t.Files) > 0 {
			hint = "no cell names a recording; name the column with log: {columns: {file: …}}"
		}
	}

	fault.Unless(t.special["file"] != nil,
		t.fail(t.headLine, -1, "", `a column "file"`, "only "+fault.Quoted(t.Heads), hint))
	first := t.Heads[t.special["file"].index]
	fault.Unless(!t.isFile(first), t.fail(t.headLine, -1, "", "a header", fmt.Sprintf("a row, of %q", first),
		"name the columns in a first line"))
	fault.Unless(!t.has(edges[:2]) || !t.has(edges[2:]),
		t.fail(t.headLine, -1, "", "intervals in rows or in seconds", "both (row0, row1 and t0_s, t1_s)", ""))
}

// has reports whether there is one of the special columns.
func (t *conditionsTable) has(special []string) bool {
	return slices.ContainsFunc(special, func(name string) bool { return t.special[name] != nil })
}

// unitWords are headers of columns with the units of others.
var unitWords = regexp.MustCompile(`(?i)(^|[ _])(units?|einheit(en)?|unité|unidad|unità)$`)

// unitsOf lists the units in a column that its header calls so; nil of another.
func unitsOf(name string, cells []string) []string {
	noUnit := func(cell string) bool { _, err := units.Parse(cell); return err != nil }
	if _, are := lists.Index(cells); unitWords.MatchString(name) && !slices.ContainsFunc(are, noUnit) {
		return are
	}

	return nil
}

// readColumns reads the columns that are no special ones, as conditions or labels, and those of seconds.
func (t *conditionsTable) readColumns() []ingest.Warning {
	special := slices.Collect(maps.Values(t.special))
	cols := lists.Keep(t.columns, func(c *typedColumn) bool {
		return c == t.special["t0_s"] || c == t.special["t1_s"] ||
			c.name != "" && !slices.Contains(special, c) && !slices.Contains(t.Ignore, c.name)
	})
	warnings := t.typed(cols, reading{
		ColumnOptions: condition.ColumnOptions{Missing: t.Missing, Decimal: t.Decimal, Default: t.usual}, names: t.Names,
		isName: t.IsName,
		hint:   "correct the cell, or name its text under log: {missing: […]} if it is no value",
	})
	for _, c := range lists.Keep(cols, func(c *typedColumn) bool { return unitWords.MatchString(c.name) }) {
		are := unitsOf(c.name, t.Column(nil, c.index))
		fault.Unless(len(are) < 2, t.fail(t.headLine, c.index, c.name, "one unit in all rows", fault.Quoted(are),
			"write the units behind the numbers, or log: {ignore: [NAME]} if they are not those of a condition"))
	}

	for _, names := range []bool{false, true} {
		t.values = append(t.values, lists.Keep(cols, func(c *typedColumn) bool {
			return !slices.Contains(special, c) && (c.Values == nil) == names
		})...)
	}

	return warnings
}

// cell returns a special cell of row k; "" without such a column.
func (t *conditionsTable) cell(k int, special string) string {
	if c := t.special[special]; c != nil {
		return t.Text(k, c.index)
	}

	return ""
}

// row reads a row of cells, but for what it states.
func (t *conditionsTable) row(k int) ConditionRow {
	r := ConditionRow{
		Line: t.lines[k], File: t.cell(k, "file"), Channel: t.cell(k, "channel"), Timed: t.has(edges[2:]),
	}
	if r.File == "" {
		fault.Raise(t.fail(r.Line, t.special["file"].index, "file", "a file", "an empty cell",
			"name the recording, or delete a row of means or remarks; write a heading as a column of the rows below it"))
	}

	begin, end := "row0", "row1"
	if r.Timed {
		begin, end = "t0_s", "t1_s"
	}

	r.Begin, r.End = t.edge(k, begin, 0), t.edge(k, end, math.Inf(1))
	if r.Begin >= r.End {
		fault.Raise(t.fail(r.Line, -1, "", begin+" below "+end,
			fmt.Sprintf("%s %s and %s %s", begin, plain(r.Begin), end, plain(r.End)), ""))
	}

	for _, v := range t.values {
		if v.Values != nil && math.IsInf(v.Values[k], 0) {
			fault.Raise(t.fail(r.Line, v.index, v.name, "a finite number", t.Text(k, v.index), ""))
		}
	}

	return r
}

// stated adds the values and the labels of row k.
func (t *conditionsTable) stated(r ConditionRow, k int) ConditionRow {
	from := fmt.Sprintf("%s, line %d", t.path, r.Line)
	for _, v := range t.values {
		s := condition.Condition{Column: v.name, IsName: v.Values == nil, Origin: from}
		if !s.IsName {
			s.Value = v.Values[k]
		}

		if s.IsName || math.IsNaN(s.Value) {
			s.Name = strings.Clone(t.Text(k, v.index))
		}

		if math.IsNaN(s.Value) {
			s.Origin = t.place(k, v)
		}

		r.States = append(r.States, s)
	}

	r.File, r.Channel = strings.Clone(r.File), strings.Clone(r.Channel)

	return r
}

// edge reads one of the edges of row k, which is open where its cell is empty.
func (t *conditionsTable) edge(k int, name string, open float64) float64 {
	cell, c := t.cell(k, name), t.special[name]
	if cell == "" {
		return open
	}

	want, v := "a sample number from 0", math.NaN()
	switch n, err := strconv.ParseInt(cell, 10, 64); {
	case c.Values != nil:
		want, v = "seconds from 0", c.Values[k]
	case strings.HasSuffix(name, "_s"):
		want = "seconds from 0"
	case err == nil:
		v = float64(n)
	}

	if !(v >= 0 && finite(v)) {
		fault.Raise(t.fail(t.lines[k], c.index, name, want, strconv.Quote(fault.Clip(cell)), ""))
	}

	return v
}

// plain writes a number without exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// CheckLabels reports a cell of the named columns of text that names no group; without a table there is none.
func (c *Conditions) CheckLabels(names []string) error {
	if c == nil {
		return nil
	}

	for _, r := range c.Rows {
		for _, s := range r.States {
			if err := condition.CheckName(s.Name); err != nil && s.IsName && slices.Contains(names, s.Column) {
				err.Path, err.Place = c.Path, fmt.Sprintf("line %d, column %s", r.Line, s.Column)
				return err
			}
		}
	}

	return nil
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return v-v == 0 }

// fileIndex finds the files that a cell means.
type fileIndex struct {
	elems [][]string // of the files' paths
	exact map[string]int
	// by the last element in lower case, with and without its ending, and by the whole numbers in it, without
	// leading zeros, which are found when needed
	byName, byNumber map[string][]int
	sorted           []int // by the last element, for globs; found when needed
}

// nameNumbers are the numbers in a name.
var nameNumbers = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)

func newFileIndex(files []string) *fileIndex {
	x := &fileIndex{exact: map[string]int{}, byName: map[string][]int{}}
	for i, f := range files {
		elems := slashed(f)
		x.elems, x.exact[strings.Join(elems, "/")] = append(x.elems, elems), i
		base, stem := stemOf(elems)
		x.byName[base] = append(x.byName[base], i)
		if stem != base {
			x.byName[stem] = append(x.byName[stem], i)
		}
	}

	return x
}

// slashed splits a path as any system writes it.
func slashed(p string) []string { return splitPath(spelling.Composed(strings.ReplaceAll(p, `\`, "/"))) }

// stemOf is the last element of a path in lower case, with and without its ending.
func stemOf(elems []string) (base, stem string) {
	base = strings.ToLower(elems[len(elems)-1])
	if ext := path.Ext(base); strings.ContainsAny(ext, "abcdefghijklmnopqrstuvwxyz") {
		return base, strings.TrimSuffix(base, ext)
	}

	return base, base
}

// of lists the files that a cell means: those it names, else the one with its number.
func (x *fileIndex) of(cell string) (files []int) {
	if files = x.named(cell); files == nil {
		return x.numbered(cell)
	}

	return files
}

// numbered returns the only file that has a number in its name: 17 is rec_0017.wav.
func (x *fileIndex) numbered(cell string) []int {
	if cell == "" || strings.Trim(cell, "0123456789") != "" {
		return nil
	}

	if x.byNumber == nil {
		x.byNumber = map[string][]int{}
		for i, elems := range x.elems {
			_, stem := stemOf(elems)
			for _, n := range nameNumbers.FindAllString(stem, -1) {
				if n = strings.TrimLeft(n, "0"); !slices.Contains(x.byNumber[n], i) {
					x.byNumber[n] = append(x.byNumber[n], i)
				}
			}
		}
	}

	if files := x.byNumber[strings.TrimLeft(cell, "0")]; len(files) == 1 {
		return files
	}

	return nil
}

// asWritten is how well a file agrees with a cell whose elements all are its last ones as they are written, in
// elements that agree but for letter case and the ending of the name.
const asWritten = 1 << 20

// named lists the files that a cell names: the one with exactly this path; else, for a glob, all that match it in their
// whole path or their trailing elements; else those that agree best, whose path ends as the cell does, as far as the
// shorter of the two goes. The folders of another computer, C:/data or /data, need not all be there.
func (x *fileIndex) named(cell string) (files []int) {
	want := slashed(cell)
	if i, ok := x.exact[strings.Join(want, "/")]; ok {
		return []int{i}
	}

	if isGlob(cell) {
		return x.matching(splitPath(spelling.Composed(cell)))
	}

	typed, most := lists.Each(want, strings.ToLower), 0
	away := typed[0] == "" || len(typed[0]) == 2 && typed[0][1] == ':'
	for _, i := range x.byName[typed[len(typed)-1]] {
		elems, n := x.elems[i], 1
		least := min(len(elems), len(want))
		for n < least && strings.ToLower(elems[len(elems)-1-n]) == typed[len(typed)-1-n] {
			n++
		}

		switch {
		case n < least && !away:
			continue
		case slices.Equal(elems[len(elems)-n:], want):
			n = asWritten
		}

		if n > most {
			most, files = n, nil
		}

		if n == most {
			files = append(files, i)
		}
	}

	return files
}

// matching lists the files that match a glob. Those whose name begins as it does are neighbours in sorted.
func (x *fileIndex) matching(glob []string) []int {
	last := func(i int) string { return x.elems[i][len(x.elems[i])-1] }
	if x.sorted == nil {
		x.sorted = lists.Numbers(len(x.elems))
		slices.SortFunc(x.sorted, func(a, b int) int { return cmp.Compare(last(a), last(b)) })
	}

	begin, _, _ := strings.Cut(strings.NewReplacer("*", "?", "[", "?", `\`, "?").Replace(glob[len(glob)-1]), "?")
	find := func(name string) int {
		at, _ := slices.BinarySearchFunc(x.sorted, name, func(i int, name string) int { return cmp.Compare(last(i), name) })
		return at
	}

	files := lists.Keep(x.sorted[find(begin):find(begin+"\xff")], func(i int) bool {
		elems := x.elems[i]
		return matchElements(glob, elems) || matchElements(glob, elems[max(0, len(elems)-len(glob)):])
	})
	slices.Sort(files)

	return files
}

// Without drops the rows that mean nothing but files left out: of all files, LogOptions.Files,
// those that keep does not hold. A table may list a whole campaign of which only
// a part is used. Rows that mean no file at all are dropped with a warning where each
// file that is kept has another row; else they are errors to report, as misspelled ones.
func (c *Conditions) Without(all, keep []string) (*Conditions, []ingest.Warning) {
	kept := slices.Compact(slices.Sorted(slices.Values(keep)))
	isKept := func(i int) bool { _, ok := slices.BinarySearch(kept, all[i]); return ok }
	d, stated := *c, map[int]bool{} // files
	d.Rows = nil
	for k, of := range c.FilesOf(all) {
		if of = lists.Keep(of, isKept); len(of) > 0 {
			d.Rows = append(d.Rows, c.Rows[k])
		}

		for _, i := range of {
			stated[i] = true
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
	return someOf(n, func(i int) string { return fmt.Sprintf("%s (line %d)", rows[i].File, rows[i].Line) })
}

// Some writes the first of many names.
func Some(names []string) string { return someOf(len(names), func(i int) string { return names[i] }) }

// someOf writes the first of n names.
func someOf(n int, name func(i int) string) string {
	names := lists.Make(min(n, few), name)
	if n > few {
		names = append(names, fmt.Sprintf("… and %d more", n-few))
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

		gap := gaps[0].States[k]
		found := strconv.Quote(gap.Name)
		if gap.Name == "" {
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
			return nil, fault.At(c.Path, gap.Origin, "a number, "+why, found,
				fmt.Sprintf("write it, or leave %s out with exclude", gaps[0].File))
		}

		warnings = append(warnings, ingest.Warn(c.Path, "missing-values",
			"%s: %s, of %s; %d of %d rows have no number there, and nothing uses it: the column is left out", gap.Origin, found,
			gaps[0].File, len(gaps), len(c.Rows)))

		c.Names = slices.Delete(slices.Clone(c.Names), k, k+1)
		for i, r := range c.Rows {
			c.Rows[i].States = slices.Delete(slices.Clone(r.States), k, k+1)
		}
	}

	return warnings, nil
}

func isGlob(file string) bool { return strings.ContainsAny(file, "*?[") }

// Describe returns one text per row with its whole contents as name=value pairs, without its line: the same
// statement elsewhere in the table is the same statement.
func (c *Conditions) Describe() []string {
	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

	return lists.Each(c.Rows, func(r ConditionRow) string {
		var parts []string
		put := func(k, v string) { parts = append(parts, k+"="+v) }
		if r.Channel != "" {
			put("channel", strconv.Quote(r.Channel))
		}

		switch open := math.IsInf(r.End, 1); {
		case r.Timed:
			put("t0_s", num(r.Begin))
			put("t1_s", num(r.End))
		case open && r.Begin > 0:
			put("row0", plain(r.Begin))
			put("row1", "-1")
		case !open:
			put("row0", plain(r.Begin))
			put("row1", plain(r.End))
		}

		for _, s := range r.States {
			if !s.IsName {
				put(s.Column, num(s.Value))
			}
		}

		return strings.Join(parts, " ")
	})
}

// FilesOf lists the files that each row of the table means, by index; none of a row of another file.
func (c *Conditions) FilesOf(files []string) [][]int {
	return FilesOf(lists.Each(c.Rows, func(r ConditionRow) string { return r.File }), files)
}

// FilesOf lists the files that each of the names means, as those of a table of conditions do.
func FilesOf(names, files []string) [][]int { return lists.Each(names, newFileIndex(files).of) }
