package campaign

import (
	"fmt"
	"slices"
	"strings"

	"doubletake/ingest/fault"
	"doubletake/ingest/spelling"
	"doubletake/internal/lists"
)

// matchRows stores in each file its rows of the table of conditions and the conditions that its name states. It warns
// of a run whose files state several values of a condition. It returns an error if a file or a row has no partner, or
// if the pattern does not match a name.
func (v *Inventory) matchRows() error {
	if v.Table != nil {
		tables, err := v.Table.ForFiles(v.Names())
		if err != nil {
			return err
		}

		for i, rows := range tables {
			v.Files[i].Rows = rows
		}
	}

	if v.Pattern == nil {
		return nil
	}

	for i := range v.Files {
		named, err := v.Pattern.Match(v.Files[i].Name)
		if err != nil {
			return err
		}

		v.Roles.Spellings.Rename(named)
		v.Files[i].Named = named
	}

	v.warnRuns()

	return nil
}

// IsByChannel reports whether every file has rows in the table of conditions, and each of these rows means one channel
// of the file. Without files, IsByChannel returns true.
func (v *Inventory) IsByChannel() bool {
	for _, file := range v.Files {
		if file.Rows == nil {
			return false
		}

		for _, row := range file.Rows.Rows {
			if row.Channel == "" {
				return false
			}
		}
	}

	return true
}

// ForFiles returns a table for each file, with the rows that mean the file. It returns a *fault.Error with the line
// and the nearest names if a row means no file, if a row that is not a glob means several files, or if a file has no
// row.
func (c *Conditions) ForFiles(files []string) ([]*Conditions, error) {
	tables := make([]*Conditions, len(files))
	for i := range tables {
		own := *c
		own.Rows = nil
		tables[i] = &own
	}

	var unknown []ConditionRow
	for k, meant := range c.FilesOf(files) {
		row := c.Rows[k]
		switch {
		case len(meant) == 0:
			unknown = append(unknown, row)
		case len(meant) > 1 && !isGlob(row.File):
			found := fmt.Sprintf("%q means %q and %q", row.File, files[meant[0]], files[meant[1]])
			return nil, c.rowError(row, "one file", found, "write more of the path, or a glob if both are meant")
		}

		for _, i := range meant {
			tables[i].Rows = append(tables[i].Rows, row)
		}
	}

	var rowless []string
	for i, file := range files {
		if len(tables[i].Rows) == 0 {
			rowless = append(rowless, file)
		}
	}

	switch {
	case len(unknown)+c.Others > 0:
		return nil, c.noFileError(append(unknown, c.firstOthers...), len(unknown)+c.Others, files, rowless)
	case len(rowless) > 0:
		return nil, c.noRowError(rowless)
	}

	return tables, nil
}

// noFileError returns the error of n rows that mean no file. rows are the first of them, and rowless the files without
// a row.
func (c *Conditions) noFileError(rows []ConditionRow, n int, files, rowless []string) error {
	row := rows[0]
	found := fmt.Sprintf("%q, which is none of the files", row.File)
	if n > 1 {
		found += ", also " + someRows(rows[1:], n-1)
	}

	hint := nearHint("there is ", row.File, files) + "correct or delete the row, or widen files"
	if len(rowless) > 0 {
		hint += "; files without a row: " + fault.Some(rowless)
	}

	return c.rowError(row, "the name of a recording", found, hint)
}

// noRowError returns the error of files without a row.
func (c *Conditions) noRowError(files []string) error {
	found := "none"
	if len(files) > 1 {
		found += ", nor for " + fault.Some(files[1:])
	}

	return fault.At(files[0], "", fmt.Sprintf("a row of %s for this file", c.Path), found,
		nearHint("there are rows for ", files[0], c.files())+"add one, or leave the file out with exclude under ingest")
}

// rowError returns the error of a row of the table.
func (c *Conditions) rowError(row ConditionRow, want, found, hint string) error {
	return fault.At(c.Path, fmt.Sprintf("line %d", row.Line), want, found, hint)
}

// files returns the files of the rows, as they are written.
func (c *Conditions) files() []string {
	names := make([]string, len(c.Rows))
	for i, row := range c.Rows {
		names[i] = row.File
	}

	return names
}

// nearHint returns the beginning of a hint that lists the names nearest to the sought name, or "" if none is near. It
// compares only the end of each name: as many elements of its path as the sought name has.
func nearHint(begin, name string, names []string) string {
	n := len(splitPath(name))
	tails := make([]string, len(names))
	for i, s := range names {
		tails[i] = lastElements(s, n)
	}

	_, distinct := lists.Index(tails)
	var nearest []string
	for _, tail := range spelling.Nearest(lastElements(name, n), distinct, 3) {
		nearest = append(nearest, names[slices.Index(tails, tail)])
	}

	if len(nearest) == 0 {
		return ""
	}

	return begin + fault.Quoted(nearest) + "; "
}

// lastElements returns the last n elements of a path.
func lastElements(p string, n int) string {
	elements := splitPath(p)
	return strings.Join(elements[max(0, len(elements)-n):], "/")
}
