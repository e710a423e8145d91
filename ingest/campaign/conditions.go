package campaign

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"doubletake/ingest"
	"doubletake/ingest/condition"
	"doubletake/ingest/fault"
)

// Conditions is a table that ties files, channels and intervals to values: a log.
type Conditions struct {
	Path   string
	Names  []string          // of the conditions, in column order
	Units  map[string]string // by name, if the header states one: "alpha (deg)"
	Labels []string          // names of the columns of text, in column order
	Rows   []ConditionRow    // rows that mean one of LogOptions.Files, or all rows if no files are given
	Others int               // the number of further rows, which mean no file
	// Converted describes, by condition, how its values became values in the unit of its name.
	Converted map[string]string
	// Warnings are of cells that may be meant otherwise: "thousands", "missing-code", "bare-number", "names-with-numbers".
	Warnings []ingest.Warning

	firstOthers []ConditionRow // the first few of the further rows, for messages
}

// ConditionRow is one row of the table.
type ConditionRow struct {
	Line    int
	File    string // relative path, trailing part of one, or glob
	Channel string // name or number from 1; "": all channels
	// Begin and End are the interval [Begin, End) in samples or, if it is Timed, in s from the first sample. End may be
	// infinite.
	Begin, End float64
	Timed      bool
	// States are the statements of the row, in the order of Names and then of Labels. A number that is not there is NaN,
	// with the text of the cell as its name and the place of the cell as its origin.
	States []condition.Condition
}

// Given returns the statements of the row without numbers that are not there, which another source may give.
func (r ConditionRow) Given() []condition.Condition {
	var given []condition.Condition
	for _, cond := range r.States {
		if !math.IsNaN(cond.Value) {
			given = append(given, cond)
		}
	}

	return given
}

// Name returns the name that the row states in a column.
func (r ConditionRow) Name(column string) (name string, ok bool) {
	for _, cond := range r.States {
		if cond.Column == column && cond.IsName {
			return cond.Name, true
		}
	}

	return "", false
}

// CheckLabels returns an error about a cell of the named columns of text that cannot name a group. The table may be
// nil.
func (c *Conditions) CheckLabels(names []string) error {
	if c == nil {
		return nil
	}

	for _, row := range c.Rows {
		for _, cond := range row.States {
			if !cond.IsName || !slices.Contains(names, cond.Column) {
				continue
			}

			if err := condition.CheckName(cond.Name); err != nil {
				err.Path = c.Path
				err.Place = fmt.Sprintf("line %d, column %s", row.Line, cond.Column)
				return err
			}
		}
	}

	return nil
}

// Without returns the table without the rows that mean only files that are left out. all are the files of
// LogOptions.Files, keep the files that are used: a table may list a whole campaign of which only a part is used. If
// each file that is kept has a row, Without also drops the rows that mean no file at all, with a warning. Otherwise
// such rows stay, since a file may be misspelled in them: ForFiles reports them.
func (c *Conditions) Without(all, keep []string) (*Conditions, []ingest.Warning) {
	kept := slices.Compact(slices.Sorted(slices.Values(keep)))
	dropped := *c
	dropped.Rows = nil
	hasRow := map[int]bool{} // by index of the file
	for k, files := range c.FilesOf(all) {
		isUsed := false
		for _, i := range files {
			if _, isKept := slices.BinarySearch(kept, all[i]); isKept {
				hasRow[i] = true
				isUsed = true
			}
		}

		if isUsed {
			dropped.Rows = append(dropped.Rows, c.Rows[k])
		}
	}

	if c.Others == 0 || len(hasRow) < len(kept) {
		return &dropped, nil
	}

	dropped.firstOthers = nil
	dropped.Others = 0

	return &dropped, []ingest.Warning{ingest.Warn(c.Path, "rows-without-file", "%s of no file left out: %s",
		fault.Plural(int64(c.Others), "row"), someRows(c.firstOthers, c.Others))}
}

// FillGaps settles the conditions that some rows do not state. given are the conditions that other sources state: they
// may have gaps. A gap in another condition is an error if needed returns true for the condition, or if there is no
// other condition. FillGaps removes the columns of the other conditions with gaps from the table, with a warning each.
func (c *Conditions) FillGaps(needed func(name string) bool, given []string) ([]ingest.Warning, error) {
	var warnings []ingest.Warning
	for k := len(c.Names) - 1; k >= 0; k-- {
		name := c.Names[k]
		gaps := c.gaps(k)
		if len(gaps) == 0 || slices.Contains(given, name) {
			continue
		}

		gap := gaps[0].States[k]
		found := strconv.Quote(gap.Name)
		if gap.Name == "" {
			found = "an empty cell"
		}

		reason := ""
		switch {
		case needed(name):
			reason = "since the configuration uses " + name
		case len(c.Names) == 1 && len(given) == 0:
			reason = "since no other condition is known"
		}

		if reason != "" {
			return nil, fault.At(c.Path, gap.Origin, "a number, "+reason, found,
				fmt.Sprintf("write it, or leave %s out with exclude under ingest", gaps[0].File))
		}

		warnings = append(warnings, ingest.Warn(c.Path, "missing-values",
			"%s: %s, of %s; %d of %d rows have no number there, and nothing uses it: the column is left out", gap.Origin, found,
			gaps[0].File, len(gaps), len(c.Rows)))

		c.Names = slices.Delete(slices.Clone(c.Names), k, k+1)
		for i, row := range c.Rows {
			c.Rows[i].States = slices.Delete(slices.Clone(row.States), k, k+1)
		}
	}

	return warnings, nil
}

// gaps returns the rows that state no number for condition k.
func (c *Conditions) gaps(k int) []ConditionRow {
	var gaps []ConditionRow
	for _, row := range c.Rows {
		if math.IsNaN(row.States[k].Value) {
			gaps = append(gaps, row)
		}
	}

	return gaps
}

// Describe returns a text for each row: its channel, interval and numbers as name=value pairs. Rows that state the
// same have the same text, wherever in the table they are.
func (c *Conditions) Describe() []string {
	var texts []string
	for _, row := range c.Rows {
		texts = append(texts, row.describe())
	}

	return texts
}

// describe returns the channel, the interval and the numbers of a row as name=value pairs.
func (r ConditionRow) describe() string {
	var parts []string
	if r.Channel != "" {
		parts = append(parts, "channel="+strconv.Quote(r.Channel))
	}

	isOpen := math.IsInf(r.End, 1)
	switch {
	case r.Timed:
		parts = append(parts, "t0_s="+shortest(r.Begin), "t1_s="+shortest(r.End))
	case isOpen && r.Begin > 0:
		parts = append(parts, "row0="+plain(r.Begin), "row1=-1")
	case !isOpen:
		parts = append(parts, "row0="+plain(r.Begin), "row1="+plain(r.End))
	}

	for _, cond := range r.States {
		if !cond.IsName {
			parts = append(parts, cond.Column+"="+shortest(cond.Value))
		}
	}

	return strings.Join(parts, " ")
}

// FilesOf returns the files that each row of the table means, by index, and none for a row that means no file.
func (c *Conditions) FilesOf(files []string) [][]int { return FilesOf(c.files(), files) }
