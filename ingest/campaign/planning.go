package campaign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/fault"
	"doubletake/internal/lists"
)

// This file holds what a planner needs: it reads no samples.

// describe writes the row as name=value pairs, without its line: the same
// statement elsewhere in the table is the same statement.
func (r ConditionRow) describe() string {
	var parts []string
	put := func(k, v string) { parts = append(parts, k+"="+v) }
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

	for _, c := range r.States {
		if !c.IsName {
			put(c.Column, num(c.Value))
		}
	}

	return strings.Join(parts, " ")
}

// Describe returns one text per row with its whole contents.
func (c *Conditions) Describe() []string {
	return lists.Each(c.Rows, ConditionRow.describe)
}

// FilesOf lists the files that each row of the table means, by index; none of a row of another file.
func (c *Conditions) FilesOf(files []string) [][]int {
	return lists.Each(c.Rows, newFileIndex(files).of)
}

// CheckNames reports the first file whose name the pattern does not match.
func (p *Pattern) CheckNames(files []string) error {
	for _, f := range files {
		if _, ok := p.Match(f); !ok {
			return fault.At(f, "", fmt.Sprintf("a name like %q", p), strconv.Quote(lastElements(f, p.elems)),
				"exclude the file, or change the pattern; {_} matches any text")
		}
	}

	return nil
}

// ResolveTable fills in the roles of a table's columns that o leaves open:
// outcomes are the pairs of columns NAME_1, NAME_2 (or y1_NAME, y2_NAME),
// inputs are the columns of numbers that are neither an outcome nor the run. It
// reads the header and the first rows. texts are the columns that hold no numbers.
// o.Given and o.Labels are no columns. A column called run names the runs.
func ResolveTable(path string, o TableOptions) (_ TableOptions, texts []string, err error) {
	defer fault.Catch(&err)
	r := fault.Get(openText(path, o.Text))
	defer r.Close()
	columns := r.Info().Names()

	all, _ := r.Columns()
	var typed []*typedColumn // they may be numbers as people write them
	for i, n := range all {
		if !slices.Contains(slices.Concat(columns, o.Names), n) && n != o.Run && !isRun(n) {
			typed = append(typed, &typedColumn{index: i, name: n})
		}
	}

	readResults(r, o, typed)
	for _, c := range typed {
		if c.Values != nil {
			columns = append(columns, c.name)
		}
	}

	texts = slices.DeleteFunc(slices.Clone(all), func(n string) bool {
		return slices.Contains(columns, n) && !slices.Contains(o.Names, n)
	})
	if len(o.Y1) == 0 && len(o.Y2) == 0 && len(o.Repeats) == 0 {
		if o.Y1, o.Y2 = pairedColumns(columns); len(o.Y1) == 0 {
			return o, nil, fault.At(path, "", "pairs of columns named NAME_1 and NAME_2 (or y1_NAME and y2_NAME)",
				"only "+fault.Quoted(columns), "name the columns with y1 and y2, or single measurements to be paired with repeats")
		}
	}

	every := slices.Concat(columns, texts)
	if i := slices.IndexFunc(every, isRun); o.Run == "" && i >= 0 &&
		!slices.Contains(slices.Concat(o.Inputs, o.Y1, o.Y2, o.Repeats, o.Labels), every[i]) {
		o.Run = every[i]
	}

	for _, name := range slices.Concat(o.Given, o.Labels) {
		if slices.Contains(columns, name) || slices.Contains(o.Labels, name) && slices.Contains(texts, name) {
			return o, nil, fault.At(path, "column "+name, "a condition that is given once",
				"it in the name of the file or the table of conditions too", "")
		}
	}

	if len(o.Inputs) == 0 {
		o.Inputs = slices.Clone(o.Given)
		taken := slices.Concat([]string{o.Run}, o.Y1, o.Y2, o.Repeats, o.Names)
		for _, name := range columns {
			of, third := strings.CutSuffix(name, "_3")
			switch {
			case slices.Contains(taken, name):
			case third && slices.Contains(o.Y1, of+"_1"):
				return o, nil, fault.At(path, "column "+name, "two values of "+of, "a third",
					"name the conditions with inputs, or write a row for each value and name the outcome with repeats")
			default:
				o.Inputs = append(o.Inputs, name)
			}
		}

		if len(o.Inputs) == 0 {
			return o, nil, fault.At(path, "", "columns of conditions other than the outcomes", "none", "")
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

	for _, c := range columns {
		if other, ok := second[c]; ok {
			y1, y2 = append(y1, c), append(y2, other)
		}
	}

	return y1, y2
}

// isRun reports whether a column is called so that it names the run without anybody saying so.
func isRun(column string) bool { return strings.EqualFold(column, "run") }

// Cells are all cells of a table.
type Cells struct {
	Columns, Heads []string // names, and headers unchanged
	Clock          string   // the column that holds the time; ""
	*Texts
	Units map[string]string // of columns of numbers, as their headers state them
}

// ReadCells reads all cells of a table; one of more than most rows has no Texts.
func ReadCells(path string, most int64) (_ *Cells, err error) {
	defer fault.Catch(&err)
	t := fault.Get(openText(path, ingest.TextOptions{}))
	defer t.Close()
	c := &Cells{Units: map[string]string{}, Texts: &Texts{}}
	c.Columns, c.Heads = t.Columns()
	for _, ch := range t.Info().Channels {
		c.Units[ch.Name] = ch.Unit
		if ch.IsTime() {
			c.Clock = ch.Name
		}

		if ch.Samples > most {
			return c, nil
		}
	}

	c.Texts = readTexts(t)

	return c, nil
}
