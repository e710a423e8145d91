package tabletest

import (
	"testing"

	"doubletake/ingest/table"
)

// Read reads the table at path. If it cannot be read, Read ends the test.
func Read(t testing.TB, path string) *table.Table {
	t.Helper()

	tab, err := table.Read(path)
	if err != nil {
		t.Fatal(err)
	}

	return tab
}

// Floats returns a column of numbers. If the table does not have it, Floats ends the test.
func Floats(t testing.TB, tab *table.Table, name string) []float64 {
	t.Helper()

	values, err := tab.Floats(name)
	if err != nil {
		t.Fatal(err)
	}

	return values
}
