package campaign

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
)

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
