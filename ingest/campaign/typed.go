package campaign

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
	"doubletake/ingest/units"
	"doubletake/internal/lists"
)

// Cells are those of a table, whose rows have equally many, one behind the other.
type Cells struct {
	Columns, Heads []string          // names, and headers unchanged
	Clock          string            // the column that holds the time; ""
	Units          map[string]string // of columns of numbers, as their headers state them
	Rows           int
	path           string
	lines          []int // of the rows
	all            strings.Builder
	from           []int    // of each row, in all
	ends           []uint32 // of each cell, behind the beginning of its row
}

// newCells is a table without rows.
func newCells(r *text.Reader) *Cells {
	rows, _ := r.Size()
	t := &Cells{path: r.Info().Path, lines: make([]int, 0, rows)}
	t.Columns, t.Heads = r.Columns()

	return t
}

// read reads all cells.
func (t *Cells) read(r *text.Reader) *Cells {
	rows, size := r.Size()
	columns := len(t.Columns)
	t.from = make([]int, 0, rows)
	t.ends = make([]uint32, 0, min(int(rows)*columns, int(size)+columns)) // a cell has a delimiter
	t.all.Grow(int(size))
	fault.Raise(r.Rows(nil, nil, func(line int64, cells [][]byte) {
		t.from, t.lines = append(t.from, t.all.Len()), append(t.lines, int(line))
		n := 0
		for _, c := range cells {
			t.all.Write(c)
			n += len(c)
			t.ends = append(t.ends, uint32(n))
		}

		t.Rows++
	}))

	return t
}

// ReadCells reads all cells of a table; of one of more than most rows it reads none.
func ReadCells(path string, most int64) (_ *Cells, err error) {
	defer fault.Catch(&err)
	t := openText(TableFile{Path: path}, ingest.TextOptions{})
	defer t.Close()
	c := newCells(t)
	c.Units = map[string]string{}
	for _, ch := range t.Info().Channels {
		c.Units[ch.Name] = ch.Unit
		if ch.IsTime() {
			c.Clock = ch.Name
		}

		if ch.Samples > most {
			return c, nil
		}
	}

	return c.read(t), nil
}

// Text returns a cell.
func (t *Cells) Text(row, column int) string {
	begin, ends := uint32(0), t.ends[row*len(t.Columns):][:len(t.Columns)]
	if column > 0 {
		begin = ends[column-1]
	}

	return t.all.String()[t.from[row]:][begin:ends[column]]
}

// Column appends the cells of a column to dst.
func (t *Cells) Column(dst []string, column int) []string {
	dst = slices.Grow(dst, t.Rows)
	for k := range t.Rows {
		dst = append(dst, t.Text(k, column))
	}

	return dst
}

// reading tells what cells that people typed do not show themselves.
type reading struct {
	condition.ColumnOptions                          // of all columns
	names                   []string                 // columns whose cells are names, whatever they look like
	isName                  func(column string) bool // likewise; nil: none
	codes                   []float64                // that are known to mean no value
	hint                    string                   // for a cell that does not fit
}

// typedColumn is a column of cells, as it is written and as it is read.
type typedColumn struct {
	condition.Column
	index   int
	name    string
	isName  bool     // of a table of results: its cells are names, whatever they look like
	texts   []string // by row, of a column of names of a table of results
	remarks bool     // a column with both names and numbers is a column of names
}

// place is that of a cell, for messages.
func (t *Cells) place(row int, c *typedColumn) string { return place(t.lines[row], c.index, c.name) }

// typed reads columns, whose units are those of their headers. It returns warnings of cells that may be meant
// otherwise.
func (t *Cells) typed(cols []*typedColumn, o reading) (warnings []ingest.Warning) {
	options := lists.Each(cols, func(c *typedColumn) condition.ColumnOptions {
		of := o.ColumnOptions
		usual, _ := units.OfName(c.name)
		of.Unit, of.Usual, of.Remarks = c.Unit, usual.Text, c.remarks
		of.Names = slices.Contains(o.names, c.name) || o.isName != nil && o.isName(c.name)

		return of
	})

	var texts []string // of one column
	read, errs := condition.ReadColumns(func(k int) []string {
		texts = t.Column(texts[:0], cols[k].index)
		return texts
	}, options)

	for k, c := range cols {
		if bad, is := errors.AsType[*condition.CellError](errs[k]); is {
			fault.Raise(fault.At(t.path, t.place(bad.Row, c), bad.Want, bad.Found, cmp.Or(bad.Hint, o.hint)))
		}

		c.Column = read[k]
		warnings = append(warnings, t.doubts(c, o.codes)...)
	}

	return warnings
}

// doubts warns of cells of a column that may be meant otherwise, codes that are known excepted.
func (t *Cells) doubts(c *typedColumn, codes []float64) (warnings []ingest.Warning) {
	for _, d := range c.Doubts {
		if d.Code != "missing-code" || !slices.Contains(codes, c.Values[d.Row]) {
			warnings = append(warnings, ingest.Warn(t.path, d.Code, "%s: %s", t.place(d.Row, c), d.Text))
		}
	}

	return warnings
}

// mostKnown bounds the names that are kept to be given again.
const mostKnown = 1 << 16

// keptNames are names that occur again and again, each kept once.
type keptNames map[string]string

// of returns a name.
func (k keptNames) of(name []byte) string {
	s, ok := k[string(name)]
	if !ok {
		if s = string(name); len(k) < mostKnown {
			k[s] = s
		}
	}

	return s
}

// readResults reads columns of a table of results: of numbers and of names; those without an index are none of the
// file. It returns what to warn of, and the table, without cells where programs wrote all numbers: it may have
// millions of rows.
func readResults(t *text.Reader, o TableOptions, cols []*typedColumn) (*Cells, []ingest.Warning) {
	info := t.Info()
	_, heads := t.Columns()
	rows, _ := t.Size()
	cols = lists.Keep(cols, func(c *typedColumn) bool { return c.index >= 0 })
	var names []*typedColumn
	var channels []int
	var values [][]float64
	for _, c := range cols {
		isColumn := func(ch int) bool { return t.Column(ch) == c.index }
		switch ch := slices.IndexFunc(lists.Numbers(len(info.Channels)), isColumn); {
		case c.isName:
			c.texts, names = make([]string, 0, rows), append(names, c)
		case ch >= 0:
			c.Unit, c.Values = info.Channels[ch].Unit, make([]float64, rows)
			channels, values = append(channels, ch), append(values, c.Values)
		default:
			_, c.Unit = text.SplitUnit(heads[c.index])
			c.remarks = true
		}
	}

	t.Tolerate(slices.Repeat([]bool{true}, len(info.Channels)))
	known := keptNames{}
	table := newCells(t)
	table.Rows = int(rows)
	fault.Raise(t.Rows(channels, values, func(line int64, cells [][]byte) {
		table.lines = append(table.lines, int(line))
		for _, c := range names {
			c.texts = append(c.texts, known.of(cells[c.index]))
		}
	}))

	// Numbers that are none for programs are read as people write them.
	comma, german := strings.HasSuffix(info.Encoding, "decimal comma"), strings.HasPrefix(info.Encoding, "semicolon")
	hundreds := func(v float64) bool { return v >= 100 && v < 1000 && v == math.Trunc(v) } // 900 beside 1.200
	people, programs := lists.Split(cols, func(c *typedColumn) bool {
		return !c.isName && (comma || c.Values == nil || slices.ContainsFunc(c.Values, math.IsNaN) ||
			german && slices.ContainsFunc(c.Values, hundreds))
	})

	as := reading{
		ColumnOptions: condition.ColumnOptions{Decimal: o.Decimal}, names: o.Names, codes: o.codes(),
		hint: "correct the cell; name the column under things where its cells are names",
	}

	var warnings []ingest.Warning
	for _, c := range programs {
		c.FindCode()
		warnings = append(warnings, table.doubts(c, as.codes)...)
	}

	if len(people) == 0 {
		return table, warnings
	}

	if !comma && !german {
		as.Default = condition.Point
	}

	table = newCells(t).read(t)

	return table, append(warnings, table.typed(people, as)...)
}

// ResolveTable fills in the roles of a table's columns that o leaves open:
// outcomes are the pairs of columns NAME_1, NAME_2 (or y1_NAME, y2_NAME),
// inputs are the columns of numbers that are neither an outcome nor the run. It
// reads the header and the first rows. texts are the columns that hold no numbers.
// o.Given and o.Labels are no columns. A column called run names the runs.
func ResolveTable(f TableFile, o TableOptions) (_ TableOptions, texts []string, err error) {
	defer fault.Catch(&err)
	r := openText(f, o.Text)
	defer r.Close()
	path, columns := r.Info().Path, r.Info().Names()

	all, _ := r.Columns()
	var typed []*typedColumn // they may be numbers as people write them
	for i, n := range all {
		if !slices.Contains(slices.Concat(columns, o.Names), n) && n != o.Run && !isRun(n) {
			typed = append(typed, &typedColumn{index: i, name: n})
		}
	}

	readResults(r, o, typed)
	numbers := lists.Keep(typed, func(c *typedColumn) bool { return c.Values != nil })
	columns = append(columns, lists.Each(numbers, func(c *typedColumn) string { return c.name })...)
	texts = slices.DeleteFunc(slices.Clone(all), func(n string) bool {
		return slices.Contains(columns, n) && !slices.Contains(o.Names, n)
	})
	if len(o.Y1) == 0 && len(o.Y2) == 0 && len(o.Repeats) == 0 {
		o.Y1, o.Y2 = pairedColumns(columns)
		fault.Unless(len(o.Y1) > 0, fault.At(path, "", "pairs of columns named NAME_1 and NAME_2 (or y1_NAME and y2_NAME)",
			"only "+fault.Quoted(columns), "name the columns with y1 and y2, or single measurements to be paired with repeats"))
	}

	if i := slices.IndexFunc(all, isRun); o.Run == "" && i >= 0 &&
		!slices.Contains(slices.Concat(o.Inputs, o.Y1, o.Y2, o.Repeats, o.Labels), all[i]) {
		o.Run = all[i]
	}

	for _, name := range slices.Concat(o.Given, o.Labels) {
		twice := slices.Contains(columns, name) || slices.Contains(o.Labels, name) && slices.Contains(texts, name)
		fault.Unless(!twice, fault.At(path, "column "+name, "a condition that is given once",
			"it in the name of the file or the table of conditions too", ""))
	}

	if len(o.Inputs) == 0 {
		taken := slices.Concat([]string{o.Run}, o.Y1, o.Y2, o.Repeats, o.Names)
		free := lists.Keep(columns, func(name string) bool { return !slices.Contains(taken, name) })
		o.Inputs = slices.Concat(o.Given, free)
		fault.Unless(len(o.Inputs) > 0, fault.At(path, "", "columns of conditions other than the outcomes", "none", ""))
		for _, name := range free {
			of, third := strings.CutSuffix(name, "_3")
			fault.Unless(!third || !slices.Contains(o.Y1, of+"_1"), fault.At(path, "column "+name, "two values of "+of,
				"a third", "name the conditions with inputs, or write a row for each value and name the outcome with repeats"))
		}
	}

	return o, texts, nil
}

// affix is what the columns of an outcome's first and second value have before or behind its name.
type affix struct{ before, behind [2]string }

// affixes are those of pairs. Of y1_0, y1_1, y1_2 and y2_0, y2_1, y2_2 the columns y1_1 and y1_2 are two
// outcomes, not two values of one.
var affixes = []affix{{before: [2]string{"y1_", "y2_"}}, {behind: [2]string{"_1", "_2"}}}

// outcome is the name of the outcome whose first or second value (0 or 1) a column holds.
func (a affix) outcome(column string, k int) (name string, ok bool) {
	name, before := strings.CutPrefix(column, a.before[k])
	name, behind := strings.CutSuffix(name, a.behind[k])

	return name, before && behind && name != ""
}

// pairedColumns finds the columns of the first and the second values of outcomes by their names.
func pairedColumns(columns []string) (y1, y2 []string) {
	second, taken := map[string]string{}, map[string]bool{}
	for _, a := range affixes {
		for _, c := range columns {
			name, first := a.outcome(c, 0)
			other := a.before[1] + name + a.behind[1]
			if first && slices.Contains(columns, other) && !taken[c] && !taken[other] {
				second[c], taken[c], taken[other] = other, true, true
			}
		}
	}

	y1 = lists.Keep(columns, func(c string) bool { return second[c] != "" })

	return y1, lists.Each(y1, func(c string) string { return second[c] })
}

// isRun reports whether a column is called so that it names the run without anybody saying so.
func isRun(column string) bool { return strings.EqualFold(column, "run") }

// OutcomeNames returns the names of the outcomes: the given ones, or what the
// columns of a pair have in common.
func (o TableOptions) OutcomeNames() []string {
	switch {
	case len(o.Outcomes) > 0:
		return slices.Clone(o.Outcomes)
	case len(o.Repeats) > 0:
		return slices.Clone(o.Repeats)
	case len(o.Y1) != len(o.Y2): // which ReadTables refuses
		return slices.Clone(o.Y1)
	}

	for _, a := range affixes {
		names := lists.Make(len(o.Y1), func(i int) string {
			first, _ := a.outcome(o.Y1[i], 0)
			if second, _ := a.outcome(o.Y2[i], 1); first != second {
				return ""
			}

			return first
		})
		if !slices.Contains(names, "") {
			return names
		}
	}

	return slices.Clone(o.Y1)
}
