package campaign

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/ingest/format/text"
)

// This file holds what a planner needs: it reads no samples.

// ParseConditions is ReadConditions of bytes that are no file; name replaces the
// path in errors.
func ParseConditions(name string, r io.Reader) (*Conditions, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxConditions))
	if err != nil {
		return nil, ingest.PathError(name, err)
	}

	return parseConditions(name, b, LogOptions{})
}

// describe writes the row as name=value pairs, without its line: the same
// statement elsewhere in the table is the same statement.
func (r ConditionRow) describe(names []string) string {
	var b strings.Builder
	put := func(k, v string) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(k + "=" + v)
	}

	if r.Channel != "" {
		put("channel", strconv.Quote(r.Channel))
	}

	num := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	switch {
	case r.Timed:
		put("t0_s", num(r.T0))
		put("t1_s", num(r.T1))
	case r.Row0 != 0 || r.Row1 >= 0:
		put("row0", strconv.FormatInt(r.Row0, 10))
		put("row1", strconv.FormatInt(r.Row1, 10))
	}

	for i, n := range names {
		put(n, num(r.Values[i]))
	}

	return b.String()
}

// Describe returns one text per row with its whole contents.
func (c *Conditions) Describe() []string {
	out := make([]string, len(c.Rows))
	for i, r := range c.Rows {
		out[i] = r.describe(c.Names)
	}

	return out
}

// ForFiles cuts the table into one for each file. Rows without a file, rows other
// than globs with several, and files without a row are *fault.Error with the line
// and the nearest names.
func (c *Conditions) ForFiles(files []string) ([]*Conditions, error) {
	rowsOf, err := c.rowsFor(files)
	if err != nil {
		return nil, err
	}

	var without []string
	for i, rows := range rowsOf {
		if len(rows) == 0 {
			without = append(without, files[i])
		}
	}

	if len(without) > 0 {
		return nil, noRow(without, c)
	}

	out := make([]*Conditions, len(files))
	for i, rows := range rowsOf {
		own := *c
		own.Rows = nil
		for _, k := range rows {
			own.Rows = append(own.Rows, c.Rows[k])
		}

		out[i] = &own
	}

	return out, nil
}

// FilesOf lists the files that each row of the table means, by index; none of a row of another file.
func (c *Conditions) FilesOf(files []string) [][]int {
	index, out := newFileIndex(files), make([][]int, len(c.Rows))
	for k, r := range c.Rows {
		out[k] = index.of(r)
	}

	return out
}

// CheckNames reports the first file whose name the pattern does not match.
func (p *Pattern) CheckNames(files []string) error {
	values := map[string]float64{}
	for _, f := range files {
		if !p.AddTo(values, f) {
			return p.mismatch(f)
		}
	}

	return nil
}

// mismatch is the error of a file whose name the pattern does not match.
func (p *Pattern) mismatch(file string) error {
	return &fault.Error{
		Path: file, Want: fmt.Sprintf("a name like %q", p), Found: strconv.Quote(lastElements(file, p.elems)),
		Hint: "exclude the file, or change the pattern; {_} matches any text",
	}
}

// ResolveTable fills in the roles of a table's columns that o leaves open:
// outcomes are the pairs of columns NAME_1, NAME_2 (or y1_NAME, y2_NAME),
// inputs are the columns of numbers that are neither an outcome nor the run. It
// reads the header and the first rows. texts are the columns that hold no numbers.
// o.Given and o.Labels are no columns.
func ResolveTable(path string, o TableOptions) (_ TableOptions, texts []string, err error) {
	r, err := openText(path, o.Text)
	if err != nil {
		return o, nil, err
	}
	defer r.Close()
	info := r.Info()
	columns := channelNames(info)

	texts, _ = r.Columns()
	texts = slices.DeleteFunc(slices.Clone(texts), func(n string) bool { return slices.Contains(columns, n) })
	has := func(name string) bool { return slices.Contains(columns, name) }
	if len(o.Y1) == 0 && len(o.Y2) == 0 && len(o.Repeats) == 0 {
		// y1_NAME first: of y1_0, y1_1, y1_2 and y2_0, y2_1, y2_2 the columns
		// y1_1 and y1_2 are two outcomes, not two values of one.
		second, taken := map[string]string{}, map[string]bool{}
		for _, c := range info.Channels {
			if base, ok := strings.CutPrefix(c.Name, "y1_"); ok && has("y2_"+base) {
				second[c.Name] = "y2_" + base
				taken[c.Name], taken["y2_"+base] = true, true
			}
		}

		for _, c := range info.Channels {
			if base, ok := strings.CutSuffix(c.Name, "_1"); ok && has(base+"_2") && !taken[c.Name] && !taken[base+"_2"] {
				second[c.Name] = base + "_2"
			}
		}

		for _, c := range info.Channels {
			if s, ok := second[c.Name]; ok {
				o.Y1, o.Y2 = append(o.Y1, c.Name), append(o.Y2, s)
			}
		}

		if len(o.Y1) == 0 {
			return o, nil, &fault.Error{
				Path: path, Want: "pairs of columns named NAME_1 and NAME_2 (or y1_NAME and y2_NAME)",
				Found: "only " + fault.Quoted(columns),
				Hint:  "name the columns with y1 and y2, or single measurements to be paired with repeats",
			}
		}
	}

	for _, name := range slices.Concat(o.Given, o.Labels) {
		if has(name) || slices.Contains(o.Labels, name) && slices.Contains(texts, name) {
			return o, nil, &fault.Error{
				Path: path, Place: "column " + name, Want: "a condition that is given once",
				Found: "it in the name of the file or the table of conditions too",
			}
		}
	}

	if len(o.Inputs) == 0 {
		o.Inputs = slices.Clone(o.Given)
		taken := slices.Concat([]string{o.Run}, o.Y1, o.Y2, o.Repeats)
		for _, name := range columns {
			if !slices.Contains(taken, name) {
				o.Inputs = append(o.Inputs, name)
			}
		}

		if len(o.Inputs) == 0 {
			return o, nil, &fault.Error{Path: path, Want: "columns of conditions other than the outcomes", Found: "none"}
		}
	}

	return o, texts, nil
}

func channelNames(info ingest.Info) []string {
	names := make([]string, len(info.Channels))
	for i, c := range info.Channels {
		names[i] = c.Name
	}

	return names
}

// Cells are all cells of a table.
type Cells struct {
	Columns, Heads []string // names, and headers unchanged
	Clock          string   // the column that holds the time; ""
	Rows           [][]string
}

// ReadCells reads all cells of a table; one of more than most rows has no Rows.
func ReadCells(path string, most int64) (*Cells, error) {
	t, err := openText(path, ingest.TextOptions{})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	c := &Cells{}
	c.Columns, c.Heads = t.Columns()
	for _, ch := range t.Info().Channels {
		if ch.IsTime() {
			c.Clock = ch.Name
		}

		if ch.Samples > most {
			return c, nil
		}
	}

	err = t.Rows(nil, func(r text.Row) error {
		cells := make([]string, len(c.Columns))
		for i := range cells {
			cells[i] = r.Text(i)
		}

		c.Rows = append(c.Rows, cells)

		return nil
	})

	return c, err
}
