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
	condition.ColumnOptions           // of all columns
	names                   []string  // columns whose cells are names, whatever they look like
	codes                   []float64 // that are known to mean no value
	hint                    string    // for a cell that does not fit
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
		of.Unit, of.Usual, of.Names, of.Remarks = c.Unit, usual.Text, slices.Contains(o.names, c.name), c.remarks

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
	people := lists.Keep(cols, func(c *typedColumn) bool {
		return !c.isName && (comma || c.Values == nil || slices.ContainsFunc(c.Values, math.IsNaN) ||
			german && slices.ContainsFunc(c.Values, hundreds))
	})

	as := reading{
		ColumnOptions: condition.ColumnOptions{Decimal: o.Decimal}, names: o.Names, codes: o.codes(),
		hint: "correct the cell; name the column under things where its cells are names",
	}

	var warnings []ingest.Warning
	for _, c := range cols {
		if !slices.Contains(people, c) {
			c.FindCode()
			warnings = append(warnings, table.doubts(c, as.codes)...)
		}
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
