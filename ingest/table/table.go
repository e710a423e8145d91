// Package table reads and writes the pipeline's tables as Arrow IPC files. They have the random-access format and are
// not compressed, because Arrow JS reads no other files. Package ingest/format/arrow reads recordings in Arrow files of
// other writers.
//
// A table consists of columns, which are plain Go slices. Missing numbers are NaN here and null in the file. The
// metadata of the schema says how the table was made, and each field has its unit and description. The digest of a
// table covers names, types, units and values. It does not cover the metadata, so that a new version of the program
// alone makes no result stale. The callers define the columns.
package table

import (
	"fmt"

	"doubletake/internal/kv"
	"doubletake/internal/lists"
)

// Column is a named column. At most one of the slices of values is not nil, and its elements have the column's type. A
// column without such a slice has the type of Floats.
type Column struct {
	Name        string
	Unit        string // "" if the quantity has none
	Description string

	Strings []string
	Floats  []float64 // NaN is written as null
	Ints    []int64
	Bools   []bool
	Lists   [][]float32 // a list for each row, such as a spectrum
}

// Len returns the number of rows.
func (c *Column) Len() int {
	return max(len(c.Strings), len(c.Floats), len(c.Ints), len(c.Bools), len(c.Lists))
}

// Table is an ordered set of columns of equal length.
type Table struct {
	Columns []Column
	Meta    []kv.Pair
}

// Rows returns the number of rows.
func (t *Table) Rows() int {
	if len(t.Columns) == 0 {
		return 0
	}
	return t.Columns[0].Len()
}

// Column returns the column with a name, or nil if there is none. The pointer is valid until a column is added.
func (t *Table) Column(name string) *Column {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return &t.Columns[i]
		}
	}

	return nil
}

// Make returns the column with a name. If there is none, it adds one with the unit and the description. The pointer is
// valid until another column is added.
func (t *Table) Make(name, unit, description string) *Column {
	column := t.Column(name)
	if column == nil {
		t.Columns = append(t.Columns, Column{Name: name, Unit: unit, Description: description})
		column = &t.Columns[len(t.Columns)-1]
	}

	return column
}

// Value is the type of a cell.
type Value interface {
	string | float64 | bool | int | []float32
}

// AddCell appends a value to the column with a name. It adds the column if the table does not have it. The caller gives
// each row the same cells, so that the columns stay of equal length.
func AddCell[V Value](t *Table, name, unit, description string, value V) {
	column := t.Make(name, unit, description)
	switch value := any(value).(type) {
	case string:
		column.Strings = append(column.Strings, value)
	case float64:
		column.Floats = append(column.Floats, value)
	case bool:
		column.Bools = append(column.Bools, value)
	case int:
		column.Ints = append(column.Ints, int64(value))
	case []float32:
		column.Lists = append(column.Lists, value)
	}
}

// Get returns the value of a key in the metadata, or "" if there is none.
func (t *Table) Get(key string) string {
	for _, pair := range t.Meta {
		if pair.Key == key {
			return pair.Value
		}
	}

	return ""
}

// Floats returns the values of a column of numbers. It returns an error that names the column if there is none, or if
// it has another type.
func (t *Table) Floats(name string) ([]float64, error) {
	column := t.Column(name)
	if column == nil {
		return nil, absentError(name)
	}

	if column.Floats == nil && t.Rows() > 0 {
		return nil, fmt.Errorf("column %q is not float64", name)
	}

	return column.Floats, nil
}

// Strings returns the values of a column of texts. It returns an error that names the column if there is none, or if it
// has another type.
func (t *Table) Strings(name string) ([]string, error) {
	column := t.Column(name)
	if column == nil {
		return nil, absentError(name)
	}

	if column.Strings == nil && t.Rows() > 0 {
		return nil, fmt.Errorf("column %q is not text", name)
	}

	return column.Strings, nil
}

// absentError returns the error of a column that is missing.
func absentError(name string) error { return fmt.Errorf("column %q is not in the table", name) }

// Select returns a table with the rows that have the given indices, in the order of the indices.
func (t *Table) Select(rows []int) *Table {
	selected := &Table{Meta: t.Meta}
	for _, column := range t.Columns {
		column.Strings = lists.Pick(column.Strings, rows)
		column.Floats = lists.Pick(column.Floats, rows)
		column.Ints = lists.Pick(column.Ints, rows)
		column.Bools = lists.Pick(column.Bools, rows)
		column.Lists = lists.Pick(column.Lists, rows)
		selected.Columns = append(selected.Columns, column)
	}

	return selected
}

// ColumnError is the error of a table whose column has another name or unit than the column of the table it is to be
// added to.
type ColumnError struct {
	Want, WantUnit   string // name and unit in the table
	Found, FoundUnit string // name and unit in the table to be added
}

func (e *ColumnError) Error() string {
	return fmt.Sprintf("append table: expected column %q [%s], found %q [%s]", e.Want, e.WantUnit, e.Found, e.FoundUnit)
}

// Append adds the rows of another table, whose columns must have the same names, units, types and order. A table
// without columns takes the columns of the other table. Append returns a *ColumnError about the first column with
// another name or unit, and then changes nothing.
func (t *Table) Append(other *Table) error {
	if len(t.Columns) == 0 {
		for _, column := range other.Columns {
			t.Columns = append(t.Columns, Column{Name: column.Name, Unit: column.Unit, Description: column.Description})
		}
	}

	if len(t.Columns) != len(other.Columns) {
		return fmt.Errorf("append table: expected %d columns, found %d", len(t.Columns), len(other.Columns))
	}

	for i, found := range other.Columns {
		want := t.Columns[i]
		if want.Name != found.Name || want.Unit != found.Unit {
			return &ColumnError{Want: want.Name, WantUnit: want.Unit, Found: found.Name, FoundUnit: found.Unit}
		}
	}

	for i, added := range other.Columns {
		column := &t.Columns[i]
		column.Strings = append(column.Strings, added.Strings...)
		column.Floats = append(column.Floats, added.Floats...)
		column.Ints = append(column.Ints, added.Ints...)
		column.Bools = append(column.Bools, added.Bools...)
		column.Lists = append(column.Lists, added.Lists...)
	}

	return nil
}
