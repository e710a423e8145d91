package tabletest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"doubletake/ingest/table"
)

// Parse reads a table from text: a line of names, then a line for each row, with cells between blanks. "rpm[1/min]" is
// the column rpm with its unit. The columns run and recording contain text, columns that end in _bound_1 and _bound_2
// contain true and false, and all others numbers. Parse returns an error if a cell cannot be read, or if a row has
// another number of cells than there are names.
func Parse(text string) (*table.Table, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")

	tab := &table.Table{}
	for _, name := range strings.Fields(lines[0]) {
		name, unit, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
		tab.Columns = append(tab.Columns, table.Column{Name: name, Unit: unit, Description: "the " + name})
	}

	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		if len(cells) != len(tab.Columns) {
			return nil, fmt.Errorf("row %q: expected %d cells, found %d", line, len(tab.Columns), len(cells))
		}

		for k, cell := range cells {
			if err := appendCell(&tab.Columns[k], cell); err != nil {
				return nil, fmt.Errorf("column %s: %w", tab.Columns[k].Name, err)
			}
		}
	}

	return tab, nil
}

// appendCell appends a cell to the values of a column.
func appendCell(column *table.Column, cell string) error {
	switch {
	case column.Name == "run" || column.Name == "recording":
		column.Strings = append(column.Strings, cell)
	case strings.HasSuffix(column.Name, "_bound_1") || strings.HasSuffix(column.Name, "_bound_2"):
		value, err := strconv.ParseBool(cell)
		if err != nil {
			return err
		}

		column.Bools = append(column.Bools, value)
	default:
		value, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return err
		}

		column.Floats = append(column.Floats, value)
	}

	return nil
}

// MustParse returns the table that Parse reads from text. If Parse returns an error, MustParse ends the test.
func MustParse(t testing.TB, text string) *table.Table {
	t.Helper()

	tab, err := Parse(text)
	if err != nil {
		t.Fatalf("parse a table: %v", err)
	}

	return tab
}
